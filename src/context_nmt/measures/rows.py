"""Measurements as rows, which all stages that measure a run write, and which all tables are made from."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from context_nmt.files import UserError, replacing

COLUMNS = ("run", "test_set", "metric", "layer", "tag", "value", "signature")
# Values of the column `run` for numbers that belong to a test set, not to a run.
BOUND = "bound"  # the score of the oracle without context, see docs/reference/measures.md
HUMAN = "human"  # of the reference
CHANCE = "chance"  # of a classifier that always chooses the most frequent class
TEXT = "text"  # of the text itself: its number of sentences, items or words
NO_RUNS = (BOUND, HUMAN, CHANCE, TEXT)
SUMMED, NORMALIZED = "accuracy", "accuracy_normalized"  # on contrastive sets: by log-probability, and by its mean
TESTS = ("bootstrap", "sacrebleu", "sign")  # for a difference; their p-values are the metrics p_TEST


@dataclass(frozen=True, order=True)
class Measure:
    """A metric, and the data that it is computed on."""

    test_set: str
    metric: str
    layer: int | None = None  # from 1; 0 is the embeddings
    tag: str = ""  # a subset of the data: a category, a part of speech, a length


@dataclass(frozen=True)
class Row:
    """One number."""

    measure: Measure
    value: float
    signature: str = ""  # of the computation
    subject: str = ""  # one of NO_RUNS, or empty for the run


def row(
    test_set: str,
    metric: str,
    value: float,
    layer: int | None = None,
    tag: str = "",
    signature: str = "",
    subject: str = "",
) -> Row:
    """Make a row and its measure."""
    return Row(Measure(test_set, metric, layer, tag), value, signature, subject)


def write_rows(path: Path, run: str, rows: Iterable[Row]) -> None:
    """Write rows as CSV, in order of the first row of each test set, then by name; write the whole file or nothing."""
    rows = list(rows)
    tests = {test_set: rank for rank, test_set in enumerate(dict.fromkeys(row.measure.test_set for row in rows))}
    rows.sort(key=lambda row: (tests[row.measure.test_set], row.subject, *in_order(row.measure)))
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:  # None becomes an empty cell
            writer.writerow((row.subject or run, *astuple(row.measure), row.value, row.signature))


def in_order(measure: Measure) -> tuple[object, ...]:
    """Return a sort key: metric, layer, tag; empty layers and tags come first, and numeric tags are sorted by value."""
    layer = -1 if measure.layer is None else measure.layer
    number = int(measure.tag) if measure.tag.isdecimal() else 0
    return measure.metric, layer, number, measure.tag


def read_rows(path: Path) -> Iterator[Row]:
    """Read the file that `write_rows` wrote; raise UserError for a missing file or one with other columns."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            columns = ", ".join(lines.fieldnames or ["none"])
            raise UserError(f"{path}: its columns are {columns}; they must be {', '.join(COLUMNS)}")
        try:
            for cells in lines:
                layer = int(cells["layer"]) if cells["layer"] else None
                measure = Measure(cells["test_set"], cells["metric"], layer, cells["tag"])
                subject = cells["run"] if cells["run"] in NO_RUNS else ""
                yield Row(measure, float(cells["value"]), cells["signature"], subject)
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}: line {lines.line_num}: not a row of {', '.join(COLUMNS)} ({error})") from None
