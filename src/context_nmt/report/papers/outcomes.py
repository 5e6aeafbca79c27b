"""The outcome of a claim in every experiment that can test it: the systems that it compares, and how they differ."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from operator import sub
from statistics import fmean

from context_nmt.measures.rows import HUMAN, Measure
from context_nmt.report.papers.published import COSTS, Claim, MeasureSpec, Paper, PaperColumn, difference
from context_nmt.results.metrics import format_difference, measure_name
from context_nmt.results.seed_tests import Prior, Sample, estimate_prior, p_values
from context_nmt.results.table import Results, with_most_seeds

FEWEST = 3  # seeds for an interval


@dataclass(frozen=True)
class ComparedSystem:
    """One of the systems of a claim, with the measures whose mean counts."""

    results: Results
    variant: str
    measures: tuple[Measure, ...]
    over_baseline: bool  # its gain over its own baseline counts, not the measure itself

    @cached_property
    def by_seed(self) -> tuple[float, ...]:
        """The mean of its measures, with each seed; of a cost, with each round of its measurement."""
        own, baseline = self._means(self.variant), self.results.settings.variants[self.variant].baseline
        if not self.over_baseline or baseline is None:
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
        numbers = [_numbers_of(self.results, variant, measure) or () for measure in self.measures]
        return tuple(map(fmean, zip(*numbers, strict=True)))

    @property
    def name(self) -> str:
        """Its measures in words, without their test set."""
        if self.measures[0].metric in COSTS:
            return f"relative {self.measures[0].metric}"
        if len(self.measures) == 1:
            return measure_name(self.measures[0])
        layers = [(measure.tag, "" if measure.layer is None else f"layer {measure.layer}") for measure in self.measures]
        places = dict.fromkeys(place for pair in layers for place in pair if place)
        metrics = dict.fromkeys(measure.metric for measure in self.measures)
        return f"mean {', '.join(metrics)}{' in ' if places else ''}{', '.join(places)}"


@dataclass(frozen=True)
class Outcome:
    """A claim in one experiment: a system and another one, or a number."""

    claim: Claim
    side: ComparedSystem
    others: tuple[ComparedSystem, ...]  # the hardest for the claim first; empty if the system is compared with a number
    missing: tuple[str, ...]  # other variants of the claim without numbers here
    decimals: int
    is_own_text: bool  # test set and languages are those of the claim's table
    shares_variance: bool  # an experiment's systems say what the variance of a difference is likely to be

    @property
    def other(self) -> ComparedSystem | None:
        """The one of the others that is hardest for the claim."""
        return self.others[0] if self.others else None

    @property
    def results(self) -> Results:
        """The experiment."""
        return self.side.results

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

    @property
    def differences(self) -> tuple[float, ...]:
        """The system's number minus that of the hardest of the others, with each seed; of a cost, see `difference`."""
        return self.all_differences[0]

    @cached_property
    def all_differences(self) -> tuple[tuple[float, ...], ...]:
        """The same for each of the others and, if all are claimed to be equal, for all pairs."""
        if not self.others:
            reference = self.side.reference(self.claim.to) or 0.0
            return (tuple(round(value - reference, 4) for value in self.side.by_seed),)
        pairs = [(self.side, other) for other in self.others]
        pairs += combinations(self.others, 2) if self.claim.direction == "equal" else []
        return tuple(
            tuple(difference(self.claim, *values) for values in zip(one.by_seed, other.by_seed, strict=True))
            for one, other in pairs
        )

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The same, with what is known of their variance."""
        return tuple(Sample(differences, self._prior) for differences in self.all_differences)

    @cached_property
    def _prior(self) -> Prior | None:
        """What an experiment's systems say of the variance of a difference: all pairs that are trained alike."""
        results, measures, train = self.results, self.side.measures, self.results.settings.train
        is_of_one_measure = bool(self.others) and all(one.measures == measures for one in self.others)
        if not self.shares_variance or self.side.over_baseline or not is_of_one_measure:
            return None
        groups = (train.bitext, train.distilled, train.document, train.continued)
        group = next((group for group in groups if {*self.systems} <= {*group}), ())
        found = [[results.by_seed(name, measure) for measure in measures] for name in group if name in results.models]
        values = [[fmean(seed) for seed in zip(*numbers, strict=True)] for numbers in found if all(numbers)]
        samples = [Sample(tuple(map(sub, one, other))) for one, other in combinations(values, 2)]
        return estimate_prior([sample.variance for sample in samples], len(self.differences) - 1)

    @cached_property
    def p_values(self) -> tuple[float, float]:
        """The p-values for the claim, against the hardest of the others, and against it."""
        return p_values(self.claim.direction, self.claim.alike or 0.0, self.samples)

    @property
    def gain(self) -> float:
        """The mean difference."""
        return round(fmean(self.differences), 4)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95% interval over seeds; None with fewer than three, or if all seeds have the same difference."""
        sample = Sample(self.differences)
        return sample.interval() if len(self.differences) >= FEWEST and sample.variance else None

    @property
    def agrees(self) -> bool | None:
        """Whether the difference as printed is as claimed; None if the systems are equal, but should not be."""
        gain, alike = round(self.gain, self.decimals), self.claim.alike or 0
        if self.claim.direction == "equal":
            return abs(gain) <= alike
        if self.claim.direction == "not_lower":
            return gain >= -alike
        return None if gain == 0 else (gain > 0) == (self.claim.direction == "higher")

    def numbers(self) -> str:
        """Return both systems with their numbers."""
        side, other, label = self.side, self.other, self.results.settings.label
        gains = "gain of " if side.over_baseline else ""
        texts = [f"{gains}{label(side.variant)} {side.value:.{self.decimals}f}"]
        if other is None and self.claim.to == HUMAN:
            texts.append(f"human translation {side.reference(HUMAN):.{self.decimals}f}")
        elif other is None:
            texts.append(f"claimed {self.claim.to:g}")
        else:
            parts = [label(other.variant)] if other.measures == side.measures or other.variant != side.variant else []
            parts += [other.name] if other.measures != side.measures else []
            texts.append(f"{' '.join(parts)} {other.value:.{self.decimals}f}")
        test_set = f" on {side.measures[0].test_set}" if side.measures[0].test_set else ""
        return f"{', '.join(texts)} ({format_difference(self.gain, self.decimals)} {side.name}{test_set})"


def outcomes_of(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> list[Outcome]:
    """Return the outcome in every experiment that can test the claim: first the one that judges it, then its own text.

    Among experiments with one recipe, that which judges it counts, unless it is out of date; else the first with the
    most seeds, then the one with most other systems.
    """
    outcomes = [_hardest_first(found) for results in experiments if (found := _outcome(paper, claim, results))]
    outcomes.sort(key=lambda outcome: -len(outcome.others))
    judges = [outcome for outcome in outcomes if outcome.judges]
    recipes = [outcome.results.recipe for outcome in judges if not outcome.is_out_of_date]
    others = (outcome for outcome in outcomes if not outcome.judges and outcome.results.recipe not in recipes)
    best = with_most_seeds(others, lambda outcome: outcome.results.recipe)
    return [*judges, *sorted(best, key=lambda outcome: not outcome.is_own_text)]


def _hardest_first(outcome: Outcome) -> Outcome:
    """Return an outcome whose others are in order: by the p for the claim against each, then by the difference."""

    def ease(compared: tuple[ComparedSystem, Sample]) -> tuple[float, float]:
        claim, gain = outcome.claim, compared[1].mean
        p, _ = p_values(claim.direction, claim.alike or 0.0, [compared[1]])
        return -p, {"higher": gain, "not_lower": gain, "lower": -gain, "equal": -abs(gain)}[claim.direction]

    ranked = sorted(zip(outcome.others, outcome.samples, strict=False), key=ease)  # the samples of pairs are last
    return replace(outcome, others=tuple(other for other, _ in ranked))


def _outcome(paper: Paper, claim: Claim, results: Results) -> Outcome | None:
    table = paper.table_of(claim)
    corpus, own_sets = results.settings.corpus, _sets_of(paper.columns_of(claim), results)
    is_of_another_column = claim.columns and table and not own_sets and _sets_of(table.columns, results)
    if is_of_another_column or (claim.own_text and not own_sets):
        return None
    other_sets = [name for name in results.sets if name != corpus.validation]
    tested = MeasureSpec(metric=results.settings.significance.metric)
    for variant, wanted, others in _comparable(claim, results):
        for name in (*own_sets, *other_sets, corpus.validation):
            measure = (claim.measure if name in own_sets else claim.replica or claim.measure) or tested
            if sides := _sides(claim, results, name, measure, variant, others):
                side, found = sides
                compared = {other.variant for other in found}
                missing = tuple(name for name in wanted if name not in compared) if claim.to is None else ()
                decimals = table.decimals_of(side.measures[0].metric) if table else 2
                return Outcome(claim, side, found, missing, decimals, name in own_sets, paper.shares_variance)
    return None


def _sets_of(columns: Iterable[PaperColumn], results: Results) -> list[str]:
    """Return the test sets of columns that an experiment has, in its languages."""
    own_columns = (column for column in columns if column.is_of(results.settings.corpus))
    return [str(column.test_set) for column in own_columns if column.test_set in results.sets]


def _comparable(claim: Claim, results: Results) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the variants that a claim compares: one, the others, and those of them that are here and equally deep."""
    settings = results.settings.variants.get(claim.variant)
    baseline = [settings.baseline] if settings and settings.baseline else []
    is_same = claim.against_measure or claim.against_tags or claim.to is not None
    pairs = [(claim.variant, list(claim.against) or ([claim.variant] if is_same else baseline))]
    if claim.smaller:
        pairs.append((claim.smaller[0], list(claim.smaller[1:])))
    layers = {
        name: [len(model["slots"].get(slot, ())) for slot in ("encoder_self_attention", "decoder_self_attention")]
        for name, model in results.models.items()
    }
    for variant, others in pairs:
        if found := [other for other in others if variant in layers and layers.get(other) == layers[variant]]:
            yield variant, others, found


