"""Measurements as rows: the stages that measure a run write them, and all tables are made from them."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from context_nmt.files import UserError, replacing

ROW_COLUMNS = ("run", "test_set", "metric", "layer", "tag", "value", "signature")
# Values of the column `run` for numbers that belong to a test set instead of a run.
BOUND = "bound"  # the score of the oracle without context, see docs/reference/measures.md
HUMAN = "human"  # the reference's number
CHANCE = "chance"  # the accuracy of always choosing the most frequent class
TEXT = "text"  # a size of the text itself: its number of sentences, items or words
REFERENCE_SUBJECTS = (BOUND, HUMAN, CHANCE, TEXT)
SUMMED, NORMALIZED = "accuracy", "accuracy_normalized"  # on contrastive sets, by summed and by mean log-probability
NLL = "nll"  # of the reference translation
LOWER_IS_BETTER = ("ter", NLL)  # among the scores of translations
MCNEMAR = {SUMMED: "p_mcnemar", NORMALIZED: "p_mcnemar_normalized"}  # p-values of differences in accuracy
TESTS = ("bootstrap", "sacrebleu", "sign", "randomization")  # of a difference; the metric p_TEST is the p-value


@dataclass(frozen=True, order=True)
class Measure:
    """A metric and the data that it is computed on."""

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
    subject: str = ""  # one of REFERENCE_SUBJECTS, or empty for the run


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
    """Write rows as CSV, with test sets in the order of their first rows, then sorted by measure."""
    rows = list(rows)
    ranks = {test_set: rank for rank, test_set in enumerate(dict.fromkeys(row.measure.test_set for row in rows))}
    rows.sort(key=lambda row: (ranks[row.measure.test_set], row.subject, *sort_key(row.measure)))
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(ROW_COLUMNS)
        for row in rows:  # None becomes an empty cell
            writer.writerow((row.subject or run, *astuple(row.measure), row.value, row.signature))


def sort_key(measure: Measure) -> tuple[object, ...]:
    """Return the sort key (metric, layer, tag), where missing layers and tags come first and numbers sort by value."""
    layer = -1 if measure.layer is None else measure.layer
    number = int(measure.tag) if measure.tag.isdecimal() else 0
    return measure.metric, layer, number, measure.tag


def read_rows(path: Path) -> Iterator[Row]:
    """Read a file of `write_rows`; raise UserError if it is missing or has other columns."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != ROW_COLUMNS:
            columns = ", ".join(lines.fieldnames or ["none"])
            raise UserError(f"{path}: its columns are {columns}; they must be {', '.join(ROW_COLUMNS)}")
        try:
            for cells in lines:
                layer = int(cells["layer"]) if cells["layer"] else None
                measure = Measure(cells["test_set"], cells["metric"], layer, cells["tag"])
                subject = cells["run"] if cells["run"] in REFERENCE_SUBJECTS else ""
                yield Row(measure, float(cells["value"]), cells["signature"], subject)
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}: line {lines.line_num}: not a row of {', '.join(ROW_COLUMNS)} ({error})") from None
