"""Every file in `mechanisms/` keeps the contract, and every clause of the contract finds attentions that break it."""

import dataclasses
import math
import runpy
from typing import get_args

import contract
import pytest
import torch
from broken_attentions import BROKEN, mechanism
from contract import (
    CHECKS,
    MECHANISMS,
    MECHANISMS_AND_SLOTS,
    NAME,
    SOURCE,
    TARGETS,
    experiment,
    installed,
    layer_context,
    small_place,
    sublayers,
)
from small_models import (
    LAYERS,
    OUTPUT_SLOTS,
    SLOTS,
    WIDTH,
    InADocument,
    sentences,
    shake,
    small_model,
    small_plan,
    step_by_step,
)
from torch.testing import assert_close

from context_nmt.code_closure import digest_of_module
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.files import UserError
from context_nmt.mechanisms import multi_head_attention
from context_nmt.models import mechanisms
from context_nmt.models.building import build
from context_nmt.models.counting import describe
from context_nmt.models.plans import Filling, TrainingPlan
from context_nmt.pipeline.planning import check_variant, plan
from context_nmt.settings.model import LayerSlot, ModelSlot, TrainingSettings
from context_nmt.training.batches import Batch
from context_nmt.training.updating import Updater
from context_nmt.transformer.attention import MultiHeadAttention
from context_nmt.transformer.facts import Facts, plain_parameters


@pytest.mark.parametrize("clause", CHECKS)
@pytest.mark.parametrize(("name", "slot"), MECHANISMS_AND_SLOTS)
def test_the_contract(name, slot, clause):
    CHECKS[clause](mechanisms.load(name), slot, mechanisms.facts_of(name))


