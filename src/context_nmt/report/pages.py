"""The pages of one experiment as texts and tables: results.md and discourse.md, and the main table."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from context_nmt.files import read_json
from context_nmt.measures.rows import BOUND, HUMAN, NORMALIZED, SUMMED, TEXT, Measure
from context_nmt.report.papers.all_systems import System
from context_nmt.report.papers.verdicts import confounds_of, unmarked
from context_nmt.report.tables import NOTHING, TIMES, Cell, Grid, estimate_cell, gain_cells, grid_of, value_cell
from context_nmt.results.metrics import is_score, name_of, p_text
from context_nmt.results.table import RESCORED, Results

COSTS = ("Parameters", "MFLOPs", "FLOPs / baseline", "Training speed", "Decoding speed")
TESTS = {"bootstrap": "p, compare-mt", "sacrebleu": "p, sacrebleu", "sign": "p, sign test"}
BEST = "(oracle without context: majority choice)"
INTERVAL = "95% interval over seeds"
OLD = (
    " Systems that are out of date have results from earlier code, settings or text; their costs and"
    " their differences from others are left out, and `context-nmt repro` without --only updates them."
)
ALL_OLD = (
    " All systems are out of date: code, settings or text have changed since then. Their costs are left out, and"
    " `context-nmt repro` updates them."
)
EARLIER = (
    " The code of commit {commit} made these results. On one machine, today's makes weights and translations of the"
    " default experiment that are the same in every byte."
)
NOTES = """\
† p < 0.05, ‡ p < 0.01 in the system's own test (its p is bold) against its baseline with the same seed, for every seed
and in the same direction; only {metric} was tested, and a difference that does not answer a claim has no mark. The
tests account for the choice of sentences ({resamples} resamples of {ratio:.0%} of a test set); the interval, from
Student's t, accounts for the choice of seeds. FLOPs are per target token of training. {speeds} For ter, lower is
better.

- p, compare-mt: twice the share of resamples in which the better system does not win, at least one resample (Koehn
  2004); two-sided.
- p, sacrebleu: the share of resamples whose centred difference exceeds the observed one; a resample is always as large
  as the test set; in effect one-sided.
- p, sign test: over the sentences that change corpus BLEU when they replace the baseline's (Collins et al. 2005);
  two-sided."""
ACCURACIES = "Percentage of items whose correct translation is more probable than every wrong one; ties count half."
CHOSEN = """\
A masked model makes one candidate per length. Here, {teacher} (seed {seed}) chooses the most probable one for each
sentence, by mean log-probability per unit including END. In brackets: the difference from the model's own choice."""
FRONT = (
    "Training FLOPs are those of the whole training, with the runs that it continues, but without its teacher's"
    " and padding, over the Transformer's. In brackets is the difference from {baselines}; † p < 0.05 and ‡ p <"
    " 0.01 in the system's own test (paired bootstrap or sign test, two-sided), with every seed; a difference that"
    " does not answer a claim has no mark."
)
ITEMS = " The other columns are percentages of contrastive items whose right translation beats every wrong one."
OF_DOCUMENTS = ("apt_pronouns", "apt_nouns", "cohesion", "coherence")
NOTES_ON_DOCUMENTS = """\
- apt_pronouns (accuracy of pronoun translation): the share, from 0 to 1, of the reference's pronouns that the
  translation has at the word aligned with them through the source (Miculicich and Popescu-Belis 2017); apt_nouns: the
  same for nouns.
- cohesion: the share of a document's content words that repeat an earlier one or, if the signature names a WordNet, are
  related to one (Wong and Kit 2012). A system that says less, or repeats itself, scores higher: compare it with the
  human translation.
- coherence: the cosine of adjacent sentences in a latent semantic space of the training text (Foltz et al. 1998),
  comparable only within this experiment.

The human translation is the first reference."""


@dataclass(frozen=True)
class Section:
    """A heading with text, a picture and tables; a section without a title continues the one before."""

    title: str = ""
    text: str = ""
    picture: str = ""  # its name in figures/, without suffix
    grids: tuple[Grid, ...] = ()


@dataclass(frozen=True)
class Page:
    """One Markdown page."""

    title: str
    introduction: str
    sections: tuple[Section, ...]
    notes: str = ""
    signatures: tuple[str, ...] = ()


