"""An update does not wait for a GPU: it also runs on the device `meta`, which has no values to wait for."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import get_args

import pytest
import torch
from contract import MECHANISMS_AND_SLOTS
from small_models import LAYERS, VOCABULARY, sentences, small_plan, step_by_step
from tiny_training import RUN, make_experiment, train
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models import mechanisms
from context_nmt.models.building import build
from context_nmt.models.plans import Filling, TrainingPlan
from context_nmt.settings.model import ModelSlot, TrainingSettings
from context_nmt.training import batches, trainer
from context_nmt.training.batches import PREFETCHED, Batch, pairs_for, prefetch
from context_nmt.training.capturing import with_few_shapes
from context_nmt.training.losses import Objective
from context_nmt.training.trainer import train_run
from context_nmt.training.updating import Updater
from context_nmt.transformer.attention import ScaledDotProduct

META, GPU = torch.device("meta"), torch.device("cuda")
KINDS = [
    *(
        ({slot: (Filling(mechanism=name, settings=mechanisms.facts_of(name).settings),) * count}, {})
        for name, slot in MECHANISMS_AND_SLOTS
        for count in [1 if slot in get_args(ModelSlot) else LAYERS]
    ),
    ({}, {"kind": "masked", "positions": "learned", "maximum_positions": 32}),
]


class _NoCopies(TorchFunctionMode):
    """Refuse Python's values as a tensor of `meta` or as its index: on a GPU they are copied, and the program waits."""

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function in (torch.tensor, torch.as_tensor):
            assert torch.device(options.get("device") or "cpu") != META
        if function in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and arguments[0].is_meta:
            indices = arguments[1] if isinstance(arguments[1], tuple) else arguments[1:]
            assert not any(isinstance(index, list) for index in indices)
        return function(*arguments, **options)


class _NoMixing(TorchDispatchMode):
    """Refuse tensors of the CPU where there is one of `meta`; a kernel takes a single number as an argument."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        values = tree_leaves((arguments, options or {}))
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        copied = any(not tensor.is_meta and tensor.dim() for tensor in tensors)
        devices = [tensor.device for tensor in tensors] + [value for value in values if isinstance(value, torch.device)]
        assert not (copied and META in devices), function
        return function(*arguments, **(options or {}))


@pytest.mark.parametrize(
    "work",
    [
        lambda there, here: there[:, [1, 2]],
        lambda there, here: there.index_select(1, here),
        lambda there, here: torch.tensor([1], device=META),
        lambda there, here: here.to(META),
        lambda there, here: there.copy_(here),
    ],
)
def test_what_brings_values_from_the_cpu_is_refused(work):
    with pytest.raises(AssertionError), _NoCopies(), _NoMixing():
        work(torch.zeros(3, 3, device=META), torch.tensor([1, 2, 0]))


@pytest.fixture
def everything_on_meta(monkeypatch):
    """PyTorch's autocast and its fused Adam, which do not wait, do not know the device."""
    monkeypatch.setattr(torch, "autocast", lambda *arguments, **options: nullcontext())
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self: None)


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_an_update_and_a_validation_read_no_value(slots, settings, everything_on_meta):
    plan = TrainingPlan(model=small_plan(slots, **settings), training=TrainingSettings(clip_norm=1.0))
    model = build(plan.model, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY).to(META)
    ids, previous = torch.full((3, 5), 5), torch.full((3, model.context_sentences), -1)
    batch = Batch(ids, ids, ids, torch.arange(15), 15, previous if model.in_documents else None).to(META)
    captured = replace(batch, predicted=None)  # as a CUDA graph needs it
    updater = Updater(plan, model, seed=1)
    with _NoCopies(), _NoMixing():
        totals = updater.update(1, [batch, batch, captured]) + updater.evaluate([batch, captured])
    assert totals.tokens == 75
    with pytest.raises(RuntimeError, match="meta"):
        totals.means("the loss")


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_with_few_shapes_losses_and_gradients_are_the_same(slots, settings, tmp_path):
    """And no side is longer than the learned positions."""
    plan = TrainingPlan(model=small_plan(slots, **settings), training=TrainingSettings())
    text = BinarizedCorpus(make_experiment(tmp_path, task="previous").binarized)
    model = build(plan.model, source_vocabulary=20, target_vocabulary=20).double()
    pairs, objective = pairs_for(model, text, "train", None), Objective(model, plan)
    longer = False
    for _, indices in islice(pairs.endless(tokens=64, seed=1), 4):
        batch = pairs.load(indices)
        captured, found = with_few_shapes(batch, model), []
        longer |= captured.source.size(1) > batch.source.size(1)
        assert captured.source.size(1) % 4 == captured.targets.size(1) % 4 == 0
        for version in (batch, captured):
            loss = objective(version)
            gradients = torch.autograd.grad(loss.smoothed, list(model.parameters()), allow_unused=True)
            found.append((loss.sums(), gradients))
        torch.testing.assert_close(*found, rtol=1e-9, atol=1e-9)
    assert longer


