"""Contrastive accuracy: the share of items for which a run prefers the correct translation to the wrong ones.

An item counts 1 if its right candidate is more probable than every wrong candidate, ½ if it ties with the best of them,
and 0 otherwise. A candidate's log-probability is summed or, if normalized, averaged over its units and END.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from context_nmt.files import UserError, json_text, read_json, write_json
from context_nmt.measures.rows import NORMALIZED, TEXT, Row, row

OUTCOME_COLUMNS = ("line", "outcome", "margin", "normalized_outcome", "normalized_margin")
Candidate = tuple[tuple[int, ...], int]  # line numbers of the preceding pairs, oldest first, and of the pair itself
ALL_ITEMS = "all"  # the category of every item
OUTCOME_LETTERS = {1.0: "1", 0.5: "=", 0.0: "0"}  # in a file of outcomes


@dataclass(frozen=True)
class Items:
    """The items of one contrastive set."""

    sha256: str
    item_candidates: list[list[Candidate]]  # for each item, the right one first
    categories: list[set[str]]  # for each item

    def candidates(self) -> list[Candidate]:
        """Return the distinct candidates of all items."""
        return list(dict.fromkeys(candidate for item in self.item_candidates for candidate in item))

    def margins(self, scores: dict[Candidate, float]) -> list[float]:
        """Return each item's margin in nats: the right candidate's score minus the best wrong candidate's."""
        return [scores[right] - max(scores[candidate] for candidate in wrong) for right, *wrong in self.item_candidates]

    def by_category(self) -> dict[str, list[int]]:
        """Return the numbers of each category's items, from 0."""
        return {
            category: [number for number, categories in enumerate(self.categories) if category in categories]
            for category in sorted(set().union(*self.categories))
        }

    def rows(self, name: str, margins: dict[str, list[float]]) -> Iterator[Row]:
        """Yield the accuracy, in per cent, and the number of items of each category of the set `name`."""
        for category, numbers in self.by_category().items():
            yield row(name, "items", len(numbers), tag=category, subject=TEXT)
            for metric, item_margins in margins.items():
                reduction = "mean-over-units" if metric == NORMALIZED else "sum"
                accuracy = round(100 * fmean(outcome(item_margins[number]) for number in numbers), 4)
                signature = f"items:{len(numbers)}|log-probability:{reduction}|ties:0.5|set:{self.sha256[:16]}"
                yield row(name, metric, accuracy, tag=category, signature=signature)


def read_items(index: Path, pairs: int | None = None) -> Items:
    """Read `SET.items.json`; raise UserError unless its items refer to exactly `pairs` sentence pairs, if given."""
    content = read_json(index)
    items = content["items"]
    if any("context" not in item for item in items):
        raise UserError(f"{index}: has no contexts; run the text stages again")
    candidates = [[(tuple(item["context"]), number) for number in (item["right"], *item["wrong"])] for item in items]
    expected = 1 + max(number for item in candidates for context, pair in item for number in (*context, pair))
    if pairs not in (None, expected):
        raise UserError(f"{index}: has {expected} pairs, but there are {pairs}; run the text stages again")
    return Items(content["sha256"], candidates, [{ALL_ITEMS, *item["categories"]} for item in items])


def outcome_lines(margins: dict[str, list[float]]) -> Iterator[str]:
    """Yield a tab-separated table of the outcomes and margins of each item, numbered from 1, by metric."""
    yield "\t".join(OUTCOME_COLUMNS)
    for line, item_margins in enumerate(zip(*margins.values(), strict=True), start=1):
        yield "\t".join([str(line), *(f"{outcome(margin):g}\t{margin:.6g}" for margin in item_margins)])


def outcome(margin: float) -> float:
    """Return 1 if the right candidate wins, one half for a tie, else 0."""
    return 1.0 if margin > 0 else 0.5 if margin == 0 else 0.0


class Outcomes(NamedTuple):
    """The outcomes of a run on a contrastive set."""

    sha256: str  # of the set
    by_metric: dict[str, list[float]]  # the outcome of each item


def write_outcomes(path: Path, results: dict[str, tuple[Items, dict[str, list[float]]]]) -> None:
    """Write {SET: [its SHA-256, {METRIC: one of OUTCOME_LETTERS per item}]}, which is small enough for git."""
    outcomes = {
        name: (
            items.sha256,
            {
                metric: "".join(OUTCOME_LETTERS[outcome(margin)] for margin in item_margins)
                for metric, item_margins in margins.items()
            },
        )
        for name, (items, margins) in results.items()
    }
    write_json(path, outcomes)


def read_outcomes(path: Path) -> dict[str, Outcomes]:
    """Read the outcomes on each set."""
    letters = {letter: value for value, letter in OUTCOME_LETTERS.items()}
    return {
        name: Outcomes(digest, {metric: [letters[letter] for letter in text] for metric, text in metrics.items()})
        for name, (digest, metrics) in read_json(path).items()
    }


def outcome_digests(path: Path) -> dict[str, str]:
    """Return the SHA-256 of the outcomes of every set; nothing if the file is missing."""
    outcomes = read_json(path) if path.is_file() else {}
    return {name: sha256(json_text(values).encode()).hexdigest() for name, values in outcomes.items()}
