"""Every file in `mechanisms/` keeps the contract, and every clause of the contract finds what breaks it."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from contract import CHECKS, NAME, SOURCE, TARGETS, Facts, experiment, installed, sublayers
from small_models import LAYERS, SLOTS, small_model
from torch import nn
from torch.nn import functional

from context_nmt.mechanisms import multi_head_attention
from context_nmt.models import mechanisms
from context_nmt.models.planning import PLAIN, plan
from context_nmt.models.plans import Filling
from context_nmt.settings import Checked
from context_nmt.transformer.attention import MultiHeadAttention


def plain_parameters(place):
    """Four square matrices, with or without biases."""
    return 4 * place.width**2 + (4 * place.width if place.bias else 0)


def copy_weights(layer, plain):
    layer.load_state_dict(plain.state_dict())


# A new mechanism adds its entry here.
FACTS = {PLAIN: Facts(parameters=plain_parameters, neutral=copy_weights)}

TENANTS = [(name, slot) for name in mechanisms.names() for slot in mechanisms.load(name).SLOTS]


@pytest.mark.parametrize("clause", CHECKS)
@pytest.mark.parametrize(("name", "slot"), TENANTS)
def test_the_contract(name, slot, clause):
    CHECKS[clause](mechanisms.load(name), slot, FACTS.get(name, Facts()))


def test_every_slot_can_be_filled():
    assert {slot for _, slot in TENANTS} == set(SLOTS)
    assert set(FACTS) <= set(mechanisms.names())


class TwoPositionsInAStep(MultiHeadAttention):
    """In the last layer nothing reads the second one."""

    def forward(self, queries, context):
        output = super().forward(queries, context)
        last = context.state is not None and len(context.stack_states) == LAYERS
        return output.repeat(1, 2, 1) if last else output


class PaddingAsText(MultiHeadAttention):
    """The softmax also runs over the padding."""

    def forward(self, queries, context):
        return super().forward(queries, SimpleNamespace(**vars(context) | {"mask": torch.ones_like(context.mask)}))


class LargeNumberForMinusInfinity(MultiHeadAttention):
    """exp(-30) is 1e-13: too small for any tolerance, and not nothing."""

    def forward(self, queries, context):
        mask = torch.zeros(context.mask.shape, dtype=queries.dtype).masked_fill(~context.mask, -30.0)
        return super().forward(queries, SimpleNamespace(**vars(context) | {"mask": mask}))


class NoMemoryOfEarlierSteps(MultiHeadAttention):
    def forward(self, queries, context):
        if context.state is None:
            return super().forward(queries, context)
        step = {"state": None, "mask": torch.ones(1, 1, 1, 1, dtype=torch.bool)}
        return super().forward(queries, SimpleNamespace(**vars(context) | step))


class StateInTheModule(MultiHeadAttention):
    """Reordering the state does not reach what is kept elsewhere."""

    def forward(self, queries, context):
        if context.state is None:
            return super().forward(queries, context)
        if not context.state:
            self.kept = {}
            context.state["begun"] = 1
        return super().forward(queries, SimpleNamespace(**vars(context) | {"state": self.kept}))


class BatchMean(MultiHeadAttention):
    def forward(self, queries, context):
        return super().forward(queries + queries.mean(0), context)


class DetachedValues(MultiHeadAttention):
    def forward(self, queries, context):
        hook = self.value.register_forward_hook(lambda _, __, output: output.detach())
        try:
            return super().forward(queries, context)
        finally:
            hook.remove()


class OneBiasMore(MultiHeadAttention):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.bias = nn.Parameter(torch.zeros(sizes["width"]))

    def forward(self, queries, context):
        return super().forward(queries, context) + self.bias


class ScaledByTheWholeWidth(MultiHeadAttention):
    """1 / sqrt(D) where the paper has 1 / sqrt(D / H)."""

    def forward(self, queries, context):
        return super().forward(queries / self.heads**0.5, context)


@dataclass(frozen=True, kw_only=True)
class AnyValue(Checked):
    """A setting without a type takes everything."""

    kernel: Any = 1


def mechanism(attention, settings=multi_head_attention.Settings):
    def build(_, place):
        return attention(width=place.width, heads=place.heads, bias=place.bias, dropout=place.attention_dropout)

    return SimpleNamespace(SLOTS=SLOTS, Settings=settings, build=build)


# The clause that finds each, and the slots in which it can.
BROKEN = {
    "shape": (mechanism(TwoPositionsInAStep), ["decoder_self_attention", "cross_attention"]),
    "padding": (mechanism(PaddingAsText), ["encoder_self_attention", "cross_attention"]),
    "future": (mechanism(LargeNumberForMinusInfinity), ["decoder_self_attention"]),
    "steps": (mechanism(NoMemoryOfEarlierSteps), ["decoder_self_attention"]),
    "reorder": (mechanism(StateInTheModule), ["decoder_self_attention", "cross_attention"]),
    "alone": (mechanism(BatchMean), SLOTS),
    "gradient": (mechanism(DetachedValues), SLOTS),
    "settings": (mechanism(MultiHeadAttention, AnyValue), SLOTS),
    "parameters": (mechanism(OneBiasMore), SLOTS),
    "neutral": (mechanism(ScaledByTheWholeWidth), SLOTS),
}
# What the clauses are told about the broken ones; only the last claims to be the plain attention.
BROKEN_FACTS = {clause: Facts(parameters=plain_parameters) for clause in BROKEN} | {"neutral": FACTS[PLAIN]}


def test_every_clause_has_a_mechanism_that_breaks_it():
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


@pytest.mark.parametrize("slot", SLOTS)
def test_a_mechanism_in_some_layers_leaves_the_others_plain(slot):
    with installed(mechanism(ScaledByTheWholeWidth)):
        slots = plan(experiment(slots={slot: {"mechanism": NAME, "layers": [1]}}), "one").training.model.slots
        model = small_model(slots)
    assert slots[slot] == (Filling(mechanism=NAME), Filling(mechanism=PLAIN))
    assert [type(sublayer) for sublayer in sublayers(model, slot)] == [ScaledByTheWholeWidth, MultiHeadAttention]
    for other in set(SLOTS) - {slot}:
        assert [type(sublayer) for sublayer in sublayers(model, other)] == [MultiHeadAttention] * LAYERS
    assert not torch.equal(model(SOURCE, TARGETS), small_model()(SOURCE, TARGETS))


def test_mechanisms_combine():
    """Another one in each slot at once: the model takes a step of training."""
    choices = dict(zip(SLOTS, (OneBiasMore, ScaledByTheWholeWidth, DetachedValues), strict=True))
    built = SimpleNamespace(
        SLOTS=SLOTS,
        Settings=multi_head_attention.Settings,
        build=lambda settings, place: mechanism(choices[place.slot]).build(settings, place),
    )
    with installed(built):
        model = small_model(dict.fromkeys(SLOTS, (Filling(mechanism=NAME),) * LAYERS))
    for slot in SLOTS:
        assert [type(sublayer) for sublayer in sublayers(model, slot)] == [choices[slot]] * LAYERS
    functional.cross_entropy(model.output(model(SOURCE, TARGETS)).flatten(0, 1), TARGETS.flatten()).backward()
