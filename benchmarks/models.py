"""Plans and batches for all trainings, and the model for all decoding."""

import sys
from pathlib import Path

import torch

from benchmarks.setting import EXPERIMENT, corpus, prepared
from context_nmt.corpus.previous import document_batches
from context_nmt.models.averaging import average_run
from context_nmt.models.model import Model
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.planning import plan, write_plans
from context_nmt.settings.run_layout import run_name
from context_nmt.training.batches import Batch, Pairs
from context_nmt.training.training_run import train_run

RUN = "transformer", 1  # variant and seed of the model that is decoded with
DOCUMENT = 10  # sentences of each document: the text has none, and what they say does not change what they cost
REACH = 7  # sentences before a batch's first one that it leaves room for: as far as any variant looks


def plan_of(variant: str) -> TrainingPlan:
    """The plan of training for a variant of benchmarks/params.yaml."""
    return plan(EXPERIMENT.settings, variant).training


def batches(tokens: int, number: int) -> list[Batch]:
    """The first batches of training, the same for all."""
    pairs = Pairs(*corpus().parallel(corpus().train), maximum_length=None, device=torch.device("cpu"))
    stream = pairs.endless(tokens=tokens, seed=1)
    return [pairs.load(next(stream)[1]) for _ in range(number)]


def batches_in_documents(model: Model, tokens: int, number: int) -> list[Batch]:
    """The first batches of documents: all models predict the same sentences, and one that looks back sees those before.

    At most `tokens` on the longer side, padding and the sentences before included.
    """
    source, target = corpus().parallel(corpus().train)
    whole = documents(len(source))
    cut = document_batches(source.lengths + 1, target.lengths + 1, whole, reach=REACH, tokens=tokens)[:number]
    pairs = Pairs(
        source,
        target,
        maximum_length=None,
        device=torch.device("cpu"),
        documents=whole if model.in_documents else None,
        sentences=model.sentences,
        reach=model.reach,
    )
    return [pairs.load(batch) for batch in cut]


def documents(sentences: int) -> list[range]:
    """So many sentences as documents of equal length; the last one may be shorter."""
    return [range(start, min(start + DOCUMENT, sentences)) for start in range(0, sentences, DOCUMENT)]


def trained() -> Path:
    """The folder of a model that ends its sentences; trained once, in minutes."""
    prepared()
    folder = EXPERIMENT.model(run_name(*RUN))
    if not folder.is_dir():
        print("training the model that is decoded with: minutes, only this time", file=sys.stderr)
        write_plans(EXPERIMENT)
        train_run(EXPERIMENT, *RUN, device="cpu")
        average_run(EXPERIMENT, *RUN)
    return folder
