"""Training through its public interface: it learns, gives the same bytes again, and keeps the right checkpoints."""

import math
import re
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny_training import REVERSING, RUN, column, make_experiment, rows, summary, train, weights_after

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import PADDING, SPECIALS, Vocabulary
from context_nmt.decoding import validation
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError
from context_nmt.models import checkpoints, devices
from context_nmt.models.averaging import average_run
from context_nmt.models.building import build
from context_nmt.models.plans import TrainingPlan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.training import reporting, trainer
from context_nmt.training.batches import Pairs, pairs_for
from context_nmt.training.trainer import train_run


def content(experiment, run=RUN):
    files = {path.name: path.read_bytes() for path in experiment.checkpoints(run).iterdir()}
    return files | {"curve": experiment.curve(run).read_bytes()}


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run that has learned to reverse strings of up to 4 digits."""
    training = REVERSING["training"] | {"validation_bleu": True}
    return train(tmp_path_factory.mktemp("learned"), **REVERSING | {"training": training})


@pytest.mark.slow
def test_it_learns_to_reverse_digits(learned):
    average_run(learned, "plain", 1)
    model = checkpoints.load_run(learned.model(RUN), torch.device("cpu"))
    source, target = BinarizedCorpus(learned.binarized).parallel("valid")
    translations = translate_ids(model, source, DecodingSettings(beam=1))
    are_right = [n_best[0].tokens == tuple(target[number]) for number, n_best in enumerate(translations)]
    assert sum(are_right) / len(are_right) >= 0.85  # five seeds, with AVX2 and without: at least 0.95


@pytest.mark.slow
def test_the_curve_shows_how_it_learns(learned):
    first, last = rows(learned)
    assert (first["update"], last["update"]) == (250, 500)
    assert first["epoch"] < last["epoch"]
    assert last["valid_nll"] < first["valid_nll"] < last["valid_nll"] + 1
    assert last["valid_loss"] > last["valid_nll"]  # smoothing keeps it from 0
    assert last["valid_perplexity"] == pytest.approx(math.exp(last["valid_nll"]), rel=1e-5)
    assert last["learning_rate"] == pytest.approx(0, abs=1e-12)
    assert first["learning_rate"] == pytest.approx(
        0.25 * (48 * 50) ** -0.5 * (0.5 + 0.5 * math.cos(math.pi * 200 / 450)), rel=1e-6
    )
    assert last["valid_bleu"] > 80  # at least 94 with other seeds
    _, metadata = checkpoints.load(learned.checkpoints(RUN) / "checkpoint-00000500.safetensors")
    assert metadata["validation"]["valid_bleu"] == pytest.approx(last["valid_bleu"], rel=1e-6)


def test_validation_bleu_counts_words(tmp_path, monkeypatch):
    """Units are joined into words, and the hypotheses of greedy search are in the order of the references."""
    target = [np.array(sentence) for sentence in ([4, 5, 6, 7, 8, 9], [6, 5, 4, 5, 7])]
    corpus = SimpleNamespace(
        documents=lambda split: None,
        validation="valid",
        parallel=lambda split: {"valid": ("sources", target)}[split],
        target_vocabulary=Vocabulary((*SPECIALS, "a@@", "b", "c", "d", "e", "f.")),
    )

    def translated(model, source, settings, *, documents):
        assert (source, settings.beam) == ("sources", 1)
        outputs = [(4, 5, 6, 7, 8, 9), (6, 5, 4, 5, 8)]  # ab c d e f. | c b ab e, one word of nine wrong
        return [[SimpleNamespace(tokens=tokens), SimpleNamespace(tokens=(6,))] for tokens in outputs]

    monkeypatch.setattr(validation, "translate_ids", translated)
    bleu = validation.validation_bleu(torch.nn.Linear(1, 1), corpus)
    assert bleu == pytest.approx(100 * (8 / 9 * 6 / 7 * 4 / 5 * 2 / 3) ** 0.25)


def test_the_validation_loss_is_the_loss_of_the_saved_model(tmp_path):
    """Dropout is off, every pair counts once, and the mean is over target units."""
    experiment = train(tmp_path, training={"maximum_updates": 1}, model={"dropout": 0.5})
    average_run(experiment, "plain", 1)
    corpus = BinarizedCorpus(experiment.binarized)
    model = checkpoints.load_run(experiment.model(RUN), torch.device("cpu"), corpus)
    pairs = Pairs(*corpus.parallel("valid"), maximum_length=None)
    batch = pairs.load(pairs.kept)
    with torch.no_grad():
        logits = model.output(model(batch.source, batch.target_inputs))
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=PADDING)
    assert column(experiment, "valid_nll") == pytest.approx([expected.item()], rel=1e-5)


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path):
    torch.manual_seed(77)  # earlier random draws do not matter
    expected = content(train(tmp_path / "one"))
    torch.manual_seed(78)
    np.random.seed(78)
    assert content(train(tmp_path / "two")) == expected
    other = content(train(tmp_path / "three", seed=2), "plain-2")
    assert other.keys() == expected.keys()
    assert all(other[name] != expected[name] for name in expected if name != "summary.json")


def test_validations_do_not_change_weights(tmp_path):
    often = train(tmp_path / "often", training={"validate_every": 1})
    once = train(tmp_path / "once", training={"validate_every": 6})
    weights = [weights_after(experiment, 6) for experiment in (often, once)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_two_accumulated_batches_equal_one(tmp_path, monkeypatch):
    """A batch that is split into two parts with unequal numbers of units gives the same update."""
    settings = {"maximum_updates": 3, "validate_every": 1, "keep_last": 3, "batch_tokens": 100_000}
    model = {"dropout": 0.0}
    whole = train(tmp_path / "whole", pairs=90, model=model, training=settings)

    def halves(self, *, tokens, random=None):
        order = self.kept if random is None else random.permutation(self.kept)
        return [order[: len(order) // 3], order[len(order) // 3 :]]

    monkeypatch.setattr(Pairs, "batches", halves)
    parts = train(tmp_path / "parts", pairs=90, model=model, training=settings | {"accumulation": 2})
    for name in ("train_loss", "train_nll", "valid_loss"):
        assert column(parts, name) == pytest.approx(column(whole, name), rel=1e-5)
    assert column(parts, "epoch") == column(whole, "epoch") == [1, 2, 3]
    weights, expected = (weights_after(experiment, 3) for experiment in (parts, whole))
    for name in expected:
        torch.testing.assert_close(weights[name], expected[name], rtol=0, atol=2e-4)  # the rate is 7.5e-3 by now


@pytest.mark.parametrize("slots", [{}, {"encoder_output": {"mechanism": "hierarchical_attention", "sentences": 1}}])
@pytest.mark.parametrize("maximum_updates", [1000, 5])
def test_epochs_end_a_training_and_its_validations(tmp_path, slots, maximum_updates):
    """The update that reads the last batch of an epoch ends it; with accumulation, it may read one of the next."""
    schedule = {"kind": "cosine", "warmup": 2, "peak_rate": 0.01}
    training = {"accumulation": 2, "batch_tokens": 64, "keep_last": 9, "schedule": schedule}
    training |= {"maximum_epochs": 3, "validate_every": None, "maximum_updates": maximum_updates}
    experiment = make_experiment(
        tmp_path, task="previous", pairs=91, training=training, variants={"plain": {"slots": slots}}
    )
    model = build(
        TrainingPlan.read(experiment.plan("plain", "training")).model, source_vocabulary=9, target_vocabulary=9
    )
    pairs = pairs_for(model, BinarizedCorpus(experiment.binarized), "train", None)
    epochs = [epoch for epoch, _ in islice(pairs.endless(tokens=64, seed=1), 100)]
    assert epochs.count(1) % 2
    ends = [math.ceil(sum(epoch <= end for epoch in epochs) / 2) for end in (1, 2, 3)]
    train_run(experiment, "plain", 1, device="cpu")
    last = min(maximum_updates, ends[-1])
    assert column(experiment, "update") == [*(end for end in ends if end < last), last]
    assert column(experiment, "learning_rate")[-1] == pytest.approx(0, abs=1e-12)


def test_epochs_that_end_within_the_warmup_of_a_cosine_are_refused(tmp_path):
    schedule = {"kind": "cosine", "warmup": 3}
    training = {"maximum_epochs": 1, "batch_tokens": 100_000, "maximum_updates": 9, "schedule": schedule}
    with pytest.raises(UserError, match=r"maximum_epochs is 1, which makes 1 updates; .*schedule\.warmup \(3\)"):
        train(tmp_path, training=training)


def test_sentences_that_are_too_long_are_left_out_and_counted(tmp_path):
    """The last update is validated even if it is not a multiple of validate_every."""
    settings = {"maximum_sentence_length": 4, "maximum_updates": 5, "validate_every": 2, "keep_last": 9}
    experiment = train(tmp_path, longest=6, training=settings)
    assert column(experiment, "update") == [2, 4, 5]
    lengths, totals = BinarizedCorpus(experiment.binarized).side("train", "xx").lengths, summary(experiment)
    assert (totals["updates"], totals["training_pairs"]) == (5, int((lengths <= 4).sum()))
    assert totals["left_out_as_too_long"] == int((lengths > 4).sum()) > 0


def test_bf16_trains_weights_in_fp32_nearly_as_fp32_does(tmp_path):
    fp32 = train(tmp_path / "fp32")
    bf16 = train(tmp_path / "bf16", training={"precision": "bf16"})
    for name in ("train_loss", "valid_loss"):
        assert column(bf16, name) == pytest.approx(column(fp32, name), rel=0.02)
        assert column(bf16, name) != column(fp32, name)
    assert {tensor.dtype for tensor in weights_after(bf16, 6).values()} == {torch.float32}


@pytest.mark.parametrize(("fast", "precision"), [(True, "bf16"), (False, "fp32")])
def test_auto_chooses_the_fast_precision_and_the_curve_records_it(fast, precision, tmp_path, monkeypatch):
    for module in (devices, trainer):
        monkeypatch.setattr(module, "has_fast_bf16", lambda _: fast)
    automatic, explicit = (train(tmp_path / value, training={"precision": value}) for value in ("auto", precision))
    assert content(automatic) == content(explicit)
    assert column(automatic, "precision") == [precision] * 3
    assert all(column(automatic, "processor"))


def test_the_processor_includes_its_instructions(monkeypatch):
    names = set()
    for bf16 in ([], ["avx512_bf16"], ["avx512_bf16", "amx_bf16"]):
        capabilities = {"cpu_name": "Intel Xeon"} | dict.fromkeys(bf16, True)
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda capabilities=capabilities: capabilities)
        names.add(devices.processor_name(torch.device("cpu")))
    assert len(names) == 3


def test_bf16_where_it_is_slow_gets_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(trainer, "has_fast_bf16", lambda _: False)
    train(tmp_path, training={"precision": "bf16"})
    assert sum("training.precision is bf16" in line for line in capfd.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "noted"),
    [
        ({"maximum_updates": 6}, ["1.5 epochs"]),  # of 4 batches
        ({"maximum_updates": 3, "accumulation": 4}, []),
        ({"maximum_updates": 5, "batch_tokens": 2000}, ["5.0 epochs"]),
        ({"maximum_updates": 5, "batch_tokens": 2000, "patience": 1}, []),
    ],
)
def test_a_note_about_very_few_or_many_epochs(tmp_path, monkeypatch, capfd, changes, noted):
    monkeypatch.setattr(reporting, "MOST_EPOCHS", 4)
    train(tmp_path, training=changes)
    assert re.findall(r"[0-9.]+ epochs", capfd.readouterr().err) == noted


def test_clipping_bounds_the_gradient(tmp_path, monkeypatch):
    norms = []
    step = torch.optim.AdamW.step

    def watched(self, *arguments):
        gradients = [parameter.grad for group in self.param_groups for parameter in group["params"]]
        norms.append(float(torch.nn.utils.get_total_norm(gradients)))
        return step(self, *arguments)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    train(tmp_path / "one", training={"maximum_updates": 2, "clip_norm": 0.25})
    assert norms == [pytest.approx(0.25, rel=1e-4)] * 2
    norms.clear()
    train(tmp_path / "two", training={"maximum_updates": 2})
    assert min(norms) > 0.3


@pytest.mark.parametrize("device", ["gpu", "cpu:x", "mps", "cuda:7"])
def test_a_device_that_is_not_there_is_a_one_line_error(tmp_path, device, monkeypatch):
    """Each process of torchrun uses the GPU of its local rank."""
    monkeypatch.setenv("LOCAL_RANK", "7")
    with pytest.raises(UserError, match=rf"^--device {device}: not available here \([^\n]*\)$"):
        train_run(make_experiment(tmp_path, pairs=20), "plain", 1, device=device.removesuffix(":7"))


def test_a_training_that_diverges_stops_with_one_line(tmp_path):
    schedule = {"kind": "inverse_square_root", "warmup": 1, "peak_rate": 1e30}
    experiment = make_experiment(tmp_path, training={"schedule": schedule, "maximum_updates": 50})
    with pytest.raises(UserError, match=r"^[^\n]*the training has diverged: the training loss is (nan|inf)[^\n]*$"):
        train_run(experiment, "plain", 1, device="cpu")
    assert not experiment.checkpoints(RUN).exists()


def test_a_missing_variant_or_plan_is_named(tmp_path):
    experiment = make_experiment(tmp_path, pairs=20)
    assert experiment.with_plan_of("plain") is experiment
    with pytest.raises(UserError, match=r"'other'.*plans; there are plain\."):
        experiment.with_plan_of("other")
    with pytest.raises(UserError, match=r"plans/other/training\.json: no such file"):
        train_run(experiment, "other", 1, device="cpu")
