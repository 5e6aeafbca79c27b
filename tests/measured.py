"""Rows by short names, for tests that know a number by its name."""

import re
from dataclasses import replace

from context_nmt.measures.rows import BOUND, CHANCE, HUMAN, TEXT, Measure, read_rows, row, write_rows
from context_nmt.results.table import name_of

BESIDE = {"reference": HUMAN, "chance": CHANCE}
PARTS = (  # of a name, the first that fits
    r"(?P<metric>probe_deviation|probe)_(?P<tag>.+)",
    r"(?P<metric>lexical_\w+coder_by_(?:frequency|tag))_(?P<tag>.+)_(?P<layer>\d)",
    r"(?P<metric>ngram_accuracy|bleu_of_\w+|sentences_of_\w+)_(?P<tag>\d+)",
    r"(?P<metric>gate_\w+)_(?P<tag>[A-Z]+)",
    r"(?P<metric>.+)_(?P<layer>\d+)",
    r"(?P<metric>.+)",
)


def flat(rows):
    """{name: value}."""
    return {name_of(one.measure): one.value for one in rows}


def measure(test_set, name):
    """The measure that goes by a name; on a contrastive set SET_CATEGORY or SET_CATEGORY_normalized."""
    accuracy = re.fullmatch(rf"{test_set}_(.+?)(_normalized)?", name)
    if accuracy:
        return Measure(test_set, f"accuracy{accuracy[2] or ''}", tag=accuracy[1])
    found = next(match for part in PARTS if (match := re.fullmatch(part, name))).groupdict()
    layer = found.get("layer")
    return Measure(test_set, found["metric"], layer and int(layer), found.get("tag", ""))


def write_flat(path, found):
    """Write {test_set: {name: value or {"score", "signature", "items", "reference", "chance"}}} as rows."""
    rows = []
    for test_set, measures in found.items():
        for name, given in measures.items():
            score, one = given if isinstance(given, dict) else {"score": given}, measure(test_set, name)
            parts = {"layer": one.layer, "tag": one.tag, "signature": score.get("signature", "")}
            of = {"": score["score"]} | {of: score[key] for key, of in BESIDE.items() if key in score}
            if one.metric.startswith("sentences_of"):
                of = {TEXT: score["score"]}
            rows += [row(test_set, one.metric, value, of=whose, **parts) for whose, value in of.items()]
            if "items" in score and one.metric == "accuracy":
                rows.append(row(test_set, "items", score["items"], tag=one.tag, of=TEXT))
    write_rows(path, "run-1", rows)


def change(path, measure, **changes):
    """Change the value or the signature of one row of a file."""
    rows = list(read_rows(path))
    assert any(one.measure == measure for one in rows)
    write_rows(path, "run-1", [replace(one, **changes) if one.measure == measure else one for one in rows])


def read_flat(path):
    """What `by_name` finds in a file."""
    return by_name(read_rows(path))


def by_name(rows):
    """{test_set: {name: {"score", "signature", "items", "reference", "chance"}}}; bounds as NAME_bound."""
    found = {}
    for one in sorted(rows, key=lambda one: one.of in (HUMAN, CHANCE)):
        test_set, name = one.measure.test_set, name_of(one.measure)
        names = found.setdefault(test_set, {})
        if one.of in (HUMAN, CHANCE):
            names[name][{HUMAN: "reference", CHANCE: "chance"}[one.of]] = one.value
        elif one.of == TEXT and one.measure.metric == "items":
            for ending in ("", "_normalized"):
                names.setdefault(f"{test_set}_{one.measure.tag}{ending}", {})["items"] = int(one.value)
        else:
            name += "_bound" if one.of == BOUND else ""
            names[name] = names.get(name, {}) | {"score": one.value, "signature": one.signature}
    return found
