"""Progress of a training run on standard error: a bar with speed and time left, and a line per validation."""

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Reporter:
    """A progress bar, shown while its `progress` is entered; without a terminal, only the lines of validations."""

    def __init__(self, maximum_updates: int, *, done: int = 0, shown: bool = True) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("updates, {task.fields[speed]:,.0f} target tokens/s"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True, quiet=not shown),
            transient=True,
        )
        self.task = self.progress.add_task("train", total=maximum_updates, completed=done, speed=0.0)
        if done:
            self.progress.console.print(f"resumes after update {done:,}", highlight=False)
        self.tokens, self.since = 0, time.perf_counter()

    def update(self, tokens: int) -> None:
        """Count one update of so many target tokens."""
        self.tokens += tokens
        self.progress.update(self.task, advance=1, speed=self._speed())

    def validation(self, row: dict[str, Any]) -> None:
        """Print one validation."""
        line = (
            f"update {row['update']:>7,}  epoch {row['epoch']:>3}  rate {row['learning_rate']:.2e}"
            f"  train loss {row['train_loss']:.3f}  valid loss {row['valid_loss']:.3f}"
            f"  perplexity {row['valid_perplexity']:.2f}  {self._speed():,.0f} target tokens/s"
        )
        if "valid_bleu" in row:
            line += f"  BLEU {row['valid_bleu']:.2f}"
        self.progress.console.print(line, highlight=False, soft_wrap=True)
        self.tokens, self.since = 0, time.perf_counter()

    def _speed(self) -> float:
        return self.tokens / max(1e-9, time.perf_counter() - self.since)
