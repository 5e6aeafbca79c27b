"""Rows by flat names, for tests that know a number by its name."""

from context_nmt.measures.rows import CHANCE, HUMAN, TEXT, row, write_rows
from context_nmt.results.flat import flat_name

BESIDE = {"reference": HUMAN, "chance": CHANCE}


def flat(rows):
    """{name: value}."""
    return {flat_name(one.measure): one.value for one in rows}


def write_flat(path, found):
    """Write {test_set: {name: value or {"score", "signature", "items", "reference", "chance"}}} as rows."""
    rows = []
    for test_set, measures in found.items():
        for name, given in measures.items():
            score = given if isinstance(given, dict) else {"score": given}
            metric, tag = name, ""
            if name.startswith(f"{test_set}_"):  # a contrastive set
                tag = name.removeprefix(f"{test_set}_").removesuffix("_normalized")
                metric = "accuracy_normalized" if name.endswith("_normalized") else "accuracy"
            elif name.startswith("probe_") and not name.endswith("_deviation"):
                metric, tag = "probe", name.removeprefix("probe_")
            rows.append(row(test_set, metric, score["score"], tag=tag, signature=score.get("signature", "")))
            if "items" in score and metric == "accuracy":
                rows.append(row(test_set, "items", score["items"], tag=tag, of=TEXT))
            rows += [row(test_set, metric, score[key], tag=tag, of=of) for key, of in BESIDE.items() if key in score]
    write_rows(path, "run-1", rows)
