"""Rows as flat dictionaries by short names, and golden files."""

import os
import re
from dataclasses import replace
from pathlib import Path

from context_nmt.files import read_json
from context_nmt.measures.rows import CHANCE, HUMAN, TEXT, Measure, Row, read_rows, write_rows
from context_nmt.report.claim_rows import ClaimRow
from context_nmt.results.metrics import measure_name

NAME_PATTERNS = (  # the first that matches a name counts
    r"(?P<metric>items|probe_deviation|probe|apt_\w+_words|p_[a-z]+)_(?P<tag>.+)",
    r"(?P<metric>lexical_\w+coder_by_(?:frequency|tag))_(?P<tag>.+)_(?P<layer>\d)",
    r"(?P<metric>ngram_accuracy|bleu_of_\w+|sentences_of_\w+)_(?P<tag>\d+)",
    r"(?P<metric>gate_\w+)_(?P<tag>[A-Z]+)",
    r"(?P<metric>.+)_(?P<layer>\d+)",
    r"(?P<metric>.+)",
)


def flat(rows):
    """Return {name: value}."""
    return {measure_name(written.measure): written.value for written in rows}


def by_name(rows):
    """Return {test_set: {name: {"score", "signature"}}}; numbers without a run have names such as cohesion_human."""
    scores = {}
    for written in rows:
        name = measure_name(written.measure) + (f"_{written.subject}" if written.subject else "")
        scores.setdefault(written.measure.test_set, {})[name] = {"score": written.value, "signature": written.signature}
    return scores


def read_flat(path):
    """Return `by_name` of the rows in a file."""
    return by_name(read_rows(path))


def rows_of(scores):
    """Yield the rows of a dictionary like that of `by_name`; a number may replace a score and its signature."""
    for test_set, by_name in scores.items():
        for name, value in by_name.items():
            score = value if isinstance(value, dict) else {"score": value}
            subject = next((suffix for suffix in (CHANCE, HUMAN, TEXT) if name.endswith(f"_{suffix}")), "")
            named = measure(test_set, name.removesuffix(f"_{subject}"))
            yield Row(named, score["score"], score.get("signature", ""), subject)


def measure(test_set, name):
    """Return the measure with a name; on a contrastive set, names are SET_CATEGORY or SET_CATEGORY_normalized."""
    accuracy = re.fullmatch(rf"{test_set}_(.+?)(_normalized)?", name)
    if accuracy:
        return Measure(test_set, f"accuracy{accuracy[2] or ''}", tag=accuracy[1])
    parts = next(match for pattern in NAME_PATTERNS if (match := re.fullmatch(pattern, name))).groupdict()
    layer = parts.get("layer")
    return Measure(test_set, parts["metric"], layer and int(layer), parts.get("tag", ""))


def write_flat(path, scores):
    """Write the rows of a dictionary, see `rows_of`."""
    write_rows(path, "run-1", rows_of(scores))


def add_flat(path, scores):
    """Add the rows of a dictionary to a file."""
    write_rows(path, "run-1", [*read_rows(path), *rows_of(scores)])


def change(path, measure, **changes):
    """Change the value or the signature of a measure's row in a file."""
    rows = list(read_rows(path))
    assert any(row.measure == measure for row in rows)
    write_rows(path, "run-1", [replace(row, **changes) if row.measure == measure else row for row in rows])


def read_claims(experiment):
    """Read the rows of metrics/claims.json."""
    return [ClaimRow(**row) for row in read_json(experiment.metrics / "claims.json")["claims"]]


def assert_golden(text, name):
    """Compare a text with tests/golden/NAME; with GOLDEN=write, write it."""
    path = Path(__file__).parent / "golden" / name
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
