"""Progress of a training run on standard error, with its speed, and a line per validation."""

import time
from typing import Any

from context_nmt.progress import Progress, say


class Reporter:
    """What a training says; how far it is, is shown while `progress` is entered."""

    def __init__(self, maximum_updates: int, *, done: int = 0) -> None:
        self.progress = Progress("train", maximum_updates, "updates", done=done)
        self.updates, self.maximum_updates = done, maximum_updates
        if done:
            say(f"resumes after update {done:,}")
        self.tokens, self.since = 0, time.perf_counter()

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
        self.tokens, self.since = 0, time.perf_counter()

    def _speed(self) -> float:
        return self.tokens / max(1e-9, time.perf_counter() - self.since)
