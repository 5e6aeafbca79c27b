"""What goes on inside systems as a Markdown page."""

from collections.abc import Collection, Iterator

from context_nmt.report.analysed.sections import SECTIONS, Section
from context_nmt.report.markdown import score_cell, table_header, table_row
from context_nmt.results.table import Results

INTRODUCTION = """\
Seeds: {seeds}. Written by the report stage; analyses.csv holds the same numbers. ± is the sample standard deviation
over seeds; in brackets the difference to the system's baseline."""


def format_analyses(results: Results, pictures: Collection[str]) -> str:
    """Format a table per measure and test set; `pictures` are the sections that figures/ has one of."""
    corpus = results.settings.corpus
    lines = [f"# Inside the systems: {corpus.name}, {corpus.source}-{corpus.target}", ""]
    lines.append(INTRODUCTION.format(seeds=", ".join(map(str, results.settings.seeds))))
    for section in SECTIONS:
        lines += ["", f"## {section.title}", ""]
        tables = list(_tables(results, section))
        lines += [section.text] if tables else [section.absent]
        lines += ["", f"![{section.title}](figures/{section.name}.svg)"] if section.name in pictures else []
        lines += tables
    return "\n".join(lines) + "\n"


def _tables(results: Results, section: Section) -> Iterator[str]:
    for test_set in results.test_sets:
        columns = _columns(results, section, test_set)
        if not columns:
            continue
        yield from ["", f"{test_set}:", ""]
        yield from table_header(["System", *columns.values()])
        for variant in results.settings.variants:
            for measure, part in section.parts:
                names = [measure + ending for ending in columns]
                if section.of_few and not any(results.values(variant, test_set, name) for name in names):
                    continue
                cells = [score_cell(results, variant, test_set, name, section.decimals) for name in names]
                yield table_row([results.settings.label(variant) + (f": {part}" if part else ""), *cells])


def _columns(results: Results, section: Section, test_set: str) -> dict[str, str]:
    """What stands behind the names of measures, and the title of its column."""
    known = results.measures(test_set)
    measures = [measure for measure, _ in section.parts]
    columns = {ending: title for ending, title in section.wholes if any(one + ending in known for one in measures)}
    for ending in results.endings(test_set, f"(?:{'|'.join(measures)})", section.pattern):
        columns[f"_{ending}"] = section.column.format(ending) + _count(results, section, test_set, ending)
    return columns


def _count(results: Results, section: Section, test_set: str, ending: str) -> str:
    """How much a column is about, which is the same for all systems."""
    if section.counts is None:
        return ""
    measure, unit = section.counts
    found = (results.summary(variant, test_set, f"{measure}_{ending}") for variant in results.settings.variants)
    return next((f", {summary['mean']:,g} {unit}" for summary in found if summary), "")
