"""The outcome of a claim in each experiment that can test it: the systems that it compares, and how they differ."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from operator import sub
from statistics import fmean

from context_nmt.measures.rows import HUMAN, Measure
from context_nmt.report.published import (
    BLEU_MARGIN,
    COST_METRICS,
    Claim,
    MeasureSpec,
    Paper,
    PaperColumn,
    difference,
)
from context_nmt.results.metrics import decimals_of, format_difference, format_seeds, measure_name
from context_nmt.results.seed_tests import Prior, Sample, estimate_prior, p_values
from context_nmt.results.table import Results, with_most_seeds
from context_nmt.settings.parameters import training_of

MINIMUM_SEEDS_OF_INTERVAL = 3


@dataclass(frozen=True)
class ComparedSystem:
    """A system of a claim, with the measures whose mean counts."""

    results: Results
    variant: str
    measures: tuple[Measure, ...]
    over_baseline: bool  # what counts is its gain over its own baseline, not the measure itself

    @cached_property
    def by_seed(self) -> tuple[float, ...]:
        """The mean of its measures with each seed or, for a cost, in each round of its measurement."""
        values, baseline = self._means(self.variant), self.results.settings.variants[self.variant].baseline
        if not self.over_baseline or baseline is None:
            return values
        return tuple(
            value - baseline_value for value, baseline_value in zip(values, self._means(baseline), strict=True)
        )

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return fmean(self.by_seed)

    def reference_value(self, to: float | str | None) -> float | None:
        """Return the number that a claim compares the system with; None if the human translation was not measured."""
        if not isinstance(to, str):
            return to or 0.0
        values = [self.results.reference_value(to, measure) for measure in self.measures]
        return None if None in values else fmean(value or 0.0 for value in values)

    def _means(self, variant: str) -> tuple[float, ...]:
        numbers = [_seed_values(self.results, variant, measure) or () for measure in self.measures]
        return tuple(map(fmean, zip(*numbers, strict=True)))

    @property
    def measure_name(self) -> str:
        """Its measures in words, without their test set."""
        if self.measures[0].metric in COST_METRICS:
            return f"relative {self.measures[0].metric}"
        if len(self.measures) == 1:
            return measure_name(self.measures[0])
        metrics = dict.fromkeys(measure.metric for measure in self.measures)
        parts: dict[str, None] = {}  # the tags and layers in order
        for measure in self.measures:
            parts |= dict.fromkeys([measure.tag, "" if measure.layer is None else f"layer {measure.layer}"])
        parts.pop("", None)
        return f"mean {', '.join(metrics)}{' in ' if parts else ''}{', '.join(parts)}"


@dataclass(frozen=True)
class Outcome:
    """A claim in one experiment: a system, compared with its rivals or with a number."""

    claim: Claim
    system: ComparedSystem
    rivals: tuple[ComparedSystem, ...]  # the hardest for the claim first; none if it is compared with a number
    missing: tuple[str, ...]  # variants of the claim without numbers here
    decimals: int
    is_own_text: bool  # the claim's table has the test set and languages
    shares_variance: bool  # the experiment's other systems inform the variance of a difference

    @property
    def hardest_rival(self) -> ComparedSystem | None:
        """The rival that is hardest for the claim."""
        return self.rivals[0] if self.rivals else None

    @property
    def results(self) -> Results:
        """The results of the experiment."""
        return self.system.results

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that are compared."""
        return (self.system.variant, *(rival.variant for rival in self.rivals))

    @property
    def is_designated(self) -> bool:
        """Whether this experiment is the one that judges the claim."""
        return self.results.folder == self.claim.experiment

    @property
    def is_comparable(self) -> bool:
        """Whether the systems' measures were computed in the same way."""
        return all(
            self.results.are_comparable(self.system.variant, rival.variant, measure)
            for rival in self.rivals
            if rival.measures == self.system.measures
            for measure in self.system.measures
        )

    @property
    def trained_variants(self) -> set[str]:
        """The variants whose results count: the compared ones and, for gains, their baselines."""
        variants = self.results.settings.variants
        baselines = {variants[name].baseline for name in self.variants} if self.claim.gains else set()
        return {*self.variants, *filter(None, baselines)}

    @property
    def wrong_seeds(self) -> str:
        """In words, the seeds that a preregistered claim lacks, or must not have; empty if there are none."""
        if self.claim.preregistration is None:
            return ""
        right, here = self.claim.preregistration.seeds, self.results.settings.seeds
        if missing := [seed for seed in right if seed not in here]:
            return f"waits for {format_seeds(missing)}"
        others = [seed for seed in here if seed not in right]
        return f"not preregistered: {format_seeds(others)}" if others else ""

    @property
    def is_out_of_date(self) -> bool:
        """Whether a variant's results come from earlier code, settings or text; costs do not depend on them."""
        return not self.claim.is_cost and not self.trained_variants.isdisjoint(self.results.out_of_date)

    @property
    def differences(self) -> tuple[float, ...]:
        """The system's number minus its hardest rival's, with each seed; for a cost, see `difference`."""
        return self.all_differences[0]

    @cached_property
    def all_differences(self) -> tuple[tuple[float, ...], ...]:
        """The differences from each rival and, if all systems are claimed to be equal, between all pairs of rivals."""
        if not self.rivals:
            reference = self.system.reference_value(self.claim.to) or 0.0
            return (tuple(round(value - reference, 4) for value in self.system.by_seed),)
        pairs = [(self.system, rival) for rival in self.rivals]
        pairs += combinations(self.rivals, 2) if self.claim.direction == "equal" else []
        return tuple(
            tuple(difference(self.claim, *values) for values in zip(system.by_seed, rival.by_seed, strict=True))
            for system, rival in pairs
        )

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """All differences, with the prior of their variance."""
        return tuple(Sample(differences, self._prior) for differences in self.all_differences)

    @cached_property
    def _prior(self) -> Prior | None:
        """The prior of a difference's variance, from all pairs of similarly trained systems of the experiment."""
        results, measures, train = self.results, self.system.measures, self.results.settings.train
        is_of_one_measure = bool(self.rivals) and all(rival.measures == measures for rival in self.rivals)
        if not self.shares_variance or self.system.over_baseline or not is_of_one_measure:
            return None
        groups = (train.bitext, train.distilled, train.document, train.continued)
        group = next((group for group in groups if {*self.variants} <= {*group}), ())
        by_system = [
            [results.by_seed(name, measure) for measure in measures]
            for name in group
            if name in results.models and name not in results.out_of_date
        ]
        values = [[fmean(seed) for seed in zip(*numbers, strict=True)] for numbers in by_system if all(numbers)]
        samples = [Sample(tuple(map(sub, first, second))) for first, second in combinations(values, 2)]
        return estimate_prior([sample.variance for sample in samples], len(self.differences) - 1)

    @cached_property
    def p_values(self) -> tuple[float, float]:
        """The p-value for the claim, and the p-value against it."""
        return p_values(self.claim.direction, self.claim.alike or 0.0, self.samples)

    @property
    def p_no_difference(self) -> float | None:
        """The p-value of all differences being within ±BLEU_MARGIN (TOST); None if that is not asked of the claim."""
        if not self.claim.is_bleu or self.claim.direction not in ("higher", "lower"):
            return None
        return max(max(sample.p_above(-BLEU_MARGIN), sample.p_below(BLEU_MARGIN)) for sample in self.samples)

    @property
    def gain(self) -> float:
        """The mean difference."""
        return round(fmean(self.differences), 4)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval over seeds; None for fewer than three seeds, or if all have the same difference."""
        sample = Sample(self.differences)
        return sample.interval() if len(self.differences) >= MINIMUM_SEEDS_OF_INTERVAL and sample.variance else None

    @property
    def agrees(self) -> bool | None:
        """Whether the printed difference is as claimed; None if the systems are equal, but should differ."""
        gain, alike = round(self.gain, self.decimals), self.claim.alike or 0
        if self.claim.direction == "equal":
            return abs(gain) <= alike
        if self.claim.direction == "not_lower":
            return gain >= -alike
        return None if gain == 0 else (gain > 0) == (self.claim.direction == "higher")

    def numbers(self) -> str:
        """Return the system and its hardest rival with their numbers, in words."""
        system, rival, label = self.system, self.hardest_rival, self.results.settings.label
        shown = f"{self.decimals}f"
        test_set = f" on {system.measures[0].test_set}" if system.measures[0].test_set else ""
        change = format_difference(self.gain, self.decimals)
        if rival and rival.variant == system.variant:
            measured = "; ".join(f"{one.measure_name}: {one.value:.{shown}}" for one in (system, rival))
            return f"{label(system.variant)}, {measured} ({change}{test_set})"
        gains = "gain of " if system.over_baseline else ""
        texts = [f"{gains}{label(system.variant)} {system.value:.{shown}}"]
        if rival is None and self.claim.to == HUMAN:
            texts.append(f"human translation {system.reference_value(HUMAN):.{shown}}")
        elif rival is None:
            texts.append(f"claimed {self.claim.to:g}")
        else:
            other_measure = "" if rival.measures == system.measures else f" {rival.measure_name}"
            texts.append(f"{label(rival.variant)}{other_measure} {rival.value:.{shown}}")
        return f"{', '.join(texts)} ({change} {system.measure_name}{test_set})"


def outcomes_of(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> list[Outcome]:
    """Return the outcomes in the experiments that can test the claim: the one that judges it, then others on its text.

    Of several experiments with the same recipe, the one that judges the claim counts, unless it is out of date; else
    the one with the most seeds, then with the most rivals.
    """
    outcomes = [_hardest_first(outcome) for results in experiments if (outcome := _make_outcome(paper, claim, results))]
    outcomes.sort(key=lambda outcome: -len(outcome.rivals))
    designated = [outcome for outcome in outcomes if outcome.is_designated]
    recipes = [outcome.results.recipe for outcome in designated if not outcome.is_out_of_date]
    undesignated = (
        outcome for outcome in outcomes if not outcome.is_designated and outcome.results.recipe not in recipes
    )
    best = with_most_seeds(undesignated, lambda outcome: outcome.results.recipe)
    return [*designated, *sorted(best, key=lambda outcome: not outcome.is_own_text)]


def designated_of(outcomes: Iterable[Outcome]) -> Outcome | None:
    """Return the outcome of the experiment that judges the claim."""
    return next((outcome for outcome in outcomes if outcome.is_designated), None)


def first_looks_of(
    paper: Paper, claims: Sequence[Claim], outcomes: Sequence[Outcome | None], experiments: Sequence[Results]
) -> list[Outcome | None]:
    """Return the outcomes of the claims' first looks: the given ones, except for claims with a second look."""
    plan = paper.preregistration
    return [
        outcome
        if claim.preregistration in (None, plan)
        else designated_of(
            outcomes_of(paper, replace(claim, experiment=paper.experiment, preregistration=plan), experiments)
        )
        for claim, outcome in zip(claims, outcomes, strict=True)
    ]


