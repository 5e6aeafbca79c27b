"""Train one run of an experiment: find its plan and its corpus, and write its checkpoints."""

import hashlib
import importlib
import json
from contextlib import nullcontext
from functools import partial

import torch

from context_nmt.code_closure import digest_of_module
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, locked, sha256
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, initialise_from_run
from context_nmt.models.devices import device_named
from context_nmt.models.plans import VALIDATION, TrainingPlan
from context_nmt.models.processes import processes
from context_nmt.settings.run_layout import RunLayout, run_name
from context_nmt.training.trainer import Trainer


def train_run(
    experiment: RunLayout,
    variant: str,
    seed: int,
    *,
    device: str,
    distilled: bool = False,
    start: str | None = None,
    tensorboard: bool = False,
) -> None:
    """Train a variant with a seed, or resume a training that was killed.

    With `distilled`, train on the distill stage's translations instead of the training target; with `start`, start from
    the weights of that variant's run with the same seed. Raise UserError for a run that another process is training,
    if the processes cannot share the batches of an update, and if TensorBoard is asked for and not installed.
    """
    path = experiment.plan(variant, "training")
    plan = TrainingPlan.read(path)
    corpus = BinarizedCorpus(experiment.binarized, training_target=experiment.distilled if distilled else None)
    run, torch_device = run_name(variant, seed), device_named(device)
    with processes(torch_device) as group, locked(experiment.training_lock(run)) if group.first else nullcontext():
        if plan.training.accumulation % group.count:
            raise UserError(
                f"{path}: training.accumulation is {plan.training.accumulation}; it must be a multiple of the"
                f" {group.count} processes, which share the batches of an update"
            )
        torch.manual_seed(seed)
        sizes = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
        model = build(plan.model, source_vocabulary=sizes[0], target_vocabulary=sizes[1])
        files = [path, *corpus.training_files()]
        if start is not None:
            files.append(experiment.model(run_name(start, seed)) / RUN_WEIGHTS)
            initialise_from_run(model, plan.model, files[-1], corpus)
        # The results depend on plan, data, seed and code; a change of any gives another scratch folder. The launch
        # command is left out, so that a training can be resumed elsewhere; then the last bits may differ.
        dependencies = [seed, [[file.name, sha256(file)] for file in files], digest_of_module(__name__)]
        Trainer(
            plan=plan,
            model=model.to(torch_device),
            corpus=corpus,
            seed=seed,
            processes=group,
            scratch=experiment.scratch(run) / hashlib.sha256(json.dumps(dependencies).encode()).hexdigest()[:16],
            folder=experiment.checkpoints(run),
            curve=experiment.curve(run),
            tensorboard=experiment.tensorboard(run) if tensorboard and group.first else None,
            # loaded by name, so that only the plans that ask for it depend on decoding
            bleu=partial(importlib.import_module(VALIDATION).validation_bleu, corpus=corpus)
            if plan.training.validation_bleu
            else None,
        ).run()
