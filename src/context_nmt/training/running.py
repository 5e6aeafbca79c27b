"""Trains one run of an experiment: finds its plan and its corpus, and leaves its checkpoints."""

import importlib
from collections.abc import Callable
from contextlib import nullcontext

import torch

from context_nmt.code_closure import digest_of_module
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, locked
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, start_from
from context_nmt.models.devices import device_named
from context_nmt.models.model import Model
from context_nmt.models.plans import VALIDATION, TrainingPlan
from context_nmt.models.processes import processes
from context_nmt.settings.layout import Layout, run_name
from context_nmt.training.resuming import fingerprint
from context_nmt.training.trainer import Trainer


def train_run(
    experiment: Layout,
    variant: str,
    seed: int,
    *,
    device: str,
    distilled: bool = False,
    start: str | None = None,
) -> None:
    """Train a variant with a seed, or go on with a training that was killed.

    With `distilled`, on what the distill stage has made of the training target; with `start`, from the weights of that
    variant's run with the same seed. Raises UserError for a run that another process trains, and for processes that
    cannot share the batches of an update.
    """
    path = experiment.plan(variant, "training")
    plan = TrainingPlan.read(path)
    corpus = BinarizedCorpus(experiment.binarized, training_target=experiment.distilled if distilled else None)
    run = run_name(variant, seed)
    where = device_named(device)
    scratch = experiment.scratch(run)
    with processes(where) as team, locked(experiment.training_lock(run)) if team.first else nullcontext():
        if plan.training.accumulation % team.count:
            raise UserError(
                f"{path}: training.accumulation is {plan.training.accumulation}; it must be a multiple of the"
                f" {team.count} processes, which share the batches of an update"
            )
        torch.manual_seed(seed)
        model = build(
            plan.model, source_vocabulary=len(corpus.source_vocabulary), target_vocabulary=len(corpus.target_vocabulary)
        )
        begun = [] if start is None else [experiment.model(run_name(start, seed)) / RUN_WEIGHTS]
        for weights in begun:
            start_from(model, plan.model, weights, corpus)
        Trainer(
            plan=plan,
            model=model.to(where),
            corpus=corpus,
            seed=seed,
            device=where,
            processes=team,
            scratch=scratch / fingerprint(path, corpus.training_files() + begun, seed, digest_of_module(__name__)),
            folder=experiment.checkpoints(run),
            curve=experiment.curve(run),
            bleu=_validation_bleu(corpus) if plan.training.validation_bleu else None,
        ).run()


def _validation_bleu(corpus: BinarizedCorpus) -> Callable[[Model], float]:
    """Loaded by name, so that only the plans that ask for it depend on decoding."""
    validation_bleu = importlib.import_module(VALIDATION).validation_bleu
    return lambda model: float(validation_bleu(model, corpus))