def _hardest_first(outcome: Outcome) -> Outcome:
    """Return an outcome with its rivals in order of the p for the claim against each, then of the difference."""

    def ease(compared: tuple[ComparedSystem, Sample]) -> tuple[float, float]:
        claim, gain = outcome.claim, compared[1].mean
        p, _ = p_values(claim.direction, claim.alike or 0.0, [compared[1]])
        return -p, {"higher": gain, "not_lower": gain, "lower": -gain, "equal": -abs(gain)}[claim.direction]

    pairs = zip(outcome.rivals, outcome.samples, strict=False)  # the samples of pairs of rivals are last
    return replace(outcome, rivals=tuple(rival for rival, _ in sorted(pairs, key=ease)))


def _make_outcome(paper: Paper, claim: Claim, results: Results) -> Outcome | None:
    table = paper.table_of(claim)
    corpus, paper_sets = results.settings.corpus, _test_sets(paper.columns_of(claim), results)
    is_of_another_column = claim.columns and table and not paper_sets and _test_sets(table.columns, results)
    if is_of_another_column or (claim.own_text and not paper_sets):
        return None
    other_sets = [name for name in results.sets if name != corpus.validation]
    tested = MeasureSpec(metric=results.settings.significance.bleu)
    for variant, rival_variants, available in _comparable_variants(claim, results):
        for name in (*paper_sets, *other_sets, corpus.validation):
            measure = (claim.measure if name in paper_sets else claim.replica or claim.measure) or tested
            if compared := _compared_systems(claim, results, name, measure, variant, available):
                system, rivals = compared
                measured = {rival.variant for rival in rivals}
                missing = tuple(name for name in rival_variants if name not in measured) if claim.to is None else ()
                decimals = (
                    table.decimals_of(system.measures[0].metric) if table else decimals_of(system.measures[0].metric)
                )
                return Outcome(claim, system, rivals, missing, decimals, name in paper_sets, paper.shares_variance)
    return None


