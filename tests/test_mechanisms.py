"""Every file in `mechanisms/` keeps the contract, and every clause of the contract finds what breaks it."""

import dataclasses
from typing import get_args

import pytest
import torch
from broken_attentions import BROKEN, mechanism
from contract import CHECKS, NAME, SOURCE, TARGETS, installed, layer_context, small_place, sublayers
from small_models import (
    LAYERS,
    OUTPUT_SLOTS,
    SLOTS,
    WIDTH,
    InADocument,
    sentences,
    shake,
    small_model,
    step_by_step,
)
from torch.testing import assert_close

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.mechanisms import multi_head_attention
from context_nmt.models import mechanisms
from context_nmt.models.plans import Filling
from context_nmt.settings.model import LayerSlot, ModelSlot
from context_nmt.transformer.attention import MultiHeadAttention
from context_nmt.transformer.facts import Facts, plain_parameters

TENANTS = [(name, slot) for name in mechanisms.names() for slot in mechanisms.load(name).SLOTS]


@pytest.mark.parametrize("clause", CHECKS)
@pytest.mark.parametrize(("name", "slot"), TENANTS)
def test_the_contract(name, slot, clause):
    CHECKS[clause](mechanisms.load(name), slot, mechanisms.load(name).FACTS)


@pytest.mark.parametrize(
    ("name", "settings", "clause"),
    [
        (name, settings, clause)
        for name in mechanisms.names()
        for settings in mechanisms.load(name).FACTS.other_settings
        for clause in (
            "padding",
            "future",
            "steps",
            "reorder",
            "hypotheses",
            "alone",
            "gradient",
            "precision",
            "recorded",
        )
        # A softmax cancels a mean that without gates is the same in all keys: its map has a gradient of 0.
        if (clause, settings.get("gate")) != ("gradient", "none")
    ],
)
def test_every_kind_keeps_the_contract(name, settings, clause):
    for slot in mechanisms.load(name).SLOTS:
        CHECKS[clause](mechanisms.load(name), slot, Facts(settings=settings))


# What the clauses are told about the broken ones; only the last claims to be the plain attention.
BROKEN_FACTS = {clause: Facts(parameters=plain_parameters) for clause in BROKEN} | {
    "neutral": multi_head_attention.FACTS
}


def test_every_slot_can_be_filled_and_every_clause_broken():
    assert {slot for _, slot in TENANTS} == {*get_args(LayerSlot), *get_args(ModelSlot)}
    assert list(BROKEN) == list(CHECKS)


@pytest.mark.parametrize("clause", CHECKS)
@pytest.mark.parametrize(
    ("broken", "slot"), [(clause, slot) for clause, (_, slots) in BROKEN.items() for slot in slots]
)
def test_a_broken_mechanism_fails_its_clause_and_no_other(broken, slot, clause):
    def run():
        CHECKS[clause](BROKEN[broken][0], slot, BROKEN_FACTS[broken])

    if clause != broken:
        run()
        return
    with pytest.raises(AssertionError):
        run()


def test_a_mechanism_without_facts_is_told_what_is_missing():
    with pytest.raises(AssertionError, match="FACTS of this mechanism"):
        CHECKS["parameters"](multi_head_attention, "cross_attention", Facts())


class Recorder(MultiHeadAttention):
    def forward(self, queries, context):
        self.seen = queries, context
        return super().forward(queries, context)


@pytest.fixture
def recorded():
    """A model that remembers what each sublayer was given, and the layers' outputs."""
    with installed(mechanism(Recorder)):
        model = small_model(dict.fromkeys(SLOTS, (Filling(mechanism=NAME),) * LAYERS))
    outputs = {"encoder": [], "decoder": []}
    for stack, seen in outputs.items():
        for layer in getattr(model, stack).layers:
            layer.register_forward_hook(lambda _, __, output, seen=seen: seen.append(output[0]))
    return model, outputs


