"""The results of an experiment as one table: rows of runs, their means over seeds, and differences to baselines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

import pandas as pd

from context_nmt.measures.contrastive import NORMALIZED, SUMMED
from context_nmt.measures.rows import TESTS, Measure, Row, in_order
from context_nmt.results.numbers import Difference, Number, t_interval
from context_nmt.results.speeds import Speeds
from context_nmt.settings.folder import Experiment
from context_nmt.settings.parameters import ExperimentSettings

METRICS = ("sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "chrf")  # the order in tables
COUNTS = ("apt_pronouns_words", "apt_nouns_words")  # of words, which no table shows
P_VALUES = tuple(f"p_{test}" for test in TESTS)
COLUMNS = (
    *("variant", "test_set", "metric", "layer", "tag", "mean", "deviation", "seeds"),
    *("baseline", "difference", "interval_low", "interval_high", "p"),
)


@dataclass(frozen=True)
class Results:
    """What has been measured of an experiment so far, for the variants and seeds of its params.yaml."""

    experiment: Experiment
    models: dict[str, dict[str, Any]]  # of the variants that describe has built
    speeds: Speeds
    rows: dict[tuple[str, int], list[Row]]  # by variant and seed
    name: str = ""  # of its folder under experiments/; empty for the experiment that a report is of
    out_of_date: tuple[str, ...] = ()  # variants whose results present code and settings would make anew
    command: str = ""  # brings it up to date, from the folder of the project

    @property
    def settings(self) -> ExperimentSettings:
        return self.experiment.settings

    @property
    def test_sets(self) -> list[str]:
        """Test sets, then groups of them, in the order of params.yaml."""
        return [*self.settings.corpus.tests, *self.settings.corpus.groups]

    @property
    def contrastive_sets(self) -> list[str]:
        return list(self.settings.corpus.contrastive)

    @property
    def probing_sets(self) -> list[str]:
        """The folder of probing tasks, as the name of what sentence probes were measured on; none without these."""
        return [str(self.settings.probing.tasks)] if self.settings.probing.tasks else []

    @property
    def sets(self) -> list[str]:
        """All that something is measured on."""
        return [*self.test_sets, *self.contrastive_sets, *self.probing_sets]

    @property
    def title(self) -> str:
        """Corpus, direction, the experiment's name where it is another one, seeds, and whether it is out of date."""
        corpus, seeds = self.settings.corpus, ", ".join(map(str, self.settings.seeds))
        own = f" ({self.name})" if self.name and self.name != f"{corpus.name}-{corpus.source}-{corpus.target}" else ""
        old = ", out of date" if self.out_of_date else ""
        return f"{corpus.name} {corpus.source}-{corpus.target}{own}, {'seeds' if ',' in seeds else 'seed'} {seeds}{old}"

    @property
    def recipe(self) -> tuple[object, ...]:
        """Corpus and settings that all variants start from; equal ones can be compared."""
        settings = self.settings
        corpus = settings.corpus
        return (
            *(corpus.name, corpus.source, corpus.target, corpus.train, settings.text, settings.units),
            *(settings.model, settings.training, settings.averaging, settings.decoding),
        )

    @cached_property
    def values(self) -> pd.DataFrame:
        """A row per variant and measure, a column per seed; what a run of the variant lacks is left out."""
        found = [
            (variant, row.measure, seed, row.value)
            for (variant, seed), rows in self.rows.items()
            for row in rows
            if not row.of and row.measure.metric not in (*COUNTS, *P_VALUES)
        ]
        table = pd.DataFrame(found, columns=["variant", "measure", "seed", "value"])
        wide = table.set_index(["variant", "measure", "seed"])["value"].unstack("seed", sort=False)
        return wide.reindex(columns=list(self.settings.seeds)).dropna()

    @cached_property
    def numbers(self) -> dict[tuple[str, Measure], Number]:
        """Means over seeds by variant and measure, in the order of tables: variants, test sets, names."""
        means, deviations = self.values.mean(axis="columns"), self.values.std(axis="columns").fillna(0.0)
        gains = {key: gain for variant in self.models for key, gain in self._gains(variant)}
        found = {
            key: Number(round(mean, 4), round(deviation, 4), len(self.settings.seeds), gains.get(key))
            for key, mean, deviation in zip(self.values.index, means, deviations, strict=True)
        }
        return {key: found[key] for key in sorted(found, key=self._place)}

    def _place(self, key: tuple[str, Measure]) -> tuple[object, ...]:
        variant, measure = key
        sets = self.sets
        place = sets.index(measure.test_set) if measure.test_set in sets else len(sets)
        first = METRICS.index(measure.metric) if measure.metric in METRICS else len(METRICS)
        return list(self.models).index(variant), place, first, *in_order(measure)

    def _gains(self, variant: str) -> Iterator[tuple[tuple[str, Measure], Difference]]:
        baseline, known = self.settings.variants[variant].baseline, {name for name, _ in self.values.index}
        if baseline not in known or variant not in known:
            return
        own = self.values.loc[variant]
        pairs = (own - self.values.loc[baseline].reindex(own.index)).dropna()
        for measure, row in zip(pairs.index, pairs.to_numpy(float), strict=True):
            gains: list[float] = row.tolist()
            p = self._p(variant, measure, gains)
            yield (variant, measure), Difference(round(fmean(gains), 4), t_interval(gains), p)

    def _p(self, variant: str, measure: Measure, gains: list[float]) -> float | None:
        p_values = self.p_values(variant, measure)[self.settings.variants[variant].test]
        if p_values and min(gains) < 0 < max(gains):
            p_values.append(1.0)
        return max(p_values, default=None)

    def p_values(self, variant: str, measure: Measure) -> dict[str, list[float]]:
        """What each test says of a variant's difference to its baseline, by seed; empty where it was not tested."""
        found: dict[str, list[float]] = {test: [] for test in TESTS}
        if measure.tag or measure.layer is not None:
            return found
        for seed in self.settings.seeds:
            for test in TESTS:
                key = variant, seed, Measure(measure.test_set, f"p_{test}", tag=measure.metric)
                found[test] += [self._tested[key]] if key in self._tested else []
        return found

    @cached_property
    def _tested(self) -> dict[tuple[str, int, Measure], float]:
        """All p-values, but for those against another baseline than that of params.yaml."""
        return {
            (variant, seed, row.measure): row.value
            for (variant, seed), rows in self.rows.items()
            for row in rows
            if row.measure.metric in P_VALUES
            and row.signature.split("|")[0] == self.settings.variants[variant].baseline
        }

    def number(self, variant: str | None, measure: Measure) -> Number | None:
        """What a variant has of a measure; None if one of its seeds has nothing."""
        return self.numbers.get((variant or "", measure))

    @cached_property
    def scored(self) -> set[str]:
        """The variants of which anything is measured."""
        return {variant for variant, _ in self.numbers}

    @cached_property
    def measures(self) -> list[Measure]:
        """All that any variant has, in the order of tables."""
        found = dict.fromkeys(measure for _, measure in self.numbers)
        return sorted(found, key=lambda measure: self._place((next(iter(self.models)), measure)))

    def of(self, kind: str, measure: Measure) -> float | None:
        """What a test set has for a measure that is of no run; `kind` is one of measures.rows.NO_RUNS."""
        return self._of_no_run.get((kind, measure))

    @cached_property
    def _of_no_run(self) -> dict[tuple[str, Measure], float]:
        return {(row.of, row.measure): row.value for rows in self.rows.values() for row in rows if row.of}

    def signatures(self, measure: Measure) -> list[str]:
        """Every signature that a measure's values have on any set; more than one: they cannot be compared."""
        return sorted(self._signatures.get(_of_any_set(measure), ()))

    @cached_property
    def _signatures(self) -> dict[Measure, set[str]]:
        found: dict[Measure, set[str]] = {}
        for rows in self.rows.values():
            for row in rows:
                if row.of or row.measure.metric in P_VALUES or row.measure.test_set in self.settings.corpus.groups:
                    continue
                if row.signature:
                    found.setdefault(_of_any_set(row.measure), set()).add(row.signature)
        return found

    def as_json(self) -> dict[str, Any]:
        """Build {variant: {test_set: {NAME: summary}, "model": {"parameters", "flops_per_target_token"}}} of scores."""
        result: dict[str, Any] = {
            variant: {"model": {name: model[name] for name in ("parameters", "flops_per_target_token")}}
            for variant, model in self.models.items()
        }
        for (variant, measure), number in self.numbers.items():
            if is_score(measure.metric):
                summary = {"mean": number.mean, "deviation": number.deviation, "seeds": number.seeds}
                result[variant].setdefault(measure.test_set, {})[name_of(measure)] = summary
        return result

    def as_frame(self) -> pd.DataFrame:
        """Build a table of COLUMNS with a row per variant and measure, then those of no run, see measures.rows."""
        rows = []
        for (variant, measure), number in self.numbers.items():
            gain = number.gain
            ends = (gain.interval if gain else None) or (None, None)
            rows.append(
                (
                    *(variant, *_cells(measure)),
                    *(number.mean, number.deviation, number.seeds, self.settings.variants[variant].baseline),
                    *(gain and gain.mean, *ends, gain and gain.p),
                )
            )
        for (kind, measure), value in self._of_no_run.items():
            rows.append((kind, *_cells(measure), value, *(None,) * 7))
        return pd.DataFrame(rows, columns=list(COLUMNS)).convert_dtypes()


