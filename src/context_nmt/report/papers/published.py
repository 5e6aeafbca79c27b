"""Papers as data: the meaning of the keys in papers/*.yaml, and the differences that they publish.

Rules that types do not express are in tests/test_papers.py.
"""

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Literal

from context_nmt.files import UserError, read_yaml
from context_nmt.measures.rows import Measure
from context_nmt.results.metrics import is_score
from context_nmt.settings import Checked, check
from context_nmt.settings.text import CorpusSettings

PAPERS = Path(__file__).parent
ANY = "any"  # languages of a column
ITERATIONS = "iterations"  # of decoding; the number of words of an autoregressive system
COSTS = ("parameters", "training_speed", "decoding_speed", ITERATIONS)  # of a system, not of its output on a test set
ALIKE = 0.5  # BLEU by which systems may differ and be called alike


@dataclass(frozen=True, kw_only=True)
class MeasureSpec(Checked):
    """A measure, or with lists all combinations, of which a claim is about the mean."""

    metric: str | tuple[str, ...]  # as in results.csv, or training_speed, decoding_speed
    layer: int | tuple[int, ...] | None = None  # negative numbers count from the top layer, -1
    tag: int | str | tuple[int | str, ...] = ""
    test_set: str | None = None  # any set of an experiment if unset

    def on(self, test_set: str, layers: int = 0) -> list[Measure]:
        """Return its members on one set, for a model whose top layer has the number `layers`."""
        if self.test_set not in (None, test_set):
            return []
        return [
            Measure(test_set, metric, layer + layers + 1 if layer is not None and layer < 0 else layer, tag=str(tag))
            for metric, layer, tag in self.members
        ]

    @property
    def members(self) -> list[tuple[str, int | None, int | str]]:
        """All combinations of its metrics, layers and tags."""
        metrics = (self.metric,) if isinstance(self.metric, str) else self.metric
        layers = self.layer if isinstance(self.layer, tuple) else (self.layer,)
        tags = self.tag if isinstance(self.tag, tuple) else (self.tag,)
        return list(product(metrics, layers, tags))


