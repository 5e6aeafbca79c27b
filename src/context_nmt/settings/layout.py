"""The paths of an experiment's files that reports and measures read, besides those in run_layout.py."""

from dataclasses import dataclass
from pathlib import Path

from context_nmt.settings.run_layout import FixedPath, NamedPath, RunLayout, split_run_name

RESCORED = ".rescored"  # follows a variant's name, for translations that a teacher chose among the variant's candidates


@dataclass(frozen=True)
class Layout(RunLayout):
    """An experiment's folder, with measurements, results and reports."""

    parameters = FixedPath("params.yaml")
    external = NamedPath("external/{}")  # TEST.txt, translations of an external system, from the user
    lock = FixedPath("dvc.lock")

    # Small files, in git.
    metrics = FixedPath("metrics")
    contrastive = NamedPath("metrics/contrastive/{}.csv")  # a run's measures of given translations
    contrastive_outcomes = NamedPath("metrics/contrastive/{}.json")  # the outcome of each item of contrastive sets
    analyses = NamedPath("metrics/analyses/{}.csv")  # measurements inside a run's model
    sentence_probes = NamedPath("metrics/analyses/sentences/{}.csv")
    word_probes = NamedPath("metrics/analyses/words/{}.csv")
    models = FixedPath("metrics/models.json")  # parameters and FLOPs of all variants
    results = FixedPath("metrics/results.json")
    summary = FixedPath("metrics/summary.json")  # the main scores, DVC's metrics
    results_table = FixedPath("metrics/results.csv")
    results_page = FixedPath("metrics/results.md")
    focus = FixedPath("metrics/focus.json")  # the results of one system, for `dvc metrics diff`
    reports = FixedPath("reports")  # report.md, papers/, figures/ in git; report.html, tables/, pages/ in the DVC cache

    # Large files, in the DVC cache.
    runs = FixedPath("runs")
    pairs = NamedPath("runs/pairs/{}.json")  # which translations of a variant are compared with which
    contrastive_margins = NamedPath("runs/contrastive/{}")  # SET.tsv, outcome and margin of each item

    def scores(self, run: str) -> Path:
        """Return the file of a run's scores and of its significance tests against the baseline."""
        variant, seed = split_run_name(run)
        return self.metrics / "scores" / variant / f"{seed}.csv"
