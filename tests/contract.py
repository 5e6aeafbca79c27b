"""The contract of every mechanism in every slot that it accepts, with a function for each clause.

A clause is a function `check_NAME(mechanism, slot, facts)`. It builds small models with the mechanism in all layers of
the slot, and raises AssertionError, or the mechanism's error, if the clause is broken.
"""

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args
from unittest.mock import patch

import torch
from small_models import (
    HEADS,
    LAYERS,
    OUTPUT_SLOTS,
    SIZES,
    WIDTH,
    InADocument,
    sentences,
    shake,
    small_model,
    step_by_step,
)
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.decoding.search import reorder
from context_nmt.files import UserError
from context_nmt.models import mechanisms
from context_nmt.models.kinds.autoregressive import TranslationModel
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.mechanisms import Mechanism, plain
from context_nmt.models.plans import Filling
from context_nmt.pipeline.planning import plan
from context_nmt.settings import check
from context_nmt.settings.model import ModelSlot
from context_nmt.settings.parameters import ExperimentSettings
from context_nmt.transformer.attention import LayerContext, Place
from context_nmt.transformer.facts import Facts

# The files of `mechanisms/`, and PACKAGE.MODULE with MECHANISM=PACKAGE.MODULE in the environment.
MECHANISMS = [*mechanisms.names(), *os.environ.get("MECHANISM", "").split()]
MECHANISMS_AND_SLOTS = [(name, slot) for name in MECHANISMS for slot in mechanisms.load(name).SLOTS]
NAME = "under_test"
EXACT = {"rtol": 0, "atol": 1e-10}
SOURCE = sentences(5, 3, 4, seed=1)
TARGETS = sentences(5, 5, 5, seed=2)


