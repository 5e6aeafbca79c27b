"""Forms of German words, from their dictionary forms and the tables in `german.yaml`."""

from functools import cache
from pathlib import Path
from typing import Any

from context_nmt.files import read_yaml

CASES = ("nominative", "accusative", "dative", "genitive")
COLUMNS = ("masculine", "feminine", "neuter", "plural")
TABLES: dict[str, Any] = read_yaml(Path(__file__).with_name("german.yaml"))
CONTRACTIONS, DECLENSIONS = TABLES["contractions"], TABLES["declensions"]
AUXILIARIES = TABLES["auxiliaries"]


@cache
def form(kind: str, gender: str, number: str, case: str) -> str:
    """Return one cell of a table under `words` or `endings`."""
    rows = {**TABLES["words"], **TABLES["endings"]}[kind].splitlines()
    row = rows[CASES.index(case)].split()
    return str(row[COLUMNS.index("plural" if number == "plural" else gender)])


@cache
def adjective(stem: str, declension: str, gender: str, number: str, case: str) -> str:
    """Return the attributive form of an adjective; declension is strong, weak or mixed."""
    return stem + form(declension, gender, number, case)[stem.endswith("e") :]


def noun_forms(nominative: str, genitive: str, plural: str, gender: str) -> dict[tuple[str, str], str]:
    """Return all forms by (case, number); a masculine genitive in -n (des Studenten) shows the n-declension."""
    oblique = nominative
    if gender == "masculine" and genitive.endswith("n"):
        oblique = genitive
    elif gender == "masculine" and genitive == nominative + "ns":
        oblique = nominative + "n"
    singular = (nominative, oblique, oblique, genitive)
    forms = {(case, "singular"): inflected for case, inflected in zip(CASES, singular, strict=True)}
    forms |= {(case, "plural"): plural for case in CASES}
    if not plural.endswith(("n", "s")):
        forms["dative", "plural"] = plural + "n"
    return forms


def finite_forms(infinitive: str, present: str, past: str) -> dict[tuple[str, str], str]:
    """Return the third-person forms of a verb by (tense, number) from the singular ones, without a separable prefix."""
    return {
        ("present", "singular"): present,
        ("present", "plural"): "sind" if infinitive == "sein" else infinitive,
        ("past", "singular"): past,
        ("past", "plural"): past + ("n" if past.endswith("e") else "en"),
    }
