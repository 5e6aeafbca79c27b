"""The training loop: updates, validation, early stopping, which checkpoints stay, and going on after a kill."""

import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from context_nmt.corpus.batching import Indices
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import replacing_folder, write_json
from context_nmt.models import checkpoints
from context_nmt.models.model import Model
from context_nmt.models.plans import TrainingPlan
from context_nmt.models.processes import Processes
from context_nmt.settings.training import TrainingSettings
from context_nmt.training import resuming
from context_nmt.training.batches import Batch, Pairs, pairs_for
from context_nmt.training.curves import write_curve
from context_nmt.training.examples import EXAMPLES
from context_nmt.training.reporting import Reporter
from context_nmt.training.updating import Totals, Updater

Bleu = Callable[[Model], float]

SAVE_SECONDS = 600.0  # a kill loses no more than this, or what came after the last validation


@dataclass(kw_only=True)
class Trainer:
    """Trains one model; `run` leaves checkpoints and a learning curve."""

    plan: TrainingPlan
    model: Model
    corpus: BinarizedCorpus
    seed: int
    device: torch.device
    processes: Processes
    scratch: Path  # of this very training: the state that it resumes from, and the checkpoints so far
    folder: Path  # of the checkpoints when all is done
    curve: Path
    bleu: Bleu | None  # of the validation set, higher is better

    def run(self) -> None:
        """Train until maximum_updates or until patience runs out; same seed, same machine, same bytes.

        Every process of a training calls it; the first one writes. Raises UserError for a training that diverges.
        """
        settings = self.settings
        self.updater = Updater(self.plan, self.model, seed=self.seed, processes=self.processes)
        self.progress = resuming.load(self._state, self.updater)
        self.saved = time.monotonic()
        training = pairs_for(self.model, self.corpus, self.corpus.train, settings.maximum_sentence_length)
        validation = pairs_for(self.model, self.corpus, self.corpus.validation, None)
        stream = training.endless(tokens=settings.batch_tokens, seed=self.seed)
        for _ in islice(stream, self.progress.update * settings.accumulation):
            pass  # seen before the kill
        shown = self.processes.first
        with Reporter(settings.maximum_updates, done=self.progress.update, shown=shown) as reporter:
            while not self._finished():
                self.progress.update += 1
                group = list(islice(stream, settings.accumulation))
                batches = [
                    self._examples(training, batch, np.random.default_rng([self.seed, self.progress.update, place, 1]))
                    for place, (_, batch) in self.processes.share(list(enumerate(group)))
                ]
                totals = self.updater.update(self.progress.update, batches)
                self.progress.totals.add(totals)
                reporter.update(totals.tokens)
                if self._validates():
                    self._validate(group[-1][0], validation)
                    reporter.validation(self.progress.rows[-1])
                elif time.monotonic() > self.saved + SAVE_SECONDS:
                    self._save_state()
        if self.processes.first:
            self._finish(training)

    @property
    def settings(self) -> TrainingSettings:
        return self.plan.training

    @property
    def _state(self) -> Path:
        return self.scratch / "state.safetensors"

    def _examples(self, pairs: Pairs, batch: Indices, random: np.random.Generator | None) -> Batch:
        return EXAMPLES[self.plan.model.model.kind](pairs.load(batch), self.settings, random)

    def _finished(self) -> bool:
        return self.progress.update == self.settings.maximum_updates or self._out_of_patience()

    def _validates(self) -> bool:
        update = self.progress.update
        return update % self.settings.validate_every == 0 or update == self.settings.maximum_updates

    def _validate(self, epoch: int, validation: Pairs) -> None:
        sums, training = Totals(), self.progress.totals
        for batch in self.processes.share(validation.batches(tokens=self.settings.batch_tokens)):
            sums.add(self.updater.evaluate(self._examples(validation, batch, None)))
        sums = sums.over(self.processes)
        row = {
            "update": self.progress.update,
            "epoch": epoch,
            "learning_rate": self.updater.rate(self.progress.update),
            "train_loss": training.smoothed / training.tokens,
            "train_nll": training.negative_log_likelihood / training.tokens,
            "valid_loss": sums.smoothed / sums.tokens,
            "valid_nll": sums.negative_log_likelihood / sums.tokens,
            "valid_perplexity": math.exp(min(700.0, sums.negative_log_likelihood / sums.tokens)),
        }
        if self.bleu is not None:
            (row["valid_bleu"],) = self.processes.sum([self.bleu(self.model) if self.processes.first else 0.0])
        self.progress.rows.append(row)
        self.progress.totals = Totals()
        if self.processes.first:
            self._save_checkpoint(row)
        self._save_state()
        if self.processes.first:
            self._drop_checkpoints()
            write_curve(self.curve, self.progress.rows)

    def _save_state(self) -> None:
        self.saved = time.monotonic()
        if self.processes.first:
            resuming.save(self._state, self.updater, self.progress)

    def _save_checkpoint(self, row: dict[str, Any]) -> None:
        vocabularies = len(self.corpus.source_vocabulary), len(self.corpus.target_vocabulary)
        metadata = {**checkpoints.model_metadata(self.plan.model, *vocabularies), "validation": row}
        path = self.scratch / checkpoint_name(row)
        checkpoints.save(path, checkpoints.weights_of(self.model), metadata)

    def _drop_checkpoints(self) -> None:
        kept = {checkpoint_name(row) for row in self._kept()}
        for path in self.scratch.glob("checkpoint-*.safetensors"):
            if path.name not in kept:
                path.unlink()

    def _kept(self) -> list[dict[str, Any]]:
        rows = self.progress.rows
        return rows[max(0, len(rows) - self.settings.keep_last) :] + self._ranked()[: self.settings.keep_best]

    def _ranked(self) -> list[dict[str, Any]]:
        """The validations, best first; of equals the earlier."""
        if self.settings.select_by == "bleu":
            return sorted(self.progress.rows, key=lambda row: -row["valid_bleu"])
        return sorted(self.progress.rows, key=lambda row: row["valid_loss"])

    def _out_of_patience(self) -> bool:
        rows = self.progress.rows
        if self.settings.patience is None or not rows:
            return False
        return len(rows) - 1 - rows.index(self._ranked()[0]) >= self.settings.patience

    def _finish(self, training: Pairs) -> None:
        """Copy what stays; the scratch folder stays too, until the checkpoints are averaged."""
        write_curve(self.curve, self.progress.rows)
        with replacing_folder(self.folder) as folder:
            for row in self._kept():
                shutil.copyfile(self.scratch / checkpoint_name(row), folder / checkpoint_name(row))
            summary = {
                "updates": self.progress.update,
                "training_pairs": len(training.kept),
                "left_out_as_too_long": len(training.source) - len(training.kept),
                "best_update": self._ranked()[0]["update"],
            }
            write_json(folder / "summary.json", summary)


def checkpoint_name(row: dict[str, Any]) -> str:
    """The file that a validation saves."""
    return f"checkpoint-{row['update']:08d}.safetensors"
