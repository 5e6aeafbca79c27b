"""The columns of papers' tables as data: the meaning of the keys under `columns` and `replica` in papers/*.yaml."""

from dataclasses import dataclass, replace
from itertools import product

from context_nmt.measures.rows import Measure
from context_nmt.settings import Checked, require
from context_nmt.settings.text import CorpusSettings

ANY = "any"  # languages of a column
ITERATIONS = "iterations"  # of decoding; the number of words of an autoregressive system
COSTS = ("parameters", "training_speed", "decoding_speed", ITERATIONS)  # of a system, not of its output on a test set


@dataclass(frozen=True, kw_only=True)
class Wanted(Checked):
    """A measure as in results.csv; it is on any set of an experiment unless it names one."""

    metric: str  # as in results.csv, or one of COSTS
    layer: int | None = None
    tag: int | str = ""
    test_set: str | None = None

    def on(self, test_set: str) -> Measure:
        """Return the measure on one set."""
        return Measure(test_set, self.metric, self.layer, str(self.tag))

    def is_on(self, test_set: str) -> bool:
        """Return whether it is a measure on this set."""
        return self.test_set in (None, test_set)


@dataclass(frozen=True)
class Each(Checked):
    """Layers, tags or both; each has a column."""

    layer: tuple[int, ...] = ()
    tag: tuple[int | str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PaperColumn(Wanted):
    """A column of published numbers, and the measure that an experiment has for it."""

    id: str
    label: str
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

    def is_of(self, corpus: CorpusSettings) -> bool:
        """Return whether it is about text in a corpus's languages."""
        return self.languages in (ANY, corpus.direction)

    def __post_init__(self) -> None:
        require(self.decimals >= 0, f"decimals is {self.decimals}; it must not be negative")
        if self.metric in COSTS:
            require(self.test_set is None, f"test_set is {self.test_set!r}; {self.metric} has none")
        else:
            require(self.test_set is not None, f"test_set is missing; {self.metric} is measured on one")
