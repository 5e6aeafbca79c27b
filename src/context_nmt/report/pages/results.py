"""Build results.md: scores on test sets and contrastive sets, tests of differences, and signatures."""

from collections.abc import Iterator

from context_nmt.files import read_json
from context_nmt.measures.contrastive import NORMALIZED, SUMMED
from context_nmt.measures.rows import BOUND, TEXT, Measure
from context_nmt.report.cells import NOTHING, TIMES, Cell, estimate_cell, gain_cells, value_cell
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import Page, Section, about_confounds, about_old, heading, introduction, rows_of
from context_nmt.report.papers.all_systems import System
from context_nmt.report.papers.verdicts import unmarked
from context_nmt.results.metrics import is_score, name_of, p_text
from context_nmt.results.table import RESCORED, Results

COSTS = ("Parameters", "MFLOPs", "FLOPs / baseline", "Training speed", "Decoding speed")
TESTS = {"bootstrap": "p, compare-mt", "sacrebleu": "p, sacrebleu", "sign": "p, sign test"}
BEST = "(oracle without context: majority choice)"
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


def results_page(results: Results) -> Page:
    """Build the tables of every test set and contrastive set, with tests of differences, and list all signatures."""
    corpus, significance = results.settings.corpus, results.settings.significance
    sections = []
    for test_set in results.test_sets:
        members = corpus.groups.get(test_set)
        title = test_set + (f" (mean of {', '.join(members)})" if members else "")
        tests = () if members else _tests(results, test_set)
        sections.append(Section(title, grids=(_scores(results, test_set), *tests)))
    for name in results.contrastive_sets:
        grids = (_accuracies(results, name, SUMMED, ""), _accuracies(results, name, NORMALIZED, " per unit"))
        sections.append(Section(f"{name} (contrastive)", ACCURACIES, grids=grids))
    signatures_by_name = {
        name_of(entry): results.signatures(entry) for entry in results.measures if is_score(entry.metric)
    }
    return Page(
        title=heading(results, "Results"),
        introduction=introduction(
            results,
            "results.json has the means; [analyses.md](../reports/pages/analyses.md), which `make repro` writes, shows"
            " what happens inside the systems.",
            {measure.metric for measure in results.measures if is_score(measure.metric)},
        ),
        sections=(*sections, *_rescored(results)),
        notes=NOTES.format(
            metric=significance.metric,
            resamples=significance.resamples,
            ratio=significance.sample_ratio,
            speeds=results.speeds.note(),
        )
        + _about_ceilings(results),
        signatures=tuple(
            f"{name}: " + ", ".join(f"`{entry}`" for entry in signatures)
            for name, signatures in signatures_by_name.items()
        ),
    )


def _about_ceilings(results: Results) -> str:
    """Say which test sets give less than 99 even to a perfect system; empty if none is known to."""
    path = results.experiment.metrics / "ceilings.json"
    ceilings = read_json(path) if path.is_file() else {}
    low = [
        f"{found['score']:.2f} on {test} ({found['reason']})" for test, found in ceilings.items() if "reason" in found
    ]
    return f"\n\nA perfect system would have only {'; '.join(low)}." if low else ""