def check_shape(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """The output has the shape of the queries, in training and in every step of decoding."""
    model = model_with(mechanism, slot, facts)
    shapes: list[tuple[torch.Size, torch.Size]] = []
    for sublayer in sublayers(model, slot):
        sublayer.register_forward_hook(lambda _, inputs, output: shapes.append((inputs[0].shape, output.shape)))
    model(SOURCE, TARGETS)
    step_by_step(model, SOURCE, TARGETS)
    in_encoder = 4 if slot == "encoder_output" else 2  # twice also for the previous sentences
    calls = [in_encoder if stack.startswith("encoder") else 1 + TARGETS.size(1) for stack, _, _ in owners(model, slot)]
    assert len(shapes) == sum(calls)
    assert all(queries == output for queries, output in shapes), shapes


def check_padding(mechanism: Mechanism, slot: str, facts: Facts, **model: object) -> None:
    """Longer padding changes nothing."""
    built = model_with(mechanism, slot, facts, **model)
    targets = sentences(5, 2, 4, seed=3)
    longer = [functional.pad(ids, (0, 3), value=PADDING) for ids in (SOURCE, targets)]
    real = targets != PADDING
    assert_close(built(*longer)[:, : targets.size(1)][real], built(SOURCE, targets)[real], **EXACT)


def check_future(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """No position of the decoder sees a later one: outputs are exactly equal, not nearly."""
    model = model_with(mechanism, slot, facts)
    states = model(SOURCE, TARGETS)
    for length in range(1, TARGETS.size(1)):
        changed = torch.cat([TARGETS[:, :length], sentences(*[5 - length] * 3, seed=3 + length)], dim=1)
        assert torch.equal(model(SOURCE, changed)[:, :length], states[:, :length])


def check_steps(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """Decoding step by step gives the outputs of the whole sentence."""
    assert_steps(model_with(mechanism, slot, facts))


def assert_steps(model: TranslationModel | InADocument) -> None:
    assert_close(step_by_step(model, SOURCE, TARGETS), model.output(model(SOURCE, TARGETS)), **EXACT)


def check_reorder(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """When hypotheses are reordered within a sentence, their whole decoding state is reordered with them."""
    assert_reorder(model_with(mechanism, slot, facts))


def assert_reorder(model: TranslationModel | InADocument) -> None:
    rows = torch.tensor([2, 0, 1])
    state = model.start(model.encode(SOURCE))
    for tokens in TARGETS[:, :3].T:
        _, state = model.step(tokens, state)
    state, logits = reorder(state, rows), []
    for tokens in TARGETS[rows, 3:].T:
        step, state = model.step(tokens, state)
        logits.append(step)
    expected = step_by_step(model, SOURCE[rows], TARGETS[rows])[:, 3:]
    assert_close(torch.stack(logits, dim=1), expected, **EXACT)


def check_hypotheses(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """Hypotheses that share the memory of their sentence have the same outputs as with a memory of their own."""
    assert_hypotheses(model_with(mechanism, slot, facts))


def assert_hypotheses(model: TranslationModel | InADocument) -> None:
    targets = sentences(*[5] * 9, seed=3)  # three for each sentence
    state, logits = model.start(model.encode(SOURCE)), []
    state["hypotheses"] = reorder(state["hypotheses"], torch.arange(3).repeat_interleave(3))
    for tokens in targets.T:
        step, state = model.step(tokens, state)
        logits.append(step)
    expected = step_by_step(model, SOURCE.repeat_interleave(3, dim=0), targets)
    assert_close(torch.stack(logits, dim=1), expected, **EXACT)


def check_alone(mechanism: Mechanism, slot: str, facts: Facts, **model: object) -> None:
    """A sentence alone has the same outputs as in a batch."""
    built = model_with(mechanism, slot, facts, **model)
    source = sentences(5, 5, 5, seed=1)
    states = built(source, TARGETS)
    for row in range(len(source)):
        assert_close(built(source[[row]], TARGETS[[row]]), states[[row]], **EXACT)


def check_gradient(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """The loss reaches every parameter."""
    for biased in (False, True):
        model = model_with(mechanism, slot, facts, attention_bias=biased)
        logits = model.output(model(SOURCE, TARGETS))
        functional.cross_entropy(logits.flatten(0, 1), TARGETS.flatten()).backward()
        for sublayer in sublayers(model, slot):
            for name, parameter in sublayer.named_parameters():
                assert parameter.grad is not None, f"{name} has no gradient"
                # A softmax cancels a bias of the keys: its gradient may be 0.
                free = biased or name.endswith("key.bias")
                assert free or parameter.grad.abs().max() > 1e-12, f"{name} has a gradient of 0"


def check_updates(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """No state is kept between updates: the same batch with the same weights has the same gradients again."""
    model = model_with(mechanism, slot, facts).train()
    gradients = []
    for _ in range(2):
        model.zero_grad()
        logits = model.output(model(SOURCE, TARGETS))
        functional.cross_entropy(logits.flatten(0, 1), TARGETS.flatten()).backward()
        gradients.append([parameter.grad for parameter in model.parameters() if parameter.grad is not None])
    assert_close(*gradients, rtol=0, atol=0)


def check_precision(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """Training in bf16 gives nearly the outputs of fp32, and gradients; weights in bf16, nearly the same outputs."""
    model = model_with(mechanism, slot, facts).float()
    expected = model(SOURCE, TARGETS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states = model(SOURCE, TARGETS)
    states.float().sum().backward()
    for rounded in (states, model.bfloat16()(SOURCE, TARGETS)):
        errors = (rounded.float() - expected).abs()
        assert errors.square().mean().sqrt() < 0.1, errors
        assert errors.max() < 0.5, errors


def check_recorded(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """Recording attention weights does not change the output, and the weights of a query sum to 1."""
    model = model_with(mechanism, slot, facts)
    expected, weights = model(SOURCE, TARGETS), list[Tensor]()
    for sublayer in sublayers(model, slot):
        for name in sublayer.shows.weights if hasattr(sublayer, "shows") else ():
            sublayer.get_submodule(name).register_forward_hook(lambda _, __, output: weights.append(output))
    assert_close(model(SOURCE, TARGETS), expected, **EXACT)
    for shares in weights:
        assert_close(shares.sum(-1), torch.ones_like(shares[..., 0]), **EXACT)


def check_settings(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """An invalid setting is refused in one line that names the key in params.yaml."""
    fields = [field.name for field in dataclasses.fields(mechanism.Settings)]
    misspelt = "unknown_" + (fields[0] if fields else "setting")
    refused: list[tuple[dict[str, Any], str]] = [({misspelt: 1}, f"{misspelt}: unknown key"), *facts.refused]
    refused += [({field: {"of": "another type"}}, f"{field}: ") for field in fields]
    for settings, words in refused:
        message = refusal(mechanism, slot, {**facts.settings, **settings})
        assert message.startswith(f"params.yaml: variants.one.slots.{slot}"), message
        assert words in message, message
        assert "\n" not in message


def check_parameters(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """A layer has the number of parameters in the paper."""
    assert facts.parameters is not None, "FACTS of this mechanism must say how many parameters a layer has"
    for biased in (False, True):
        place = small_place(slot, bias=biased)
        layer = mechanism.build(mechanism.Settings(**facts.settings), place)
        assert sum(parameter.numel() for parameter in layer.parameters()) == facts.parameters(place)


def check_neutral(mechanism: Mechanism, slot: str, facts: Facts) -> None:
    """With neutral weights it equals the module that FACTS names."""
    if facts.neutral is None:
        return
    place = small_place(slot, bias=True)
    model = model_with(mechanism, slot, facts, attention_bias=True)
    reference = model_with(mechanism, slot, facts, attention_bias=True)
    plain_mechanism = mechanisms.load(plain(slot))
    for sublayer, (_, owner, name) in zip(sublayers(model, slot), owners(reference, slot), strict=True):
        equal = facts.equals(place) if facts.equals else plain_mechanism.build(plain_mechanism.Settings(), place)
        facts.neutral(sublayer, shake(equal.double()))
        setattr(owner, name, equal.eval())
    assert_close(model(SOURCE, TARGETS), reference(SOURCE, TARGETS), **EXACT)


CHECKS = {name.removeprefix("check_"): value for name, value in list(globals().items()) if name.startswith("check_")}


@contextmanager
def installed(mechanism: Mechanism) -> Iterator[None]:
    """Inside the block, the mechanism NAME is `mechanism`, as if it were a file in `mechanisms/`."""
    load = mechanisms.load
    with patch.object(mechanisms, "load", lambda name: mechanism if name == NAME else load(name)):
        yield


def layer_context(states: Sequence[Tensor], inputs: Sequence[Tensor], *, causal: bool, **fields: Any) -> LayerContext:
    """The context of a layer for a sentence without padding, given the stack's states and inputs, [T, D] each."""
    length = len(states[-1])
    mask = torch.ones(1, 1, length, length, dtype=torch.bool)
    ids = torch.ones(1, length, dtype=torch.long)
    defaults = {
        "stack_states": tuple(tensor[None] for tensor in states),
        "stack_inputs": tuple(tensor[None] for tensor in inputs),
        "mask": mask.tril() if causal else mask,
        "real_tokens": ids.bool(),
        "ids": ids,
    }
    return LayerContext(**(defaults | fields), causal=causal)


def model_with(mechanism: Mechanism, slot: str, facts: Facts, **model: object) -> TranslationModel | InADocument:
    """A small model with the mechanism in all layers of a slot or after a stack, and plain mechanisms elsewhere."""
    with installed(mechanism):
        filling = Filling(mechanism=NAME, settings=facts.settings)
        built = small_model({slot: (filling,) * (1 if slot in get_args(ModelSlot) else LAYERS)}, **model)
    return InADocument(built) if isinstance(built, DocumentModel) else built


def sublayers(model: TranslationModel | InADocument, slot: str) -> list[nn.Module]:
    """The modules that fill a slot, layer by layer."""
    return [getattr(owner, name) for _, owner, name in owners(model, slot)]


NAMES = {
    "encoder_self_attention": r"encoder\.layers\.\d+\.self_attention",
    "decoder_self_attention": r"decoder\.layers\.\d+\.self_attention",
    "cross_attention": r"decoder\.layers\.\d+\.cross_attention",
    "encoder_feed_forward": r"encoder\.layers\.\d+\.feed_forward\.network",
    "decoder_feed_forward": r"decoder\.layers\.\d+\.feed_forward\.network",
    "norm": r".*residual\.norm|(encoder|decoder)\.final_norm",
}


def owners(model: TranslationModel | InADocument, slot: str) -> list[tuple[str, nn.Module, str]]:
    """For each module that fills a slot: its stack, the module that contains it, and its name there."""
    if slot in OUTPUT_SLOTS:
        return [(slot, model.model, slot)]
    paths = [path.split(".") for path, _ in model.named_modules() if re.fullmatch(NAMES[slot], path)]
    return [(stack, model.get_submodule(".".join([stack, *inner])), name) for stack, *inner, name in paths]


def small_place(slot: str, *, bias: bool = True, **changes: Any) -> Place:
    """The Place of a slot in the first layer of a model of small_models, with changes."""
    causal = slot.startswith(("decoder", "cross"))
    sizes = {"layer": 1, "causal": causal, "width": WIDTH, "feed_forward_width": 12, "heads": HEADS}
    return Place(slot=slot, bias=bias, **{**sizes, "dropout": 0.0, "attention_dropout": 0.0, **changes})


def refusal(mechanism: Mechanism, slot: str, settings: dict[str, Any]) -> str:
    """The error message about these settings in a params.yaml."""
    with installed(mechanism):
        try:
            plan(experiment(slots={slot: {"mechanism": NAME, **settings}}), "one")
        except UserError as error:
            return str(error)
    raise AssertionError(f"{settings} is accepted")


def experiment(*, top_level: dict[str, Any] | None = None, **variant: Any) -> ExperimentSettings:
    """An experiment with a variant named `one`, given its keys and keys of the top level."""
    values = {
        "root": ".",
        "corpus": {"name": "any", "source": "en", "target": "de", "tests": ["test"]},
        "model": SIZES,
        "variants": {"plain": {}, "one": variant},
        "train": {"bitext": ["plain", "one"]},
        "seeds": [1],
        "focus": "one",
    }
    return check(ExperimentSettings, values | (top_level or {}), where="params.yaml")
