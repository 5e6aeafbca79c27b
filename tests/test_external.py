"""Systems whose translations are files: scored as raw text, compared with every seed, shown beside trained systems."""

import json
import re
from pathlib import Path
from shutil import copyfile

import pytest
from made_up_experiment import PARAMETERS, RAW, evaluate_all, make_experiment, output, write_contrastive
from measured import add_flat, read_flat, write_flat

from context_nmt.corpus.moses import MosesSide
from context_nmt.files import UserError, read_json, write_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.external import import_translations
from context_nmt.measures.rows import Measure
from context_nmt.report.overview import print_results
from context_nmt.report.writing import write_report, write_tables
from context_nmt.results.focus import write_focus
from context_nmt.results.reading import read_results
from context_nmt.settings.text import SideSettings

pytestmark = pytest.mark.slow

BLEU = Measure("test", "sacrebleu")
# What Moses cannot restore from its tokens: quotes, a space before a unit, an ellipsis, a slash.
STRANGE = [f"„Bei {number} °C …“, sagte er / sie „und dann?“" for number in range(40)]


def make(folder: Path, external: dict[str, list[str]], **changes: object):
    """The made-up experiment with external systems, all scored; `external` has their lines."""
    variants = PARAMETERS["variants"] | changes.pop("variants", {})
    settings = {name: {"baseline": "transformer"} | changes.pop(name, {}) for name in external}
    experiment = make_experiment(folder, external=settings, variants=variants, **changes)
    for test in experiment.settings.corpus.tests:
        write_lines(experiment.corpus / f"{test}.en", RAW)
        for name, lines in external.items():
            write_lines(experiment.external(name) / f"{test}.txt", lines)
    for name in external:
        for seed in experiment.settings.seeds:
            import_translations(EvaluationFolder(folder), name, seed)
    return experiment


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """`perfect` against a variant, `other` against `perfect`, and a variant against `other`."""
    again = PARAMETERS["variants"]["again"] | {"baseline": "other"}
    wrong = [line.removesuffix(".") for line in RAW]
    experiment = make(
        tmp_path_factory.mktemp("compared"),
        {"perfect": RAW, "other": wrong},
        perfect={"label": "A | person", "test": "sign"},
        other={"baseline": "perfect"},
        corpus=PARAMETERS["corpus"] | {"contrastive": ["pronouns"]},
        variants={"again": again},
    )
    write_contrastive(experiment)
    for seed in (1, 2):  # left by a variant of this name
        left = experiment.contrastive_outcomes(f"gauss-{seed}")
        copyfile(left, experiment.contrastive_outcomes(f"perfect-{seed}"))
    write_tables(evaluate_all(experiment))
    return experiment


@pytest.mark.parametrize("pretokenized", [False, True])
def test_raw_text_is_scored_as_it_is_and_its_tokens_are_made_like_those_of_the_references(tmp_path, pretokenized):
    """A copy of the references has the highest score, whatever Moses would have lost; so has one with CRLF."""
    side = SideSettings(truecase=False, pretokenized=pretokenized)
    experiment = make(
        tmp_path,
        {"copy": STRANGE, "windows": [f"{line}\r" for line in STRANGE]},
        text={"target": {"truecase": False, "pretokenized": pretokenized}},
    )
    moses = MosesSide("de", side)
    for test in experiment.settings.corpus.tests:
        write_lines(experiment.corpus / f"{test}.de", STRANGE)
        write_lines(experiment.tokenized / f"{test}.de.cased", map(moses.tokens, moses.prepare(STRANGE)))
    evaluate_all(experiment)
    for name in ("copy", "windows"):
        scores = read_flat(experiment.scores(f"{name}-1"))["test"]
        assert {scores[metric]["score"] for metric in ("sacrebleu", "bleu_tokenized", "chrf")} == {100.0}
        assert scores["ter"]["score"] == 0
        trained = read_flat(experiment.scores("transformer-1"))["test"]
        assert all(trained[metric]["signature"] == scores[metric]["signature"] for metric in trained.keys() & scores)


def test_one_translation_is_compared_with_every_seed_of_a_trained_system(compared):
    results = read_results(compared)
    perfect, gain = results.estimate("perfect", BLEU), results.estimate("perfect", BLEU).gain
    seeds = results.by_seed("transformer", BLEU)
    assert (perfect.mean, perfect.seeds, perfect.deviation) == (100.0, 1, 0.0)
    assert gain.mean == pytest.approx(100 - sum(seeds) / 2, abs=1e-3)
    low, high = gain.interval  # over the seeds of the baseline
    assert low < gain.mean < high
    assert gain.p == max(results.p_values("perfect", BLEU)["sign"])
    assert len(results.p_values("perfect", BLEU)["sign"]) == 2


