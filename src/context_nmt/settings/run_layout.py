"""The paths of the files that training and translation read and write.

Reports and measures have further paths, in layout.py: a new one there causes no new training.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from context_nmt.files import UserError


def run_name(variant: str, seed: int) -> str:
    """Return the name of one run: a variant with a seed."""
    return f"{variant}-{seed}"


class FixedPath:
    """A path in an experiment's folder, as an attribute of its layout."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __get__(self, layout: "RunLayout", _: Any) -> Path:
        return layout.folder / self.path


class NamedPath:
    """A path in an experiment's folder with a name in place of {}, as a method of its layout."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __get__(self, layout: "RunLayout", _: Any) -> Callable[[str], Path]:
        return lambda name: layout.folder / self.path.format(name)


@dataclass(frozen=True)
class RunLayout:
    """One experiment's folder; paths are relative to the current folder as `folder` is. A run is VARIANT-SEED."""

    folder: Path = Path()

    data = NamedPath("data/{}")  # raw text, a user's own or made by the download stage; or probing tasks

    # Small files, in git.
    stage_plan = NamedPath("metrics/plans/{}.json")  # text, units, models, significance, …
    data_plan = NamedPath("metrics/plans/data.{}.json")  # of a corpus
    curve = NamedPath("metrics/curves/{}.csv")  # learning curve of a run
    hypotheses = NamedPath("metrics/hypotheses/{}.zip")  # of a run: TEST.txt, Moses tokens or raw text

    # Large files, in the DVC cache.
    tokenized = FixedPath("runs/tokenized")
    subwords = FixedPath("runs/subwords")
    binarized = FixedPath("runs/binarized")  # training/ and tests/
    distilled = NamedPath("runs/distilled/{}")  # of a seed: its teacher's translations of the training source
    checkpoints = NamedPath("runs/training/{}")
    model = NamedPath("runs/models/{}")  # one run, complete: weights, settings and what its text needs
    decoded = NamedPath("runs/decoded/{}")  # TEST.subwords.txt, TEST.nbest.jsonl

    # Not in the cache.
    scratch = NamedPath("runs/scratch/{}")  # the state to resume a training from, until its checkpoints are averaged
    tensorboard = NamedPath("runs/tensorboard/{}")  # a run's curve for TensorBoard, if launch asks for it
    training_lock = NamedPath("runs/scratch/{}.lock")  # kept locked by the process that trains a run

    def plan(self, variant: str, part: str) -> Path:
        """Return the plan of a variant; `part` is training, averaging or decoding."""
        return self.folder / "metrics/plans" / variant / f"{part}.json"

    def with_plan_of(self, variant: str) -> Self:
        """Return this layout; raise UserError with all names if other variants have plans and this one has none."""
        plans = self.folder / "metrics/plans"
        planned = sorted(path.name for path in plans.glob("*/"))
        if planned and variant not in planned:
            raise UserError(
                f"no variant {variant!r} in {plans}; there are {', '.join(planned)}. The plan stage writes those under"
                " variants in params.yaml"
            )
        return self
