"""The outcome of a claim in one experiment, in numbers and words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean

from context_nmt.measures.rows import HUMAN, Measure
from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.columns import COSTS
from context_nmt.report.papers.seed_tests import Sample
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
        """The mean of its measures, with each seed; of a cost, with each round of its measurement."""
        own = self._means(self.variant)
        baseline = self.results.settings.variants[self.variant].baseline if self.over_baseline else None
        if baseline is None:
            return own
        return tuple(value - reference for value, reference in zip(own, self._means(baseline), strict=True))

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return fmean(self.by_seed)

    def reference(self, to: float | str | None) -> float | None:
        """Return the number that a claim compares the system with; None if the human translation was not measured."""
        if not isinstance(to, str):
            return to or 0.0
        known = [self.results.reference_value(to, measure) for measure in self.measures]
        return None if None in known else fmean(value or 0.0 for value in known)

    def _means(self, variant: str) -> tuple[float, ...]:
        numbers = [numbers_of(self.results, variant, measure) or () for measure in self.measures]
        return tuple(map(fmean, zip(*numbers, strict=True)))

    @property
    def name(self) -> str:
        """Its measures in words, without their test set."""
        if self.measures[0].metric in COSTS:
            return f"relative {self.measures[0].metric}"
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
    def judges(self) -> bool:
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
    def trained(self) -> set[str]:
        """The variants whose results count: those that are compared and, for gains, their baselines."""
        variants = self.results.settings.variants
        baselines = {variants[name].baseline for name in self.systems} if self.claim.gains else set()
        return {*self.systems, *filter(None, baselines)}

    @property
    def is_out_of_date(self) -> bool:
        """Whether one of its systems has results from earlier code, settings or text; costs do not depend on them."""
        return not self.claim.is_cost and not self.trained.isdisjoint(self.results.out_of_date)

    @cached_property
    def differences(self) -> tuple[float, ...]:
        """The system's number minus that of the hardest of the others, with each seed; of a cost, see `difference`."""
        return self.all_differences[0]

    @cached_property
    def all_differences(self) -> tuple[tuple[float, ...], ...]:
        """The same for each of `pairs`."""
        if not self.others:
            reference = self.side.reference(self.claim.to) or 0.0
            return (tuple(round(value - reference, 4) for value in self.side.by_seed),)
        return tuple(
            tuple(difference(self.claim, *pair) for pair in zip(one.by_seed, other.by_seed, strict=True))
            for one, other in self._compared
        )

    @property
    def pairs(self) -> list[tuple[str, ...]]:
        """The compared variants: the system with each of the others and, if all are claimed to be equal, all pairs."""
        return [(one.variant, other.variant) for one, other in self._compared] or [(self.side.variant,)]

    @property
    def _compared(self) -> list[tuple[Side, Side]]:
        pairs = [(self.side, other) for other in self.others]
        return pairs + list(combinations(self.others, 2)) if self.claim.direction == "equal" else pairs

    @property
    def gain(self) -> float:
        """The mean difference."""
        return round(fmean(self.differences), 4)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95% interval over seeds; None with one seed, or if all seeds have the same difference."""
        return Sample(self.differences).interval()

    @property
    def agrees(self) -> bool | None:
        """Whether the difference as printed is as claimed; None if the systems are equal, but should not be."""
        gain = round(self.gain, self.decimals)
        if self.claim.direction == "equal":
            return abs(gain) <= (self.claim.alike or 0)
        if self.claim.direction == "not_lower":
            return gain >= -(self.claim.alike or 0)
        return None if gain == 0 else (gain > 0) == (self.claim.direction == "higher")

    def numbers(self) -> str:
        """Return both systems with their numbers."""
        side, other, settings = self.side, self.other, self.results.settings
        gains = "gain of " if side.over_baseline else ""
        texts = [f"{gains}{settings.label(side.variant)} {side.value:.{self.decimals}f}"]
        if other is None and self.claim.to == HUMAN:
            texts.append(f"human translation {side.reference(HUMAN):.{self.decimals}f}")
        elif other is None:
            texts.append(f"claimed {self.claim.to:g}")
        elif other.measures == side.measures:
            texts.append(f"{settings.label(other.variant)} {other.value:.{self.decimals}f}")
        else:
            label = "" if other.variant == side.variant else f"{settings.label(other.variant)} "
            texts.append(f"{label}{other.name} {other.value:.{self.decimals}f}")
        test_set = f" on {side.measures[0].test_set}" if side.measures[0].test_set else ""
        return f"{', '.join(texts)} ({signed(self.gain, self.decimals)} {side.name}{test_set})"


def difference(claim: Claim, value: float, reference: float) -> float:
    """Return by how much a number differs from another one: costs in shares of the other."""
    return round(value / reference - 1 if claim.is_cost else value - reference, 4)


def p_values(claim: Claim, samples: Sequence[Sample]) -> tuple[float, float]:
    """Return the p-values for a claim, against the hardest of the compared systems, and against it.

    They are two-sided, but for that of equality: two one-sided tests, at their own level (TOST). Against the claim,
    the smallest counts, times the number of systems (Bonferroni).
    """
    margin = claim.alike or 0.0
    pairs = [_p_values(claim.direction, margin, sample) for sample in samples]
    return min(1.0, max(claimed for claimed, _ in pairs)), min(1.0, min(other for _, other in pairs) * len(pairs))


def _p_values(direction: str, margin: float, sample: Sample) -> tuple[float, float]:
    match direction:
        case "higher":
            return 2 * sample.p_above(0), 2 * sample.p_below(0)
        case "lower":
            return 2 * sample.p_below(0), 2 * sample.p_above(0)
        case "not_lower":
            return 2 * sample.p_above(-margin), 2 * sample.p_below(-margin)
        case _:
            beyond = min(sample.p_above(margin), sample.p_below(-margin))
            return max(sample.p_above(-margin), sample.p_below(margin)), 2 * beyond


def numbers_of(results: Results, variant: str, measure: Measure) -> tuple[float, ...] | None:
    """Return a measure with each seed, or a speed relative to the Transformer's with each round; None without it."""
    if measure.metric in COSTS:
        return results.speeds.rounds(results.models[variant], measure.metric.removesuffix("_speed")) or None
    return results.by_seed(variant, measure)
