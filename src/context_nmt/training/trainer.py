"""The training loop: updates, validation, early stopping, choice of checkpoints, and resumption after a kill."""

import csv
import hashlib
import importlib
import json
import math
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from context_nmt.code_closure import digest_of_module
from context_nmt.command_line import Unfinished, capture_signals
from context_nmt.corpus.batching import Indices
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, locked, replacing, replacing_folder, sha256, write_json
from context_nmt.models import checkpoints
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, initialise_from_run
from context_nmt.models.devices import Processes, device_named, has_fast_bf16, join_processes, processor_name
from context_nmt.models.model import Model
from context_nmt.models.plans import VALIDATION, TrainingPlan
from context_nmt.progress import say, tracked
from context_nmt.settings.run_layout import RunLayout, run_name
from context_nmt.training.batches import EXAMPLES, Batch, Pairs, Random, pairs_for, prefetch
from context_nmt.training.reporting import Reporter
from context_nmt.training.updating import Totals, Updater

SAVE_SECONDS = 600.0  # a killed training loses at most this time
MACHINE_COLUMNS = ("precision", "processor")
CURVE_COLUMNS = (  # of the learning curve
    *("update", "epoch", "learning_rate", "train_loss", "train_nll"),
    *("valid_loss", "valid_nll", "valid_perplexity", "valid_bleu"),
    *MACHINE_COLUMNS,
)


@dataclass
class TrainingState:
    """The progress of a training, which is saved in order to resume it."""

    totals: Totals  # since the last validation, of all processes
    update: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)  # of the learning curve, one per validation
    precision: str = ""  # decided when the training starts; kept if it resumes on another processor


