"""Find, for a claim, the experiments and systems that can test it."""

from collections.abc import Iterator, Sequence
from itertools import product

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.claims import Claim, PrimaryMeasure
from context_nmt.report.papers.columns import PaperColumn
from context_nmt.report.papers.outcomes import Outcome, Side, difference, numbers_of, p_values
from context_nmt.report.papers.published import Paper, PaperTable
from context_nmt.report.papers.reproduction import with_most_seeds
from context_nmt.report.papers.seed_tests import Sample
from context_nmt.results.metrics import is_score
from context_nmt.results.table import Results


def table_of(paper: Paper, claim: Claim) -> PaperTable | None:
    """Return the table that shows a claim."""
    return next((table for table in paper.tables if table.id == claim.table), None)


def columns_of(table: PaperTable | None, claim: Claim) -> list[PaperColumn]:
    """Return the table's columns that show a claim: those of its measure or, if it names none, all scores."""
    members = claim.measure.members if claim.measure else ()
    return [
        column
        for column in (table.columns if table else ())
        if (not claim.columns or column.id in claim.columns)
        and ((column.metric, column.layer, column.tag) in members if members else is_score(column.metric))
    ]


def outcomes_of(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> list[Outcome]:
    """Return the outcome in every experiment that can test the claim: first the one that judges it, then its own text.

    Among experiments with one recipe, that which judges it counts, unless it is out of date; else the first with the
    most seeds, then the one with most other systems.
    """
    outcomes = [outcome for results in experiments if (outcome := _outcome(claim, table_of(paper, claim), results))]
    outcomes.sort(key=lambda outcome: -len(outcome.others))
    judges = [outcome for outcome in outcomes if outcome.judges]
    recipes = [outcome.results.recipe for outcome in judges if not outcome.is_out_of_date]
    others = (outcome for outcome in outcomes if not outcome.judges and outcome.results.recipe not in recipes)
    best = with_most_seeds(others, lambda outcome: outcome.results.recipe)
    return [*judges, *sorted(best, key=lambda outcome: not outcome.is_own_text)]


def _outcome(claim: Claim, table: PaperTable | None, results: Results) -> Outcome | None:
    columns, corpus = columns_of(table, claim), results.settings.corpus
    own_sets = _sets_of(columns, results)
    is_of_another_column = claim.columns and table and not own_sets and _sets_of(table.columns, results)
    if is_of_another_column or (claim.own_text and not own_sets):
        return None
    other_sets = [name for name in results.sets if name != corpus.validation]
    tested = PrimaryMeasure(metric=results.settings.significance.metric)
    for variant, wanted, others in _comparable(claim, results):
        for name in (*own_sets, *other_sets, corpus.validation):
            measure = (claim.measure if name in own_sets else claim.replica or claim.measure) or tested
            if sides := _sides(claim, results, name, measure, variant, others):
                side, found = sides
                compared = {other.variant for other in found}
                missing = tuple(name for name in wanted if name not in compared) if claim.to is None else ()
                decimals = table.decimals_of(side.measures[0].metric) if table else 2
                return Outcome(claim, side, found, missing, decimals, is_own_text=name in own_sets)
    return None


def _sets_of(columns: Sequence[PaperColumn], results: Results) -> list[str]:
    """Return the test sets of columns that an experiment has, in its languages."""
    own_columns = (column for column in columns if column.is_of(results.settings.corpus))
    return [str(column.test_set) for column in own_columns if column.test_set in results.sets]


def _comparable(claim: Claim, results: Results) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the variants that a claim compares: one, the others, and those of them that are here and equally deep."""
    settings = results.settings.variants.get(claim.variant)
    baseline = [settings.baseline] if settings and settings.baseline else []
    is_same = claim.against_measure or claim.against_tags or claim.to is not None
    same = [claim.variant] if is_same else baseline
    pairs = [(claim.variant, list(claim.against) or same)]
    if claim.smaller:
        pairs.append((claim.smaller[0], list(claim.smaller[1:])))
    for variant, others in pairs:
        if variant in results.models:
            layers = _layers(results, variant)
            found = [other for other in others if other in results.models and _layers(results, other) == layers]
            if found:
                yield variant, others, found


def _sides(
    claim: Claim, results: Results, test_set: str, measure: PrimaryMeasure, variant: str, others: Sequence[str]
) -> tuple[Side, tuple[Side, ...]] | None:
    """Return the system and the others, the hardest for the claim first; None if the experiment lacks their numbers."""
    found: list[tuple[Side, Side]] = []
    for other, against_measure in product(others, claim.references(measure)):
        own = _measured(claim, results, variant, measure, test_set)
        reference = _measured(claim, results, other, against_measure, test_set)
        if against_measure == measure:  # only what both have
            own = reference = [one for one in own if one in reference]
        side, other_side = (
            Side(results, name, tuple(measures), over_baseline=claim.gains)
            for name, measures in ((variant, own), (other, reference))
        )
        if own and reference and claim.to is not None:
            return None if side.reference(claim.to) is None else (side, ())
        if own and reference and side != other_side:
            found.append((side, other_side))
    found = [pair for pair in found if pair[0] == found[0][0]]  # the same measures
    if len(found) < len(claim.against_tags):
        return None
    found.sort(key=lambda pair: _ease(claim, *pair))
    return (found[0][0], tuple(other for _, other in found)) if found else None


def _ease(claim: Claim, side: Side, other: Side) -> tuple[float, float]:
    """Return how easily a claim holds against another system: by the p for it, then by the difference."""
    pairs = zip(side.by_seed, other.by_seed, strict=True)
    sample = Sample(tuple(difference(claim, *pair) for pair in pairs))
    p, _ = p_values(claim, [sample])
    gain = sample.mean
    return -p, {"higher": gain, "not_lower": gain, "lower": -gain, "equal": -abs(gain)}[claim.direction]


def _measured(claim: Claim, results: Results, variant: str, measure: PrimaryMeasure, test_set: str) -> list[Measure]:
    """Return the members of a measure that a system has, with gains only if its baseline has them."""
    if measure.is_cost:
        members = [Measure("", metric) for metric, _, _ in measure.members]
    else:
        metrics = {metric for metric, _, _ in measure.members}
        found = {one.layer or 0 for name, one in results.estimates if name == variant and one.metric in metrics}
        members = measure.on(test_set, max(found, default=0))
    names = [variant]
    if claim.gains:
        names.append(results.settings.variants[variant].baseline or "")
    return [
        member
        for member in members
        if all(name in results.models and numbers_of(results, name, member) is not None for name in names)
    ]


def _layers(results: Results, variant: str) -> list[int]:
    """Return the numbers of layers of encoder and decoder."""
    slots = results.models[variant]["slots"]
    return [len(slots.get(slot, ())) for slot in ("encoder_self_attention", "decoder_self_attention")]
