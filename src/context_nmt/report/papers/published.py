"""The tables of papers as data: the meaning of the keys in papers/*.yaml; those under `claims` are in claims.py."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from context_nmt.files import UserError, read_yaml
from context_nmt.report.papers.claims import Claim
from context_nmt.report.papers.columns import COSTS, ITERATIONS, PaperColumn, Wanted
from context_nmt.results.metrics import is_score
from context_nmt.settings import Checked, require
from context_nmt.settings.checking import check

PAPERS = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class PaperRow(Checked):
    """A system of a table; without a variant or a subject, one that is only cited."""

    label: str
    variant: str | None = None  # the name of the same system in experiments
    subject: Literal["", "human", "text"] = ""  # the reference translation, or the text, instead of a system
    experiment: str | None = None  # the folder in experiments/ whose text it is about
    added: bool = False  # the paper does not have it
    empty: tuple[str, ...] = ()  # columns that the paper leaves empty
    baseline: str | None = None  # the variant of the row that this row is compared with
    published: dict[str, float] = field(default_factory=dict)  # by column, where known
    marks: dict[str, str] = field(default_factory=dict)  # the paper's remarks on numbers, by column
    settings: dict[str, int] = field(default_factory=dict)  # of its mechanism that small experiments change
    at: int | str | None = None  # its place on a figure's axis

    def __post_init__(self) -> None:
        require(
            self.variant is None or re.fullmatch(r"\w+", self.variant, re.ASCII) is not None,
            f"variant is {self.variant!r}; it must be made of letters, digits and _",
        )
        unpublished = sorted(set(self.marks) - set(self.published))
        require(not unpublished, f"marks has {unpublished}, for which nothing is published")
        require((self.subject == "text") == bool(self.experiment), "a row with subject: text needs experiment")
        has_settings = self.variant or not self.settings
        require(bool(has_settings), f"settings is {self.settings}, but no variant is named that has them")


@dataclass(frozen=True, kw_only=True)
class PaperTable(Checked):
    """A table, or a figure as a table of its numbers."""

    id: str
    title: str
    source: str  # where in the paper the numbers are, with remarks on them
    languages: str | None = None
    replica: tuple[Wanted, ...] = ()  # for other text; if unset its columns but scores, else the tested metric
    across: str = ""  # the label of a figure's axis, on which either its columns or its rows have a place
    columns: tuple[PaperColumn, ...]
    rows: tuple[PaperRow, ...]
    checklist: tuple[str, ...] = ()  # its names in the list of all tables and figures in tests/paper_checklist.py
    headline: tuple[str, ...] = ()  # variants whose gains are the paper's main result
    command: str = ""  # shows what no experiment measures, with the name of a row's variant for SYSTEM

    def __post_init__(self) -> None:
        members = [member for column in self.columns for member in column.members()]
        columns = tuple(replace(expanded, languages=expanded.languages or self.languages) for expanded in members)
        object.__setattr__(self, "columns", columns)
        names = [column.id for column in columns]
        variants = [row.variant for row in self.rows if row.variant]
        for key, values in (("columns", names), ("variants", variants)):
            require(len(set(values)) == len(values), f"{key} repeats a name: {values}")
        for column in columns:
            require(column.languages is not None, f"columns: {column.id} has no languages, and the table has none")
        missing = sorted(set(self.headline) - set(variants))
        require(not missing, f"headline has {missing}; the variants of rows are {variants}")
        placed = [any(entry.at is not None for entry in entries) for entries in (columns, self.rows)]
        require(
            sum(placed) == bool(self.across),
            f"{self.id} has across: {self.across!r}; a figure has it, and at in either its columns or its rows",
        )
        for row in self.rows:
            unknown = sorted(set(row.published) - set(names))
            require(not unknown, f"rows: {row.label!r} has {unknown} under published; there are {names}")
            require(
                row.baseline is None or (row.baseline in variants and row.baseline != row.variant),
                f"rows: {row.label!r} has baseline {row.baseline!r}; the variants of other rows are {variants}",
            )

    @property
    def replica_measures(self) -> tuple[Wanted, ...]:
        """The measures for an experiment on other text; if empty, the metric that the experiment tests."""
        columns = (column for column in self.columns if not is_score(column.metric) and column.metric not in COSTS)
        wanted = (Wanted(metric=column.metric, layer=column.layer, tag=column.tag) for column in columns)
        return self.replica or tuple(dict.fromkeys(wanted))

    @property
    def has_scores(self) -> bool:
        """Whether it is about more than sizes and speeds."""
        return any(column.metric not in COSTS for column in self.columns)

    @property
    def compared(self) -> tuple[PaperRow, ...]:
        """The rows that are compared with a baseline."""
        return tuple(row for row in self.rows if row.baseline)

    def row(self, variant: str) -> PaperRow:
        """Return the row of a variant."""
        return next(row for row in self.rows if row.variant == variant)

    def decimals_of(self, metric: str) -> int:
        """Return the largest number of decimals in its columns of a metric, at least two."""
        return max([2, *(column.decimals for column in self.columns if column.metric == metric)])

    def published_gain(self, row: PaperRow, column: PaperColumn) -> float | None:
        """Return the published difference from the row's baseline, or the difference of the two published numbers."""
        value, baseline_value = row.published.get(column.id), self._of_baseline(row, column)
        if value is None or column.difference:
            return value
        return None if baseline_value is None else round(value - baseline_value, column.decimals)

    def published_ratio(self, row: PaperRow, column: PaperColumn) -> float | None:
        """Return a published cost divided by that of the row's baseline."""
        value, baseline_value = row.published.get(column.id), self._of_baseline(row, column)
        is_cost = column.metric in set(COSTS) - {ITERATIONS} and not column.difference
        if not is_cost or value is None or baseline_value is None:
            return None
        return value / baseline_value

    def _of_baseline(self, row: PaperRow, column: PaperColumn) -> float | None:
        return self.row(row.baseline).published.get(column.id) if row.baseline else None


