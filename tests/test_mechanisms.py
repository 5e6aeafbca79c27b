"""Every file in `mechanisms/` keeps the contract, and every clause of the contract finds what breaks it."""

import dataclasses

import pytest
import torch
from broken_attentions import BROKEN, mechanism, output_mechanism
from contract import CHECKS, NAME, SOURCE, TARGETS, Facts, installed, layer_context, small_place, sublayers
from small_models import (
    HEADS,
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
from context_nmt.mechanisms.hierarchical_attention import Norm
from context_nmt.models import mechanisms
from context_nmt.models.mechanisms import PLAIN
from context_nmt.models.plans import Filling
from context_nmt.transformer.attention import MultiHeadAttention, merge_heads, split_heads


def plain_parameters(place):
    """Four square matrices, with or without biases."""
    return 4 * place.width**2 + (4 * place.width if place.bias else 0)


def copy_weights(layer, plain):
    layer.load_state_dict(plain.state_dict())


def dual_context_parameters(place):
    """Papers' count with a window of 3: W_r, b_r, six square matrices, W_z, b_z and a norm."""
    square, width = place.width**2, place.width
    return 3 * 2 * square + 2 * width + 6 * square + (6 * width if place.bias else 0) + 2 * square + width + 2 * width


def without_the_local_unit(layer, plain):
    """W_z sees the global unit alone, as the plain output map."""
    copy_parts(layer.global_interaction, plain, "query", "key", "value")
    with torch.no_grad():
        layer.output.weight[:, :WIDTH] = 0
        layer.output.weight[:, WIDTH:] = plain.output.weight
        layer.output.bias.copy_(plain.output.bias)


def context_aware_parameters(place):
    """The plain ones, two maps U of the one mean that layer 1 has, and two gates."""
    return plain_parameters(place) + 2 * place.width**2 + 2 * (2 * place.width + 1)


def set_gate(gate, logit):
    with torch.no_grad():
        gate[0].weight.zero_()
        gate[0].bias.fill_(logit)


def copy_parts(layer, plain, *names):
    for name in names:
        getattr(layer, name).load_state_dict(getattr(plain, name).state_dict())


def with_closed_gates(layer, plain):
    """Queries and keys without their context."""
    for name in ("query", "key"):
        getattr(layer, name).projection.load_state_dict(getattr(plain, name).state_dict())
        set_gate(getattr(layer, name).gate, -1e4)
    copy_parts(layer, plain, "value", "output")


def with_the_global_gate(layer, plain):
    """The gate lets the whole sentence through, and the window not at all."""
    layer.load_state_dict(plain.state_dict(), strict=False)
    set_gate(layer.gate, 1e4)


class KeysOfTheRawInput(MultiHeadAttention):
    """Keys and values of what the layer receives, before its norm."""

    def forward(self, queries, context):
        raw = context.memory_states[-1] if context.memory_states else context.stack_states[-1]
        heads = [split_heads(self.query(queries), HEADS)]
        heads += [split_heads(projection(raw), HEADS) for projection in (self.key, self.value)]
        return self.output(merge_heads(self.attend(*heads, context.mask)))


def shortcut_parameters(place):
    """Queries and output as ever; with feature fusion two maps of twice the width, and a vector for each gate."""
    width = place.width
    biases = 2 * width + 2 * 2 * width if place.bias else 0
    return 2 * width**2 + 2 * (2 * width) ** 2 + 2 * width + biases


def without_shortcuts(layer, plain):
    """Closed gates, and the second half of each fused map sees the layer's input alone."""
    copy_parts(layer, plain, "query", "output")
    for name in ("key", "value"):
        fused, projection = getattr(layer, name), getattr(plain, name)
        with torch.no_grad():
            fused.mixed.bias.fill_(-1e4)
            fused.projection.weight[WIDTH:] = torch.cat([torch.zeros(WIDTH, WIDTH), projection.weight], dim=1)
            fused.projection.bias[WIDTH:] = projection.bias


def hierarchical_parameters(place):
    """Two attentions with biases, the gate, the feed-forward and five norms (papers' 4,730,880 at 512 and 2048)."""
    width, hidden = place.width, place.feed_forward_width
    return 2 * 4 * (width**2 + width) + 2 * width**2 + width + 2 * width * hidden + hidden + width + 5 * 2 * width


def with_a_closed_gate(layer, norm):
    """Nothing of the context."""
    layer.output_norm.load_state_dict(norm.state_dict())
    set_gate(layer.gate, -1e4)


class OutputNorm(Norm):
    """HAN's output norm alone."""

    def forward(self, states, _):
        return super().forward(states)


class Nothing(torch.nn.Module):
    def forward(self, states, _):
        return states


# A new mechanism adds its entry here.
FACTS = {
    PLAIN: Facts(parameters=plain_parameters, neutral=copy_weights),
    "dual_context": Facts(
        settings={"kernel_size": 3},
        parameters=dual_context_parameters,
        neutral=without_the_local_unit,
        refused=(({"kernel_size": 0}, "kernel_size: "),),
    ),
    "lexical_shortcuts": Facts(
        settings={"feature_fusion": True},
        parameters=shortcut_parameters,
        equals=mechanism(KeysOfTheRawInput),
        neutral=without_shortcuts,
    ),
    "context_aware_cross_attention": Facts(
        settings={"window": 1},
        parameters=lambda place: plain_parameters(place) + place.width // place.heads + 1,
        neutral=with_the_global_gate,
        refused=(({"window": -1}, "window: "),),
    ),
    "hierarchical_attention": Facts(
        settings={"sentences": 2},
        parameters=hierarchical_parameters,
        equals=output_mechanism(lambda place: OutputNorm(place.width)),
        neutral=with_a_closed_gate,
        refused=(({"sentences": 0}, "sentences: "),),
    ),
    "cache_memory": Facts(
        settings={"cells": 3, "sentences": 2},
        parameters=lambda place: 3 * place.width**2 + place.width,
        equals=output_mechanism(lambda _: Nothing()),
        neutral=lambda layer, _: set_gate(layer.gate, -1e4),
        refused=(({"cells": 0}, "cells: "),),
    ),
    "context_aware_self_attention": Facts(parameters=context_aware_parameters, neutral=with_closed_gates),
}

TENANTS = [(name, slot) for name in mechanisms.names() for slot in mechanisms.load(name).SLOTS]


@pytest.mark.parametrize("clause", CHECKS)
@pytest.mark.parametrize(("name", "slot"), TENANTS)
def test_the_contract(name, slot, clause):
    CHECKS[clause](mechanisms.load(name), slot, FACTS.get(name, Facts()))


# More settings, under which it keeps the clauses that say nothing of parameters or of refused settings.
OTHER_SETTINGS = {
    "dual_context": [{"kernel_size": size} for size in (1, 2, 4, 5, 8)],
    "lexical_shortcuts": [{}, {"lexical": False}, {"lexical": False, "feature_fusion": True}, {"gates": False}],
    "context_aware_cross_attention": [
        {"window": window, "center": center} for window in (0, 2) for center in ("alignment", "target")
    ],
    "context_aware_self_attention": [
        {"context": context, **more}
        for context in ("global", "deep", "deep_global", "deep_global_and_deep")
        for more in ({}, {"mixed_into": "queries"}, {"mixed_into": "keys"}, {"gate": "head"}, {"gate": "none"})
    ],
}


@pytest.mark.parametrize(
    ("name", "settings", "clause"),
    [
        (name, settings, clause)
        for name, kinds in OTHER_SETTINGS.items()
        for settings in kinds
        for clause in ("padding", "future", "steps", "reorder", "hypotheses", "alone", "gradient", "precision")
        # A softmax cancels a mean that without gates is the same in all keys: its map has a gradient of 0.
        if (clause, settings.get("gate")) != ("gradient", "none")
    ],
)
def test_every_kind_keeps_the_contract(name, settings, clause):
    for slot in mechanisms.load(name).SLOTS:
        CHECKS[clause](mechanisms.load(name), slot, Facts(settings=settings))


# What the clauses are told about the broken ones; only the last claims to be the plain attention.
BROKEN_FACTS = {clause: Facts(parameters=plain_parameters) for clause in BROKEN} | {"neutral": FACTS[PLAIN]}


def test_every_slot_can_be_filled_and_every_clause_broken():
    assert {slot for _, slot in TENANTS} == {*SLOTS, *OUTPUT_SLOTS}
    assert set(FACTS) <= set(mechanisms.names())
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
    with pytest.raises(AssertionError, match="FACTS needs an entry"):
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


# Where dropout acts inside a mechanism; that of an attention's output is the layer's.
DROPPING = {
    "dual_context": {"dropout", "attention_dropout"},
    "hierarchical_attention": {"dropout", "attention_dropout"},
    "cache_memory": set(),
}


@pytest.mark.parametrize("setting", ["dropout", "attention_dropout"])
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
    drops = setting in DROPPING.get(name, {"attention_dropout"})
    assert torch.equal(layer(states[-1:], context), layer(states[-1:], context)) != drops
    layer.eval()
    assert torch.equal(layer(states[-1:], context), layer(states[-1:], context))


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