@dataclass(frozen=True)
class Each(Checked):
    """Layers, tags or both; each has a column."""

    layer: tuple[int, ...] = ()
    tag: tuple[int | str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PaperColumn(Checked):
    """A column of published numbers, and the measure that an experiment has for it."""

    id: str
    label: str
    metric: str  # as in results.csv, or one of COSTS
    layer: int | None = None
    tag: int | str = ""
    test_set: str | None = None
    languages: str | None = None  # SOURCE-TARGET, or any; the table's if unset
    difference: bool = False  # the published numbers are differences from the row's baseline
    added: bool = False  # the paper does not have it
    decimals: int = 2
    at: int | str | None = None  # its place on a figure's axis
    line: str | None = None  # of a figure, where a row has several; of columns with `each`, the label if unset
    each: Each = Each()
    obstacle: str = ""  # why no command can fill it

    def members(self) -> "list[PaperColumn]":
        """Return the columns for `each` layer and tag, or itself."""
        if self.each == Each():
            return [self]
        columns = []
        for layer, tag in product(self.each.layer or (None,), self.each.tag or (None,)):
            suffixes = [str(suffix) for suffix in (layer, tag) if suffix is not None]
            line = self.label if tag is None or layer is None else f"{self.label} {layer}"
            columns.append(
                replace(
                    self,
                    id="_".join([self.id, *suffixes]),
                    label=" ".join([self.label, *suffixes]),
                    layer=self.layer if layer is None else layer,
                    tag=self.tag if tag is None else tag,
                    at=layer if tag is None else tag,
                    line=line if self.line is None else self.line,
                    each=Each(),
                )
            )
        return columns

    @property
    def measure(self) -> Measure:
        """Its measure; that of a cost has no test set."""
        return Measure(self.test_set or "", self.metric, self.layer, str(self.tag))

    def is_of(self, corpus: CorpusSettings) -> bool:
        """Return whether it is about text in a corpus's languages."""
        return self.languages in (ANY, corpus.direction)


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
    at: int | str | None = None  # its place on a figure's axis


@dataclass(frozen=True, kw_only=True)
class PaperTable(Checked):
    """A table, or a figure as a table of its numbers."""

    id: str
    title: str
    source: str  # where in the paper the numbers are, with remarks on them
    languages: str | None = None
    replica: tuple[MeasureSpec, ...] = ()  # for other text; if unset its columns but scores, else the tested metric
    across: str = ""  # the label of a figure's axis, on which either its columns or its rows have a place
    columns: tuple[PaperColumn, ...]
    rows: tuple[PaperRow, ...]
    checklist: tuple[str, ...] = ()  # its names in the list of all tables and figures in tests/paper_checklist.yaml
    headline: tuple[str, ...] = ()  # variants whose gains are the paper's main result

    def __post_init__(self) -> None:
        members = [member for column in self.columns for member in column.members()]
        columns = tuple(replace(expanded, languages=expanded.languages or self.languages) for expanded in members)
        object.__setattr__(self, "columns", columns)

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
        return value / baseline_value if is_cost and value is not None and baseline_value is not None else None

    def _of_baseline(self, row: PaperRow, column: PaperColumn) -> float | None:
        return self.row(row.baseline).published.get(column.id) if row.baseline else None


@dataclass(frozen=True, kw_only=True)
class Claim(Checked):
    """A claim of a paper: a system has more, less or as much of a measure as another one.

    Without `where` and `table`, it is a question of this project, not a claim of the paper.
    """

    says: str  # in words
    where: str = ""  # the section, with the table or figure; if unset, the name of the table
    table: str | None = None  # the id of the table that shows it
    columns: tuple[str, ...] = ()  # those of the table that the claim is about; if unset, all of its measure
    experiment: str = ""  # that judges it, a folder in experiments/; if unset, the paper's
    measure: MeasureSpec | None = None  # chosen before any result; if unset, the metric that an experiment tests
    replica: MeasureSpec | None = None  # for other text than the paper's, if it has another measure
    variant: str
    against: tuple[str, ...] = ()  # the other variants: it must hold against each; if unset, the variant's baseline
    against_measure: MeasureSpec | None = None  # that of the other system, by default the same system
    against_tags: tuple[int | str, ...] = ()  # the same system's measure with these tags: it must hold against each
    to: float | Literal["human"] | None = None  # a number to compare with, or the human translation's
    gains: bool = False  # compare the gains of both systems over their own baselines
    primary: bool = False  # one of the few claims that the paper stands on
    direction: Literal["higher", "not_lower", "lower", "equal"] = "higher"
    # not_lower, equal: systems that differ by at most this, of speeds a share, are alike; if unset, ALIKE
    margin: float | None = None
    published: float | None = None  # the size that the text gives, if not in the table
    own_text: bool = False  # experiments on other text say nothing about it
    note: str = ""  # on its test, in a few words
    smaller: tuple[str, ...] = ()  # a variant and those it is against, in experiments without the paper's systems

    @property
    def is_cost(self) -> bool:
        """Whether it is about a cost of a system, which does not depend on test set and seed."""
        return self.measure is not None and any(metric in COSTS for metric, _, _ in self.measure.members)

    @property
    def command(self) -> str:
        """What makes its numbers, in the root."""
        return "make speed" if self.is_cost else f"make repro NAME={self.experiment}".removesuffix(" NAME=")

    @property
    def place(self) -> str:
        """Its place in the paper."""
        return self.where or self.table or ""

    @property
    def is_bleu(self) -> bool:
        """Whether it is about BLEU, which all metrics that experiments test are kinds of."""
        return all("bleu" in metric for metric in self._metrics)

    @property
    def alike(self) -> float | None:
        """The largest difference between systems that are alike; None if neither the claim nor BLEU says so."""
        return self.margin or (ALIKE if self.is_bleu else None)

    @property
    def _metrics(self) -> set[str]:
        return {metric for measure in (self.measure, self.replica) if measure for metric, _, _ in measure.members}


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
        claims = tuple(replace(claim, experiment=claim.experiment or self.experiment) for claim in self.claims)
        object.__setattr__(self, "claims", claims)

    def citation(self) -> str:
        """Return authors, year, title, venue and link on one line."""
        return f"{', '.join(self.authors)} ({self.year}). {self.title}. {self.venue}. {self.link}"

    def table_of(self, claim: Claim) -> PaperTable | None:
        """Return the table that shows a claim."""
        return next((table for table in self.tables if table.id == claim.table), None)

    def columns_of(self, claim: Claim) -> list[PaperColumn]:
        """Return the columns that show a claim: those of its measure or, if it names none, all scores of its table."""
        table, members = self.table_of(claim), claim.measure.members if claim.measure else ()
        return [
            column
            for column in (table.columns if table else ())
            if (not claim.columns or column.id in claim.columns)
            and ((column.metric, column.layer, column.tag) in members if members else is_score(column.metric))
        ]


def read_papers(folder: Path = PAPERS) -> dict[str, Paper]:
    """Read all papers of a folder, in the report's order; raise UserError for a broken rule or an empty folder."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise UserError(f"{folder}: no paper in this folder")
    papers = {path.stem: check(Paper, read_yaml(path), where=path.name) for path in paths}
    return dict(sorted(papers.items(), key=lambda named: named[1].place))


def published_gains(paper: Paper, claim: Claim) -> tuple[list[float], int]:
    """Return the differences in a claim's table, column by column, or the one that the text gives; and the decimals."""
    table, columns = paper.table_of(claim), paper.columns_of(claim)
    if claim.published is not None:
        return [claim.published], max([1, *(column.decimals for column in columns)])
    if table is None or claim.against_measure or claim.against_tags or claim.to is not None:
        return [], 2
    found = {one: gain for one in columns if (gain := _published_gain(table, claim, one)) is not None}
    gains = [*found.values()]
    decimals = 2 if claim.is_cost or not found else max(column.decimals for column in found)
    if claim.measure and (count := len(claim.measure.members)) > 1:  # a mean has a digit more than the numbers
        return ([round(fmean(gains), decimals + 1)], decimals + 1) if len(gains) == count else ([], 2)
    return gains, decimals


def _published_gain(table: PaperTable, claim: Claim, column: PaperColumn) -> float | None:
    """Return the difference of two rows in a column; of several other rows, from the best."""
    row = table.row(claim.variant)
    others = claim.against or ((row.baseline,) if row.baseline else ())
    rows = [table.row(name) for name in (claim.variant, *others)]
    if claim.gains:
        values = [table.published_gain(one, column) for one in rows]
    else:  # in a column of differences from the baseline, that of the baseline is 0
        is_zero = [column.difference and one.variant == row.baseline for one in rows]
        values = [0.0 if zero else one.published.get(column.id) for one, zero in zip(rows, is_zero, strict=True)]
    own, *references = (value for value in values if value is not None) if None not in values else (None,)
    if own is None or not references:
        return None
    reference = (min if claim.direction == "lower" else max)(references)
    return round(difference(claim, own, reference), 2 if claim.is_cost else column.decimals)


def difference(claim: Claim, value: float, reference: float) -> float:
    """Return by how much a number differs from another one: costs in shares of the other."""
    return round(value / reference - 1 if claim.is_cost else value - reference, 4)
