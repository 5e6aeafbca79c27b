"""Papers as data: the meaning of the keys in papers/*.yaml, and the published differences.

Rules that types do not express are in tests/test_papers.py.
"""

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Literal

from context_nmt.files import UserError, read_yaml
from context_nmt.measures.rows import NLL, Measure
from context_nmt.results.metrics import SIGNIFICANCE_LEVEL, decimals_of, is_score
from context_nmt.results.table import Results
from context_nmt.settings import Checked, check
from context_nmt.settings.text import CorpusSettings

PAPERS_FOLDER = Path(__file__).with_name("papers")
ANY_LANGUAGES = "any"
ITERATIONS_METRIC = "iterations"  # of decoding a sentence, as many as words for an autoregressive system
# These do not depend on a system's output.
COST_METRICS = ("parameters", "training_speed", "decoding_speed", ITERATIONS_METRIC)
BLEU_MARGIN = 0.5  # systems that differ by at most this are alike


@dataclass(frozen=True, kw_only=True)
class MeasureSpec(Checked):
    """A measure or, with lists, all their combinations; a claim is about the mean of these measures."""

    metric: str | tuple[str, ...]  # as in results.csv, or training_speed, decoding_speed
    layer: int | tuple[int, ...] | None = None  # negative numbers count from the top layer, -1
    tag: int | str | tuple[int | str, ...] = ""
    test_set: str | None = None  # any set of an experiment if unset

    def measures_on(self, test_set: str, layers: int = 0) -> list[Measure]:
        """Return its measures on one set, for a model with `layers` layers."""
        if self.test_set not in (None, test_set):
            return []
        return [
            Measure(test_set, metric, layer + layers + 1 if layer is not None and layer < 0 else layer, tag=str(tag))
            for metric, layer, tag in self.combinations
        ]

    @property
    def combinations(self) -> list[tuple[str, int | None, int | str]]:
        """All combinations of its metrics, layers and tags."""
        metrics = (self.metric,) if isinstance(self.metric, str) else self.metric
        layers = self.layer if isinstance(self.layer, tuple) else (self.layer,)
        tags = self.tag if isinstance(self.tag, tuple) else (self.tag,)
        return list(product(metrics, layers, tags))


@dataclass(frozen=True)
class EachLayerAndTag(Checked):
    """Layers, tags or both, each of which has a column."""

    layer: tuple[int, ...] = ()
    tag: tuple[int | str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PaperColumn(Checked):
    """A column of published numbers, and the measure that an experiment has for it."""

    id: str
    label: str
    metric: str  # as in results.csv, or one of COST_METRICS
    layer: int | None = None
    tag: int | str = ""
    test_set: str | None = None
    languages: str | None = None  # SOURCE-TARGET, or any; the table's if unset
    difference: bool = False  # the published numbers are differences from the row's baseline
    added: bool = False  # the paper does not have it
    decimals: int = 2
    at: int | str | None = None  # its position on a figure's axis
    line: str | None = None  # its line in a figure, where a row has several lines; with `each`, the label if unset
    each: EachLayerAndTag = EachLayerAndTag()
    obstacle: str = ""  # why no command can fill it

    def expanded(self) -> "list[PaperColumn]":
        """Return a column for `each` layer and tag, or the column itself."""
        if self.each == EachLayerAndTag():
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
                    each=EachLayerAndTag(),
                )
            )
        return columns

    @property
    def measure(self) -> Measure:
        """The measure of its numbers; a cost has no test set."""
        return Measure(self.test_set or "", self.metric, self.layer, str(self.tag))

    def has_languages_of(self, corpus: CorpusSettings) -> bool:
        """Return whether the column is about text in a corpus's languages."""
        return self.languages in (ANY_LANGUAGES, corpus.direction)


@dataclass(frozen=True, kw_only=True)
class PaperRow(Checked):
    """A system of a table, which the paper only cites if there is no variant and no subject."""

    label: str
    variant: str | None = None  # the name of the same system in experiments
    subject: Literal["", "human", "text"] = ""  # instead of a system, the reference translation or the text
    experiment: str | None = None  # the folder in experiments/ whose text it is about
    added: bool = False  # the paper does not have it
    empty: tuple[str, ...] = ()  # columns that the paper leaves empty
    baseline: str | None = None  # the variant of the row that this row is compared with
    published: dict[str, float] = field(default_factory=dict)  # by column, where known
    marks: dict[str, str] = field(default_factory=dict)  # the paper's remarks on numbers, by column
    at: int | str | None = None  # its position on a figure's axis