def _sides(
    claim: Claim, results: Results, test_set: str, measure: MeasureSpec, variant: str, others: Sequence[str]
) -> tuple[ComparedSystem, tuple[ComparedSystem, ...]] | None:
    """Return the system and the others; None if the experiment lacks their numbers."""
    references = [replace(measure, tag=tag) for tag in claim.against_tags] or [claim.against_measure or measure]
    found: list[tuple[ComparedSystem, ComparedSystem]] = []
    for other, against_measure in product(others, references):
        own = _measured(claim, results, variant, measure, test_set)
        reference = _measured(claim, results, other, against_measure, test_set)
        if against_measure == measure:  # only what both have
            own = reference = [one for one in own if one in reference]
        side, other_side = (
            ComparedSystem(results, name, tuple(measures), over_baseline=claim.gains)
            for name, measures in ((variant, own), (other, reference))
        )
        if own and reference and claim.to is not None:
            return None if side.reference(claim.to) is None else (side, ())
        if own and reference and side != other_side:
            found.append((side, other_side))
    found = [pair for pair in found if pair[0] == found[0][0]]  # the same measures
    if not found or len(found) < len(claim.against_tags):
        return None
    return found[0][0], tuple(other for _, other in found)


def _measured(claim: Claim, results: Results, variant: str, measure: MeasureSpec, test_set: str) -> list[Measure]:
    """Return the members of a measure that a system has, with gains only if its baseline has them."""
    metrics = {metric for metric, _, _ in measure.members}
    if metrics & set(COSTS):
        members = [Measure("", metric) for metric, _, _ in measure.members]
    else:
        found = {one.layer or 0 for name, one in results.estimates if name == variant and one.metric in metrics}
        members = measure.on(test_set, max(found, default=0))
    names = [variant, *([results.settings.variants[variant].baseline or ""] if claim.gains else [])]
    return [
        member
        for member in members
        if all(name in results.models and _numbers_of(results, name, member) is not None for name in names)
    ]


def _numbers_of(results: Results, variant: str, measure: Measure) -> tuple[float, ...] | None:
    """Return a measure with each seed, or a speed relative to the Transformer's with each round; None without it."""
    if measure.metric in COSTS:
        return results.speeds.rounds(results.models[variant], measure.metric.removesuffix("_speed")) or None
    return results.by_seed(variant, measure)
