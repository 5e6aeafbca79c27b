"""Measurements as rows: every stage that measures a run writes them, and every table is made of them."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from context_nmt.files import UserError, replacing

COLUMNS = ("run", "test_set", "metric", "layer", "tag", "value", "signature")
# Values of the column `run` for numbers that do not belong to a run but to the test set.
BOUND = "bound"  # the best score that a system can reach that sees one sentence at a time
HUMAN = "human"  # of the reference
CHANCE = "chance"  # of a classifier that always chooses the most frequent class
TEXT = "text"  # of the test set itself: how many sentences, items or words
NO_RUNS = (BOUND, HUMAN, CHANCE, TEXT)
TESTS = ("bootstrap", "sacrebleu", "sign")  # of a difference; rows have their p-values as p_TEST


@dataclass(frozen=True, order=True)
class Measure:
    """What was measured, and on what."""

    test_set: str
    metric: str
    layer: int | None = None  # from 1; 0 is the embeddings
    tag: str = ""  # a class of what is measured: a category, a part of speech, a length


@dataclass(frozen=True)
class Row:
    """One number."""

    measure: Measure
    value: float
    signature: str = ""  # how it was computed
    subject: str = ""  # one of NO_RUNS; empty: of the run


def row(
    test_set: str,
    metric: str,
    value: float,
    layer: int | None = None,
    tag: str = "",
    signature: str = "",
    subject: str = "",
) -> Row:
    """Return a row with a measure of these parts."""
    return Row(Measure(test_set, metric, layer, tag), value, signature, subject)


def write_rows(path: Path, run: str, rows: Iterable[Row]) -> None:
    """Write COLUMNS as CSV, ordered by test set as they come, then by name; the file appears whole or not at all."""
    rows = list(rows)
    tests = {test_set: place for place, test_set in enumerate(dict.fromkeys(one.measure.test_set for one in rows))}
    rows.sort(key=lambda one: (tests[one.measure.test_set], one.subject, *in_order(one.measure)))
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for one in rows:  # the writer leaves a cell of None empty
            what = one.measure
            writer.writerow(
                (one.subject or run, what.test_set, what.metric, what.layer, what.tag, one.value, one.signature)
            )


def in_order(measure: Measure) -> tuple[object, ...]:
    """Return a key to sort by: metric, layer, tag; first without a layer or tag, and numbers by size."""
    layer = -1 if measure.layer is None else measure.layer
    number = int(measure.tag) if measure.tag.isdecimal() else 0
    return measure.metric, layer, number, measure.tag


def read_rows(path: Path) -> Iterator[Row]:
    """Read the file that `write_rows` wrote; raises UserError for a missing file or one with other columns."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            found = ", ".join(lines.fieldnames or ["none"])
            raise UserError(f"{path}: its columns are {found}; they must be {', '.join(COLUMNS)}")
        try:
            for one in lines:
                layer = int(one["layer"]) if one["layer"] else None
                measure = Measure(one["test_set"], one["metric"], layer, one["tag"])
                subject = one["run"] if one["run"] in NO_RUNS else ""
                yield Row(measure, float(one["value"]), one["signature"], subject)
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}: line {lines.line_num}: not a row of {', '.join(COLUMNS)} ({error})") from None
