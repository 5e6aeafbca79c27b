"""Learning curves as CSV, which `dvc plots` draws."""

import csv
from pathlib import Path
from typing import Any

from context_nmt.files import replacing

TRAINING = ("update", "epoch", "learning_rate", "train_loss", "train_nll")
VALIDATION = ("valid_loss", "valid_nll", "valid_perplexity", "valid_bleu")


def write_curve(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one row per validation; numbers have seven significant digits."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [name for name in TRAINING + VALIDATION if name in rows[0]], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: f"{value:.7g}" for name, value in row.items()})
