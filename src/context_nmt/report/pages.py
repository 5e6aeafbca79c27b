"""The pages of one experiment as texts and tables; this module builds that of its scores, results.md."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from context_nmt.files import read_json
from context_nmt.measures.rows import BOUND, NORMALIZED, SUMMED, TEXT, Measure
from context_nmt.report.papers.all_systems import BEST
from context_nmt.report.papers.verdicts import confounds_of, unmarked
from context_nmt.report.tables import NOTHING, Cell, Grid, estimate_cell, gain_cells, grid_of, value_cell
from context_nmt.results.metrics import format_p, is_score, measure_name
from context_nmt.results.table import Results

COSTS = ("Parameters", "MFLOPs", "FLOPs / baseline", "Training speed", "Decoding speed")
TESTS = {"bootstrap": "p, compare-mt", "sacrebleu": "p, sacrebleu", "sign": "p, sign test"}
ACCURACIES = "Percentage of items whose correct translation is more probable than every wrong one; ties count half."


@dataclass(frozen=True)
class Section:
    """A heading with text, a picture and tables."""

    title: str
    text: str = ""
    picture: str = ""  # its name in figures/, without suffix
    grids: tuple[Grid, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Page:
    """One Markdown page about an experiment."""

    title: str
    results: Results
    says: str = ""  # at the end of its first paragraph
    sections: tuple[Section, ...]
    metrics: Collection[str]  # what its numbers are
    signatures: dict[str, list[str]] = field(default_factory=dict)  # by the name of a measure

    @property
    def faults(self) -> list[str]:
        """What is known to be wrong with differences from baselines in its metrics."""
        results = self.results
        faults = [f"{one.kind}, {one.short}: {one.says}" for one in confounds_of(results, self.metrics)]
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
    def ceilings(self) -> list[str]:
        """The scores of references on test sets where they are low, each with its reason."""
        path = self.results.experiment.metrics / "ceilings.json"
        ceilings = read_json(path) if path.is_file() else {}
        return [f"{one['score']:.2f} on {test} ({one['reason']})" for test, one in ceilings.items() if "reason" in one]


def rows_of(
    results: Results, systems: Iterable[str], measures: Sequence[Measure]
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Yield each system's label with a cell per measure."""
    for system in systems:
        yield results.label(system), tuple(estimate_cell(unmarked(results, system, measure)) for measure in measures)


def _measures(results: Results, test_set: str, metric: str = "") -> list[Measure]:
    """Return the measures on a set: those of a metric or, without one, the scores of translations."""
    return [
        measure
        for measure in results.measures
        if measure.test_set == test_set and (measure.metric == metric if metric else is_score(measure.metric))
    ]


def results_page(results: Results) -> Page:
    """Build the tables of every test set and contrastive set, with tests of differences, and list all signatures."""
    corpus, significance = results.settings.corpus, results.settings.significance
    sections = []
    for test_set in results.test_sets:
        measures, members = _measures(results, test_set), corpus.groups.get(test_set)
        systems = zip(results.systems, rows_of(results, results.systems, measures), strict=True)
        rows = [(label, (*_costs(results, system), *cells)) for system, (label, cells) in systems]
        bounds = [results.reference_value(BOUND, measure) for measure in measures]
        if any(bounds):
            rows.append((BEST, (*[NOTHING] * len(COSTS), *(value_cell(bound, "{:.2f}") for bound in bounds))))
        scores = grid_of("", [*COSTS, *(measure.metric for measure in measures)], rows)
        tests = () if members else _tests(results, Measure(test_set, significance.metric))
        title = test_set + (f" (mean of {', '.join(members)})" if members else "")
        sections.append(Section(title, grids=(scores, *tests)))
    for name in results.contrastive_sets:
        grids = []
        for metric, per in ((SUMMED, ""), (NORMALIZED, " per unit")):
            measures = _measures(results, name, metric)
            items = [results.reference_value(TEXT, Measure(name, "items", tag=one.tag)) or 0 for one in measures]
            columns = [f"{one.tag}, {count:,.0f} items" for one, count in zip(measures, items, strict=True)]
            grids.append(grid_of(f"By log-probability{per}", columns, rows_of(results, results.models, measures)))
        sections.append(Section(f"{name} (contrastive)", ACCURACIES, grids=tuple(grids)))
    measures = [measure for measure in results.measures if is_score(measure.metric)]
    return Page(
        title="Results",
        results=results,
        says="results.json has the means; [analyses.md](../reports/pages/analyses.md), which `make repro` writes, shows"
        " what happens inside the systems.",
        sections=tuple(sections),
        metrics={measure.metric for measure in measures},
        signatures={measure_name(measure): results.signatures(measure) for measure in measures},
    )


def _costs(results: Results, system: str) -> list[Cell]:
    """Return the cells of COSTS, those of the present settings; nothing for results of others, or chosen by others."""
    if system in results.out_of_date or system not in results.models:
        return [NOTHING] * len(COSTS)
    model, baseline = results.models[system], results.baseline(system)
    flops = model["flops_per_target_token"]
    relative = flops / results.models[baseline]["flops_per_target_token"] if baseline in results.models else None
    return [
        value_cell(model["parameters"], "{:,}"),
        value_cell(flops / 1e6, "{:,.1f}"),
        value_cell(relative, "{:.2f}"),
        *(value_cell(results.speeds.ratio(model, work), "{:.2f}") for work in ("training", "decoding")),
    ]


def _tests(results: Results, measure: Measure) -> Iterator[Grid]:
    """Yield a table of the differences from baselines, if there are any."""
    rows = []
    for variant in results.models:
        estimate = unmarked(results, variant, measure)
        if estimate is None or estimate.gain is None:
            continue
        settings, p_values = results.settings.variants[variant], results.p_values(variant, measure)
        tested = {test: ", ".join(format_p(p).removeprefix("= ") for p in p_values[test]) for test in TESTS}
        if tested[settings.test]:
            tested[settings.test] = f"**{tested[settings.test]}**"
        cells = [Cell(results.settings.label(str(settings.baseline))), *gain_cells(estimate.gain)]
        rows.append((results.settings.label(variant), [*cells, *map(Cell, tested.values())]))
    if rows:
        columns = ["Baseline", f"Difference, {measure.metric}", "95% interval over seeds", *TESTS.values()]
        yield grid_of("", columns, rows, words=["Baseline"])
