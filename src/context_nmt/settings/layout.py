"""The paths of all files of one experiment; only the two layouts define them."""

from dataclasses import dataclass
from pathlib import Path

from context_nmt.settings.run_layout import FixedPath, NamedPath, RunLayout, run_name


def rescored_name(run: str) -> str:
    """Return the name of the translations that a teacher chose among a run's candidates: VARIANT.rescored-SEED."""
    variant, _, seed = run.rpartition("-")
    return run_name(f"{variant}.rescored", int(seed))


@dataclass(frozen=True)
class Layout(RunLayout):
    """One experiment's folder, with measurements, results and reports."""

    parameters = FixedPath("params.yaml")
    lock = FixedPath("dvc.lock")

    # Small files, in git.
    metrics = FixedPath("metrics")
    contrastive = NamedPath("metrics/contrastive/{}.csv")  # accuracies of a run on contrastive sets
    analyses = NamedPath("metrics/analyses/{}.csv")  # measurements by hooks inside a run
    sentence_probes = NamedPath("metrics/analyses/sentences/{}.csv")
    word_probes = NamedPath("metrics/analyses/words/{}.csv")
    models = FixedPath("metrics/models.json")  # parameters and FLOPs of all variants
    results = FixedPath("metrics/results.json")
    results_table = FixedPath("metrics/results.csv")
    results_page = FixedPath("metrics/results.md")
    focus = FixedPath("metrics/focus.json")  # the results of one variant, for `dvc metrics diff`
    reports = FixedPath("reports")  # report.md and figures/ in git; report.html, tables/, pages/ in the DVC cache

    # Large files, in the DVC cache.
    runs = FixedPath("runs")
    pairs = NamedPath("runs/pairs/{}.json")  # which of a variant's translations are compared with which
    contrastive_outcomes = NamedPath("runs/contrastive/{}")  # SET.tsv, the outcome of each item of a contrastive set

    def scores(self, run: str) -> Path:
        """Return the file of a run's scores, and of its tests against the baseline."""
        variant, _, seed = run.rpartition("-")
        return self.metrics / "scores" / variant / f"{seed}.csv"