@dataclass(frozen=True, kw_only=True)
class PaperTable(Checked):
    """A table, or a figure as a table of its numbers."""

    id: str
    title: str
    source: str  # where in the paper the numbers are, with remarks on them
    languages: str | None = None
    # on other text; by default the columns that are not scores or, if there are none, the tested metric
    replica: tuple[MeasureSpec, ...] = ()
    across: str = ""  # label of a figure's axis, on which either its columns or its rows have positions
    columns: tuple[PaperColumn, ...]
    rows: tuple[PaperRow, ...]
    checklist: tuple[str, ...] = ()  # its names in tests/paper_checklist.yaml
    headline: tuple[str, ...] = ()  # variants whose gains are the paper's main result

    def __post_init__(self) -> None:
        columns = [expanded for column in self.columns for expanded in column.expanded()]
        with_languages = (replace(column, languages=column.languages or self.languages) for column in columns)
        object.__setattr__(self, "columns", tuple(with_languages))

    @property
    def has_scores(self) -> bool:
        """Whether it has more than costs."""
        return any(column.metric not in COST_METRICS for column in self.columns)

    @property
    def is_by_layer_and_tag(self) -> bool:
        """Whether it has a column for each layer and each tag, such as a group of words."""
        return all(column.layer is not None and column.tag for column in self.columns)

    @property
    def compared(self) -> tuple[PaperRow, ...]:
        """The rows that are compared with a baseline."""
        return tuple(row for row in self.rows if row.baseline)

    def row(self, variant: str) -> PaperRow:
        """Return the row of a variant."""
        return next(row for row in self.rows if row.variant == variant)

    def decimals_of(self, metric: str) -> int:
        """Return the largest number of decimals in a metric's columns, at least what tables of scores print."""
        return max([decimals_of(metric), *(column.decimals for column in self.columns if column.metric == metric)])

    def published_gain(self, row: PaperRow, column: PaperColumn) -> float | None:
        """Return the published difference from the row's baseline, or the difference of the two published numbers."""
        value, baseline_value = row.published.get(column.id), self._baseline_value(row, column)
        if value is None or column.difference:
            return value
        return None if baseline_value is None else round(value - baseline_value, column.decimals)

    def published_ratio(self, row: PaperRow, column: PaperColumn) -> float | None:
        """Return a published cost divided by that of the row's baseline."""
        value, baseline_value = row.published.get(column.id), self._baseline_value(row, column)
        is_cost = column.metric in set(COST_METRICS) - {ITERATIONS_METRIC} and not column.difference
        return value / baseline_value if is_cost and value is not None and baseline_value is not None else None

    def _baseline_value(self, row: PaperRow, column: PaperColumn) -> float | None:
        return self.row(row.baseline).published.get(column.id) if row.baseline else None


@dataclass(frozen=True, kw_only=True)
class Preregistration(Checked):
    """The seeds on which alone a paper's claims are judged, as docs/preregistration.md says."""

    commit: str  # of the page, before these seeds were trained
    seeds: tuple[int, ...]
    level: float  # of primary claims, which may be tested once more
    # experiments that train some of these systems and seeds again; see `papers_judged_by`
    reruns: tuple[str, ...] = ()
    rerun_of: str = ""  # in a rerun, the experiment that judges the claims on all seeds
    remarks: tuple[str, ...] = ()  # what a reader of the verdicts must know