def test_two_external_systems_have_no_interval(compared):
    gain = read_results(compared).estimate("other", BLEU).gain
    assert gain.mean < 0
    assert gain.interval is None
    assert gain.p <= 1


def test_an_external_system_can_be_the_baseline_of_a_variant(compared):
    results = read_results(compared)
    gain = results.estimate("again", BLEU).gain
    other = results.estimate("other", BLEU).mean
    assert gain.mean == pytest.approx(results.estimate("again", BLEU).mean - other, abs=1e-3)
    assert gain.interval[0] < gain.mean
    assert len(results.p_values("again", BLEU)["bootstrap"]) == 2


def test_tables_show_external_systems_beside_variants(compared):
    shown = json.loads(compared.results.read_text())
    assert "model" not in shown["perfect"]
    assert shown["perfect"]["test"]["sacrebleu"] == {"mean": 100.0, "deviation": 0.0, "seeds": 1}
    row = next(
        line for line in compared.results_table.read_text().splitlines() if line.startswith("perfect,test,sacrebleu,")
    )
    assert row.startswith("perfect,test,sacrebleu,,,100.0,0.0,1,transformer,")
    assert read_json(compared.summary)["perfect"]["test"] == 100.0
    page = compared.results_page.read_text()
    assert "An external system has one translation" in page
    assert re.search(r"\n\| System \|.* A \\\| person \|", page)
    assert re.search(r"\n\| sacrebleu .*\| 100\.00 \(", page)
    assert "accuracy" not in page


def test_the_report_and_the_overview_show_external_systems(compared, capsys):
    write_report(compared)
    lines = (compared.reports / "tables/all-systems.csv").read_text().splitlines()
    assert any(",perfect," in line and ",score," in line for line in lines)
    assert "A \\| person" in (compared.reports / "report.md").read_text()
    print_results(compared)
    assert "A | person" in capsys.readouterr().out


def test_pages_show_what_is_measured_in_translations_and_nothing_that_a_variant_left(compared):
    for seed in (1, 2):
        assert "p_mcnemar" not in compared.scores(f"perfect-{seed}").read_text()
        add_flat(compared.scores(f"perfect-{seed}"), {"test": {"cohesion": 0.5}})
        write_flat(compared.analyses(f"perfect-{seed}"), {"test": {"locality_entropy": 1.0}})
    write_tables(compared)
    discourse, analyses = (
        (compared.reports / f"pages/{name}.md").read_text(encoding="utf-8") for name in ("discourse", "analyses")
    )
    assert r"| A \| person | " in discourse
    assert "person" not in analyses
    assert "| Transformer |" in analyses


def test_the_focus_can_be_an_external_system(compared):
    parameters = compared.parameters.read_text()
    compared.parameters.write_text(parameters.replace("focus: gauss", "focus: perfect"))
    write_focus(compared)
    focus = read_json(compared.focus)
    compared.parameters.write_text(parameters)
    assert focus["test"]["sacrebleu"] == 100.0
    assert "model" not in focus


@pytest.mark.parametrize(
    ("content", "words"),
    {
        "missing": (None, ["no such file"]),
        "too short": ("one line\n" * 39, ["39 lines", "test.en has 40"]),
        "too long": ("one line\n" * 40 + "\n", ["41 lines", "test.en has 40"]),
        "no text": ("\n" * 40, ["all lines are empty"]),
        "empty": ("", ["0 lines", "40"]),
        "latin-1": (("Stra\xdfe\n" * 40).encode("latin-1"), ["line 1 is not UTF-8"]),
        "utf-16": (("Straße\n" * 40).encode("utf-16"), ["line 1 is not UTF-8"]),
    }.values(),
)
def test_files_that_cannot_be_translations_are_refused(tmp_path, content, words):
    experiment = make(tmp_path, {"llm": RAW})
    path, written = experiment.external("llm") / "test.txt", experiment.hypotheses("llm-1")
    written.unlink()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError) as error:
        import_translations(EvaluationFolder(tmp_path), "llm", 1)
    message = str(error.value)
    assert message.startswith(str(path))
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert not written.exists()


def test_lines_may_be_empty_and_have_line_separators_of_unicode(tmp_path):
    lines = ["", "one\u2028two\x0bthree", *output(3, 1)[2:]]
    experiment = make(tmp_path, {"llm": lines})
    scores = read_flat(evaluate_all(experiment).scores("llm-1"))
    assert 0 < scores["test"]["sacrebleu"]["score"] < 100