def front_page(results: Results) -> Page:
    """Build the table for README.md: the tested metric on held-out text, and each category of the contrastive sets."""
    metric = results.settings.significance.metric
    scores = [Measure(test, metric) for test in results.settings.corpus.held_out]
    accuracies = [
        measure
        for measure in results.measures
        if measure.metric == SUMMED and measure.tag != "all" and not measure.tag.startswith("distance_")
    ]
    intervals = ["95% interval over seeds"] if len(results.settings.seeds) > 1 else []
    titles = ["Parameters", "Training FLOPs"]
    for measure in scores:
        titles += [f"{metric}, {measure.test_set}", *intervals]
    titles += [f"{measure.test_set}: {measure.tag}" for measure in accuracies]

    def cells(variant: str) -> Iterator[Cell]:
        parameters, *_ = _costs(results, variant)
        system = System(variant, results)
        own, plain = (None if variant in results.out_of_date else one.flops for one in (system, system.plain))
        flops = own / plain if own and plain else None
        yield from (parameters, value_cell(flops, f"{TIMES} {{:.2f}}"))
        for estimate in (unmarked(results, variant, measure) for measure in scores):
            yield estimate_cell(estimate)
            yield from gain_cells(estimate and estimate.gain)[1:] if intervals else ()
        for estimate in (results.estimate(variant, measure) for measure in accuracies):
            yield estimate_cell(estimate, 1, with_gain=False)

    rows = [(results.label(variant), [*cells(variant)]) for variant in results.models]
    bounds = [results.reference_value(BOUND, measure) for measure in scores]
    if any(bounds):
        best = [cell for bound in bounds for cell in (value_cell(bound, "{:.2f}"), *[NOTHING] * len(intervals))]
        rows.append((BEST, [NOTHING, NOTHING, *best, *[NOTHING] * len(accuracies)]))
    signatures = {signature for measure in scores for signature in results.signatures(measure)}
    return Page(
        title=results.title,
        introduction=FRONT.format(baselines=_baselines(results)) + (ITEMS if accuracies else "") + about_old(results),
        notes=about_confounds(results, {measure.metric for measure in (*scores, *accuracies)}),
        sections=(Section(grids=(grid_of("", titles, rows),)),),
        signatures=tuple(sorted(signatures)),
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


def _scores_on(results: Results, test_set: str) -> list[Measure]:
    return [measure for measure in results.measures if measure.test_set == test_set and is_score(measure.metric)]


def _scores(results: Results, test_set: str) -> Grid:
    measures = _scores_on(results, test_set)
    rows = [
        (label, [*_costs(results, variant), *cells])
        for variant, (label, cells) in zip(results.models, rows_of(results, results.models, measures), strict=True)
    ]
    bounds = [results.reference_value(BOUND, measure) for measure in measures]
    if any(bounds):
        rows.append((BEST, [NOTHING] * len(COSTS) + [value_cell(value, "{:.2f}") for value in bounds]))
    return grid_of("", [*COSTS, *(column.metric for column in measures)], rows)


def _costs(results: Results, variant: str) -> Iterator[Cell]:
    """Yield the cells of COSTS, those of the present settings; nothing for results that others gave."""
    if variant in results.out_of_date:
        yield from [NOTHING] * len(COSTS)
        return
    model, baseline = results.models[variant], results.settings.variants[variant].baseline
    flops = model["flops_per_target_token"]
    baseline_flops = results.models[baseline]["flops_per_target_token"] if baseline in results.models else None
    yield value_cell(model["parameters"], "{:,}")
    yield value_cell(flops / 1e6, "{:,.1f}")
    yield value_cell(flops / baseline_flops if baseline_flops else None, "{:.2f}")
    for work in ("training", "decoding"):
        yield value_cell(results.speeds.ratio(model, work), "{:.2f}")


def _accuracies(results: Results, name: str, metric: str, per: str) -> Grid:
    measures = [measure for measure in results.measures if (measure.test_set, measure.metric) == (name, metric)]
    columns = [with_items(results, measure, measure.tag) for measure in measures]
    return grid_of(f"By log-probability{per}", columns, rows_of(results, results.models, measures))


def with_items(results: Results, measure: Measure, title: str) -> str:
    """Return the title of a category's column with the number of its items."""
    items = results.reference_value(TEXT, Measure(measure.test_set, "items", tag=measure.tag)) or 0
    return f"{title}, {items:,.0f} items"


def _tests(results: Results, test_set: str) -> Iterator[Grid]:
    """Yield a table of the differences from baselines, if there are any."""
    measure = Measure(test_set, results.settings.significance.metric)
    rows = []
    for variant in results.models:
        estimate = results.estimate(variant, measure)
        if estimate is None or estimate.gain is None:
            continue
        settings, p_values = results.settings.variants[variant], results.p_values(variant, measure)
        tested = {test: ", ".join(p_text(p).removeprefix("= ") for p in p_values[test]) for test in TESTS}
        if tested[settings.test]:
            tested[settings.test] = f"**{tested[settings.test]}**"
        estimate = unmarked(results, variant, measure) or estimate
        cells = [Cell(results.settings.label(str(settings.baseline))), *gain_cells(estimate.gain)]
        rows.append((results.settings.label(variant), [*cells, *map(Cell, tested.values())]))
    if rows:
        columns = ["Baseline", f"Difference, {measure.metric}", "95% interval over seeds", *TESTS.values()]
        yield grid_of("", columns, rows, words=["Baseline"])


def _rescored(results: Results) -> Iterator[Section]:
    """Yield a table per test set with the scores of the candidates that a teacher chose."""
    settings = results.settings
    if not settings.rescored:
        return
    systems = [variant + RESCORED for variant in settings.rescored]
    labels = [results.label(variant) for variant in settings.rescored]
    grids = []
    for test_set in results.test_sets:
        scores = [
            measure
            for measure in _scores_on(results, test_set)
            if any(results.estimate(rescored, measure) for rescored in systems)
        ]
        cells = [[estimate_cell(results.estimate(system, measure)) for measure in scores] for system in systems]
        grids.append(grid_of(test_set, [measure.metric for measure in scores], list(zip(labels, cells, strict=True))))
    text = CHOSEN.format(teacher=settings.label(settings.train.teachers[0]), seed=settings.seeds[0])
    yield Section("Rescored by the teacher", text, grids=tuple(grids))