@dataclass(frozen=True, kw_only=True)
class Claim(Checked):
    """A claim of a paper: a system has more, less or as much of a measure as another system.

    Without `where` and `table`, it is a question of this project, not a claim of the paper.
    """

    says: str  # in words
    where: str = ""  # the section, with the table or figure; if unset, the name of the table
    table: str | None = None  # the id of the table that shows it
    columns: tuple[str, ...] = ()  # columns of the table that the claim is about; if unset, all of its measure
    experiment: str = ""  # the folder in experiments/ that judges the claim; if unset, the paper's
    measure: MeasureSpec | None = None  # chosen before any result; if unset, the metric that an experiment tests
    replica: MeasureSpec | None = None  # for other text than the paper's, if it has another measure
    variant: str
    against: tuple[str, ...] = ()  # the rivals, each of which the claim must hold against; if unset, the baseline
    against_measure: MeasureSpec | None = None  # the rival's measure; without `against`, of the same system
    against_tags: tuple[int | str, ...] = ()  # tags of the system's own measure, each of which it must hold against
    to: float | Literal["human"] | None = None  # a number to compare with, or the human translation's number
    gains: bool = False  # compare the gains of both systems over their own baselines
    primary: bool = False  # one of the few claims that the paper rests on
    direction: Literal["higher", "not_lower", "lower", "equal"] = "higher"
    margin: float | None = None  # systems that differ by at most this are alike; of speeds, a share; else BLEU_MARGIN
    published: float | None = None  # the difference in the paper's text, if it is not in the table
    own_text: bool = False  # experiments on other text say nothing about it
    note: str = ""  # on its test, in a few words
    smaller: tuple[str, ...] = ()  # a variant and its rivals, in experiments without the paper's systems
    # of its second look, in another experiment; if unset, the paper's, for claims that the paper's experiment judges
    preregistration: Preregistration | None = None

    @property
    def level(self) -> float:
        """The level of its test."""
        return self.preregistration.level if self.preregistration and self.primary else SIGNIFICANCE_LEVEL

    @property
    def loss(self) -> "Claim | None":
        """The same claim about the loss on references, for a primary claim that one system has more BLEU."""
        compares_systems = not (self.against_measure or self.against_tags or self.to is not None or self.gains)
        if not (self.primary and self.is_bleu and compares_systems and self.direction in ("higher", "lower")):
            return None
        claim = replace(self, measure=MeasureSpec(metric=NLL), replica=None, margin=None)
        return replace(claim, direction="lower") if self.direction == "higher" else replace(claim, direction="higher")

    @property
    def is_cost(self) -> bool:
        """Whether it is about a cost, which does not depend on test set and seed."""
        return self.measure is not None and any(metric in COST_METRICS for metric, _, _ in self.measure.combinations)

    @property
    def command(self) -> str:
        """The command that makes its numbers, in the root."""
        return "make speed" if self.is_cost else f"make repro NAME={self.experiment}".removesuffix(" NAME=")

    @property
    def place(self) -> str:
        """The section, table or figure of the paper."""
        return self.where or self.table or ""

    @property
    def is_bleu(self) -> bool:
        """Whether it is about BLEU, as are claims that name no measure."""
        return all("bleu" in metric for metric in self._metrics)

    @property
    def alike(self) -> float | None:
        """The largest difference between systems that are alike; None without a margin, except for BLEU."""
        return self.margin or (BLEU_MARGIN if self.is_bleu else None)

    @property
    def _metrics(self) -> set[str]:
        return {metric for measure in (self.measure, self.replica) if measure for metric, _, _ in measure.combinations}


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
    place: int = 0  # position in the report, where papers without one come first, by file name
    experiment: str = ""  # the folder in experiments/ that judges its claims, unless they name another
    shares_variance: bool = True  # whether its systems vary about equally over seeds
    preregistration: Preregistration | None = None
    claims: tuple[Claim, ...] = ()
    tables: tuple[PaperTable, ...]

    def __post_init__(self) -> None:
        claims = tuple(
            replace(
                claim,
                experiment=claim.experiment or self.experiment,
                preregistration=claim.preregistration
                or (None if claim.experiment or claim.is_cost else self.preregistration),
            )
            for claim in self.claims
        )
        object.__setattr__(self, "claims", claims)

    def citation(self) -> str:
        """Return authors, year, title, venue and link on one line."""
        return f"{', '.join(self.authors)} ({self.year}). {self.title}. {self.venue}. {self.link}"

    def table_of(self, claim: Claim) -> PaperTable | None:
        """Return the table that shows a claim."""
        return next((table for table in self.tables if table.id == claim.table), None)

    def columns_of(self, claim: Claim) -> list[PaperColumn]:
        """Return the columns that show a claim: those of its measure or, if it names none, all scores of its table."""
        table, measures = self.table_of(claim), claim.measure.combinations if claim.measure else ()
        return [
            column
            for column in (table.columns if table else ())
            if (not claim.columns or column.id in claim.columns)
            and ((column.metric, column.layer, column.tag) in measures if measures else is_score(column.metric))
        ]


