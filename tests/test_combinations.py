"""Mechanisms combine, as a params.yaml says it: others in each layer of each slot."""

from itertools import permutations

import pytest
import torch
from contract import SOURCE, TARGETS, assert_hypotheses, assert_reorder, assert_steps, experiment, sublayers
from small_models import VOCABULARY, shake
from torch.nn import functional

from context_nmt.mechanisms.context_aware_self_attention import ContextAwareSelfAttention
from context_nmt.mechanisms.dual_context import DualContext
from context_nmt.mechanisms.lexical_shortcuts import LexicalShortcuts
from context_nmt.models.building import build
from context_nmt.pipeline.planning import plan
from context_nmt.transformer.attention import MultiHeadAttention

DUAL = {"mechanism": "dual_context", "kernel_size": 3}
SHORTCUTS = {"mechanism": "lexical_shortcuts", "feature_fusion": True, "official_residual": True}
AWARE = {"mechanism": "context_aware_self_attention", "context": "deep_global_and_deep"}
TYPES = {
    "dual_context": DualContext,
    "lexical_shortcuts": LexicalShortcuts,
    "context_aware_self_attention": ContextAwareSelfAttention,
}
ENCODER, DECODER, CROSS = "encoder_self_attention", "decoder_self_attention", "cross_attention"

IN_EACH_LAYER = [
    {
        ENCODER: [{**entry, "layers": [layer]} for layer, entry in enumerate(order, start=1)],
        DECODER: [{**entry, "layers": [layer]} for layer, entry in enumerate(reversed(order), start=1)],
        CROSS: [{**SHORTCUTS, "layers": [2]}],
    }
    for order in permutations((DUAL, SHORTCUTS, AWARE))
]


@pytest.fixture(params=IN_EACH_LAYER, ids=str)
def slots(request):
    return request.param


@pytest.fixture(params=["pre", "post"])
def model(request, slots):
    """Three layers on either side, in float64."""
    torch.manual_seed(1)
    settings = experiment(slots=slots, model={"norm": request.param, "encoder_layers": 3, "decoder_layers": 3})
    chosen = plan(settings, "one").training.model
    return shake(build(chosen, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY).double()).eval()


def test_every_layer_has_the_mechanism_of_its_entry(model, slots):
    """And layers without an entry the plain attention."""
    for slot, entries in slots.items():
        expected = [MultiHeadAttention] * 3
        for entry in entries:
            expected[entry["layers"][0] - 1] = TYPES[entry["mechanism"]]
        assert [type(sublayer) for sublayer in sublayers(model, slot)] == expected


@pytest.mark.parametrize("holds", [assert_steps, assert_reorder, assert_hypotheses])
def test_decoding_steps_equal_the_whole_sentence(model, holds):
    """Also when hypotheses, two or more of a sentence, change places."""
    holds(model)


def test_a_step_of_training_reaches_everything(model):
    logits = model.output(model.train()(SOURCE, TARGETS))
    functional.cross_entropy(logits.flatten(0, 1), TARGETS.flatten()).backward()
    assert all(parameter.grad is not None and parameter.grad.abs().max() > 0 for parameter in model.parameters())
