"""Plans and batches for all trainings, and the model for all decoding."""

from pathlib import Path

import torch

from benchmarks.setting import EXPERIMENT, corpus, prepared
from context_nmt.corpus.batching import document_batches
from context_nmt.models.averaging import average_run
from context_nmt.models.devices import resolved
from context_nmt.models.model import Model
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.planning import plan, write_plans
from context_nmt.progress import say
from context_nmt.settings.run_layout import run_name
from context_nmt.training.batches import Batch, Pairs
from context_nmt.training.trainer import train_run

RUN = "transformer", 1  # variant and seed of the model used for decoding
DOCUMENT = 10  # sentences per document; the text has no documents, and its content does not affect the cost
REACH = 7  # sentences before its first one that a batch leaves room for, as far back as any variant looks


def plan_of(variant: str) -> TrainingPlan:
    """Return the training plan of a variant of benchmarks/params.yaml."""
    return plan(EXPERIMENT.settings, variant).training


def batches(tokens: int, number: int) -> list[Batch]:
    """Return the first training batches, the same for all."""
    pairs = Pairs(*corpus().parallel(corpus().train), maximum_length=None)
    stream = pairs.endless(tokens=tokens, seed=1)
    return [pairs.load(next(stream)[1]) for _ in range(number)]


def batches_in_documents(model: Model, tokens: int, number: int) -> list[Batch]:
    """Return the first batches of documents, in which all models predict the same sentences.

    A model that looks back also sees the preceding ones. A batch has at most `tokens` on the longer side, padding and
    preceding sentences included.
    """
    source, target = corpus().parallel(corpus().train)
    ranges = documents(len(source))
    indices = document_batches(source.lengths + 1, target.lengths + 1, ranges, reach=REACH, tokens=tokens)[:number]
    pairs = Pairs(
        source,
        target,
        maximum_length=None,
        documents=ranges if model.in_documents else None,
        sentences=model.sentences,
        reach=model.reach,
    )
    return [pairs.load(batch) for batch in indices]


def documents(sentences: int) -> list[range]:
    """Cut `sentences` sentences into documents of equal length; the last one may be shorter."""
    return [range(start, min(start + DOCUMENT, sentences)) for start in range(0, sentences, DOCUMENT)]


def trained() -> Path:
    """Return the folder of a model that ends its sentences; train it the first time, which takes minutes."""
    prepared()
    folder = EXPERIMENT.model(run_name(*RUN))
    if not folder.is_dir():
        precision = resolved(plan_of(RUN[0]).training.precision, torch.device("cpu"))
        say(f"training the model that is decoded with, in {precision}: minutes, only this time")
        write_plans(EXPERIMENT)
        train_run(EXPERIMENT, *RUN, device="cpu")
        average_run(EXPERIMENT, *RUN)
    return folder
