"""Rows by short names, for tests that know a number by its name; and golden files."""

import os
import re
from dataclasses import replace
from pathlib import Path

from context_nmt.files import read_json
from context_nmt.measures.rows import CHANCE, HUMAN, TEXT, Measure, read_rows, row, write_rows
from context_nmt.report.claim_rows import ClaimRow
from context_nmt.results.metrics import measure_name

PARTS = (  # of a name, the first that fits
    r"(?P<metric>items|probe_deviation|probe|apt_\w+_words|p_[a-z]+)_(?P<tag>.+)",
    r"(?P<metric>lexical_\w+coder_by_(?:frequency|tag))_(?P<tag>.+)_(?P<layer>\d)",
    r"(?P<metric>ngram_accuracy|bleu_of_\w+|sentences_of_\w+)_(?P<tag>\d+)",
    r"(?P<metric>gate_\w+)_(?P<tag>[A-Z]+)",
    r"(?P<metric>.+)_(?P<layer>\d+)",
    r"(?P<metric>.+)",
)


def flat(rows):
    """{name: value}."""
    return {measure_name(one.measure): one.value for one in rows}


def by_name(rows):
    """{test_set: {name: {"score", "signature"}}}; what is of no run has names such as cohesion_human."""
    found = {}
    for one in rows:
        name = measure_name(one.measure) + (f"_{one.subject}" if one.subject else "")
        found.setdefault(one.measure.test_set, {})[name] = {"score": one.value, "signature": one.signature}
    return found


def read_flat(path):
    """What `by_name` finds in a file."""
    return by_name(read_rows(path))


def rows_of(found):
    """Yield the rows of what `by_name` gives; a value may stand in place of score and signature."""
    for test_set, names in found.items():
        for name, given in names.items():
            score = given if isinstance(given, dict) else {"score": given}
            of = next((one for one in (CHANCE, HUMAN, TEXT) if name.endswith(f"_{one}")), "")
            one = measure(test_set, name.removesuffix(f"_{of}"))
            parts = {"layer": one.layer, "tag": one.tag, "signature": score.get("signature", ""), "subject": of}
            yield row(test_set, one.metric, score["score"], **parts)


def measure(test_set, name):
    """The measure that goes by a name; on a contrastive set SET_CATEGORY or SET_CATEGORY_normalized."""
    accuracy = re.fullmatch(rf"{test_set}_(.+?)(_normalized)?", name)
    if accuracy:
        return Measure(test_set, f"accuracy{accuracy[2] or ''}", tag=accuracy[1])
    found = next(match for part in PARTS if (match := re.fullmatch(part, name))).groupdict()
    layer = found.get("layer")
    return Measure(test_set, found["metric"], layer and int(layer), found.get("tag", ""))


def write_flat(path, found):
    """Write what `rows_of` takes."""
    write_rows(path, "run-1", rows_of(found))


def add_flat(path, found):
    """Add it to a file."""
    write_rows(path, "run-1", [*read_rows(path), *rows_of(found)])


def change(path, wanted, **changes):
    """Change the value or the signature of one row of a file, that of a measure."""
    rows = list(read_rows(path))
    assert any(one.measure == wanted for one in rows)
    write_rows(path, "run-1", [replace(one, **changes) if one.measure == wanted else one for one in rows])


def read_claims(experiment):
    """The rows of metrics/claims.json."""
    return [ClaimRow(**row) for row in read_json(experiment.metrics / "claims.json")["claims"]]


def assert_golden(text, name):
    """Compare a text with tests/golden/NAME; with GOLDEN=write, write it."""
    path = Path(__file__).parent / "golden" / name
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