def _test_sets(columns: Iterable[PaperColumn], results: Results) -> list[str]:
    """Return the test sets of the columns in an experiment's languages, as far as the experiment has them."""
    columns = (column for column in columns if column.has_languages_of(results.settings.corpus))
    return [str(column.test_set) for column in columns if column.test_set in results.sets]


def _comparable_variants(claim: Claim, results: Results) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield a variant, its rivals in the claim, and the rivals that the experiment has with equally many layers.

    Where the claim names the system whose training its variant continues, the variant's control is the rival instead.
    """
    baseline, control = results.baseline(claim.variant), _control(claim.variant, results)
    start = training_of(results.settings.train, claim.variant).start
    against = [control if control and rival == start else rival for rival in claim.against]
    is_same = claim.against_measure or claim.against_tags or claim.to is not None
    pairs = [(claim.variant, against or ([claim.variant] if is_same else [baseline] if baseline else []))]
    if claim.smaller:
        pairs.append((claim.smaller[0], list(claim.smaller[1:])))
    layers = {
        name: [len(model["slots"].get(slot, ())) for slot in ("encoder_self_attention", "decoder_self_attention")]
        for name, model in results.models.items()
    }
    for variant, rivals in pairs:
        if available := [rival for rival in rivals if variant in layers and layers.get(rival) == layers[variant]]:
            yield variant, rivals, available


def _control(variant: str, results: Results) -> str | None:
    """Return the system that continues the same system as a variant, with the same training and an unchanged model."""
    settings = results.settings
    if not (start := training_of(settings.train, variant).start):
        return None

    def model(name: str) -> tuple[object, object]:
        return settings.recipe(name).model, settings.recipe(name).slots

    controls = (
        name
        for name in results.models
        if name != variant
        and training_of(settings.train, name).start == start
        and settings.recipe(name).training == settings.recipe(variant).training
        and model(name) == model(start)
    )
    return next(controls, None)


def _compared_systems(
    claim: Claim, results: Results, test_set: str, measure: MeasureSpec, variant: str, rivals: Sequence[str]
) -> tuple[ComparedSystem, tuple[ComparedSystem, ...]] | None:
    """Return the system and its rivals; None if the experiment lacks their numbers."""
    references = [replace(measure, tag=tag) for tag in claim.against_tags] or [claim.against_measure or measure]
    pairs: list[tuple[ComparedSystem, ComparedSystem]] = []
    for rival_variant, against_measure in product(rivals, references):
        measures = _available_measures(claim, results, variant, measure, test_set)
        rival_measures = _available_measures(claim, results, rival_variant, against_measure, test_set)
        if against_measure == measure:
            measures = rival_measures = [shared for shared in measures if shared in rival_measures]
        system, rival = (
            ComparedSystem(results, name, tuple(available), over_baseline=claim.gains)
            for name, available in ((variant, measures), (rival_variant, rival_measures))
        )
        if measures and rival_measures and claim.to is not None:
            return None if system.reference_value(claim.to) is None else (system, ())
        if measures and rival_measures and system != rival:
            pairs.append((system, rival))
    pairs = [pair for pair in pairs if pair[0] == pairs[0][0]]  # those on the same measures
    if not pairs or len(pairs) < len(claim.against_tags):
        return None
    return pairs[0][0], tuple(rival for _, rival in pairs)


def _available_measures(
    claim: Claim, results: Results, variant: str, measure: MeasureSpec, test_set: str
) -> list[Measure]:
    """Return the measures of a specification that a system has and, for gains, its baseline also has."""
    metrics = {metric for metric, _, _ in measure.combinations}
    if metrics & set(COST_METRICS):
        measures = [Measure("", metric) for metric, _, _ in measure.combinations]
    else:
        layers = {
            estimated.layer or 0
            for name, estimated in results.estimates
            if name == variant and estimated.metric in metrics
        }
        measures = measure.measures_on(test_set, max(layers, default=0))
    names = [variant, *([results.settings.variants[variant].baseline or ""] if claim.gains else [])]
    return [
        candidate
        for candidate in measures
        if all(name in results.models and _seed_values(results, name, candidate) is not None for name in names)
    ]


def _seed_values(results: Results, variant: str, measure: Measure) -> tuple[float, ...] | None:
    """Return a measure with each seed, or a relative speed in each round; None if it was not measured."""
    if measure.metric in COST_METRICS:
        return results.speeds.rounds(results.models[variant], measure.metric.removesuffix("_speed")) or None
    return results.by_seed(variant, measure)
