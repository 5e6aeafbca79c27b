"""Where the files of one experiment are; only `Layout` knows this."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from context_nmt.files import UserError


def run_name(variant: str, seed: int) -> str:
    """The name of one run: a variant with a seed."""
    return f"{variant}-{seed}"


def rescored_name(run: str) -> str:
    """The name of the translations a teacher chose among a run's candidates: VARIANT.rescored-SEED."""
    variant, _, seed = run.rpartition("-")
    return run_name(f"{variant}.rescored", int(seed))


class At:
    """A path in an experiment's folder, as an attribute of `Layout`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __get__(self, layout: "Layout", _: Any) -> Path:
        return layout.folder / self.path


class Of:
    """A path in an experiment's folder with a name in place of {}, as a method of `Layout`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __get__(self, layout: "Layout", _: Any) -> Callable[[str], Path]:
        return lambda name: layout.folder / self.path.format(name)


@dataclass(frozen=True)
class Layout:
    """One experiment's folder; paths are relative to the current folder as `folder` is.

    A run is VARIANT-SEED; what a teacher chose among its candidates is VARIANT.rescored-SEED.
    """

    folder: Path = Path()

    parameters = At("params.yaml")
    lock = At("dvc.lock")
    data = Of("data/{}")  # raw text, a user's own or made by the download stage; or probing tasks

    # Small files, in git.
    metrics = At("metrics")
    stage_plan = Of("metrics/plans/{}.json")  # text, units, significance, probe_sentences or probe_words
    data_plan = Of("metrics/plans/data.{}.json")  # of a corpus
    curve = Of("metrics/curves/{}.csv")  # learning curve of a run
    hypotheses = Of("metrics/hypotheses/{}.zip")  # of a run: TEST.txt, Moses tokens
    contrastive = Of("metrics/contrastive/{}.csv")  # accuracies of a run on contrastive sets
    analyses = Of("metrics/analyses/{}.csv")  # what hooks have measured inside a run
    sentence_probes = Of("metrics/analyses/sentences/{}.csv")
    word_probes = Of("metrics/analyses/words/{}.csv")
    models = At("metrics/models.json")  # parameters and FLOPs of all variants
    results = At("metrics/results.json")
    results_table = At("metrics/results.csv")
    results_page = At("metrics/results.md")
    focus = At("metrics/focus.json")  # the results of one variant, for `dvc metrics diff`
    reports = At("reports")  # report.md and figures/ in git; report.html, tables/ and pages/ in the DVC cache

    # Large files, in the DVC cache.
    runs = At("runs")
    tokenized = At("runs/tokenized")
    subwords = At("runs/subwords")
    binarized = At("runs/binarized")  # training/ and tests/
    distilled = At("runs/distilled")  # the teacher's translations of the training source
    checkpoints = Of("runs/training/{}")
    model = Of("runs/models/{}")  # one run, complete: weights, settings and what its text needs
    decoded = Of("runs/decoded/{}")  # TEST.subwords.txt, TEST.nbest.jsonl
    pairs = Of("runs/pairs/{}.json")  # which of a variant's translations are compared with which
    contrastive_outcomes = Of("runs/contrastive/{}")  # SET.tsv, the outcome of each item of a contrastive set

    # Not in the cache.
    scratch = Of("runs/scratch/{}")  # what a training resumes from, until its checkpoints are averaged
    training_lock = Of("runs/scratch/{}.lock")  # kept locked by the process that trains a run

    def plan(self, variant: str, part: str) -> Path:
        """The plan of a variant; `part` is training, averaging or decoding."""
        return self.metrics / "plans" / variant / f"{part}.json"

    def plans(self, part: str) -> list[Path]:
        """The plans of all variants."""
        return sorted(self.metrics.glob(f"plans/*/{part}.json"))

    def with_plan_of(self, variant: str) -> Self:
        """Return this layout; raises UserError with all names if other variants have plans and this one has none."""
        plans = self.metrics / "plans"
        planned = sorted(path.name for path in plans.glob("*/"))
        if planned and variant not in planned:
            raise UserError(
                f"no variant {variant!r} in {plans}; there are {', '.join(planned)}. The plan stage writes those under"
                " variants in params.yaml"
            )
        return self

    def scores(self, run: str) -> Path:
        """The scores of a run's translations, and tests against the baseline."""
        variant, _, seed = run.rpartition("-")
        return self.metrics / "scores" / variant / f"{seed}.csv"
