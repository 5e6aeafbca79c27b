"""Report a training: progress and validations on standard error, and its learning curve for TensorBoard."""

import time
from pathlib import Path
from typing import Any

from context_nmt.files import UserError
from context_nmt.progress import Progress, say

FEWEST_EPOCHS, MOST_EPOCHS = 3, 100


class Reporter:
    """The messages of a training; progress is shown while `progress` is entered."""

    def __init__(self, maximum_updates: int, *, done: int = 0, tensorboard: Path | None = None) -> None:
        self.writer = None if tensorboard is None else _tensorboard_writer(tensorboard, done)
        self.progress = Progress("train", maximum_updates, "updates", done=done)
        self.updates, self.maximum_updates = done, maximum_updates
        if done:
            say(f"resumes after update {done:,}")
        self.tokens, self.since = 0, time.perf_counter()

    def budget(self, epochs: float, *, has_patience: bool) -> None:
        """Print a note if the training has unusually few epochs, or many that no patience ends."""
        if epochs < FEWEST_EPOCHS or (epochs > MOST_EPOCHS and not has_patience):
            say(
                f"note: {self.maximum_updates:,} updates are {epochs:,.1f} epochs of this corpus; usual are"
                f" {FEWEST_EPOCHS} to {MOST_EPOCHS} (training.maximum_updates, training.batch_tokens)"
            )

    def update(self, tokens: int) -> None:
        """Record one update of `tokens` target tokens."""
        self.tokens += tokens
        self.updates += 1
        counts = f"{self.updates:,}/{self.maximum_updates:,} updates"
        self.progress.advance(detail=f"{counts}, {self._speed():,.0f} target tokens/s")

    def validation(self, row: dict[str, Any]) -> None:
        """Print one validation."""
        line = (
            f"update {row['update']:>7,}  epoch {row['epoch']:>3}  rate {row['learning_rate']:.2e}"
            f"  train loss {row['train_loss']:.3f}  valid loss {row['valid_loss']:.3f}"
            f"  perplexity {row['valid_perplexity']:.2f}  {self._speed():,.0f} target tokens/s"
        )
        if "valid_bleu" in row:
            line += f"  BLEU {row['valid_bleu']:.2f}"
        say(line)
        if self.writer is not None:
            for name, value in (row | {"target_tokens_per_second": self._speed()}).items():
                if name != "update" and not isinstance(value, str):
                    self.writer.add_scalar(name, value, row["update"])
            self.writer.flush()
        self.tokens, self.since = 0, time.perf_counter()

    def close(self) -> None:
        """Close TensorBoard's file."""
        if self.writer is not None:
            self.writer.close()

    def _speed(self) -> float:
        return self.tokens / max(1e-9, time.perf_counter() - self.since)


def _tensorboard_writer(folder: Path, done: int) -> Any:
    """Return TensorBoard's writer, which hides points after update `done` that were written before a kill."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UserError(
            f"launch.tensorboard of params.yaml is true, but {error.name} is not installed; pip install tensorboard"
        ) from None
    return SummaryWriter(folder, purge_step=done + 1)