@dataclass(kw_only=True)
class Trainer:
    """The training of one model; `run` writes checkpoints and a learning curve."""

    plan: TrainingPlan
    model: Model
    corpus: BinarizedCorpus
    seed: int
    processes: Processes
    scratch: Path  # the folder of the state that this training resumes from, and of its checkpoints until the end
    folder: Path  # the folder of the final checkpoints
    curve: Path
    tensorboard: Path | None  # the folder for TensorBoard's curve, in the first process
    validation_bleu: Callable[[Model], float] | None

    def run(self) -> None:
        """Train until maximum_updates, maximum_epochs or the end of patience, to the same bytes on the same machine.

        Every process of a training calls it; the first process writes. Raise UserError if the training has diverged, at
        the next validation or the next time the state is saved, and if processes resume from different states. After
        SIGTERM, save the state and raise Unfinished.
        """
        settings = self.settings = self.plan.training
        training = pairs_for(
            self.model, self.corpus, self.corpus.train, settings.maximum_sentence_length, settings.sort_by
        )
        validation = pairs_for(self.model, self.corpus, self.corpus.validation, None)
        last_update = self.last_update = self._last_update(training)
        self.updater = Updater(self.plan, self.model, seed=self.seed, last_update=last_update, processes=self.processes)
        self.state = self._resume()
        if len(set(updates := self.processes.gather(self.state.update))) > 1:
            raise UserError(
                f"{self._state_path}: the processes resume after different updates ({', '.join(map(str, updates))});"
                " all nodes must share the folder runs"
            )
        self._decide_precision()
        if self.updater.is_compiled:  # kernels depend on the first batch, which must be the same after a resumption
            first_batch = next(training.endless(tokens=settings.batch_tokens, seed=self.seed))[1]
            self.updater.warm_up(self._examples(training, first_batch, np.random.default_rng(self.seed)))
        self.saved = time.monotonic()
        groups = prefetch(self._groups(training, done=self.state.update), self.updater.device)
        reporter = Reporter(last_update, done=self.state.update, tensorboard=self.tensorboard)
        if not self.state.update and self.processes.is_first:
            epoch_batches = training.count_batches(1, tokens=settings.batch_tokens, seed=self.seed)
            epochs = last_update * settings.accumulation / epoch_batches
            reporter.budget(epochs, has_patience=settings.patience is not None)
        with reporter.progress, capture_signals(signal.SIGTERM) as signals, closing(groups), closing(reporter):
            while self.state.update < last_update and not self._out_of_patience():
                self.state.update += 1
                update = self.state.update
                epoch, ends_epoch, batches = next(groups)
                totals = self.updater.update(update, batches)
                self.state.totals += totals
                reporter.update(totals.tokens)
                is_due = ends_epoch if settings.validate_every is None else update % settings.validate_every == 0
                if is_due or update == last_update:
                    self._validate(epoch, validation)
                    reporter.validation(self.state.rows[-1])
                elif time.monotonic() > self.saved + SAVE_SECONDS:
                    self._save_state()
                (stop_requested,) = self.processes.sum([len(signals)])
                if stop_requested and update < last_update:
                    self._save_state()
                    raise Unfinished(f"SIGTERM after update {update:,}; the same command continues from there")
        if self.processes.is_first:
            self._finish(training)

    def _decide_precision(self) -> None:
        """Use the precision with which the training started; at the start, bf16 if all processes chose it."""
        device = self.updater.device
        earlier_precision = self.state.precision
        (bf16_processes,) = self.processes.sum([float(self.updater.objective.precision == "bf16")])
        self.state.precision = earlier_precision or ("bf16" if bf16_processes == self.processes.count else "fp32")
        self.updater.objective.precision = self.state.precision
        self.processor = processor_name(device)
        if self.processes.is_first and self.state.precision == "bf16" and not has_fast_bf16(device):
            say(
                f"training.precision is {self.settings.precision}: {self.processor} has no instructions for bf16;"
                f" {'this training started in bf16 and keeps it' if earlier_precision else 'fp32 would be faster here'}"
            )

    def _last_update(self, training: Pairs) -> int:
        settings = self.settings
        if settings.maximum_epochs is None:
            return settings.maximum_updates
        batches = training.count_batches(settings.maximum_epochs, tokens=settings.batch_tokens, seed=self.seed)
        updates = math.ceil(batches / settings.accumulation)
        if settings.schedule.kind == "cosine" and updates <= settings.schedule.warmup:
            raise UserError(
                f"training.maximum_epochs is {settings.maximum_epochs}, which makes {updates} updates; with a cosine,"
                f" there must be more than training.schedule.warmup ({settings.schedule.warmup})"
            )
        return min(settings.maximum_updates, updates)

    def _groups(self, training: Pairs, *, done: int) -> Iterator[tuple[int, bool, list[Batch]]]:
        """Yield for each remaining update its epoch, whether it ends the epoch, and this process's share of batches.

        The update with the last batch of an epoch ends it; with accumulation, it may also contain some of the next.
        """
        stream = training.endless(tokens=self.settings.batch_tokens, seed=self.seed)
        for _ in islice(stream, done * self.settings.accumulation):
            pass  # skip the batches of earlier updates
        following = list(islice(stream, self.settings.accumulation))
        for update in range(done + 1, self.last_update + 1):
            group, following = following, list(islice(stream, self.settings.accumulation))
            yield (
                group[-1][0],
                group[0][0] < following[0][0],
                [
                    self._examples(training, batch, np.random.default_rng([self.seed, update, position, 1]))
                    for position, (_, batch) in self.processes.share(list(enumerate(group)))
                ],
            )

    def _examples(self, pairs: Pairs, batch: Indices, random: Random) -> Batch:
        examples = EXAMPLES[self.plan.model.model.kind](pairs.load(batch), self.settings, random)
        return self.updater.prepare(examples)

    def _validate(self, epoch: int, validation: Pairs) -> None:
        train_loss, train_nll = self.state.totals.means("the training loss")
        batches = self.processes.share(validation.batches(tokens=self.settings.batch_tokens))
        examples = prefetch((self._examples(validation, batch, None) for batch in batches), self.updater.device)
        totals = self.updater.evaluate(tracked(examples, None, len(batches)))
        valid_loss, valid_nll = totals.means("the validation loss")
        row = {
            "update": self.state.update,
            "epoch": epoch,
            "learning_rate": self.updater.rate(self.state.update),
            "train_loss": train_loss,
            "train_nll": train_nll,
            "valid_loss": valid_loss,
            "valid_nll": valid_nll,
            "valid_perplexity": math.exp(min(700.0, valid_nll)),
            "precision": self.state.precision,
            "processor": self.processor,
        }
        if self.validation_bleu is not None:
            with torch.compiler.set_stance("force_eager") if self.updater.is_compiled else nullcontext():
                bleu = self.validation_bleu(self.model) if self.processes.is_first else 0.0
            (row["valid_bleu"],) = self.processes.sum([bleu])
        self.state.rows.append(row)
        self.state.totals = self.updater.zero_totals()
        if self.processes.is_first:
            vocabularies = len(self.corpus.source_vocabulary), len(self.corpus.target_vocabulary)
            validated = {name: value for name, value in row.items() if name not in MACHINE_COLUMNS}
            metadata = {**checkpoints.model_metadata(self.plan.model, *vocabularies), "validation": validated}
            checkpoints.save(self.scratch / checkpoint_name(row), checkpoints.weights_of(self.model), metadata)
        self._save_state()
        if self.processes.is_first:
            kept = {checkpoint_name(row) for row in self._kept()}
            for path in self.scratch.glob("checkpoint-*.safetensors"):
                if path.name not in kept:
                    path.unlink()
            self._write_curve()

    def _save_state(self) -> None:
        """Write weights, Adam's moments and progress, so that a resumed training gives the same numbers."""
        self.saved = time.monotonic()
        if self.state.totals.tokens:
            self.state.totals.means("the training loss")
        if self.processes.is_first:
            tensors = {f"weights/{name}": value for name, value in checkpoints.weights_of(self.model).items()}
            tensors |= {f"moments/{name}": value for name, value in self.updater.moments().items()}
            totals = self.state.totals
            values = vars(self.state) | {"totals": [totals.losses.tolist(), totals.tokens]}
            checkpoints.save(self._state_path, tensors, values)

    def _resume(self) -> TrainingState:
        """Restore weights and moments, and return the saved state; without one, return the state of a new training."""
        if not self._state_path.exists():
            return TrainingState(self.updater.zero_totals())
        tensors, values = checkpoints.load(self._state_path)
        weights, moments = (
            {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
            for prefix in ("weights/", "moments/")
        )
        checkpoints.load_weights(self.model, weights, self._state_path)
        self.updater.restore(moments)
        losses, tokens = values.pop("totals")
        losses = torch.tensor(losses, dtype=torch.float64, device=self.updater.device)
        return TrainingState(**values, totals=Totals(losses, tokens))

    @property
    def _state_path(self) -> Path:
        return self.scratch / "state.safetensors"

    def _kept(self) -> list[dict[str, Any]]:
        """Return the validations whose checkpoints are kept."""
        rows = self.state.rows
        return rows[max(0, len(rows) - self.settings.keep_last) :] + self._ranked()[: self.settings.keep_best]

    def _ranked(self) -> list[dict[str, Any]]:
        """Return the validations, best first; of equal ones, the earlier is first."""
        by_bleu = self.settings.select_by == "bleu"
        return sorted(self.state.rows, key=lambda row: -row["valid_bleu"] if by_bleu else row["valid_loss"])

    def _out_of_patience(self) -> bool:
        rows, patience = self.state.rows, self.settings.patience
        return bool(rows) and patience is not None and len(rows) - 1 - rows.index(self._ranked()[0]) >= patience

    def _write_curve(self) -> None:
        """Write a row per validation as CSV, for `dvc plots`; numbers have seven significant digits."""
        rows = self.state.rows
        columns = [name for name in CURVE_COLUMNS if name in rows[0]]
        with replacing(self.curve) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            for row in rows:
                writer.writerow(
                    {key: value if isinstance(value, str) else f"{value:.7g}" for key, value in row.items()}
                )

    def _finish(self, training: Pairs) -> None:
        """Write the curve, the kept checkpoints and a summary; the scratch folder is removed after averaging."""
        self._write_curve()
        with replacing_folder(self.folder) as folder:
            for row in self._kept():
                shutil.copyfile(self.scratch / checkpoint_name(row), folder / checkpoint_name(row))
            summary = {
                "updates": self.state.update,
                "training_pairs": len(training.kept),
                "left_out_as_too_long": len(training.source) - len(training.kept),
                "best_update": self._ranked()[0]["update"],
            }
            write_json(folder / "summary.json", summary)


def checkpoint_name(row: dict[str, Any]) -> str:
    """Return the file name of the checkpoint that a validation saves."""
    return f"checkpoint-{row['update']:08d}.safetensors"


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
    """Train a variant with a seed, or resume its training after a kill.

    With `distilled`, the training target is the output of the distill stage with the same seed; with `start`, weights
    start from that variant's run with the same seed. Raise UserError if another process is training the run, if the
    processes cannot share the batches of an update, and if `tensorboard` is true but TensorBoard is not installed.
    """
    path = experiment.plan(variant, "training")
    plan = TrainingPlan.read(path)
    corpus = BinarizedCorpus(
        experiment.binarized, training_target=experiment.distilled(str(seed)) if distilled else None
    )
    run, torch_device = run_name(variant, seed), device_named(device, alone=True)
    with (
        join_processes(torch_device) as group,
        locked(experiment.training_lock(run)) if group.is_first else nullcontext(),
    ):
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
        # A change of plan, data, seed or code, on which results depend, gives another scratch folder. The launch
        # command is not included, so that a training can resume elsewhere; then the last bits may differ.
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
            tensorboard=experiment.tensorboard(run) if tensorboard and group.is_first else None,
            # loaded by name, so that only plans with validation_bleu depend on decoding
            validation_bleu=partial(importlib.import_module(VALIDATION).validation_bleu, corpus=corpus)
            if plan.training.validation_bleu
            else None,
        ).run()
