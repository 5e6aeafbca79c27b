"""The tables of papers, published and reproduced side by side, as a Markdown page."""

from collections.abc import Iterator, Sequence

from context_nmt.report.markdown import DASH, mark, signed, table_header, table_row
from context_nmt.report.papers.published import COSTS, Column, Paper, Row
from context_nmt.report.papers.replicas import Beside, Measure
from context_nmt.results.table import Results

NOTES = """\
Every row of a table stands here, with a dash where nothing is published or nothing of it ran. In brackets the
difference to the system's baseline, or x the ratio to it; a variant with another baseline than the paper's system
names it. ± is the sample standard deviation over seeds; † p < 0.05, ‡ p < 0.01, tested as results.md says.
{speeds}"""
REPLICA = """\
**A replica on {corpus} {languages}**, other text than the paper's and models of another size: neither scores nor sizes
can be compared with the published ones; what a system gains, loses and costs against its baseline can."""


def format_papers(papers: Sequence[tuple[Paper, list[Beside]]], results: Results) -> str:
    """Format the tables of papers that an experiment has systems of."""
    corpus = results.settings.corpus
    lines = [f"# Published and reproduced: {corpus.name}, {corpus.source}-{corpus.target}", ""]
    lines += [f"Seeds: {', '.join(map(str, results.settings.seeds))}.", "", NOTES.format(speeds=results.speeds.note())]
    for paper, tables in papers:
        lines += ["", f"## {paper.name}", "", paper.citation()] if tables else []
        for beside in tables:
            lines += ["", f"### {beside.table.id}: {beside.table.title}", "", beside.table.source.strip(), ""]
            if beside.is_replica:
                lines += [REPLICA.format(corpus=corpus.name, languages=f"{corpus.source}-{corpus.target}"), ""]
            lines += _lines(beside)
    if not any(tables for _, tables in papers):
        lines += ["", "No variant of this experiment is a system of these papers that is compared with a baseline."]
    return "\n".join(lines) + "\n"


def _lines(beside: Beside) -> Iterator[str]:
    titles = ["System"]
    columns = [(column if _is_shown(beside, column) else None, measure) for column, measure in beside.columns]
    for column, measure in columns:
        titles += [f"{column.label}, published{' difference' if column.difference else ''}"] if column else []
        titles += [_title(beside, measure)] if measure else []
    yield from table_header(titles)
    for row in beside.table.rows:
        cells = [beside.label(row)]
        for column, measure in columns:
            cells += [_published(beside, row, column)] if column else []
            cells += [_reproduced(beside, row, column, measure)] if measure else []
        yield table_row(cells)


def _is_shown(beside: Beside, column: Column | None) -> bool:
    """A figure may have many columns: one of which nothing is published is left out."""
    published = column is not None and any(column.id in row.published for row in beside.table.rows)
    return published or not beside.table.across


def _title(beside: Beside, measure: Measure) -> str:
    if measure.test_set is None:
        name = measure.metric.replace("_", " ")
        return f"{name} here" + ("" if measure.metric == "parameters" else " / Transformer")
    if beside.is_replica:
        return f"{beside.results.settings.corpus.name} {measure.test_set}, {measure.metric}"
    return f"reproduced, {measure.metric}"


def _published(beside: Beside, row: Row, column: Column) -> str:
    value = row.published.get(column.id)
    if value is None:
        return DASH
    said = [row.marks[column.id]] if column.id in row.marks else []
    if column.difference:
        return signed(value, column.decimals) + "".join(f" ({words})" for words in said)
    gain, ratio = beside.table.published_gain(row, column), beside.table.published_ratio(row, column)
    if column.metric in COSTS:
        said = ([f"x {ratio:.2f}"] if ratio else []) + said
    elif gain is not None:
        said = [signed(gain, column.decimals), *said]
    return f"{value:,.{column.decimals}f}" + (f" ({'; '.join(said)})" if said else "")


def _reproduced(beside: Beside, row: Row, column: Column | None, measure: Measure) -> str:
    cell = beside.cell(row, measure)
    if cell is None:
        return DASH
    other = f" to {beside.results.settings.label(cell.baseline)}" if cell.baseline else ""
    if measure.metric == "parameters":
        added = [signed(cell.difference, 0)] if cell.difference is not None else []
        ratio = [f"x {cell.ratio:.2f}{other}"] if cell.ratio else []
        return f"{cell.value:,.0f}" + (f" ({'; '.join(added + ratio)})" if ratio else "")
    decimals = max([2, *(column.decimals for column in beside.table.columns if column.metric == measure.metric)])
    deviation = f" ± {cell.deviation:.{decimals}f}" if cell.seeds > 1 else ""
    gain = "" if cell.difference is None else f" ({signed(cell.difference, decimals)}{mark(cell.p)}{other})"
    return f"{cell.value:.{decimals}f}{deviation}{gain}"
