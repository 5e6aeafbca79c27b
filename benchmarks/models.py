"""Plans, models and batches of all training benchmarks, and the trained model of the decoding benchmarks."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import setting
from benchmarks.rounds import Work
from benchmarks.setting import corpus
from context_nmt.corpus.batching import document_batches
from context_nmt.corpus.vocabulary import END, Vocabulary
from context_nmt.decoding.translating import translate_ids
from context_nmt.models.averaging import average_run
from context_nmt.models.building import build
from context_nmt.models.counting import describe
from context_nmt.models.devices import Precision, Processes, device_named, resolve_precision
from context_nmt.models.model import Model
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.planning import plan, write_plans
from context_nmt.progress import say
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.run_layout import run_name
from context_nmt.training.batches import Batch, Pairs
from context_nmt.training.trainer import train_run
from context_nmt.training.updating import Updater

Sentence = np.ndarray[Any, Any]

TRAINED_RUN = "transformer", 1  # variant and seed of the model used for decoding
DOCUMENT_SENTENCES = 10  # the text has no documents, and its content does not affect the cost
REACH = 7  # previous sentences that a batch leaves room for, as far back as any variant looks
LENGTH = 20  # units of each translation by an untrained model, which does not predict the end


def plan_of(variant: str) -> TrainingPlan:
    """Return the training plan of a variant of benchmarks/params.yaml."""
    return plan(setting.EXPERIMENT.settings, variant).training


def described(variant: str, units: int | None = None) -> dict[str, Any]:
    """Return the description of a variant's model, as in the describe stage; `units` replaces both vocabularies."""
    return describe(plan_of(variant).model, **_vocabularies(units))


def updater_of(
    variant: str, precision: Precision, device: str = "cpu", *, units: int | None = None, **training_settings: Any
) -> Updater:
    """Return this project's trainer of a variant, before its first update; `units` replaces both vocabularies."""
    variant_plan = plan_of(variant)
    training = dataclasses.replace(variant_plan.training, precision=precision, **training_settings)
    torch.manual_seed(1)
    model = build(variant_plan.model, **_vocabularies(units)).to(device_named(device))
    return Updater(dataclasses.replace(variant_plan, training=training), model, seed=1)


def _vocabularies(units: int | None = None) -> dict[str, int]:
    """Return the sizes of both vocabularies: `units`, or those of the text."""
    source, target = units or len(corpus().source_vocabulary), units or len(corpus().target_vocabulary)
    return {"source_vocabulary": source, "target_vocabulary": target}


def batches(tokens: int, number: int) -> list[Batch]:
    """Return the first training batches, the same for all contenders."""
    pairs = Pairs(*corpus().parallel(corpus().train), maximum_length=None)
    stream = pairs.endless(tokens=tokens, seed=1)
    return [pairs.load(next(stream)[1]) for _ in range(number)]


def longer_batches(tokens: int, number: int, *, units: int) -> list[Batch]:
    """Return batches of random units with the lengths of news text: 28 units on average, between 5 and 80."""
    random = np.random.default_rng(1)
    made = []
    for _ in range(number):
        length = int(np.clip(random.gamma(4, 7), 5, 80))
        shape = max(2, tokens // length), length
        source, target = (torch.from_numpy(random.integers(END + 3, units, shape)) for _ in range(2))
        predicted = torch.arange(target.numel())
        made.append(Batch(source, target, target, predicted, len(predicted)))
    return made


def batches_in_documents(model: Model, tokens: int, number: int) -> list[Batch]:
    """Return the first batches of documents, in which all models predict the same sentences.

    A model that looks back also sees the previous sentences. A batch has at most `tokens` on the longer side, including
    padding and previous sentences.
    """
    source, target = corpus().parallel(corpus().train)
    ranges = documents(len(source))
    indices = document_batches(
        source.lengths + 1, target.lengths + 1, ranges, receptive_sentences=REACH, tokens=tokens
    )[:number]
    pairs = Pairs(
        source,
        target,
        maximum_length=None,
        documents=ranges if model.in_documents else None,
        context_sentences=model.context_sentences,
        receptive_sentences=model.receptive_sentences,
    )
    return [pairs.load(batch) for batch in indices]


def documents(sentences: int) -> list[range]:
    """Cut a number of sentences into documents of equal length; the last may be shorter."""
    return [
        range(start, min(start + DOCUMENT_SENTENCES, sentences)) for start in range(0, sentences, DOCUMENT_SENTENCES)
    ]


def trained() -> Path:
    """Return the folder of a trained model, which ends its sentences; train it the first time, which takes minutes."""
    setting.prepare()
    folder = setting.EXPERIMENT.model(run_name(*TRAINED_RUN))
    if not folder.is_dir():
        precision = resolve_precision(plan_of(TRAINED_RUN[0]).training.precision, torch.device("cpu"))
        say(f"training the model for decoding, in {precision}: this takes minutes, only the first time")
        write_plans(setting.EXPERIMENT)
        train_run(setting.EXPERIMENT, *TRAINED_RUN, device="cpu")
        average_run(setting.EXPERIMENT, *TRAINED_RUN)
    return folder


def test_sentences() -> list[Sentence]:
    """Return the source sentences of the first test set."""
    side = corpus().side(corpus().tests[0], corpus().source)
    return [side[number] for number in range(len(side))]


@contextmanager
def translating(
    model: Model,
    source: list[Sentence],
    vocabulary: Vocabulary,
    settings: DecodingSettings,
    workers: int,
    documents: list[range] | None = None,
) -> Iterator[Work]:
    """Yield rounds that translate all sentences in `workers` processes; they return the best hypotheses' units."""

    def work() -> tuple[float, list[str]]:
        translations = translate_ids(model, source, settings, documents=documents, processes=Processes(workers=workers))
        return len(source), [vocabulary.text(best.tokens) for best, *_ in translations]

    work()
    yield work


def never_end(_: nn.Module, __: Any, logits: Tensor) -> Tensor:
    """Make END improbable, so that translations have the maximum length; a forward hook of an output layer."""
    logits[:, END] = -1e4
    return logits