@pytest.mark.parametrize(("length", "positions", "expected"), [(1, 32, 4), (32, 99, 32), (33, 99, 40), (30, 30, 30)])
def test_lengths_are_rounded_up_to_the_learned_positions(length, positions, expected):
    plan = small_plan(kind="masked", positions="learned", maximum_positions=positions)
    model = build(plan, source_vocabulary=20, target_vocabulary=20)
    ids = torch.full((3, length), 5)
    batch = with_few_shapes(Batch(ids, ids, ids, torch.arange(3 * length), 3 * length), model)
    assert {ids.shape for ids in batch.tensors.values()} == {(3, expected)}
    assert int((batch.source != PADDING).sum()) == batch.tokens == 3 * length


@pytest.mark.parametrize(("slots", "settings"), KINDS)
def test_a_mask_that_a_gpu_does_without_hides_later_positions_and_nothing_else(slots, settings, monkeypatch):
    attend, seen = ScaledDotProduct.forward, []

    def watched(self, queries, keys, values, mask, *, causal=False, bias=None):
        if causal:
            seen.append((mask, queries.size(2), keys.size(2)))
        return attend(self, queries, keys, values, mask, causal=causal, bias=bias)

    monkeypatch.setattr(ScaledDotProduct, "forward", watched)
    model = build(small_plan(slots, **settings), source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY).eval()
    with torch.no_grad():
        model(sentences(5, 3, seed=1), sentences(2, 4, seed=2))
        if "kind" not in settings:
            step_by_step(model, sentences(5, 3, seed=1), sentences(2, 4, seed=2))
    assert bool(seen) == ("kind" not in settings)
    for mask, queries, keys in seen:
        expected = torch.ones(keys, keys, dtype=torch.bool).tril()[keys - queries :]
        assert torch.equal(mask.expand(1, 1, queries, keys)[0, 0], expected)
        assert queries in (keys, 1)


@pytest.mark.parametrize(("queries", "keys"), [(4, 4), (1, 3)])
def test_a_gpu_attends_without_a_mask_that_is_only_causal(queries, keys):
    seen = []

    class _Masks(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), options=None):
            seen.append(((*arguments, *(options or {}).values()), options or {}))
            return function(*arguments, **(options or {}))

    states = torch.zeros(2, 1, keys, 3, device=META)
    mask = torch.ones(1, 1, queries, keys, dtype=torch.bool, device=META)
    with _Masks():
        attended = ScaledDotProduct(dropout=0.0)(states[:, :, :queries], states, states, mask, causal=True)
    assert attended.shape == (2, 1, queries, 3)
    assert not any(value is mask for values, _ in seen for value in values)
    assert [options["is_causal"] for _, options in seen if "is_causal" in options] == [True] * (queries > 1)


def test_a_thread_makes_the_next_batches_of_a_gpu_and_stops_when_nobody_takes_them():
    made = []
    items = prefetch((made.append(number) or number for number in range(9)), GPU)
    assert next(items) == 0
    items.close()
    assert made == list(range(1 + PREFETCHED))
    assert list(prefetch(iter(range(9)), GPU)) == list(range(9))
    taken = prefetch((1 / number for number in (1, 0)), GPU)
    assert next(taken) == 1
    with pytest.raises(ZeroDivisionError):  # raised where batches are taken
        next(taken)


def test_prefetched_batches_equal_those_of_a_cpu(tmp_path, monkeypatch):
    masked = {"kind": "masked", "positions": "learned", "maximum_positions": 32}
    changes = {"model": masked, "training": {"accumulation": 2, "maximum_sentence_length": 30}}
    expected = train(tmp_path / "one", **changes).curve(RUN).read_bytes()
    monkeypatch.setattr(trainer, "prefetch", lambda items, device: batches.prefetch(items, GPU))
    experiment = make_experiment(tmp_path / "two", **changes)
    train_run(experiment, "plain", 1, device="cpu")
    assert experiment.curve(RUN).read_bytes() == expected
