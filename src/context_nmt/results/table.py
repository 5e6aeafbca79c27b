"""Collects what the runs of an experiment scored: means over seeds, and differences to the baseline."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t as student

from context_nmt.files import UserError, read_json, write_json
from context_nmt.results.flat import read_flat
from context_nmt.results.speeds import Speeds, read_speeds
from context_nmt.settings.experiment import ExperimentSettings
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name

COUNTS = ("apt_pronouns_words", "apt_nouns_words")  # of words, which no table shows
METRICS = ("sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "chrf")  # the order in tables


@dataclass(frozen=True)
class Difference:
    """What a variant gains over its baseline on one test set by one metric; both run with the same seeds."""

    mean: float
    interval: tuple[float, float] | None  # 95% t interval of the paired differences; None with a single seed
    p: float | None  # of the variant's own test, the largest over seeds; 1 if seeds disagree on who is better


@dataclass(frozen=True)
class Results:
    """All scores of an experiment, read for the variants and seeds of its params.yaml and for no others."""

    settings: ExperimentSettings
    scores: dict[str, list[dict[str, Any]]]  # variant: per seed {set: {metric: {"score", "signature"}}}
    comparisons: dict[str, list[dict[str, Any]]]  # variant: per seed {test_set: comparison}
    models: dict[str, dict[str, Any]]
    speeds: Speeds
    # variant: per seed {test_set: {measure: value}}; discourse and probes too
    analyses: dict[str, list[dict[str, dict[str, float]]]]

    @cached_property
    def test_sets(self) -> list[str]:
        """Test sets, then groups of them, in the order of params.yaml."""
        return [*self.settings.corpus.tests, *self.settings.corpus.groups]

    @cached_property
    def contrastive_sets(self) -> list[str]:
        """Contrastive sets in the order of params.yaml; their metrics are accuracies."""
        return list(self.settings.corpus.contrastive)

    @cached_property
    def probing_sets(self) -> list[str]:
        """The folder of probing tasks, as the name of what sentence probes were measured on; none without these."""
        probing = self.settings.probing
        return [str(probing.tasks)] if probing.sentences else []

    def metrics(self, test_set: str) -> list[str]:
        """The metrics that any run has on a test set."""
        found = {metric for runs in self.scores.values() for run in runs for metric in run.get(test_set, ())}
        return [metric for metric in METRICS if metric in found] + sorted(found - set(METRICS))

    def measures(self, test_set: str) -> list[str]:
        """What the analysis of any run has measured on a test set, `MEASURE` or `MEASURE_NUMBER`; none of a group."""
        found = {name for runs in self.analyses.values() for run in runs for name in run.get(test_set, ())}
        return sorted(found, key=lambda name: re.sub(r"\d+$", lambda number: f"{number[0]:0>9}", name))

    def numbers(self, test_set: str, measure: str) -> list[int]:
        """The numbers of a measure, which are layers or lengths."""
        return [int(number) for number in self.endings(test_set, measure, r"\d+")]

    def endings(self, test_set: str, measure: str, pattern: str) -> list[str]:
        """What stands behind the name of a measure, itself a pattern, where it is of `pattern`: in order, once each."""
        found = [re.fullmatch(rf"{measure}_({pattern})", name) for name in self.measures(test_set)]
        return sorted({match[1] for match in found if match}, key=_in_order)

    def has(self, test_set: str, metric: str) -> bool:
        """Whether any run has this metric or measure on a test set."""
        return metric in self.metrics(test_set) or metric in self.measures(test_set)

    def values(self, variant: str, test_set: str, metric: str) -> list[float]:
        """One score or measure per seed; empty if a run of the variant lacks it."""
        scores = [run[test_set][metric]["score"] for run in self.scores[variant] if metric in run.get(test_set, ())]
        found = scores or [run[test_set][metric] for run in self.analyses[variant] if metric in run.get(test_set, ())]
        return found if len(found) == len(self.settings.seeds) else []

    def summary(self, variant: str, test_set: str, metric: str) -> dict[str, Any] | None:
        """Mean, sample standard deviation (0 for a single seed) and number of seeds."""
        values = self.values(variant, test_set, metric)
        if not values:
            return None
        deviation = stdev(values) if len(values) > 1 else 0.0
        return {"mean": round(fmean(values), 4), "deviation": round(deviation, 4), "seeds": len(values)}

    def difference(self, variant: str, test_set: str, metric: str) -> Difference | None:
        """The gain over the baseline; None without a baseline or without values of both."""
        baseline = self.settings.variants[variant].baseline
        if baseline is None:
            return None
        pairs = zip(self.values(variant, test_set, metric), self.values(baseline, test_set, metric), strict=False)
        gains = [system - other for system, other in pairs]
        if not gains:
            return None
        tests = [run[test_set] for run in self.comparisons[variant] if test_set in run]
        p_values = [_known_p(test) for test in tests if test["metric"] == metric]
        if p_values and min(gains) < 0 < max(gains):
            p_values.append(1.0)
        return Difference(round(fmean(gains), 4), t_interval(gains), max(p_values, default=None))

    def signatures(self, metric: str) -> list[str]:
        """Every signature that a metric's scores carry; more than one means that scores cannot be compared."""
        runs = [run for runs in self.scores.values() for run in runs]
        names = (*self.settings.corpus.tests, *self.contrastive_sets)
        return sorted({run[name][metric]["signature"] for run in runs for name in names if metric in run[name]})

    def items(self, contrastive_set: str, metric: str) -> int:
        """How many items of a contrastive set a metric counts; 0 if no run has it."""
        found = [run[contrastive_set].get(metric) for runs in self.scores.values() for run in runs]
        return max((score["items"] for score in found if score), default=0)

    def measured_rows(self) -> Iterator[tuple[str, str, str]]:
        """Every (variant, test set, measure) that there is."""
        for variant in self.settings.variants:
            for test_set in (*self.test_sets, *self.probing_sets):
                for measure in self.measures(test_set):
                    if self.values(variant, test_set, measure):
                        yield variant, test_set, measure

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Every (variant, test or contrastive set, metric)."""
        for variant in self.settings.variants:
            for test_set in (*self.test_sets, *self.contrastive_sets):
                for metric in self.metrics(test_set):
                    yield variant, test_set, metric

    def as_json(self) -> dict[str, Any]:
        """Build {variant: {test_set: {metric: summary}, "model": {"parameters", "flops_per_target_token"}}}."""
        result: dict[str, Any] = {
            variant: {"model": {name: model[name] for name in ("parameters", "flops_per_target_token")}}
            for variant, model in self.models.items()
        }
        for variant, test_set, metric in self.rows():
            summary = self.summary(variant, test_set, metric)
            if summary:
                result[variant].setdefault(test_set, {})[metric] = summary
        return result


def _in_order(ending: str) -> tuple[int, str]:
    """Numbers by their size, tags by name."""
    return (int(ending), "") if ending.isdecimal() else (0, ending)


def read_results(experiment: Experiment) -> Results:
    """Read scores/, contrastive/, significance/, analyses/, discourse/ and models.json of metrics/, and speeds.

    Raises UserError for a gap.
    """
    settings = experiment.settings
    runs = {variant: [run_name(variant, seed) for seed in settings.seeds] for variant in settings.variants}
    path = experiment.metrics / "models.json"
    models = read_json(path)
    missing = [variant for variant in settings.variants if variant not in models]
    if missing:
        raise UserError(f"{path} does not describe {missing}; run the describe stage again")
    read = {variant: [_read_run(experiment, variant, run) for run in names] for variant, names in runs.items()}
    scores, comparisons, analyses = (
        {variant: [run[place] for run in found] for variant, found in read.items()} for place in range(3)
    )
    return Results(
        settings=settings,
        scores=scores,
        comparisons=comparisons,
        models={variant: models[variant] for variant in settings.variants},
        speeds=read_speeds(experiment.speeds),
        analyses=analyses,
    )


def _read_run(experiment: Experiment, variant: str, run: str) -> tuple[dict[str, Any], ...]:
    """A run's scores on all test sets, groups and contrastive sets, its comparisons and its analyses."""
    corpus = experiment.settings.corpus
    compared = experiment.settings.variants[variant].baseline is not None
    scores = _read(experiment.scores(run), "scores", (*corpus.tests, *corpus.groups), "evaluate")
    accuracies = _read(experiment.contrastive(run), "scores", corpus.contrastive, "contrast")
    comparisons = _read(experiment.significance(run), "comparisons", corpus.tests if compared else (), "significance")
    analyses = _read(experiment.analyses(run), "analyses", corpus.tests, "analyse")
    probing = experiment.settings.probing
    further = [
        experiment.discourse(run),
        *([experiment.word_probes(run)] if variant in probing.words else ()),
        *([experiment.sentence_probes(run)] if variant in probing.sentences else ()),
    ]
    measured = {test: {name: one["score"] for name, one in found.items()} for test, found in analyses.items()}
    for path in further:
        for test, found in read_flat(path).items():
            own = {name: one["score"] for name, one in found.items() if not name.startswith(COUNTS)}
            measured[test] = measured.get(test, {}) | own
    return scores | accuracies, comparisons, measured


