"""The results of an experiment: rows of runs, their means over seeds, and differences from baselines."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean, stdev
from typing import Any, final

import pandas as pd
from scipy.stats import t as student

from context_nmt.measures.rows import TESTS, Measure, Row, in_order
from context_nmt.results.metrics import COUNTS, METRICS, P_VALUES, of_any_set
from context_nmt.results.speeds import Speeds
from context_nmt.settings.layout import RESCORED
from context_nmt.settings.parameters import Experiment, ExperimentSettings


@final
@dataclass(frozen=True)
class Difference:
    """The paired difference between a system and its baseline, over the same seeds."""

    mean: float
    interval: tuple[float, float] | None  # 95% t interval of the paired differences; None with a single seed
    p: float | None  # of the variant's own test, the largest over seeds; 1 if seeds disagree on which is better


@final
@dataclass(frozen=True)
class Estimate:
    """The mean of one measure over the seeds of a system."""

    mean: float
    deviation: float = 0.0  # sample standard deviation, 0 for a single seed
    seeds: int = 1
    gain: Difference | None = None


def t_interval(values: list[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Return Student's interval of a mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    half_width = float(student.ppf((1 + confidence) / 2, len(values) - 1)) * stdev(values) / sqrt(len(values))
    return round(fmean(values) - half_width, 4), round(fmean(values) + half_width, 4)


@dataclass(frozen=True)
class Results:
    """All measurements of an experiment so far, for the variants and seeds in its params.yaml."""

    experiment: Experiment
    models: dict[str, dict[str, Any]]  # by variant, as written by the describe stage
    speeds: Speeds
    rows: dict[tuple[str, int], list[Row]]  # by system and seed; a system is a variant or VARIANT.rescored
    curves: dict[str, list[pd.DataFrame]]  # learning curves of a variant's runs, by update
    processors: dict[tuple[str, int], str]  # that trained a run, by variant and seed, where known
    name: str = ""  # its folder under experiments/; empty for the experiment that is reported
    out_of_date: tuple[str, ...] = ()  # variants whose results come from other code, settings or inputs
    earlier_code: str = ""  # the commit whose code made the other results, if they have not been made again
    command: str = ""  # brings the experiment up to date when run in the project's root

    @property
    def settings(self) -> ExperimentSettings:
        return self.experiment.settings

    @property
    def corpus(self) -> str:
        """The name of the corpus and its direction."""
        return f"{self.settings.corpus.name} {self.settings.corpus.direction}"

    @property
    def test_sets(self) -> list[str]:
        """Test sets, then groups of them, in the order of params.yaml."""
        return [*self.settings.corpus.tests, *self.settings.corpus.groups]

    @property
    def contrastive_sets(self) -> list[str]:
        return list(self.settings.corpus.contrastive)

    @property
    def probing_sets(self) -> list[str]:
        """The folder of probing tasks, the test set of sentence probes; empty without probing tasks."""
        return [str(self.settings.probing.tasks)] if self.settings.probing.tasks else []

    @property
    def sets(self) -> list[str]:
        """All sets with measurements: test sets, contrastive sets, probing tasks."""
        return [*self.test_sets, *self.contrastive_sets, *self.probing_sets]

    @property
    def folder(self) -> str:
        """The name of its folder under experiments/, also for the one that is reported; empty for that in the root."""
        folder = self.experiment.parameters.resolve().parent
        return "" if (folder / self.settings.root).resolve() == folder else folder.name

    @property
    def title(self) -> str:
        """Corpus, direction, the experiment's name if it differs, seeds, and whether results are of earlier code."""
        seeds = ", ".join(map(str, self.settings.seeds))
        name = f" ({self.name})" if self.name and self.name != self.corpus.replace(" ", "-") else ""
        status = ", out of date" if self.out_of_date else f", code of {self.earlier_code}" if self.earlier_code else ""
        return f"{self.corpus}{name}, {'seeds' if ',' in seeds else 'seed'} {seeds}{status}"

    def label(self, system: str) -> str:
        """Return the name of a system in tables, which says if its results are out of date."""
        variant = system.removesuffix(RESCORED)
        chosen = "" if system == variant else ", chosen by the teacher"
        return self.settings.label(variant) + chosen + (" (out of date)" if variant in self.out_of_date else "")

    @property
    def recipe(self) -> tuple[object, ...]:
        """The corpus and the settings that all variants share; experiments with equal recipes can be compared."""
        settings = self.settings
        corpus = settings.corpus
        return (
            *(corpus.name, corpus.source, corpus.target, corpus.train, settings.text, settings.units),
            *(settings.model, settings.training, settings.averaging, settings.decoding),
        )

    @cached_property
    def values(self) -> pd.DataFrame:
        """A row per system and measure, a column per seed; rows that lack a seed are dropped."""
        records = [
            (system, row.measure, seed, row.value)
            for (system, seed), rows in self.rows.items()
            for row in rows
            if not row.subject and row.measure.metric not in (*COUNTS, *P_VALUES)
        ]
        table = pd.DataFrame(records, columns=["system", "measure", "seed", "value"])
        wide = table.set_index(["system", "measure", "seed"])["value"].unstack("seed", sort=False)
        return wide.reindex(columns=list(self.settings.seeds)).dropna()

    @cached_property
    def estimates(self) -> dict[tuple[str, Measure], Estimate]:
        """Means over seeds by system and measure, in the order of tables: systems, test sets, metrics."""
        means, deviations = self.values.mean(axis="columns"), self.values.std(axis="columns").fillna(0.0)
        gains = {key: gain for system in self.systems for key, gain in self._gains(system)}
        estimates = {
            key: Estimate(round(mean, 4), round(deviation, 4), len(self.settings.seeds), gains.get(key))
            for key, mean, deviation in zip(self.values.index, means, deviations, strict=True)
        }
        return {key: estimates[key] for key in sorted(estimates, key=self._place)}

    @cached_property
    def systems(self) -> list[str]:
        """Variants and, after each rescored variant, VARIANT.rescored."""
        return list(dict.fromkeys(system for system, _ in self.rows))

    def baseline(self, system: str) -> str | None:
        """Return the system to compare with: the baseline of a variant; for VARIANT.rescored, the variant."""
        return self.settings.variants[system].baseline if system in self.models else system.removesuffix(RESCORED)

    def _place(self, key: tuple[str, Measure]) -> tuple[object, ...]:
        system, measure = key
        sets = self.sets
        set_rank = sets.index(measure.test_set) if measure.test_set in sets else len(sets)
        metric_rank = METRICS.index(measure.metric) if measure.metric in METRICS else len(METRICS)
        return self.systems.index(system), set_rank, metric_rank, *in_order(measure)

    def _gains(self, system: str) -> Iterator[tuple[tuple[str, Measure], Difference]]:
        baseline, systems = self.baseline(system), {name for name, _ in self.values.index}
        if baseline is None or not {system, baseline} <= systems:
            return
        old = {name for name in systems if name.removesuffix(RESCORED) in self.out_of_date}
        if {system, baseline} & old and systems - old:  # a difference between new and old would not be of the systems
            return
        values = self.values.loc[system]
        differences = (values - self.values.loc[baseline].reindex(values.index)).dropna()
        for measure, row in zip(differences.index, differences.to_numpy(float), strict=True):
            if self.are_comparable(system, baseline, measure):
                gains: list[float] = row.tolist()
                yield (
                    (system, measure),
                    Difference(round(fmean(gains), 4), t_interval(gains), self._p(system, measure, gains)),
                )

    def are_comparable(self, system: str, other: str, measure: Measure) -> bool:
        """Return whether a measure of two systems has the same signature with every seed."""
        signatures = self._signatures_of_runs
        return all(
            signatures.get((system, seed, measure)) == signatures.get((other, seed, measure))
            for seed in self.settings.seeds
        )

    @cached_property
    def _signatures_of_runs(self) -> dict[tuple[str, int, Measure], str]:
        return {
            (*run, row.measure): row.signature for run, rows in self.rows.items() for row in rows if not row.subject
        }

    def _p(self, system: str, measure: Measure, gains: list[float]) -> float | None:
        """Return the largest p of all seeds: 1 if they disagree on the better system, None unless all were tested."""
        if system not in self.models:
            return None
        p_values = self.p_values(system, measure)[self.settings.variants[system].test]
        if len(p_values) < len(gains):
            return None
        return 1.0 if min(gains) < 0 < max(gains) else max(p_values)

    def p_values(self, variant: str, measure: Measure) -> dict[str, list[float]]:
        """Return the p-values of each test of a variant against its baseline, one per seed that was tested."""
        is_whole = not measure.tag and measure.layer is None
        keys = {test: Measure(measure.test_set, f"p_{test}", tag=measure.metric) for test in TESTS}
        return {
            test: [
                self._tested[variant, seed, key]
                for seed in self.settings.seeds
                if is_whole and (variant, seed, key) in self._tested
            ]
            for test, key in keys.items()
        }

    @cached_property
    def _tested(self) -> dict[tuple[str, int, Measure], float]:
        """All p-values, except those against a baseline other than the one in params.yaml."""
        return {
            (variant, seed, row.measure): row.value
            for (variant, seed), rows in self.rows.items()
            for row in rows
            if row.measure.metric in P_VALUES and row.signature.split("|")[0] == self.baseline(variant)
        }

    def by_seed(self, system: str, measure: Measure) -> tuple[float, ...] | None:
        """Return a system's measure with each seed, in the order of params.yaml; None if a seed lacks it."""
        return self._by_seed.get((system, measure))

    @cached_property
    def _by_seed(self) -> dict[tuple[str, Measure], tuple[float, ...]]:
        return dict(zip(self.values.index, map(tuple, self.values.to_numpy(float).tolist()), strict=True))

    def estimate(self, system: str | None, measure: Measure) -> Estimate | None:
        """Return the mean over seeds of a system's measure; None if a seed lacks it."""
        return self.estimates.get((system or "", measure))

    @cached_property
    def scored(self) -> set[str]:
        """The systems with at least one measurement."""
        return {system for system, _ in self.estimates}

    @cached_property
    def measures(self) -> list[Measure]:
        """All measures of all systems, in the order of tables."""
        measures = dict.fromkeys(measure for _, measure in self.estimates)
        return sorted(measures, key=lambda measure: self._place((self.systems[0], measure)))

    def mixed_seeds(self, variants: Collection[str]) -> list[int]:
        """Return the seeds with which some of these variants were trained on different processors."""
        found = {
            seed: {self.processors.get((name, seed), "") for name in variants} - {""} for seed in self.settings.seeds
        }
        return [seed for seed, processors in found.items() if len(processors) > 1]

    def reference_value(self, kind: str, measure: Measure) -> float | None:
        """Return a number of a test set, not of a run; `kind` is one of measures.rows.NO_RUNS."""
        return self.reference_values.get((kind, measure))

    @cached_property
    def reference_values(self) -> dict[tuple[str, Measure], float]:
        """All numbers that belong to a test set, by kind and measure."""
        return {(row.subject, row.measure): row.value for rows in self.rows.values() for row in rows if row.subject}

    def signatures(self, measure: Measure) -> list[str]:
        """Return all signatures of a measure on any set; values with different signatures cannot be compared."""
        return sorted(self._signatures.get(of_any_set(measure), ()))

    @cached_property
    def _signatures(self) -> dict[Measure, set[str]]:
        signatures: dict[Measure, set[str]] = {}
        for (_, _, measure), signature in self._signatures_of_runs.items():
            if signature and measure.metric not in P_VALUES and measure.test_set not in self.settings.corpus.groups:
                signatures.setdefault(of_any_set(measure), set()).add(signature)
        return signatures


def places(results: Results, test_set: str, metrics: Collection[tuple[str, int | None]], by: str) -> list[int | str]:
    """List the layers or, by "tag", the tags that some metrics have, in the layer that is given with each.

    Measures with both a layer and a tag are not of a layer as a whole.
    """
    names = {metric for metric, _ in metrics}
    measures = [measure for measure in results.measures if measure.test_set == test_set and measure.metric in names]
    if by == "layer":
        return sorted({measure.layer for measure in measures if measure.layer is not None and not measure.tag})
    tagged = (measure for measure in measures if measure.tag and (measure.metric, measure.layer) in metrics)
    return list(dict.fromkeys(measure.tag for measure in sorted(tagged, key=lambda measure: in_order(measure)[1:])))


def with_most_seeds(found: Iterable[Any], key: Callable[[Any], object]) -> list[Any]:
    """Return one object with `results` per key: the first from an experiment with the most seeds."""
    best: dict[object, Any] = {}
    for candidate in found:
        current = best.setdefault(key(candidate), candidate)
        if len(candidate.results.settings.seeds) > len(current.results.settings.seeds):
            best[key(candidate)] = candidate
    return list(best.values())
