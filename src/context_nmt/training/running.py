"""Trains one run of an experiment: finds its plan and its corpus, and leaves its checkpoints."""

from collections.abc import Callable

import torch

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.experiment import Experiment, run_name
from context_nmt.models.building import build
from context_nmt.models.devices import device_named
from context_nmt.models.plans import TrainingPlan
from context_nmt.models.translation_model import TranslationModel
from context_nmt.training.trainer import Trainer


def train_run(
    experiment: Experiment,
    variant: str,
    seed: int,
    *,
    device: str,
    validation_bleu: Callable[[TranslationModel, BinarizedCorpus], float],
) -> None:
    """Train a variant with a seed; `validation_bleu` is called where the plan asks for it."""
    plan = TrainingPlan.read(experiment.plan(variant, "training"))
    corpus = BinarizedCorpus(experiment.binarized)
    where = device_named(device)
    torch.manual_seed(seed)
    model = build(
        plan.model, source_vocabulary=len(corpus.source_vocabulary), target_vocabulary=len(corpus.target_vocabulary)
    )
    run = run_name(variant, seed)
    Trainer(
        plan=plan,
        model=model.to(where),
        corpus=corpus,
        seed=seed,
        device=where,
        folder=experiment.checkpoints(run),
        curve=experiment.curve(run),
        bleu=(lambda model: validation_bleu(model, corpus)) if plan.training.validation_bleu else None,
    ).run()