@pytest.mark.parametrize(
    ("name", "settings", "clause"),
    [
        (name, settings, clause)
        for name in MECHANISMS
        for settings in mechanisms.facts_of(name).other_settings
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


# The facts of the broken mechanisms; only the last claims to be plain attention.
BROKEN_FACTS = {clause: Facts(parameters=plain_parameters) for clause in BROKEN} | {
    "neutral": multi_head_attention.FACTS
}


def test_every_slot_can_be_filled_and_every_clause_broken():
    assert {slot for _, slot in MECHANISMS_AND_SLOTS} == {*get_args(LayerSlot), *get_args(ModelSlot)}
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


def test_a_mechanism_without_facts_fails_with_a_message():
    with pytest.raises(AssertionError, match="FACTS of this mechanism"):
        CHECKS["parameters"](multi_head_attention, "cross_attention", Facts())


class Recorder(MultiHeadAttention):
    def forward(self, queries, context):
        self.seen = queries, context
        return super().forward(queries, context)


@pytest.fixture
def recorded():
    """A model that records the inputs of each sublayer, and the layers' outputs."""
    with installed(mechanism(Recorder)):
        model = small_model(dict.fromkeys(SLOTS, (Filling(mechanism=NAME),) * LAYERS))
    outputs = {"encoder": [], "decoder": []}
    for stack, layer_outputs in outputs.items():
        for layer in getattr(model, stack).layers:
            layer.register_forward_hook(lambda _, __, output, outputs=layer_outputs: outputs.append(output[0]))
    return model, outputs


@pytest.mark.parametrize("slot", SLOTS)
def test_the_inputs_of_an_attention(recorded, slot):
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
        assert torch.equal(context.real_tokens, ids != PADDING)
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
@pytest.mark.parametrize(("name", "slot"), MECHANISMS_AND_SLOTS)
def test_dropout_inside_a_mechanism(name, slot, setting):
    mechanism = mechanisms.load(name)
    place = small_place(slot, bias=False, layer=2, **{setting: 0.5})
    layer = shake(mechanism.build(mechanism.Settings(), place))
    states = torch.randn(2, 5, WIDTH)
    memory = states[:, None] if slot == "cross_attention" else ()
    context = layer_context(states, states, causal=False, memory_states=tuple(memory))
    if slot in OUTPUT_SLOTS:
        context = InADocument(small_model({slot: (Filling(mechanism=name),)}).float()).context(1)
        context = dataclasses.replace(context, current_cross_output=states[-1:])
    arguments = states[-1:], *([] if slot == "norm" else [context])
    assert torch.equal(layer(*arguments), layer(*arguments)) != (setting in mechanisms.facts_of(name).dropping)
    layer.eval()
    assert torch.equal(layer(*arguments), layer(*arguments))


def test_in_a_step_every_sublayer_has_a_state_of_its_own(recorded):
    model, _ = recorded
    step_by_step(model, SOURCE, TARGETS)
    decoder = sublayers(model, "decoder_self_attention") + sublayers(model, "cross_attention")
    contexts = [sublayer.seen[1] for sublayer in decoder]
    assert all(isinstance(context.state, dict) for context in contexts)
    assert len({id(context.state) for context in contexts}) == 2 * LAYERS
    for context in contexts:
        assert context.real_tokens.shape == (len(SOURCE), 1)
        assert all(state.shape == (len(SOURCE), 1, WIDTH) for state in context.stack_states + context.stack_inputs)
    assert [context.causal for context in contexts] == [True] * LAYERS + [False] * LAYERS


class AskingAttention(MultiHeadAttention):
    """It reads the units and the number of the update, and adds a loss."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.register_buffer("update", torch.tensor(math.inf), persistent=False)

    def forward(self, queries, context):
        self.seen = context.ids, context.memory_ids, self.update.item()
        self.auxiliary_loss = 3 * self.key.weight.sum()
        return super().forward(queries, context)


def test_a_mechanism_may_add_a_loss_and_knows_the_update_and_the_units():
    slots = {slot: (Filling(mechanism=NAME),) * LAYERS for slot in ("encoder_self_attention", "cross_attention")}
    with installed(mechanism(AskingAttention)):
        model, usual = small_model(slots), small_model()
        plan = TrainingPlan(model=small_plan(slots), training=TrainingSettings())
    usual.load_state_dict(model.state_dict())
    targets = sentences(5, 2, 4, seed=3)
    batch = Batch(SOURCE, targets, targets, (targets != PADDING).flatten().nonzero()[:, 0], 11)
    expected = Updater(plan, usual, seed=1).evaluate([batch]).losses
    updater = Updater(plan, model, seed=1)
    losses = updater.evaluate([batch]).losses
    attentions = sublayers(model, "encoder_self_attention") + sublayers(model, "cross_attention")
    assert_close(
        losses - expected, torch.stack([sum(3 * layer.key.weight.sum() for layer in attentions), losses[0] * 0])
    )
    assert [layer.seen[2] for layer in attentions] == [math.inf] * 4
    updater.update(7, [batch])
    for layer, units in zip(attentions, [SOURCE, SOURCE, targets, targets], strict=True):
        assert torch.equal(layer.seen[0], units)
        assert layer.seen[2] == 7
        assert layer.seen[1] is None or torch.equal(layer.seen[1], SOURCE)
    assert attentions[2].seen[1] is not None
    updater.evaluate([batch])
    assert [layer.seen[2] for layer in attentions] == [math.inf] * 4


@pytest.mark.parametrize("kind", ["autoregressive", "masked"])
def test_a_mechanism_can_refuse_a_model_that_does_not_decode_from_left_to_right(kind):
    def build_causal(_, place):
        places.append(place)
        if place.slot != "encoder_self_attention" and not place.causal:
            raise UserError("only from left to right")
        return Recorder(width=place.width, heads=place.heads, bias=place.bias, dropout=place.attention_dropout)

    places, causal = [], mechanism(Recorder)
    causal.build = build_causal
    slots, settings = dict.fromkeys(SLOTS, (Filling(mechanism=NAME),) * LAYERS), {"kind": kind}
    with installed(causal):
        if kind == "masked":
            with pytest.raises(UserError, match="only from left to right"):
                small_model(slots, **settings)
            refused = experiment(slots={"cross_attention": {"mechanism": NAME}}, model=settings)
            with pytest.raises(UserError, match=r"variants\.one: only from left to right"):
                check_variant(refused, "one")
            return
        model = small_model(slots, **settings)
    model(SOURCE, TARGETS)
    assert {place.slot: place.causal for place in places} == {slot: slot != "encoder_self_attention" for slot in SLOTS}
    for sublayer in sublayers(model, "decoder_self_attention"):
        assert sublayer.seen[1].causal


def test_a_module_of_ones_own_is_a_mechanism(tmp_path, monkeypatch):
    text = f"from {multi_head_attention.__name__} import SLOTS, Settings, build\n"
    for name, addition in {"mine": "", "commented": "# why\n", "changed": "SIZE = 3\n"}.items():
        (tmp_path / name / "ideas").mkdir(parents=True)
        (tmp_path / name / "ideas/idea.py").write_text(text + addition)
    mine, commented, changed = (
        digest_of_module("ideas.idea", tmp_path / name) for name in ("mine", "commented", "changed")
    )
    assert mine == commented != changed
    monkeypatch.syspath_prepend(tmp_path / "mine")
    chosen = plan(experiment(slots={"cross_attention": {"mechanism": "ideas.idea"}}), "one").training.model
    assert [filling.mechanism for filling in chosen.slots["cross_attention"]] == ["ideas.idea"] * LAYERS
    model = build(chosen, source_vocabulary=9, target_vocabulary=9)
    assert isinstance(sublayers(model, "cross_attention")[0], MultiHeadAttention)
    for wrong, message in {
        "ideas.nobody": r"no module ideas\.nobody; it must be installed",
        "nobody.idea": r"no module nobody\.idea; it must be installed",
        "json.tool": r"the module json\.tool is not a mechanism; it has no SLOTS, Settings, build",
        ".idea": r"no mechanism '\.idea'; ",
    }.items():
        with pytest.raises(UserError, match=rf"cross_attention\.mechanism: {message}"):
            plan(experiment(slots={"cross_attention": {"mechanism": wrong}}), "one")
    with pytest.raises(UserError, match=r"no module nobody\.idea; it must be installed"):
        digest_of_module("nobody.idea", tmp_path)
    monkeypatch.setenv("MECHANISM", "ideas.idea")
    tested = runpy.run_path(contract.__file__)["MECHANISMS_AND_SLOTS"]
    assert [slot for name, slot in tested if name == "ideas.idea"] == list(multi_head_attention.SLOTS)


def test_operations_besides_products_are_counted():
    plain = describe(small_plan(), source_vocabulary=9, target_vocabulary=9)["flops_per_target_token"]
    scanning = mechanism(MultiHeadAttention)
    scanning.FACTS = Facts(further_flops=lambda place, length: 1000 * place.layer * length)
    with installed(scanning):
        slots = {"encoder_self_attention": (Filling(mechanism=NAME),) * LAYERS}
        described = describe(small_plan(slots), source_vocabulary=9, target_vocabulary=9)
    assert described["flops_per_target_token"] == plain + 1000 + 2000
