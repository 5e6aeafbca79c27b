"""The results of an experiment: rows of runs, their means over seeds, and differences from baselines."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, final

import pandas as pd

from context_nmt.measures.rows import MCNEMAR, TESTS, TEXT, Measure, Row, sort_key
from context_nmt.results.metrics import METRICS, P_VALUES, WORD_COUNTS, format_seeds, signature_key
from context_nmt.results.seed_tests import Sample
from context_nmt.results.speeds import Speeds
from context_nmt.settings.layout import RESCORED
from context_nmt.settings.parameters import Experiment, ExperimentSettings


@final
@dataclass(frozen=True)
class Difference:
    """The paired difference between a system and its baseline, over the same seeds."""

    mean: float
    interval: tuple[float, float] | None  # 95% t interval of the paired differences; None with a single seed
    p: float | None  # the largest p over seeds of the variant's test; 1 if seeds disagree on which system is better


@final
@dataclass(frozen=True)
class Estimate:
    """A system's measure: the mean over its seeds, and the gain over its baseline."""

    mean: float
    deviation: float = 0.0  # sample standard deviation, 0 for a single seed
    seeds: int = 1
    gain: Difference | None = None


@dataclass(frozen=True)
class Results:
    """All measurements of an experiment so far, for the variants and seeds of its params.yaml."""

    experiment: Experiment
    models: dict[str, dict[str, Any]]  # by variant, as written by the describe stage
    speeds: Speeds
    rows: dict[tuple[str, int], list[Row]]  # by system and seed; see `systems`
    curves: dict[str, list[pd.DataFrame]]  # learning curves of a variant's runs, by update
    processors: dict[tuple[str, int], str]  # the processor that trained a run, by variant and seed, where known
    name: str = ""  # the experiment's folder under experiments/; empty for the one that the report is about
    out_of_date: tuple[str, ...] = ()  # systems whose results come from other code, settings or inputs
    earlier_code: str = ""  # the commit whose code made the other results, if they have not been remade since

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
        """The folder of probing tasks, which is the test set of sentence probes; empty without probing tasks."""
        return [str(self.settings.probing.tasks)] if self.settings.probing.tasks else []

    @property
    def sets(self) -> list[str]:
        """All sets with measurements: test sets, contrastive sets, probing tasks."""
        return [*self.test_sets, *self.contrastive_sets, *self.probing_sets]

    @property
    def folder(self) -> str:
        """The name of its folder under experiments/; empty for the experiment in the root."""
        folder = self.experiment.parameters.resolve().parent
        return "" if (folder / self.settings.root).resolve() == folder else folder.name

    @property
    def command(self) -> str:
        """The command that brings the experiment up to date, in the root."""
        return f"make repro NAME={self.folder}".removesuffix(" NAME=")

    @property
    def title(self) -> str:
        """Corpus, direction, the experiment's name if it differs, seeds, and whether results come from earlier code."""
        name = f" ({self.name})" if self.name and self.name != self.corpus.replace(" ", "-") else ""
        status = ", out of date" if self.out_of_date else f", code of {self.earlier_code}" if self.earlier_code else ""
        return f"{self.corpus}{name}, {format_seeds(self.settings.seeds)}{status}"

    @property
    def training_sentences(self) -> float | None:
        """The number of training sentences; None before they have been counted."""
        return self.reference_value(TEXT, Measure(self.settings.corpus.train, "sentences_of_text"))

    def label(self, system: str) -> str:
        """Return the name of a system in tables, with a mark if its results are out of date."""
        variant = system.removesuffix(RESCORED)
        chosen = "" if system == variant else ", chosen by the teacher"
        return self.settings.label(variant) + chosen + (" (out of date)" if variant in self.out_of_date else "")

    @property
    def recipe(self) -> tuple[object, ...]:
        """The corpus and the settings that all variants share; experiments with equal recipes are comparable."""
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
            if not row.subject and row.measure.metric not in (*WORD_COUNTS, *P_VALUES)
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
            key: Estimate(round(mean, 4), round(deviation, 4), self.number_of_seeds(key[0]), gains.get(key))
            for key, mean, deviation in zip(self.values.index, means, deviations, strict=True)
        }
        return {key: estimates[key] for key in sorted(estimates, key=self._sort_key)}

    @cached_property
    def systems(self) -> list[str]:
        """Variants, VARIANT.rescored after each rescored variant, and external systems."""
        return list(dict.fromkeys(system for system, _ in self.rows))

    @property
    def tested_systems(self) -> list[str]:
        """The systems of params.yaml: all but VARIANT.rescored."""
        return [system for system in self.systems if system in self.settings.systems]

    def number_of_seeds(self, system: str) -> int:
        """Return how many different runs a system has; an external system has one, which counts for every seed."""
        return 1 if system in self.settings.external else len(self.settings.seeds)

    def baseline(self, system: str) -> str | None:
        """Return the system that a system is compared with; VARIANT.rescored is compared with VARIANT."""
        if system in self.settings.systems:
            return self.settings.systems[system].baseline
        return system.removesuffix(RESCORED)

    def _sort_key(self, key: tuple[str, Measure]) -> tuple[object, ...]:
        system, measure = key
        sets = self.sets
        set_rank = sets.index(measure.test_set) if measure.test_set in sets else len(sets)
        metric_rank = METRICS.index(measure.metric) if measure.metric in METRICS else len(METRICS)
        return self.systems.index(system), set_rank, metric_rank, *sort_key(measure)

    def _gains(self, system: str) -> Iterator[tuple[tuple[str, Measure], Difference]]:
        baseline, systems = self.baseline(system), {name for name, _ in self.values.index}
        if baseline is None or not {system, baseline} <= systems:
            return
        stale = {name for name in systems if name.removesuffix(RESCORED) in self.out_of_date}
        if {system, baseline} & stale and systems - stale:  # their difference could also come from the code
            return
        values = self.values.loc[system]
        differences = (values - self.values.loc[baseline].reindex(values.index)).dropna()
        for measure, row in zip(differences.index, differences.to_numpy(float), strict=True):
            if self.are_comparable(system, baseline, measure):
                gains: list[float] = row.tolist()
                # two external systems differ by one number, not by several equal ones
                runs = max(self.number_of_seeds(system), self.number_of_seeds(baseline))
                interval = Sample(tuple(gains[:runs])).interval()
                yield (
                    (system, measure),
                    Difference(round(fmean(gains), 4), interval, self._p(system, measure, gains)),
                )

    def are_comparable(self, system: str, other_system: str, measure: Measure) -> bool:
        """Return whether a measure has the same signature for two systems with every seed."""
        signatures = self._signatures_of_runs
        return all(
            signatures.get((system, seed, measure)) == signatures.get((other_system, seed, measure))
            for seed in self.settings.seeds
        )

    @cached_property
    def _signatures_of_runs(self) -> dict[tuple[str, int, Measure], str]:
        return {
            (*run, row.measure): row.signature for run, rows in self.rows.items() for row in rows if not row.subject
        }

    def _p(self, system: str, measure: Measure, gains: list[float]) -> float | None:
        """Return the largest p of all seeds; 1 if they disagree on the better system, None unless all were tested."""
        if system not in self.settings.systems:
            return None
        p_values = self._p_values(system, measure, self.settings.systems[system].test)
        if len(p_values) < len(gains):
            return None
        return 1.0 if min(gains) < 0 < max(gains) else max(p_values)

    def p_values(self, variant: str, measure: Measure) -> dict[str, list[float]]:
        """Return the p-values of each test of a system against its baseline, one per seed that was tested."""
        return {test: self._p_values(variant, measure, test) for test in TESTS}

    def _p_values(self, variant: str, measure: Measure, test: str) -> list[float]:
        """Return the p-values of a test or, for a contrastive accuracy, which has only one test, of McNemar's test."""
        if measure.metric in MCNEMAR:
            key = replace(measure, metric=MCNEMAR[measure.metric])
        elif measure.tag or measure.layer is not None:
            return []
        else:
            key = Measure(measure.test_set, f"p_{test}", tag=measure.metric)
        tested = [self._tested.get((variant, seed, key)) for seed in self.settings.seeds]
        return [p for p in tested if p is not None]

    @cached_property
    def _tested(self) -> dict[tuple[str, int, Measure], float]:
        """All p-values of tests against the baselines that params.yaml names now."""
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
    def measured_systems(self) -> set[str]:
        """The systems with at least one measurement."""
        return {system for system, _ in self.estimates}

    @cached_property
    def measures(self) -> list[Measure]:
        """All measures of all systems, in the order of tables."""
        measures = dict.fromkeys(measure for _, measure in self.estimates)
        return sorted(measures, key=lambda measure: self._sort_key((self.systems[0], measure)))

    def mixed_seeds(self, variants: Collection[str]) -> list[int]:
        """Return the seeds with which some of these variants were trained on different processors."""
        processors_of_seed = {
            seed: {self.processors.get((name, seed), "") for name in variants} - {""} for seed in self.settings.seeds
        }
        return [seed for seed, processors in processors_of_seed.items() if len(processors) > 1]

    def reference_value(self, subject: str, measure: Measure) -> float | None:
        """Return a number that belongs to a test set; `subject` is one of measures.rows.REFERENCE_SUBJECTS."""
        return self.reference_values.get((subject, measure))

    @cached_property
    def reference_values(self) -> dict[tuple[str, Measure], float]:
        """All numbers that belong to a test set instead of a run, by subject and measure."""
        # Of the systems, which all have them, the last one counts: one that is up to date, if any is.
        runs = sorted(self.rows.items(), key=lambda run: run[0][0] not in self.out_of_date)
        return {(row.subject, row.measure): row.value for _, rows in runs for row in rows if row.subject}

    def signatures(self, measure: Measure) -> list[str]:
        """Return all signatures of a measure on any set; values with different signatures cannot be compared."""
        return sorted(self._signatures.get(signature_key(measure), ()))

    @cached_property
    def _signatures(self) -> dict[Measure, set[str]]:
        signatures: dict[Measure, set[str]] = {}
        for (_, _, measure), signature in self._signatures_of_runs.items():
            if signature and measure.metric not in P_VALUES and measure.test_set not in self.settings.corpus.groups:
                signatures.setdefault(signature_key(measure), set()).add(signature)
        return signatures


def layers_or_tags(
    results: Results, test_set: str, metrics: Collection[tuple[str, int | None]], by: str
) -> list[int | str]:
    """List the layers or, if `by` is "tag", the tags for which some metrics have values on a test set.

    `metrics` are pairs of a metric and a layer, which restricts tags only. A measure with both a layer and a tag does
    not count as one of the layer.
    """
    names = {metric for metric, _ in metrics}
    measures = [measure for measure in results.measures if measure.test_set == test_set and measure.metric in names]
    if by == "layer":
        return sorted({measure.layer for measure in measures if measure.layer is not None and not measure.tag})
    tagged = (measure for measure in measures if measure.tag and (measure.metric, measure.layer) in metrics)
    return list(dict.fromkeys(measure.tag for measure in sorted(tagged, key=lambda measure: sort_key(measure)[1:])))


def with_most_seeds(candidates: Iterable[Any], key: Callable[[Any], object]) -> list[Any]:
    """Return, for each key, the first candidate whose `results` have the most seeds."""
    best: dict[object, Any] = {}
    for candidate in candidates:
        current = best.setdefault(key(candidate), candidate)
        if len(candidate.results.settings.seeds) > len(current.results.settings.seeds):
            best[key(candidate)] = candidate
    return list(best.values())
