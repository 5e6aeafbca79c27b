"""Mechanisms combine, as a params.yaml says it: others in each slot of a model, and others in each layer of a slot."""

from itertools import permutations, product

import pytest
import torch
from contract import EXACT, SOURCE, TARGETS, experiment, sublayers
from small_models import VOCABULARY, sentences, shake, step_by_step
from torch.nn import functional
from torch.testing import assert_close

from context_nmt.decoding.search import reorder
from context_nmt.mechanisms.context_aware_self_attention import ContextAwareSelfAttention
from context_nmt.mechanisms.dual_context import DualContext
from context_nmt.mechanisms.lexical_shortcuts import LexicalShortcuts
from context_nmt.models.building import build
from context_nmt.pipeline.planning import plan
from context_nmt.transformer.attention import MultiHeadAttention

PLAIN = {"mechanism": "multi_head_attention"}
DUAL = {"mechanism": "dual_context", "kernel_size": 3}
SHORTCUTS = {"mechanism": "lexical_shortcuts", "feature_fusion": True, "official_residual": True}
AWARE = {"mechanism": "context_aware_self_attention", "context": "deep_global_and_deep"}
TYPES = {
    "multi_head_attention": MultiHeadAttention,
    "dual_context": DualContext,
    "lexical_shortcuts": LexicalShortcuts,
    "context_aware_self_attention": ContextAwareSelfAttention,
}
ENCODER, DECODER, CROSS = "encoder_self_attention", "decoder_self_attention", "cross_attention"

IN_EACH_SLOT = [
    {ENCODER: encoder, DECODER: decoder, CROSS: cross}
    for encoder, decoder, cross in product((DUAL, SHORTCUTS, AWARE), (DUAL, SHORTCUTS, AWARE), (PLAIN, SHORTCUTS))
]
IN_EACH_LAYER = [
    {
        ENCODER: [{**entry, "layers": [layer]} for layer, entry in enumerate(order, start=1)],
        DECODER: [{**entry, "layers": [layer]} for layer, entry in enumerate(reversed(order), start=1)],
        CROSS: [{**SHORTCUTS, "layers": [2]}],
    }
    for order in permutations((DUAL, SHORTCUTS, AWARE))
]


def name(slots):
    """encoder-decoder-cross, the layers of a slot joined by +."""
    entries = [slot if isinstance(slot, list) else [slot] for slot in slots.values()]
    return "-".join("+".join(entry["mechanism"].split("_")[0] for entry in slot) for slot in entries)


@pytest.fixture(params=["pre", "post"])
def norm(request):
    return request.param


@pytest.fixture(params=IN_EACH_SLOT + IN_EACH_LAYER, ids=name)
def slots(request):
    return request.param


@pytest.fixture
def model(norm, slots):
    """Three layers on either side, in float64."""
    torch.manual_seed(1)
    settings = experiment(slots=slots, model={"norm": norm, "encoder_layers": 3, "decoder_layers": 3})
    chosen = plan(settings, "one").training.model
    return shake(build(chosen, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY).double()).eval()


def test_every_layer_holds_what_its_entry_says(model, slots):
    for slot, given in slots.items():
        expected = [MultiHeadAttention] * 3
        for entry in given if isinstance(given, list) else [given]:
            for layer in entry.get("layers", [1, 2, 3]):
                expected[layer - 1] = TYPES[entry["mechanism"]]
        assert [type(sublayer) for sublayer in sublayers(model, slot)] == expected


def test_step_by_step_is_what_the_whole_sentence_is(model):
    assert_close(step_by_step(model, SOURCE, TARGETS), model.output(model(SOURCE, TARGETS)), **EXACT)


def test_hypotheses_that_change_places_take_all_along(model):
    """Two hypotheses of each sentence, which swap in mid-sentence."""
    targets = sentences(*[5] * 6, seed=3)
    swapped = torch.tensor([1, 0, 3, 2, 5, 4])
    state, logits = model.start(model.encode(SOURCE)), []
    state["hypotheses"] = reorder(state["hypotheses"], torch.arange(3).repeat_interleave(2))
    for tokens in targets[:, :2].T:
        _, state = model.step(tokens, state)
    state["hypotheses"] = reorder(state["hypotheses"], swapped)
    for tokens in targets[swapped, 2:].T:
        step, state = model.step(tokens, state)
        logits.append(step)
    expected = model.output(model(SOURCE.repeat_interleave(2, dim=0), targets[swapped]))[:, 2:]
    assert_close(torch.stack(logits, dim=1), expected, **EXACT)


def test_a_step_of_training_reaches_everything_and_helps(model):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def loss():
        return functional.cross_entropy(model.output(model(SOURCE, TARGETS)).flatten(0, 1), TARGETS.flatten())

    before = loss()
    before.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in model.parameters())
    optimizer.step()
    assert loss() < before
