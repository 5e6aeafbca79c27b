"""The pages of one experiment as texts and tables, and the page of its scores, results.md."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from context_nmt.files import read_json
from context_nmt.measures.rows import BOUND, LOWER_IS_BETTER, NORMALIZED, SUMMED, TEXT, Measure
from context_nmt.report.all_systems import BOUND_LABEL
from context_nmt.report.tables import DASH_CELL, Cell, Grid, estimate_cell, gain_cells, make_grid, value_cell
from context_nmt.report.verdicts import baseline_confounds, without_invalid_p
from context_nmt.results.metrics import decimals_of, format_p, is_score, measure_name
from context_nmt.results.table import Results

COST_COLUMNS = ("Parameters", "MFLOPs", "FLOPs / baseline", "Training speed", "Decoding speed")
TEST_COLUMNS = {
    "bootstrap": "p, compare-mt",
    "sacrebleu": "p, sacrebleu",
    "sign": "p, sign test",
    "randomization": "p, randomization",
}
ACCURACY_TEXT = "Percentage of items whose correct translation is more probable than every wrong one; ties count half."


@dataclass(frozen=True)
class Section:
    """A heading with text, a picture and tables."""

    title: str
    text: str = ""
    picture: str = ""  # name of a picture in figures/, without suffix
    grids: tuple[Grid, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """A Markdown page about an experiment."""

    title: str
    results: Results
    remark: str = ""  # at the end of its first paragraph
    sections: tuple[Section, ...]
    metrics: Collection[str]  # of its numbers
    signatures: dict[str, list[str]] = field(default_factory=dict)  # by the name of a measure

    @property
    def faults(self) -> list[str]:
        """Known faults of the differences from baselines in the page's metrics."""
        results = self.results
        faults = [
            f"{confound.kind}, {confound.short}: {confound.says}"
            for confound in baseline_confounds(results, self.metrics)
        ]
        pairs = [
            (name, results.settings.variants[name].baseline)
            for name in results.models
            if name in results.measured_systems
        ]
        mixed = [results.label(name) for name, baseline in pairs if baseline and results.mixed_seeds((name, baseline))]
        if mixed:
            names = ", ".join(mixed)
            faults.append(f"two processors: some seeds of {names} were trained on another than the baseline's.")
        return faults

    @property
    def lower_is_better(self) -> list[str]:
        """The page's metrics of which lower is better."""
        return [metric for metric in LOWER_IS_BETTER if metric in self.metrics]

    @property
    def ceilings(self) -> list[str]:
        """The low ceilings of test sets, each with its reason."""
        path = self.results.experiment.metrics / "ceilings.json"
        ceilings = read_json(path) if path.is_file() else {}
        return [
            f"{ceiling['score']:.2f} on {test} ({ceiling['reason']})"
            for test, ceiling in ceilings.items()
            if "reason" in ceiling
        ]


def system_rows(
    results: Results, systems: Iterable[str], measures: Sequence[Measure]
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Yield each system's label and a cell per measure."""
    for system in systems:
        yield (
            results.label(system),
            tuple(
                estimate_cell(without_invalid_p(results, system, measure), decimals_of(measure.metric))
                for measure in measures
            ),
        )


def _measures(results: Results, test_set: str, metric: str = "") -> list[Measure]:
    """Return the measures of a metric on a set or, without a metric, all scores of translations."""
    return [
        measure
        for measure in results.measures
        if measure.test_set == test_set and (measure.metric == metric if metric else is_score(measure.metric))
    ]


def results_page(results: Results) -> Page:
    """Build the page of all test sets and contrastive sets, with tests of differences and all signatures."""
    corpus, significance = results.settings.corpus, results.settings.significance
    sections = []
    for test_set in results.test_sets:
        measures, members = _measures(results, test_set), corpus.groups.get(test_set)
        systems = zip(results.systems, system_rows(results, results.systems, measures), strict=True)
        rows = [(label, (*_cost_cells(results, system), *cells)) for system, (label, cells) in systems]
        bounds = [results.reference_value(BOUND, measure) for measure in measures]
        if any(bounds):
            rows.append(
                (BOUND_LABEL, (*[DASH_CELL] * len(COST_COLUMNS), *(value_cell(bound, "{:.2f}") for bound in bounds)))
            )
        scores = make_grid("", [*COST_COLUMNS, *(measure.metric for measure in measures)], rows)
        tests = () if members else _test_grids(results, Measure(test_set, significance.metric))
        title = test_set + (f" (mean of {', '.join(members)})" if members else "")
        sections.append(Section(title, grids=(scores, *tests)))
    for name in results.contrastive_sets:
        grids = []
        for metric, unit_note in ((SUMMED, ""), (NORMALIZED, " per unit")):
            measures = _measures(results, name, metric)
            items = [
                results.reference_value(TEXT, Measure(name, "items", tag=measure.tag)) or 0 for measure in measures
            ]
            columns = [f"{measure.tag}, {count:,.0f} items" for measure, count in zip(measures, items, strict=True)]
            grids.append(
                make_grid(f"By log-probability{unit_note}", columns, system_rows(results, results.models, measures))
            )
        sections.append(Section(f"{name} (contrastive)", ACCURACY_TEXT, grids=tuple(grids)))
    measures = [measure for measure in results.measures if is_score(measure.metric)]
    return Page(
        title="Results",
        results=results,
        remark="results.json has the means; [analyses.md](../reports/pages/analyses.md), which `make repro` writes,"
        " shows what happens inside the systems.",
        sections=tuple(sections),
        metrics={measure.metric for measure in measures},
        signatures={measure_name(measure): results.signatures(measure) for measure in measures},
    )


def _cost_cells(results: Results, system: str) -> list[Cell]:
    """Return the cells of COST_COLUMNS; dashes for a system that is out of date, rescored by a teacher or external."""
    if system in results.out_of_date or system not in results.models:
        return [DASH_CELL] * len(COST_COLUMNS)
    model, baseline = results.models[system], results.baseline(system)
    flops = model["flops_per_target_token"]
    relative = flops / results.models[baseline]["flops_per_target_token"] if baseline in results.models else None
    return [
        value_cell(model["parameters"], "{:,}"),
        value_cell(flops / 1e6, "{:,.1f}"),
        value_cell(relative, "{:.2f}"),
        *(value_cell(results.speeds.ratio(model, work), "{:.2f}") for work in ("training", "decoding")),
    ]


def _test_grids(results: Results, measure: Measure) -> Iterator[Grid]:
    """Yield a table of the differences from baselines with their tests, if there are any."""
    rows = []
    for system in results.tested_systems:
        estimate = without_invalid_p(results, system, measure)
        if estimate is None or estimate.gain is None:
            continue
        settings, p_values = results.settings.systems[system], results.p_values(system, measure)
        tested = {test: ", ".join(format_p(p).removeprefix("= ") for p in p_values[test]) for test in TEST_COLUMNS}
        if tested[settings.test]:
            tested[settings.test] = f"**{tested[settings.test]}**"
        cells = [Cell(results.settings.label(str(settings.baseline))), *gain_cells(estimate.gain)]
        rows.append((results.settings.label(system), [*cells, *map(Cell, tested.values())]))
    if rows:
        columns = ["Baseline", f"Difference, {measure.metric}", "95% interval over seeds", *TEST_COLUMNS.values()]
        yield make_grid("", columns, rows, text_columns=["Baseline"])
