"""The outcome of a claim in one experiment, in numbers and words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean

import numpy as np
from scipy.stats import ttest_1samp

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.columns import COSTS
from context_nmt.results.estimates import t_interval
from context_nmt.results.metrics import name_of
from context_nmt.results.number_text import signed
from context_nmt.results.table import Results


@dataclass(frozen=True)
class Side:
    """One of the two systems of a claim, with the measures whose mean counts."""

    results: Results
    variant: str
    measures: tuple[Measure, ...]
    over_baseline: bool  # its gain over its own baseline counts, not the measure itself

    @cached_property
    def by_seed(self) -> tuple[float, ...]:
        """The mean of its measures, with each seed; a single number for a cost, which has no seeds."""
        own = self._means(self.variant)
        baseline = self.results.settings.variants[self.variant].baseline if self.over_baseline else None
        if baseline is None:
            return own
        return tuple(value - reference for value, reference in zip(own, self._means(baseline), strict=True))

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return fmean(self.by_seed)

    def _means(self, variant: str) -> tuple[float, ...]:
        numbers = [numbers_of(self.results, variant, measure) or () for measure in self.measures]
        return tuple(map(fmean, zip(*numbers, strict=True)))

    @property
    def name(self) -> str:
        """Its measures in words, without their test set."""
        if len(self.measures) == 1:
            return name_of(self.measures[0])
        layers = [(measure.tag, "" if measure.layer is None else f"layer {measure.layer}") for measure in self.measures]
        places = dict.fromkeys(place for pair in layers for place in pair if place)
        metrics = dict.fromkeys(measure.metric for measure in self.measures)
        return f"mean {', '.join(metrics)}{' in ' if places else ''}{', '.join(places)}"


@dataclass(frozen=True)
class Outcome:
    """A claim in one experiment: a system and another one, or a number."""

    claim: Claim
    side: Side
    others: tuple[Side, ...]  # the hardest for the claim first; empty if it compares the system with a number
    missing: tuple[str, ...]  # other variants of the claim without numbers here
    decimals: int
    is_own_text: bool  # test set and languages are those of the claim's table

    @property
    def other(self) -> Side | None:
        """The one of the others that is hardest for the claim."""
        return self.others[0] if self.others else None

    @property
    def results(self) -> Results:
        """The experiment."""
        return self.side.results

    @property
    def experiment(self) -> str:
        """The experiment's name, or the corpus and direction of the one that is reported; whether it is out of date."""
        corpus = self.results.settings.corpus
        name = self.results.name or f"{corpus.name} {corpus.direction}"
        return f"{name}, out of date" if self.is_out_of_date else name

    @property
    def systems(self) -> tuple[str, ...]:
        """The variants that are compared."""
        return (self.side.variant, *(other.variant for other in self.others))

    @property
    def is_primary(self) -> bool:
        """Whether the claim is judged by this experiment."""
        return self.results.folder == self.claim.experiment

    @property
    def is_comparable(self) -> bool:
        """Whether the measures of its systems were computed in the same way."""
        return all(
            self.results.are_comparable(self.side.variant, other.variant, measure)
            for other in self.others
            if other.measures == self.side.measures
            for measure in self.side.measures
        )

    @property
    def is_out_of_date(self) -> bool:
        """Whether one of its systems has results from earlier code, settings or text."""
        variants = self.results.settings.variants
        baselines = [variants[name].baseline for name in self.systems] if self.claim.gains else []
        return not {*self.systems, *baselines}.isdisjoint(self.results.out_of_date)

    @cached_property
    def differences(self) -> tuple[float, ...]:
        """The system's number minus that of the hardest of the others, with each seed."""
        return self.all_differences[0]

    @cached_property
    def all_differences(self) -> tuple[tuple[float, ...], ...]:
        """The same for each of the others and, if all are claimed to be equal, for each pair of them."""
        own = self.side.by_seed
        references = [other.by_seed for other in self.others] or [(self.claim.to or 0.0,) * len(own)]
        pairs = [(own, reference) for reference in references]
        if self.claim.direction == "equal":
            pairs += combinations(references, 2)
        return tuple(
            tuple(round(value - reference, 4) for value, reference in zip(*pair, strict=True)) for pair in pairs
        )

    @property
    def gain(self) -> float:
        """The mean difference."""
        return round(fmean(self.differences), 4)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95% interval over seeds; None with one seed."""
        return t_interval(list(self.differences))

    @property
    def agrees(self) -> bool | None:
        """Whether the difference as printed is as claimed; None if the systems are equal, but should not be."""
        gain = round(self.gain, self.decimals)
        if self.claim.direction == "equal":
            return abs(gain) <= self.claim.margin
        if self.claim.direction == "not_lower":
            return gain >= -self.claim.margin
        return None if abs(gain) <= self.claim.margin else (gain > 0) == (self.claim.direction == "higher")

    @property
    def direction_text(self) -> str:
        """The direction of the difference in words, however small the evidence."""
        if self.agrees is None:
            return "no difference"
        other_way = "outside the margin" if self.claim.direction == "equal" else "in the other direction"
        return "in the claimed direction" if self.agrees else other_way

    def numbers(self) -> str:
        """Return both systems with their numbers."""
        side, other, settings = self.side, self.other, self.results.settings
        gains = "gain of " if side.over_baseline else ""
        texts = [f"{gains}{settings.label(side.variant)} {side.value:.{self.decimals}f}"]
        if other is None:
            texts.append(f"claimed {self.claim.to:g}")
        elif other.measures == side.measures:
            texts.append(f"{settings.label(other.variant)} {other.value:.{self.decimals}f}")
        else:
            label = "" if other.variant == side.variant else f"{settings.label(other.variant)} "
            texts.append(f"{label}{other.name} {other.value:.{self.decimals}f}")
        test_set = f" on {side.measures[0].test_set}" if side.measures[0].test_set else ""
        return f"{', '.join(texts)} ({signed(self.gain, self.decimals)} {side.name}{test_set})"


def one_sided_p_values(claim: Claim, values: Sequence[float]) -> tuple[float, float]:
    """Return the p-values for and against a claim, from one difference per seed."""
    differences, margin = np.array(values), claim.margin

    def above(bound: float) -> float:
        return _one_sided(differences - bound)

    def below(bound: float) -> float:
        return _one_sided(bound - differences)

    p_values = {
        "higher": (above(margin), below(-margin)),
        "lower": (below(-margin), above(margin)),
        "not_lower": (above(-margin), below(-margin)),
        "equal": (max(above(-margin), below(margin)), min(above(margin), below(-margin))),
    }
    return p_values[claim.direction]


def _one_sided(values: np.ndarray) -> float:
    """Return the p of a mean above 0; equal values, as of accuracies that are all 50 or 100, need no test."""
    if np.ptp(values) == 0:
        return float(values[0] <= 0)
    return float(ttest_1samp(values, 0, alternative="greater").pvalue)


def numbers_of(results: Results, variant: str, measure: Measure) -> tuple[float, ...] | None:
    """Return a measure with each seed, or a speed relative to the Transformer's; None if the system lacks it."""
    if measure.metric in COSTS:
        speed = results.speeds.ratio(results.models[variant], measure.metric.removesuffix("_speed"))
        return None if speed is None else (speed,)
    return results.by_seed(variant, measure)