@dataclass(frozen=True, kw_only=True)
class Paper(Checked):
    """A paper with all its tables and figures."""

    name: str
    title: str
    authors: tuple[str, ...]
    year: int
    venue: str
    link: str
    claim: str  # its conclusion, a sentence without numbers
    place: int = 0  # in the report, where papers without one come first, by file name
    experiment: str = ""  # that judges its claims, unless they name another
    shares_variance: bool = True  # its systems vary about equally over seeds, so that each says something of the others
    claims: tuple[Claim, ...] = ()
    tables: tuple[PaperTable, ...]

    def __post_init__(self) -> None:
        match = re.fullmatch(r"(doi|arXiv) \S+", self.link)
        require(match is not None, f"link is {self.link!r}; it must be 'doi …' or 'arXiv …'")
        names = [table.id for table in self.tables]
        require(len(set(names)) == len(names), f"tables repeats an id: {names}")
        claims = tuple(replace(claim, experiment=claim.experiment or self.experiment) for claim in self.claims)
        object.__setattr__(self, "claims", claims)
        for claim in self.claims:
            require(claim.table is None or claim.table in names, f"claims: table is {claim.table!r}; there are {names}")
            for table in (table for table in self.tables if table.id == claim.table):
                known = {row.variant for row in table.rows} | {column.id for column in table.columns}
                missing = [name for name in (claim.variant, *claim.against, *claim.columns) if name not in known]
                require(not missing, f"claims: {claim.table} has no row or column {', '.join(missing)}")

    def citation(self) -> str:
        """Return authors, year, title, venue and link on one line."""
        return f"{', '.join(self.authors)} ({self.year}). {self.title}. {self.venue}. {self.link}"


def read_papers(folder: Path = PAPERS) -> dict[str, Paper]:
    """Read all papers of a folder, in the report's order; raise UserError for a broken rule or an empty folder."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise UserError(f"{folder}: no paper in this folder")
    papers = {path.stem: check(Paper, read_yaml(path), where=path.name) for path in paths}
    return dict(sorted(papers.items(), key=lambda named: named[1].place))