@pytest.mark.parametrize("slot", SLOTS)
def test_what_an_attention_is_given(recorded, slot):
    model, outputs = recorded
    targets = sentences(5, 2, 4, seed=3)
    model(SOURCE, targets)
    stack = "encoder" if slot.startswith("encoder") else "decoder"
    ids, embedding = (SOURCE, model.source_embedding) if stack == "encoder" else (targets, model.target_embedding)
    states = (embedding(ids), *outputs[stack])
    layers = getattr(model, stack).layers
    inputs = tuple(layer.residual.enter(state) for layer, state in zip(layers, states, strict=False))
    memory = model.source_embedding(SOURCE), *outputs["encoder"][:-1], model.encoder.final_norm(outputs["encoder"][-1])
    mask = (
        torch.ones(5, 5, dtype=torch.bool).tril() if slot == "decoder_self_attention" else (SOURCE != PADDING)[:, None]
    )
    for depth, sublayer in enumerate(sublayers(model, slot)):
        queries, context = sublayer.seen
        assert_close(context.stack_states, states[: depth + 1])
        assert_close(context.stack_inputs, inputs[: depth + 1])
        assert slot == "cross_attention" or queries is context.stack_inputs[-1]
        assert torch.equal(context.mask, mask.view(-1, 1, *mask.shape[-2:]))
        assert context.causal == (slot == "decoder_self_attention")
        assert torch.equal(context.padding, ids != PADDING)
        assert context.state is None
        assert_close(context.memory_states, memory if slot == "cross_attention" else ())


def test_all_layers_see_the_embeddings_as_dropout_left_them(recorded):
    model, _ = recorded
    embedded = {}
    for stack, embedding in (("encoder", model.source_embedding), ("decoder", model.target_embedding)):
        embedding.dropout.probability = 0.5
        embedding.register_forward_hook(lambda _, __, output, stack=stack: embedded.setdefault(stack, output))
    model.train()(SOURCE, TARGETS)
    assert (embedded["decoder"] == 0).double().mean().item() == pytest.approx(0.5, abs=0.2)
    for slot in SLOTS:
        for sublayer in sublayers(model, slot):
            context = sublayer.seen[1]
            assert context.stack_states[0] is embedded["encoder" if slot.startswith("encoder") else "decoder"]
            assert slot != "cross_attention" or context.memory_states[0] is embedded["encoder"]


@pytest.mark.parametrize("setting", ["dropout", "attention_dropout", "feed_forward_dropout"])
@pytest.mark.parametrize(("name", "slot"), TENANTS)
def test_dropout_inside_a_mechanism(name, slot, setting):
    mechanism = mechanisms.load(name)
    place = small_place(slot, bias=False, layer=2, **{setting: 0.5})
    layer = shake(mechanism.build(mechanism.Settings(), place))
    states = torch.randn(2, 5, WIDTH)
    seen = states[:, None] if slot == "cross_attention" else ()
    context = layer_context(states, states, causal=False, memory_states=tuple(seen))
    if slot in OUTPUT_SLOTS:
        context = InADocument(small_model({slot: (Filling(mechanism=name),)}).float()).context(1)
        context = dataclasses.replace(context, own_crossed=states[-1:])
    given = states[-1:], *([] if slot == "norm" else [context])
    assert torch.equal(layer(*given), layer(*given)) != (setting in mechanism.FACTS.dropping)
    layer.eval()
    assert torch.equal(layer(*given), layer(*given))


def test_in_a_step_every_sublayer_has_a_state_of_its_own(recorded):
    model, _ = recorded
    step_by_step(model, SOURCE, TARGETS)
    decoder = sublayers(model, "decoder_self_attention") + sublayers(model, "cross_attention")
    contexts = [sublayer.seen[1] for sublayer in decoder]
    assert all(isinstance(context.state, dict) for context in contexts)
    assert len({id(context.state) for context in contexts}) == 2 * LAYERS
    for context in contexts:
        assert context.padding.shape == (len(SOURCE), 1)
        assert all(state.shape == (len(SOURCE), 1, WIDTH) for state in context.stack_states + context.stack_inputs)
    assert [context.causal for context in contexts] == [True] * LAYERS + [False] * LAYERS