def heading(results: Results, what: str) -> str:
    """Return the title of a page about `what`."""
    return f"{what}: {results.settings.corpus.name}, {results.settings.corpus.direction}"


def introduction(results: Results, text: str, metrics: Collection[str]) -> str:
    """Return the introduction of a page: its seeds, its conventions, a text, and what its metrics do not answer."""
    seeds = ", ".join(map(str, results.settings.seeds))
    first = (
        f"Seeds: {seeds}. Written by the report stage; results.csv has the same numbers. ± is the sample standard"
        f" deviation over seeds; the difference from the system's baseline is in brackets. {text}"
    ).rstrip() + _about_old(results)
    return "\n\n".join(filter(None, [first, about_confounds(results, metrics)]))


def _about_old(results: Results) -> str:
    """Return sentences about the systems that are out of date or of earlier code, if there are any."""
    old = OLD if results.out_of_date else ""
    if results.scored and all(name.removesuffix(RESCORED) in results.out_of_date for name in results.scored):
        old = ALL_OLD
    return old + (EARLIER.format(commit=results.earlier_code) if results.earlier_code else "")


def about_confounds(results: Results, metrics: Collection[str]) -> str:
    """Return a list of what is wrong with differences from baselines in some metrics; empty if nothing is known."""
    lines = [f"- {confound.kind}, {confound.short}: {confound.says}" for confound in confounds_of(results, metrics)]
    pairs = [(name, results.settings.variants[name].baseline) for name in results.models if name in results.scored]
    mixed = [results.label(name) for name, baseline in pairs if baseline and results.mixed_seeds((name, baseline))]
    if mixed:
        lines.append(f"- two processors: some seeds of {', '.join(mixed)} were trained on another than the baseline's.")
    return "\n".join(["Cannot be tested here:", "", *lines]) if lines else ""


def rows_of(
    results: Results, variants: Iterable[str], measures: Sequence[Measure], decimals: int = 2
) -> list[tuple[str, list[Cell]]]:
    """Return each variant's label with a cell per measure."""
    return [
        (results.label(variant), [estimate_cell(unmarked(results, variant, one), decimals) for one in measures])
        for variant in variants
    ]


def _measures(results: Results, test_set: str, *metrics: str) -> list[Measure]:
    """Return the measures on a set: those of some metrics or, without any, the scores of translations."""
    return [
        measure
        for measure in results.measures
        if measure.test_set == test_set and (measure.metric in metrics if metrics else is_score(measure.metric))
    ]


def _signatures(found: dict[str, list[str]]) -> tuple[str, ...]:
    return tuple(f"{name}: " + ", ".join(f"`{entry}`" for entry in entries) for name, entries in found.items())


def results_page(results: Results) -> Page:
    """Build the tables of every test set and contrastive set, with tests of differences, and list all signatures."""
    corpus, significance = results.settings.corpus, results.settings.significance
    sections = []
    for test_set in results.test_sets:
        measures, members = _measures(results, test_set), corpus.groups.get(test_set)
        rows = [
            (results.label(variant), [*_costs(results, variant), *cells])
            for variant, (_, cells) in zip(results.models, rows_of(results, results.models, measures), strict=True)
        ]
        rows += _oracle(results, measures, len(COSTS))
        scores = grid_of("", [*COSTS, *(measure.metric for measure in measures)], rows)
        tests = () if members else _tests(results, Measure(test_set, significance.metric))
        title = test_set + (f" (mean of {', '.join(members)})" if members else "")
        sections.append(Section(title, grids=(scores, *tests)))
    for name in results.contrastive_sets:
        grids = []
        for metric, per in ((SUMMED, ""), (NORMALIZED, " per unit")):
            measures = _measures(results, name, metric)
            columns = [_with_items(results, measure, measure.tag) for measure in measures]
            rows = rows_of(results, results.models, measures)
            grids.append(grid_of(f"By log-probability{per}", columns, rows))
        sections.append(Section(f"{name} (contrastive)", ACCURACIES, grids=tuple(grids)))
    scores_of_page = [measure for measure in results.measures if is_score(measure.metric)]
    path = results.experiment.metrics / "ceilings.json"
    ceilings = read_json(path) if path.is_file() else {}
    low = [f"{one['score']:.2f} on {test} ({one['reason']})" for test, one in ceilings.items() if "reason" in one]
    return Page(
        title=heading(results, "Results"),
        introduction=introduction(
            results,
            "results.json has the means; [analyses.md](../reports/pages/analyses.md), which `make repro` writes, shows"
            " what happens inside the systems.",
            {measure.metric for measure in scores_of_page},
        ),
        sections=(*sections, *_rescored(results)),
        notes=NOTES.format(
            metric=significance.metric,
            resamples=significance.resamples,
            ratio=significance.sample_ratio,
            speeds=results.speeds.note(),
        )
        + (f"\n\nA perfect system would have only {'; '.join(low)}." if low else ""),
        signatures=_signatures({name_of(measure): results.signatures(measure) for measure in scores_of_page}),
    )