def _cells(measure: Measure) -> tuple[object, ...]:
    return measure.test_set, measure.metric, measure.layer, measure.tag


def places(results: Results, test_set: str, metrics: Sequence[str], by: str) -> list[int | str]:
    """The layers of what has no tag, or the tags of what has no layer, that any variant has of some metrics."""
    own = [one for one in results.measures if one.test_set == test_set and one.metric in metrics]
    if by == "layer":
        return sorted({one.layer for one in own if one.layer is not None and not one.tag})
    tagged = sorted((one for one in own if one.tag and one.layer is None), key=lambda one: in_order(one)[1:])
    return list(dict.fromkeys(one.tag for one in tagged))


def is_score(metric: str) -> bool:
    """Whether a metric is a score of what systems are for, which results.json has."""
    return metric in (*METRICS, "sacrebleu_of_bound", SUMMED, NORMALIZED)


def name_of(measure: Measure) -> str:
    """One name for all that a measure is but its test set, for a reader: pronouns_cross_normalized, gate_key_2."""
    metric, tag = measure.metric, measure.tag
    if metric in (SUMMED, NORMALIZED):
        return f"{measure.test_set}_{tag}{metric.removeprefix(SUMMED)}"
    layer = "" if measure.layer is None else str(measure.layer)
    return "_".join(part for part in (metric.replace("_by_", "_"), tag, layer) if part)


def _of_any_set(measure: Measure) -> Measure:
    """A key of signatures: accuracies differ by set and category, other metrics by nothing but themselves."""
    return measure if measure.metric in (SUMMED, NORMALIZED) else Measure("", measure.metric)
