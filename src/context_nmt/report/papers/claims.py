"""The claims of a paper as data: the meaning of the keys under `claims` in papers/*.yaml."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.columns import COSTS, ITERATIONS
from context_nmt.settings import Checked, require

ALIKE = 0.5  # BLEU by which systems may differ and be called alike


@dataclass(frozen=True, kw_only=True)
class PrimaryMeasure(Checked):
    """The measure that a claim is judged by, chosen before any result: with lists, the mean over all combinations."""

    metric: str | tuple[str, ...]  # as in results.csv, or training_speed, decoding_speed
    layer: int | tuple[int, ...] | None = None  # negative numbers count from the top layer, -1
    tag: int | str | tuple[int | str, ...] = ""
    test_set: str | None = None  # any set of an experiment if unset

    def on(self, test_set: str, layers: int) -> list[Measure]:
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

    @property
    def is_cost(self) -> bool:
        """Whether it is a cost of a system, which does not depend on test set and seed."""
        return any(metric in COSTS for metric, _, _ in self.members)

    @property
    def is_bleu(self) -> bool:
        """Whether it is a kind of BLEU."""
        return all("bleu" in metric for metric, _, _ in self.members)


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
    measure: PrimaryMeasure | None = None  # if unset, the metric that an experiment tests
    replica: PrimaryMeasure | None = None  # for other text than the paper's, if it has another measure
    variant: str
    against: tuple[str, ...] = ()  # the other variants: it must hold against each; if unset, the variant's baseline
    against_measure: PrimaryMeasure | None = None  # that of the other system, by default the same system
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

    def references(self, measure: PrimaryMeasure) -> list[PrimaryMeasure]:
        """Return the measures of the other system that its own `measure` is compared with."""
        return [replace(measure, tag=tag) for tag in self.against_tags] or [self.against_measure or measure]

    @property
    def is_cost(self) -> bool:
        """Whether it is about a cost."""
        return self.measure is not None and self.measure.is_cost

    @property
    def place(self) -> str:
        """Its place in the paper."""
        return self.where or self.table or ""

    @property
    def is_bleu(self) -> bool:
        """Whether it is about BLEU, which all metrics that experiments test are kinds of."""
        return all(measure.is_bleu for measure in (self.measure, self.replica) if measure)

    @property
    def alike(self) -> float | None:
        """The largest difference between systems that are alike; None if neither the claim nor BLEU says so."""
        return self.margin or (ALIKE if self.is_bleu else None)

    def __post_init__(self) -> None:
        costs = {metric for measure in (self.measure, self.replica) if measure for metric, _, _ in measure.members}
        require(not costs & {"parameters", ITERATIONS}, "a claim about parameters or iterations has no verdict")
        has_margin = self.direction in ("equal", "not_lower")
        require(self.margin is None or has_margin, f"margin is {self.margin}; a claim of {self.direction} has none")
        require(self.margin is None or self.margin > 0, f"margin is {self.margin}; it must be above 0")
        require(not has_margin or self.alike is not None, "margin is missing; only BLEU has one by default")
        require(not self.smaller or len(self.smaller) > 1, f"smaller is {list(self.smaller)}; it must be two or more")
        others = {"against": self.against, "against_measure": self.against_measure, "against_tags": self.against_tags}
        given = [key for key, value in {**others, "to": self.to is not None}.items() if value]
        require(len(given) < 2 or given == ["against", "against_measure"], f"{' and '.join(given)} exclude each other")