def _costs(results: Results, variant: str) -> list[Cell]:
    """Return the cells of COSTS, those of the present settings; nothing for results that others gave."""
    if variant in results.out_of_date:
        return [NOTHING] * len(COSTS)
    model, baseline = results.models[variant], results.settings.variants[variant].baseline
    flops = model["flops_per_target_token"]
    relative = flops / results.models[baseline]["flops_per_target_token"] if baseline in results.models else None
    return [
        value_cell(model["parameters"], "{:,}"),
        value_cell(flops / 1e6, "{:,.1f}"),
        value_cell(relative, "{:.2f}"),
        *(value_cell(results.speeds.ratio(model, work), "{:.2f}") for work in ("training", "decoding")),
    ]


def _oracle(
    results: Results, measures: Sequence[Measure], before: int, between: int = 0, after: int = 0
) -> list[tuple[str, list[Cell]]]:
    """Return the row of the oracle's scores, if it has some, with cells without numbers around each."""
    bounds = [results.reference_value(BOUND, measure) for measure in measures]
    cells = [cell for bound in bounds for cell in (value_cell(bound, "{:.2f}"), *[NOTHING] * between)]
    return [(BEST, [*[NOTHING] * before, *cells, *[NOTHING] * after])] if any(bounds) else []


def _with_items(results: Results, measure: Measure, title: str) -> str:
    """Return the title of a category's column with the number of its items."""
    items = results.reference_value(TEXT, Measure(measure.test_set, "items", tag=measure.tag)) or 0
    return f"{title}, {items:,.0f} items"


def _tests(results: Results, measure: Measure) -> Iterator[Grid]:
    """Yield a table of the differences from baselines, if there are any."""
    rows = []
    for variant in results.models:
        estimate = unmarked(results, variant, measure)
        if estimate is None or estimate.gain is None:
            continue
        settings, p_values = results.settings.variants[variant], results.p_values(variant, measure)
        tested = {test: ", ".join(p_text(p).removeprefix("= ") for p in p_values[test]) for test in TESTS}
        if tested[settings.test]:
            tested[settings.test] = f"**{tested[settings.test]}**"
        cells = [Cell(results.settings.label(str(settings.baseline))), *gain_cells(estimate.gain)]
        rows.append((results.settings.label(variant), [*cells, *map(Cell, tested.values())]))
    if rows:
        columns = ["Baseline", f"Difference, {measure.metric}", INTERVAL, *TESTS.values()]
        yield grid_of("", columns, rows, words=["Baseline"])


def _rescored(results: Results) -> Iterator[Section]:
    """Yield a table per test set with the scores of the candidates that a teacher chose."""
    settings = results.settings
    if not settings.rescored:
        return
    grids = []
    for test_set in results.test_sets:
        estimates = {
            measure: [results.estimate(f"{name}{RESCORED}", measure) for name in settings.rescored]
            for measure in _measures(results, test_set)
        }
        scored = {measure: found for measure, found in estimates.items() if any(found)}
        rows = [
            (results.label(name), [estimate_cell(found[place]) for found in scored.values()])
            for place, name in enumerate(settings.rescored)
        ]
        grids.append(grid_of(test_set, [measure.metric for measure in scored], rows))
    text = CHOSEN.format(teacher=settings.label(settings.train.teachers[0]), seed=settings.seeds[0])
    yield Section("Rescored by the teacher", text, grids=tuple(grids))


