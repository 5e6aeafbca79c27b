"""The outcome of a claim in one experiment, in numbers and words."""

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from context_nmt.measures.rows import Measure
from context_nmt.report.cells import TIMES
from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.published import COSTS
from context_nmt.report.papers.training_costs import System
from context_nmt.results.estimates import Difference
from context_nmt.results.number_text import SIGNIFICANT, interval_text, p_text, signed
from context_nmt.results.table import Results, name_of


def is_certain(gain: Difference) -> bool:
    """Return whether the interval over seeds excludes 0 or, with one seed, the system's own test is significant.

    Neither is corrected for the number of claims.
    """
    if gain.interval:
        return not gain.interval[0] <= 0 <= gain.interval[1]
    return gain.p is not None and gain.p < SIGNIFICANT


@dataclass(frozen=True)
class Side:
    """One of the two systems of a claim, with the measures whose mean counts."""

    results: Results
    variant: str
    measures: tuple[Measure, ...]
    over_baseline: bool  # its gain over its own baseline counts, not the measure itself

    @cached_property
    def value(self) -> float:
        """The mean of its measures."""
        baseline = self.results.settings.variants[self.variant].baseline if self.over_baseline else None
        return fmean(self._number(self.variant, measure) for measure in self.measures) - (
            fmean(self._number(baseline, measure) for measure in self.measures) if baseline else 0.0
        )

    def _number(self, variant: str, measure: Measure) -> float:
        number = number_of(self.results, variant, measure)
        assert number is not None
        return number

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
    other: Side | None  # None if the claim compares the system with a number
    decimals: int
    is_own_text: bool  # test set and languages are those of the claim's table
    others: int  # the number of systems that `other` is the best of

    @property
    def results(self) -> Results:
        """The experiment."""
        return self.side.results

    @property
    def experiment(self) -> str:
        """The experiment's name, or the corpus and direction of the one that is reported."""
        corpus = self.results.settings.corpus
        return self.results.name or f"{corpus.name} {corpus.direction}"

    @property
    def gain(self) -> float:
        """The difference, as in the experiment's tables if they have it."""
        reference = self.other.value if self.other else self.claim.to or 0.0
        return self._tested.mean if self._tested else round(self.side.value - reference, 4)

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
    def way(self) -> str:
        """The direction of the difference in words; yes or no if the claim is our own question."""
        if self.agrees is None:
            return "no difference"
        if self.claim.is_question:
            return "yes" if self.agrees else "no"
        if self.claim.direction == "equal":
            return "as claimed" if self.agrees else "not alike"
        return "as claimed" if self.agrees else "opposite"

    @property
    def is_certain(self) -> bool:
        """Whether the difference was tested and its interval excludes 0, or the test is significant."""
        return self._tested is not None and is_certain(self._tested)

    @property
    def certainty(self) -> str:
        """The certainty of the difference, and another possible cause of it."""
        tested, systems = self._tested, [System(self.side.variant, self.results)]
        systems += [System(self.other.variant, self.results)] if self.other else []
        ratio = round(systems[0].all_tokens / systems[-1].all_tokens, 2)
        remark = f"; with {ratio:.2f} {TIMES} the training tokens" if ratio != 1 else ""
        if self.claim.direction == "equal":
            return f"not tested; equal means within {self.claim.margin:g}{remark}"
        if tested and tested.interval:
            verdict = "interval excludes 0" if self.is_certain else "may be chance"
            seeds = len(self.results.settings.seeds)
            return f"{verdict} (95%, {seeds} seeds, {interval_text(tested.interval, self.decimals)}){remark}"
        if tested is None or tested.p is None:
            return f"not tested{remark}"
        test = self.results.settings.variants[self.side.variant].test.replace("sign", "sign test")
        verdict = "significant" if self.is_certain else "may be chance"
        return f"{verdict} ({test}, p {p_text(tested.p)}, one seed){remark}"

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

    @cached_property
    def _tested(self) -> Difference | None:
        """The difference from the variant's baseline in one measure; None if the claim compares anything else."""
        side, other = self.side, self.other
        baseline = self.results.settings.variants[side.variant].baseline
        if other is None or other.variant != baseline or other.measures != side.measures or side.over_baseline:
            return None
        estimate = self.results.estimate(side.variant, side.measures[0]) if len(side.measures) == 1 else None
        return estimate.gain if estimate else None


def number_of(results: Results, variant: str, measure: Measure) -> float | None:
    """Return the mean of a measure over seeds, or a speed relative to the Transformer's."""
    if measure.metric in COSTS:
        return results.speeds.ratio(results.models[variant], measure.metric.removesuffix("_speed"))
    estimate = results.estimate(variant, measure)
    return estimate.mean if estimate else None