def read_papers(folder: Path = PAPERS_FOLDER) -> dict[str, Paper]:
    """Read all papers of a folder, in the report's order; raise UserError for an invalid file or an empty folder."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise UserError(f"{folder}: no paper in this folder")
    papers = {path.stem: check(Paper, read_yaml(path), where=path.name) for path in paths}
    return dict(sorted(papers.items(), key=lambda named: named[1].place))


def papers_judged_by(own: Results, papers: dict[str, Paper]) -> dict[str, Paper]:
    """Return the papers as the report of an experiment judges them.

    A rerun judges the claims on its systems by its own seeds, as if they were a first look. The other preregistered
    claims stay in the correction, as tests with p = 1.
    """
    return {name: _judged_by_rerun(paper, own) for name, paper in papers.items()}


def _judged_by_rerun(paper: Paper, own: Results) -> Paper:
    plan, settings = paper.preregistration, own.settings
    if plan is None or own.folder not in plan.reruns or not {*settings.seeds} <= {*plan.seeds}:
        return paper
    rerun = replace(plan, seeds=settings.seeds, reruns=(), rerun_of=paper.experiment)

    def judged(claim: Claim) -> Claim:
        if claim.preregistration != plan:
            return claim
        systems = ({claim.variant, *claim.against}, {*claim.smaller})
        is_here = any(names and names <= settings.variants.keys() for names in systems)
        return replace(claim, experiment=own.folder if is_here else claim.experiment, preregistration=rerun)

    return replace(paper, preregistration=rerun, claims=tuple(map(judged, paper.claims)))


def published_gains(paper: Paper, claim: Claim) -> tuple[list[float], int]:
    """Return a claim's published differences, from the columns of its table or from the text, and their decimals."""
    table, columns = paper.table_of(claim), paper.columns_of(claim)
    if claim.published is not None:
        return [claim.published], max([1, *(column.decimals for column in columns)])
    if table is None or claim.against_measure or claim.against_tags or claim.to is not None:
        return [], 2
    gains_by_column = {
        column: gain for column in columns if (gain := _published_gain(table, claim, column)) is not None
    }
    gains = [*gains_by_column.values()]
    decimals = 2 if claim.is_cost or not gains_by_column else max(column.decimals for column in gains_by_column)
    if claim.measure and (count := len(claim.measure.combinations)) > 1:  # a mean has one more decimal
        return ([round(fmean(gains), decimals + 1)], decimals + 1) if len(gains) == count else ([], 2)
    return gains, decimals


def _published_gain(table: PaperTable, claim: Claim, column: PaperColumn) -> float | None:
    """Return the difference of two rows in a column; with several rivals, from the best of them."""
    row = table.row(claim.variant)
    other_variants = claim.against or ((row.baseline,) if row.baseline else ())
    rows = [table.row(name) for name in (claim.variant, *other_variants)]
    if claim.gains:
        values = [table.published_gain(table_row, column) for table_row in rows]
    else:  # in a column of differences, the baseline has 0
        is_zero = [column.difference and table_row.variant == row.baseline for table_row in rows]
        values = [
            0.0 if zero else table_row.published.get(column.id) for table_row, zero in zip(rows, is_zero, strict=True)
        ]
    gain, *references = (value for value in values if value is not None) if None not in values else (None,)
    if gain is None or not references:
        return None
    reference = (min if claim.direction == "lower" else max)(references)
    return round(difference(claim, gain, reference), 2 if claim.is_cost else column.decimals)


def difference(claim: Claim, value: float, reference: float) -> float:
    """Return by how much a number exceeds a reference; for costs, as a share of the reference."""
    return round(value / reference - 1 if claim.is_cost else value - reference, 4)