def front_page(results: Results) -> Page:
    """Build the main table: the tested metric on held-out text, and each category of the contrastive sets."""
    metric = results.settings.significance.metric
    scores = [Measure(test, metric) for test in results.settings.corpus.held_out]
    accuracies = [
        measure
        for measure in results.measures
        if measure.metric == SUMMED and measure.tag != "all" and not measure.tag.startswith("distance_")
    ]
    intervals = [INTERVAL] if len(results.settings.seeds) > 1 else []
    titles = ["Parameters", "Training FLOPs"]
    titles += [title for measure in scores for title in (f"{metric}, {measure.test_set}", *intervals)]
    titles += [f"{measure.test_set}: {measure.tag}" for measure in accuracies]
    rows = []
    for variant in results.models:
        system = System(variant, results)
        own, plain = (None if variant in results.out_of_date else one.flops for one in (system, system.plain))
        cells = [_costs(results, variant)[0], value_cell(own / plain if own and plain else None, f"{TIMES} {{:.2f}}")]
        for estimate in (unmarked(results, variant, measure) for measure in scores):
            cells.append(estimate_cell(estimate))
            cells += gain_cells(estimate and estimate.gain)[1:] if intervals else ()
        cells += [estimate_cell(results.estimate(variant, measure), 1, with_gain=False) for measure in accuracies]
        rows.append((results.label(variant), cells))
    rows += _oracle(results, scores, 2, len(intervals), len(accuracies))
    return Page(
        title=results.title,
        introduction=FRONT.format(baselines=_baselines(results)) + (ITEMS if accuracies else "") + _about_old(results),
        sections=(Section(grids=(grid_of("", titles, rows),)),),
        signatures=tuple(sorted({signature for measure in scores for signature in results.signatures(measure)})),
    )


def _baselines(results: Results) -> str:
    """Name the baseline of each system, the most frequent one last."""
    labels: dict[str, list[str]] = {}
    for variant in results.models:
        if baseline := results.settings.variants[variant].baseline:
            labels.setdefault(results.settings.label(baseline), []).append(results.settings.label(variant))
    if not labels:
        return "the baseline"
    *others, (most, _) = sorted(labels.items(), key=lambda item: len(item[1]))
    return "; ".join([*(f"{label} for {', '.join(names)}" for label, names in others), f"{most} for all others"])


def documents_page(results: Results) -> Page:
    """Build a table per test set with documents, and one per contrastive set with distances of antecedents."""
    measured = {measure: results.signatures(measure) for measure in results.measures if measure.metric in OF_DOCUMENTS}
    sections = []
    for test in results.settings.corpus.tests:
        measures = [one for one in (Measure(test, metric) for metric in OF_DOCUMENTS) if one in results.measures]
        if measures:
            human = [value_cell(results.reference_value(HUMAN, measure), "{:.4f}") for measure in measures]
            rows = [*rows_of(results, results.models, measures, 4), ("Human translation", human)]
            sections.append(Section(test, grids=(grid_of("", [measure.metric for measure in measures], rows),)))
    signatures = {measure.metric: found for measure, found in measured.items()}
    return Page(
        title=heading(results, "Documents"),
        introduction=introduction(results, "No difference here was tested.", OF_DOCUMENTS),
        sections=(
            *(sections or [Section(text="No test set of this corpus has documents.")]),
            *(section for name in results.contrastive_sets for section in _distances(results, name)),
        ),
        notes=NOTES_ON_DOCUMENTS if measured else "",
        signatures=_signatures({metric: signatures[metric] for metric in OF_DOCUMENTS if metric in signatures}),
    )


def _distances(results: Results, name: str) -> Iterator[Section]:
    """Yield the accuracies on a set with the categories `within`, `distance_N`, `distance_over_N`; else nothing."""
    by_tag = {measure.tag: measure for measure in _measures(results, name, SUMMED)}
    distances = sorted(int(match[1]) for tag in by_tag if (match := re.fullmatch(r"distance_(\d+)", tag)))
    if not distances:
        return
    titles = {"within": "in the sentence"} | {f"distance_{distance}": f"{distance} back" for distance in distances}
    titles[f"distance_over_{distances[-1]}"] = f"more than {distances[-1]} back"
    measures = [by_tag[tag] for tag in titles if tag in by_tag]
    columns = [_with_items(results, measure, titles[measure.tag]) for measure in measures]
    text = f"{ACCURACIES} The antecedent is the nearest mention; chance is 50 if each item has a mirror."
    grid = grid_of("", columns, rows_of(results, results.models, measures))
    yield Section(f"{name} (contrastive), by the distance of the antecedent", text, grids=(grid,))