def _read(path: Path, what: str, names: tuple[str, ...], stage: str) -> dict[str, Any]:
    """A file that must have these names, which a stage has written; {} if there are none."""
    read = read_flat if path.suffix == ".csv" else read_json
    found: dict[str, Any] = read(path) if names else {}
    absent = [name for name in names if name not in found]
    if absent:
        raise UserError(f"{path} has no {what} of {absent}; run the {stage} stage again")
    return found


def _known_p(comparison: dict[str, Any]) -> float:
    """The p of the variant's test; a bootstrap that is never lost only says that p is below 1 / resamples."""
    smallest = 1 / comparison["bootstrap"]["resamples"] if comparison["test"] == "bootstrap" else 0.0
    return max(float(comparison["p"]), smallest)


def t_interval(values: list[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None

    half = float(student.ppf((1 + confidence) / 2, len(values) - 1)) * stdev(values) / sqrt(len(values))
    return round(fmean(values) - half, 4), round(fmean(values) + half, 4)


def write_focus(experiment: Experiment) -> None:
    """Write the means of the variant that params.yaml names under `focus`, for `dvc metrics diff` between revisions."""
    results = read_json(experiment.metrics / "results.json")[experiment.settings.focus]
    focus = {
        test_set: {metric: summary["mean"] for metric, summary in metrics.items()}
        for test_set, metrics in results.items()
        if test_set != "model"
    }
    write_json(experiment.metrics / "focus.json", focus | {"model": results["model"]})
