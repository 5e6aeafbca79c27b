"""The training loop: updates, validation, early stopping and which checkpoints stay."""

import math
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import PADDING
from context_nmt.files import write_json
from context_nmt.models import checkpoints
from context_nmt.models.plans import TrainingPlan
from context_nmt.models.translation_model import TranslationModel
from context_nmt.settings import TrainingSettings
from context_nmt.training.batches import Batch, Pairs
from context_nmt.training.curves import write_curve
from context_nmt.training.losses import Loss, cross_entropy
from context_nmt.training.reporting import Reporter
from context_nmt.training.schedules import learning_rate

Bleu = Callable[[TranslationModel], float]


@dataclass
class Totals:
    """Loss sums since the last validation, in nats."""

    smoothed: float = 0.0
    negative_log_likelihood: float = 0.0
    tokens: int = 0

    def add(self, loss: Loss) -> None:
        """Add one batch."""
        self.smoothed += float(loss.smoothed.detach())
        self.negative_log_likelihood += loss.negative_log_likelihood
        self.tokens += loss.tokens


@dataclass
class Trainer:
    """Trains one model; `run` leaves checkpoints and a learning curve."""

    plan: TrainingPlan
    model: TranslationModel
    corpus: BinarizedCorpus
    seed: int
    device: torch.device
    folder: Path  # of the checkpoints
    curve: Path
    bleu: Bleu | None  # of the validation set, higher is better
    rows: list[dict[str, Any]] = field(default_factory=list)  # of the learning curve, one per validation

    def run(self) -> None:
        """Train until maximum_updates or until patience runs out; same seed, same machine, same bytes."""
        settings = self.settings
        if self.folder.exists():
            shutil.rmtree(self.folder)  # checkpoints of an earlier run would be averaged with this one's
        optimizer = torch.optim.AdamW(
            self.model.parameters(),
            betas=(settings.adam_beta1, settings.adam_beta2),
            eps=settings.adam_epsilon,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        training = self._pairs(self.corpus.train, settings.maximum_sentence_length)
        validation = self._pairs(self.corpus.validation, None)
        stream = training.endless(tokens=settings.batch_tokens, seed=self.seed)
        totals = Totals()
        with Reporter(settings.maximum_updates) as reporter:
            for update in range(1, settings.maximum_updates + 1):
                group = list(islice(stream, settings.accumulation))
                batches = [training.load(batch) for _, batch in group]
                tokens = self._update(optimizer, update, batches, totals)
                reporter.update(tokens)
                if update % settings.validate_every == 0 or update == settings.maximum_updates:
                    self._validate(update, group[-1][0], totals, validation)
                    reporter.validation(self.rows[-1])
                    totals = Totals()
                    if self._out_of_patience():
                        break
        write_json(
            self.folder / "summary.json",
            {
                "updates": update,
                "training_pairs": len(training.kept),
                "left_out_as_too_long": len(training.source) - len(training.kept),
                "best_update": self._ranked()[0]["update"],
            },
        )

    @property
    def settings(self) -> TrainingSettings:
        return self.plan.training

    def _pairs(self, split: str, maximum_length: int | None) -> Pairs:
        source, target = self.corpus.parallel(split)
        return Pairs(source, target, maximum_length=maximum_length, device=self.device)

    def _update(self, optimizer: torch.optim.Optimizer, update: int, batches: list[Batch], totals: Totals) -> int:
        """One optimiser step on the mean loss per target token over all batches; returns the number of these."""
        torch.manual_seed(self.seed * 1_000_003 + update)  # dropout of an update depends on nothing before it
        self.model.train()
        tokens = sum(int((batch.targets != PADDING).sum()) for batch in batches)
        for batch in batches:
            loss = self._loss(batch)
            (loss.smoothed / tokens).backward()  # type: ignore[no-untyped-call]
            totals.add(loss)
        if self.settings.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        for group in optimizer.param_groups:
            group["lr"] = self._rate(update)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return tokens

    def _rate(self, update: int) -> float:
        width, maximum = self.plan.model.model.width, self.settings.maximum_updates
        return learning_rate(update, self.settings.schedule, width=width, maximum_updates=maximum)

    def _loss(self, batch: Batch) -> Loss:
        with self._precision():
            states = self.model(batch.source, batch.target_inputs)
            smoothing = self.settings.label_smoothing
            return cross_entropy(states, self.model.output.weight, batch.targets, smoothing=smoothing, padding=PADDING)

    def _precision(self) -> AbstractContextManager[Any]:
        if self.settings.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _validate(self, update: int, epoch: int, training: Totals, validation: Pairs) -> None:
        self.model.eval()
        totals = Totals()
        with torch.no_grad():
            for batch in validation.batches(tokens=self.settings.batch_tokens):
                totals.add(self._loss(validation.load(batch)))
        row = {
            "update": update,
            "epoch": epoch,
            "learning_rate": self._rate(update),
            "train_loss": training.smoothed / training.tokens,
            "train_nll": training.negative_log_likelihood / training.tokens,
            "valid_loss": totals.smoothed / totals.tokens,
            "valid_nll": totals.negative_log_likelihood / totals.tokens,
            "valid_perplexity": math.exp(min(700.0, totals.negative_log_likelihood / totals.tokens)),
        }
        if self.bleu is not None:
            row["valid_bleu"] = self.bleu(self.model)
        self.rows.append(row)
        write_curve(self.curve, self.rows)
        self._save(row)

    def _save(self, row: dict[str, Any]) -> None:
        vocabularies = len(self.corpus.source_vocabulary), len(self.corpus.target_vocabulary)
        metadata = {**checkpoints.model_metadata(self.plan.model, *vocabularies), "validation": row}
        checkpoints.save(self._checkpoint(row), checkpoints.weights_of(self.model), metadata)
        kept = self.rows[max(0, len(self.rows) - self.settings.keep_last) :] + self._ranked()[: self.settings.keep_best]
        for earlier in self.rows:
            if earlier not in kept:
                self._checkpoint(earlier).unlink(missing_ok=True)

    def _checkpoint(self, row: dict[str, Any]) -> Path:
        return self.folder / f"checkpoint-{row['update']:08d}.safetensors"

    def _ranked(self) -> list[dict[str, Any]]:
        """The validations, best first; of equals the earlier."""
        if self.settings.select_by == "bleu":
            return sorted(self.rows, key=lambda row: -row["valid_bleu"])
        return sorted(self.rows, key=lambda row: row["valid_loss"])

    def _out_of_patience(self) -> bool:
        if self.settings.patience is None:
            return False
        return len(self.rows) - 1 - self.rows.index(self._ranked()[0]) >= self.settings.patience
