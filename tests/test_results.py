"""Scores of runs, their means over seeds, differences to baselines, tables and the focus."""

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from made_up_experiment import (
    PARAMETERS,
    RAW,
    REFERENCE,
    evaluate_all,
    make_experiment,
    output,
    write_contrastive,
    write_output,
)
from measured import add_flat, by_name, change, read_flat, write_flat
from shown import tables, texts
from test_ceilings import prepare

from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_json, read_lines, write_json, write_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.pairs import write_pairs
from context_nmt.measures.rows import BOUND, TESTS, TEXT, Measure, read_rows
from context_nmt.measures.scored_text import text_of_tokens
from context_nmt.measures.scores import read_test, score_rows
from context_nmt.report import overview
from context_nmt.report.analyses import analyses_page as inside_page
from context_nmt.report.formats import write_page
from context_nmt.report.overview import print_results
from context_nmt.report.pages import BEST, results_page
from context_nmt.report.papers.claim_rows import read_claims
from context_nmt.report.tables import DASH
from context_nmt.report.writing import write_readme, write_tables
from context_nmt.results.estimates import t_interval
from context_nmt.results.evaluation import evaluate_variant
from context_nmt.results.metrics import is_score
from context_nmt.results.number_text import p_text, signed
from context_nmt.results.reading import read_all, read_results
from context_nmt.results.significance import compare
from context_nmt.results.table import places
from context_nmt.results.writing import write_focus
from context_nmt.settings.evaluation import SignificanceSettings
from context_nmt.settings.folder import Experiment
from context_nmt.settings.run_layout import run_name
from context_nmt.settings.text import SideSettings, UnitSettings

pytestmark = pytest.mark.slow
BLEU = Measure("test", "sacrebleu")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    experiment = evaluate_all(make_experiment(tmp_path_factory.mktemp("experiment")))
    write_tables(experiment)
    return experiment


@pytest.fixture
def results(experiment):
    return read_results(experiment)


def scores_of(experiment, run):
    return by_name(score_rows(EvaluationFolder(experiment.folder), run))


def scores_table(results, test_set="test"):
    return tables(results_page(results), test_set)[0]


@pytest.mark.parametrize(("old", "without"), [("gauss", {"gauss"}), ("transformer", {"gauss", "again"})])
def test_a_system_that_is_out_of_date_is_marked_and_has_no_difference_from_those_that_are_not(experiment, old, without):
    results, before = read_results(experiment, old=[old]), read_results(experiment)
    gains = {name: results.estimate(name, BLEU).gain for name in ("gauss", "again")}
    assert {name for name, gain in gains.items() if gain is None} == without
    assert all(results.estimate(name, BLEU).mean == before.estimate(name, BLEU).mean for name in before.models)
    shown, label = scores_table(results), before.settings.label(old)
    assert label not in shown
    (marked,) = (cells for name, cells in shown.items() if name.startswith(label))
    assert (marked["Parameters"], marked["FLOPs / baseline"]) == (DASH, DASH)
    assert results_page(results).introduction != results_page(before).introduction


def test_a_low_ceiling_is_told(experiment, results):
    before = results_page(results).notes
    found = {"dev": {"score": 100.0}, "test": {"score": 68.81, "reason": "for example, 'l' comes back as 'm'"}}
    write_json(experiment.metrics / "ceilings.json", found)
    told = results_page(results).notes.removeprefix(before)
    (experiment.metrics / "ceilings.json").unlink()
    assert told.strip() == "A perfect system would have only 68.81 on test (for example, 'l' comes back as 'm')."


def test_differences_between_systems_that_are_all_out_of_date_stay(experiment):
    """They are of one run of the pipeline."""
    old, now = read_results(experiment, old=experiment.settings.variants), read_results(experiment)
    assert old.estimates == now.estimates
    assert "All systems are out of date" in results_page(old).introduction
    assert "out of date" not in results_page(now).introduction


@pytest.mark.parametrize("width", [60, 200])
def test_the_main_results_are_printed_with_their_signature(experiment, results, capsys, monkeypatch, width):
    """Where there is no room for all columns, the others are whole."""
    monkeypatch.setattr(overview, "WIDE", width)
    print_results(experiment)
    printed = " ".join(capsys.readouterr().out.split())
    for system, row in scores_table(results, "test").items():
        assert system in printed
        assert row["sacrebleu"] in printed
    assert "nrefs:1|" in printed
    assert str(experiment.results_page) in printed


def test_without_results_this_is_said(tmp_path, capsys):
    print_results(make_experiment(tmp_path))
    (line,) = capsys.readouterr().out.splitlines()
    assert "results.json" in line


def rows_of(experiment, **wanted):
    """The rows of results.csv that have this in these columns."""
    with (experiment.metrics / "results.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if wanted.items() <= row.items()]


RAW_SCORES = ("sacrebleu", "chrf", "chrf_plus_plus", "ter")


def test_scores_of_a_run_cover_test_sets_and_groups(experiment):
    scores = scores_of(experiment, "transformer-1")
    assert set(scores) == {"dev", "test", "both"}
    assert set(scores["dev"]) == {*RAW_SCORES, "bleu_tokenized", "bleu_compound_split", "bleu_lowercased"}
    assert "text:normalized+moses-de-sacremoses" in scores["dev"]["bleu_tokenized"]["signature"]
    assert scores["both"]["sacrebleu"]["signature"].startswith("mean of dev, test: nrefs:1")


def test_a_test_set_with_documents_has_d_bleu(tmp_path):
    experiment = make_experiment(tmp_path)
    write_lines(experiment.tokenized / "test.documents", ["0", "10", "20"])
    scores = scores_of(experiment, "gauss-1")
    assert [name for name in scores if "d_bleu" in scores[name]] == ["test"]  # not of a group with a set without them
    d_bleu, bleu = (scores["test"][name]["score"] for name in ("d_bleu", "sacrebleu"))
    assert 90 < d_bleu != bleu  # with n-grams of two sentences
    write_lines(experiment.tokenized / "dev.documents", ["0"])
    scores = scores_of(experiment, "gauss-1")
    members = [scores[name]["d_bleu"]["score"] for name in ("dev", "test")]
    assert scores["both"]["d_bleu"]["score"] == pytest.approx(sum(members) / 2, abs=1e-4)


def test_the_sizes_of_all_text_are_results(tmp_path):
    experiment = make_experiment(tmp_path, seeds=[1])
    write_lines(experiment.tokenized / "train.documents", ["0", "20", "25"])
    write_tables(evaluate_all(experiment))
    results = read_results(experiment)
    words = sum(len(line.split()) for line in REFERENCE)

    def size(split, name, tag=""):
        return results.reference_value(TEXT, Measure(split, f"{name}_of_text", tag=tag))

    assert [size(split, "sentences") for split in ("train", "valid", "dev", "test", "both")] == [40] * 4 + [None]
    assert (size("train", "documents"), size("test", "documents")) == (3, None)
    assert (size("train", "words", "de"), size("train", "words", "en")) == (words, words + 40)
    assert not [measure for measure in results.measures if measure.metric.endswith("_of_text")]
    (row,) = rows_of(experiment, variant=TEXT, test_set="train", metric="documents_of_text")
    assert float(row["mean"]) == 3


def test_words_are_tokens_also_where_units_are_made_of_raw_text(tmp_path):
    cased = {side: {"truecase": False} for side in ("source", "target")}
    experiment = make_experiment(tmp_path, seeds=[1], units={"kind": "sentencepiece"}, text=cased)
    write_lines(experiment.tokenized / "train.de", ["Ja, gut."] * 40)
    results = read_results(evaluate_all(experiment))
    assert results.reference_value(TEXT, Measure("train", "words_of_text", tag="de")) == 4 * 40


def test_the_first_file_of_each_variant_without_a_baseline_has_the_sizes_of_text(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    variants, seeds = experiment.settings.variants, experiment.settings.seeds
    alone = {run_name(name, seeds[0]) for name, variant in variants.items() if variant.baseline is None}
    runs = {run_name(name, seed) for name in variants for seed in seeds}
    with_sizes = {run for run in runs if any(row.subject == TEXT for row in read_rows(experiment.scores(run)))}
    assert with_sizes == alone < runs


def test_raw_text_is_made_of_tokens(tmp_path):
    experiment = make_experiment(tmp_path)
    write_output(experiment, "alone-1", REFERENCE)
    scores = scores_of(experiment, "alone-1")["test"]
    assert scores.pop("ter")["score"] == 0
    assert {score["score"] for score in scores.values()} == {100}
    write_lines(experiment.corpus / "test.de", [line.replace(".", "?") for line in RAW])
    scores = scores_of(experiment, "alone-1")["test"]
    assert scores["sacrebleu"]["score"] < 100 == scores["bleu_tokenized"]["score"]


def test_a_group_is_the_mean_of_its_members(tmp_path):
    experiment = make_experiment(tmp_path)
    write_output(experiment, "alone-1", output(5, 1), dev=["something else entirely"] * 40)
    scores = scores_of(experiment, "alone-1")
    dev, test, both = (scores[name]["sacrebleu"]["score"] for name in ("dev", "test", "both"))
    assert dev < 1 < 90 < test
    assert both == pytest.approx((dev + test) / 2, abs=1e-4)


def test_a_bound_beside_the_test_set_is_scored_and_compared_with(tmp_path):
    experiment = make_experiment(tmp_path)
    bound = experiment.corpus / "test.bound.de"
    hypothesis = [line.replace(" .", ".") for line in output(9, 1)]
    write_lines(bound, hypothesis)
    scores = scores_of(experiment, "gauss-1")
    assert scores["test"]["sacrebleu_bound"] == scores["test"]["sacrebleu"]
    assert scores["test"]["sacrebleu_of_bound"]["score"] == 100
    assert "sacrebleu_bound" not in scores["dev"]
    assert "sacrebleu_bound" not in scores["both"]
    write_lines(bound, RAW)
    against = scores_of(experiment, "gauss-1")["test"]
    assert against["sacrebleu_bound"]["score"] == 100
    assert against["sacrebleu_of_bound"]["score"] == scores["test"]["sacrebleu"]["score"]
    write_lines(bound, hypothesis[1:])
    with pytest.raises(UserError, match=r"test\.bound\.de has 39 lines for 40 sentences"):
        scores_of(experiment, "gauss-1")
    write_lines(bound, ["nothing"] * 40)
    with pytest.raises(UserError, match=r"test\.bound\.de scores 0 sacrebleu"):
        scores_of(experiment, "gauss-1")


@pytest.mark.parametrize("side", [{}, {"script": "sed s/the/die/", "pretokenized": True, "truecase": False}])
def test_a_bound_is_treated_as_the_text_of_systems(tmp_path, side):
    """An oracle that writes what the system does has its score, though only the oracle's text has typographic marks."""
    lines = ["„the“ goose – it sings – sees the “teacher”", "no – he sees ’em , says the ‘goose’"]  # noqa: RUF001
    experiment = prepare(tmp_path, "de", lines, SideSettings(**side), UnitSettings(), minimum_ceiling=0)
    tokenize_corpus(
        experiment.corpus, experiment.tokenized, experiment.settings.corpus, experiment.settings.text, untokenized=False
    )
    written = read_lines(experiment.tokenized / "test.de.cased")
    write_hypotheses(experiment.hypotheses("perfect-1"), {"test": written})
    write_lines(experiment.corpus / "test.bound.de", lines)
    scores = by_name(score_rows(experiment, "perfect-1"))["test"]
    assert scores["sacrebleu_bound"] == scores["sacrebleu"]
    assert scores["sacrebleu_of_bound"]["score"] == pytest.approx(100)


def test_a_bound_is_no_system_s_score(tmp_path):
    experiment = make_experiment(tmp_path, seeds=[1])
    write_lines(experiment.corpus / "test.bound.de", RAW)
    write_tables(evaluate_all(experiment))
    results = read_results(experiment)
    assert results.reference_value(BOUND, BLEU) == 100
    assert results.reference_value(BOUND, Measure("dev", "sacrebleu")) is None
    best = scores_table(results)[BEST]
    assert {title for title, text in best.items() if text != DASH} == {"sacrebleu"}
    assert best["sacrebleu"] == "100.00"
    assert BEST not in scores_table(results, "dev")
    assert [(row["test_set"], row["mean"]) for row in rows_of(experiment, variant=BOUND)] == [("test", "100.0")]
    names = read_json(experiment.metrics / "results.json")["gauss"]["test"]
    assert {name for name in names if "bound" in name} == {"sacrebleu_of_bound"}


def test_significance_follows_the_baseline_of_the_same_seed(experiment):
    for seed in (1, 2):  # another seed's baseline has an error more, or one less
        tested = read_flat(experiment.scores(f"gauss-{seed}"))["test"]["p_sign_sacrebleu"]
        assert tested == {"score": pytest.approx(2 * 0.5**9), "signature": "transformer|better:9|worse:0|equal:31"}
    again = read_flat(experiment.scores("again-1"))["dev"]
    assert again["p_bootstrap_sacrebleu"]["score"] == 1
    assert not any(name.startswith("p_") for name in read_flat(experiment.scores("alone-1"))["dev"])


def test_results_are_means_and_deviations_over_seeds(experiment):
    results = read_json(experiment.metrics / "results.json")
    assert list(results) == sorted(PARAMETERS["variants"])
    values = [read_flat(experiment.scores(f"gauss-{seed}"))["test"]["chrf"]["score"] for seed in (1, 2)]
    summary = results["gauss"]["test"]["chrf"]
    assert summary["mean"] == pytest.approx(sum(values) / 2, abs=1e-4)
    assert summary["deviation"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5, abs=1e-4)
    assert summary["seeds"] == 2
    assert results["gauss"]["model"] == {"parameters": 2_000_000, "flops_per_target_token": 12_000_000}
    assert set(results["gauss"]["test"]) == {*RAW_SCORES, *(f"bleu_{name}" for name in TOKENS)}


TOKENS = ("tokenized", "compound_split", "lowercased")


def test_falls_of_validation_bleu_count_only_where_it_is_lower_than_before(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path, seeds=[1]))
    for name, curve in {"gauss": (1, 5, 4, 8, 8.5), "again": (1, 5, 7, 8, 8.5)}.items():
        lines = [f"{update},{bleu}" for update, bleu in enumerate(curve, start=1)]
        write_lines(experiment.curve(run_name(name, 1)), ["update,valid_bleu", *lines])
    results, measure = read_results(experiment), Measure("valid", "validation_falls")
    assert [results.by_seed(name, measure) for name in ("gauss", "again", "transformer")] == [(0.25,), (0,), None]


def test_t_interval_of_known_values():
    assert t_interval([1.0, 3.0]) == pytest.approx((2 - 12.7062, 2 + 12.7062), abs=1e-3)  # t(0.975, 1) = 12.7062
    assert t_interval([1.0]) is None


def test_differences_only_where_there_is_a_baseline(results):
    gain = results.estimate("gauss", BLEU).gain
    assert gain.mean > 5
    assert gain.interval[0] < gain.mean < gain.interval[1]
    assert gain.p < 0.01
    assert results.estimate("gauss", Measure("test", "chrf")).gain.p is None
    assert results.estimate("gauss", Measure("both", "sacrebleu")).gain.p is None
    assert results.estimate("alone", BLEU).gain is None


def test_marks_need_significance_with_every_seed(results, tmp_path):
    assert results.estimate("gauss", Measure("dev", "sacrebleu")).gain.p == pytest.approx(2 * 0.5**9)
    other = evaluate_all(make_experiment(tmp_path))
    change(other.scores("gauss-2"), Measure("dev", "p_sign", tag="sacrebleu"), value=0.03)
    marked = {test: scores_table(read_results(other), test)["Gauss | half"]["sacrebleu"] for test in ("dev", "test")}
    assert (marked["dev"][-3:], marked["test"][-3:]) == (" †)", " ‡)")


def test_a_difference_needs_equal_signatures_and_its_p_a_test_with_every_seed(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    change(experiment.scores("gauss-2"), Measure("test", "chrf"), signature="another|version")
    change(experiment.scores("gauss-2"), Measure("test", "p_sign", tag="sacrebleu"), signature="alone|better:9")
    results = read_results(experiment)
    assert results.estimate("gauss", Measure("test", "chrf")).gain is None
    gain = results.estimate("gauss", BLEU).gain
    assert (gain.mean > 5, gain.p) == (True, None)


@pytest.mark.parametrize("metric", ["sacrebleu", *(f"bleu_{name}" for name in TOKENS)])
def test_the_tested_metric_has_the_mark_and_no_other(tmp_path, metric):
    settings = {"metric": metric, "resamples": 50, "seed": 1}
    variants = {name: PARAMETERS["variants"][name] for name in ("transformer", "gauss")}
    changes = {"variants": variants, "train": {"bitext": list(variants)}, "significance": settings, "seeds": [1]}
    experiment = evaluate_all(make_experiment(tmp_path, **changes))
    results = read_results(experiment)
    tested = [one for one in results.measures if getattr(results.estimate("gauss", one).gain, "p", None) is not None]
    assert tested == [Measure("dev", metric), Measure("test", metric)]
    evaluated, tokenized = EvaluationFolder(tmp_path), metric != "sacrebleu"
    lines, references = read_test(evaluated, "gauss-1", "test", tokenized=tokenized)
    baseline, _ = read_test(evaluated, "transformer-1", "test", tokenized=tokenized)
    text = text_of_tokens(evaluated.settings) if tokenized else "raw"
    expected = compare(lines, baseline, references, SignificanceSettings(**settings), tokenizer="13a", text=text)
    found = read_flat(experiment.scores("gauss-1"))["test"]
    assert [found[f"p_{test}_{metric}"]["score"] for test in TESTS] == [expected[test]["p"] or 2 / 50 for test in TESTS]
    assert found[metric] == {
        "score": expected["system"],
        "signature": expected["signature"].removesuffix("|text:raw"),
    }


def test_seeds_that_disagree_on_who_is_better_get_no_mark(tmp_path):
    """Both seeds differ significantly from the baseline, one up and one down."""
    experiment = make_experiment(tmp_path)
    for seed, lines in ((1, REFERENCE), (2, output(1, 1))):
        write_output(experiment, f"again-{seed}", lines)
    results, measured = read_results(evaluate_all(experiment)), Measure("dev", "sacrebleu")
    p_values = results.p_values("again", measured)["bootstrap"]
    assert len(p_values) == 2
    assert max(p_values) < 0.05
    assert results.estimate("again", measured).gain.p == 1.0


def test_a_bootstrap_that_never_loses_is_as_small_as_its_resamples_allow(tmp_path):
    variants = PARAMETERS["variants"] | {"gauss": {"baseline": "transformer"}}
    settings = {"metric": "sacrebleu", "resamples": 50, "seed": 1}
    experiment = evaluate_all(make_experiment(tmp_path, variants=variants, significance=settings, seeds=[1]))
    results = read_results(experiment)
    gain = results.estimate("gauss", Measure("dev", "sacrebleu")).gain
    assert (gain.p, gain.interval) == (2 / 50, None)
    scores, tested = tables(results_page(results), "dev")
    assert scores["gauss"]["sacrebleu"].endswith(" †)")
    assert "±" not in scores["gauss"]["sacrebleu"]
    assert (tested["gauss"]["95% interval over seeds"], tested["gauss"]["p, compare-mt"]) == (DASH, "**0.04**")


def test_tests_against_another_baseline_do_not_count(tmp_path):
    """The difference is that to the new one, of which nobody knows yet whether it is significant."""
    evaluate_all(make_experiment(tmp_path))
    variants = PARAMETERS["variants"] | {"gauss": {"baseline": "alone", "test": "sign"}}
    results = read_results(make_experiment(tmp_path, variants=variants))
    gain = results.estimate("gauss", BLEU).gain
    assert gain.mean == pytest.approx(
        results.estimate("gauss", BLEU).mean - results.estimate("alone", BLEU).mean, abs=1e-3
    )
    assert gain.p is None
    assert results.p_values("gauss", BLEU) == {"bootstrap": [], "sacrebleu": [], "sign": []}


def test_stars_of_a_label_are_no_markdown(tmp_path):
    gauss = PARAMETERS["variants"]["gauss"] | {"label": "A* | *b* **c**"}
    experiment = evaluate_all(make_experiment(tmp_path, variants=PARAMETERS["variants"] | {"gauss": gauss}))
    write_page(tmp_path / "page.md", "page.md.j2", page=results_page(read_results(experiment)))
    rows = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    escaped = r"A\* \| \*b\* \*\*c\*\*"
    assert any(row.startswith(f"| {escaped} | 2,000,000 |") for row in rows)
    assert any(row.startswith(f"| {escaped} | Transformer |") and "| **" in row for row in rows)  # its own test is bold


def test_markdown_shows_what_a_reader_needs(experiment):
    page = (experiment.metrics / "results.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("\n## test\n")[1].split("\n## ")[0].split("\n") if line.startswith("|")]
    names = (
        "System | Parameters | MFLOPs | FLOPs / baseline | Training speed | Decoding speed | sacrebleu | bleu_tokenized"
    )
    assert rows[0].startswith(f"| {names} |")
    assert rows[2].startswith(f"| Transformer | 1,000,000 | 6.0 | {DASH} | 1.00 | 1.00 |")
    assert rows[3].startswith(f"| Gauss \\| half | 2,000,000 | 12.0 | 2.00 | 0.81 | {DASH} |")
    assert rows[4].startswith(f"| again | 3,000,000 | 18.0 | 3.00 | {DASH} | {DASH} |")
    assert "relative to a plain Transformer of the same size, measured" in page
    assert "in models of width 4 on an abacus; from benchmarks/variants.json" in page
    assert "(+0.00)" in rows[4]
    assert "(" not in rows[5]
    assert len({row.replace("\\|", "").count("|") for row in rows[:6]}) == 1
    assert "## both (mean of dev, test)" in page
    assert "Seeds: 1, 2." in page
    assert "100 resamples of 100%" in " ".join(page.split())
    assert page.count("`nrefs:1|") == 7
    assert (experiment.metrics / page.split("[analyses.md](")[1].split(")")[0]).is_file()


def test_a_readme_with_marks_has_the_main_table_and_nothing_else_changes(experiment, results):
    readme = experiment.folder / "README.md"
    readme.write_text("before\n<!-- results -->\nold\n<!-- /results -->\nafter\n", encoding="utf-8")
    write_readme(readme, [results], [])
    before, _, rest = readme.read_text(encoding="utf-8").partition("<!-- results -->\n")
    block, _, after = rest.partition("<!-- /results -->\n")
    assert (before, after) == ("before\n", "after\n")
    page = (experiment.metrics / "results.md").read_text(encoding="utf-8").split("\n## test\n")[1]
    full, short = (next(line for line in text.split("\n") if line.startswith("| Gauss")) for text in (page, block))
    assert full.split(" | ")[6] in short
    assert "95% interval" in block
    assert "`nrefs:1|" in block
    readme.write_text("no marks\n<!-- results -->\n", encoding="utf-8")
    write_readme(readme, [results], [])
    assert readme.read_text(encoding="utf-8") == "no marks\n<!-- results -->\n"
    readme.unlink()
    write_readme(readme, [results], [])
    assert not readme.exists()


def test_the_readme_has_the_same_systems_with_the_most_seeds(tmp_path):
    fewer = {"variants": {"transformer": {}}, "train": {"bitext": ["transformer"]}, "focus": "transformer"}
    found = []
    for name, changes in {
        "one": {"seeds": [1]},
        "other": {"training": {"maximum_updates": 7}},
        "fewer": fewer,
        "two": {},
    }.items():
        (tmp_path / name).mkdir()
        found.append(read_results(evaluate_all(make_experiment(tmp_path / name, **changes))))
    readme = tmp_path / "README.md"
    for experiments, seeds in ((found, "seeds 1, 2"), (found[:3], "seed 1")):
        readme.write_text("<!-- results -->\n<!-- /results -->\n", encoding="utf-8")
        write_readme(readme, experiments, [])
        assert f", {seeds};" in readme.read_text(encoding="utf-8")
    stale = replace(found[3], out_of_date=("gauss",))
    write_readme(readme, [found[0], stale], [])
    assert ", seed 1;" in readme.read_text(encoding="utf-8")


def test_the_readme_can_be_written_while_a_new_system_has_not_run(tmp_path, results):
    variants = PARAMETERS["variants"] | {"new": {"label": "Newcomer"}}
    experiment = make_experiment(tmp_path, variants=variants, train={"bitext": list(variants)}, seeds=[1])
    found = read_results(evaluate_all(experiment))
    without = replace(found, rows={run: rows for run, rows in found.rows.items() if run[0] != "new"})
    readme = tmp_path / "README.md"
    for experiments, is_named in (([without], True), ([without, results], False)):
        readme.write_text("<!-- results -->\n<!-- /results -->\n", encoding="utf-8")
        write_readme(readme, experiments, [])
        assert ("| Newcomer |" in readme.read_text(encoding="utf-8")) is is_named


def test_the_table_of_the_project_s_readme_is_that_of_its_results(tmp_path):
    """After a change of how it looks, `make report` writes it again."""
    readme = ROOT / "README.md"
    copy = tmp_path / "README.md"
    copy.write_bytes(readme.read_bytes())
    experiment = Experiment(ROOT)
    write_readme(copy, read_all(experiment), read_claims(experiment))
    assert copy.read_bytes() == readme.read_bytes()


def test_a_masked_model_has_not_the_speed_of_an_autoregressive_one(results):
    masked = results.models["gauss"] | {"kind": "masked"}
    row = scores_table(replace(results, models=results.models | {"gauss": masked}))["Gauss | half"]
    assert (row["FLOPs / baseline"], row["Training speed"], row["Decoding speed"]) == ("2.00", DASH, DASH)


def test_a_score_with_another_signature_shows(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    change(experiment.scores("alone-2"), Measure("dev", "chrf"), signature="another|version")
    assert any("`another|version`, `nrefs:1|" in one for one in results_page(read_results(experiment)).signatures)


def test_csv_has_a_row_per_variant_and_measure(experiment):
    rows = [row for row in rows_of(experiment) if row["variant"] != TEXT]
    scores = [row for row in rows if is_score(row["metric"])]
    assert len(scores) == 4 * 3 * 7
    # of `alone` 4 are not known, of `gauss` there are 2 more; two variants have curves of BLEU
    assert len(rows) - len(scores) == 2 * (4 * 16 + 2 - 4) + 2
    (row,) = rows_of(experiment, variant="gauss", test_set="test", metric="sacrebleu")
    assert (row["baseline"], row["layer"], row["tag"]) == ("transformer", "", "")
    assert float(row["interval_low"]) < float(row["difference"]) < float(row["interval_high"])
    assert float(row["p"]) < 0.01
    assert {row["difference"] for row in rows_of(experiment, variant="alone")} == {""}
    (row,) = rows_of(experiment, variant="gauss", test_set="test", metric="locality_entropy", layer="2")
    assert [row[key] for key in ("mean", "deviation", "seeds", "difference")] == ["2.1", "0.0141", "2", "0.1"]
    (row,) = rows_of(experiment, variant="gauss", test_set="dev", metric="ngram_accuracy", tag="10")
    assert (row["mean"], row["layer"], row["p"]) == ("40.2", "", "")


def test_a_metric_that_not_all_have_is_a_dash_for_the_others(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    for seed in (1, 2):  # as where the bound's file came later
        add_flat(experiment.scores(f"gauss-{seed}"), {"test": {"sacrebleu_of_bound": 60 + seed}})
    write_tables(experiment)
    results = read_json(experiment.metrics / "results.json")
    assert results["gauss"]["test"]["sacrebleu_of_bound"]["mean"] == 61.5
    assert "sacrebleu_of_bound" not in results["transformer"]["test"]
    shown = scores_table(read_results(experiment))
    assert shown["Gauss | half"]["sacrebleu_of_bound"] == "61.50 ± 0.71"
    assert shown["Transformer"]["sacrebleu_of_bound"] == DASH


def test_contrastive_sets_stand_beside_the_test_sets(tmp_path):
    corpus = PARAMETERS["corpus"] | {"contrastive": ["pronouns"]}
    experiment = evaluate_all(make_experiment(tmp_path, corpus=corpus))
    assert tables(results_page(read_results(experiment)), "pronouns (contrastive)")[0]["alone"] == {}
    write_contrastive(experiment)
    write_tables(experiment)
    summary = read_json(experiment.metrics / "results.json")["gauss"]["pronouns"]["pronouns_cross"]
    assert summary == {"mean": 71.0, "deviation": 0.7071, "seeds": 2}
    page = results_page(read_results(experiment))
    summed, per_unit = tables(page, "pronouns (contrastive)")
    items = ("all, 1,500 items", "cross, 1,000 items")
    assert summed["Gauss | half"] == dict(zip(items, ["62.00 ± 0.00 (+2.00)", "71.00 ± 0.71 (+11.00)"], strict=True))
    assert per_unit["Gauss | half"] == dict(zip(items, ["52.00 ± 0.00 (+2.00)", "61.00 ± 0.71 (+11.00)"], strict=True))
    assert "pronouns_cross: `items:1000|x`" in page.signatures
    rows = rows_of(experiment, test_set="pronouns")
    assert Counter(row["variant"] for row in rows) == dict.fromkeys(PARAMETERS["variants"], 4) | {TEXT: 2}
    (row,) = rows_of(experiment, variant="gauss", test_set="pronouns", metric="accuracy", tag="cross")
    assert row["difference"] == "11.0"
    write_flat(experiment.contrastive("gauss-2"), {})
    summed, _ = tables(results_page(read_results(experiment)), "pronouns (contrastive)")
    assert set(summed["Gauss | half"].values()) == {DASH}
    assert summed["Transformer"][items[0]] == "60.00 ± 0.00"


def test_measures_of_analyses_have_means_and_differences_as_scores_have(results):
    number = results.estimate("gauss", Measure("dev", "locality_entropy", 2))
    assert (number.mean, number.deviation, number.seeds) == (2.1, 0.0141, 2)
    assert (number.gain.mean, number.gain.p) == (0.1, None)
    assert results.estimate("gauss", Measure("dev", "local_share", 1)).gain is None  # the Transformer has no gate
    assert results.estimate("alone", Measure("dev", "locality_entropy")) is None
    assert results.estimate("gauss", Measure("both", "locality_entropy")) is None  # a group has no analyses
    assert places(results, "dev", ["locality_entropy"], "layer") == [1, 2]
    assert places(results, "dev", ["ngram_accuracy"], "tag") == [str(n) for n in range(1, 11)]
    assert not any("locality_entropy" in name for name in scores_table(results)["Transformer"])


def test_a_page_shows_what_goes_on_inside(experiment, results):
    page = inside_page(results, ["local_share"])
    dev, _ = tables(page, "Locality entropy")
    assert list(dev["Transformer"]) == ["all layers", "all layers, mean map", "layer 1", "layer 2"]
    numbers = ("1.600", "2.600", "1.100", "2.100")
    assert list(dev["Gauss | half"].values()) == [f"{mean} ± 0.014 (+0.100)" for mean in numbers]
    assert list(dev["alone"].values()) == [DASH, DASH, "1.300 ± 0.014", DASH]
    local = tables(page, "Local cross-attention")
    assert local == [{"Gauss | half": {"layer 1": "0.350 ± 0.014", "layer 2": "0.600 ± 0.014"}}] * 2  # dev, test
    accuracy, _ = tables(page, "N-gram accuracy")
    assert list(accuracy["Gauss | half"])[-2:] == ["n = 9", "n = 10"]
    assert accuracy["Gauss | half"]["n = 10"] == "40.20 ± 0.03 (+0.20)"
    assert [section.picture for section in page.sections if section.picture] == ["local_share"]
    pages = experiment.reports / "pages"
    written = (pages / "analyses.md").read_text(encoding="utf-8")
    assert "\n## Locality entropy\n" in written
    assert f"\n| alone | {DASH} | {DASH} | 1.300 ± 0.014 | {DASH} |\n" in written
    for name in ("locality_entropy", "local_share", "ngram_accuracy"):
        assert f"(figures/{name}.svg)" in written
        assert (pages / f"figures/{name}.svg").is_file()


def test_gates_have_a_row_for_each_of_their_sides_and_a_column_per_layer_or_tag(tmp_path):
    experiment = make_experiment(tmp_path)
    keys = {"": 0.5, "_1": 0.2, "_2": 0.8, "_VERB": 0.3, "_ADJ": 0.4}
    gates = {"gate_encoder_value_10": 0.9} | {f"gate_encoder_key{end}": value for end, value in keys.items()}
    lengths = {"bleu_of_units_0": 30, "bleu_of_units_50": 20.5, "sentences_of_units_0_text": 1234}
    lengths["sentences_of_units_50_text"] = 2
    for variant, measured in (("gauss", gates | lengths), ("transformer", lengths)):
        for seed in (1, 2):
            write_flat(experiment.analyses(f"{variant}-{seed}"), dict.fromkeys(("dev", "test"), measured))
    write_tables(evaluate_all(experiment))
    page = inside_page(read_results(experiment), [])
    gates, _ = tables(page, "Gates")
    assert list(gates) == ["Gauss | half: encoder, keys", "Gauss | half: encoder, values"]
    assert list(gates["Gauss | half: encoder, keys"]) == ["its layers", "layer 1", "layer 2", "layer 10"]
    keys, values = (list(row.values()) for row in gates.values())
    assert keys == ["0.500 ± 0.000", "0.200 ± 0.000", "0.800 ± 0.000", DASH]
    assert values == [DASH, DASH, DASH, "0.900 ± 0.000"]
    by_tag, _ = tables(page, "Gates by part of speech")
    assert by_tag == {"Gauss | half: encoder, keys": {"ADJ": "0.400 ± 0.000", "VERB": "0.300 ± 0.000"}}
    by_length, _ = tables(page, "BLEU by length")
    assert by_length["Gauss | half"] == {
        "from 0, 1,234 sentences": "30.00 ± 0.00 (+0.00)",
        "from 50, 2 sentences": "20.50 ± 0.00 (+0.00)",
    }
    figures = experiment.reports / "pages/figures"
    assert {"gates", "gates_by_tag", "bleu_of_units"} <= {path.stem for path in figures.iterdir()}
    found = texts(figures / "gates.svg")
    assert {"encoder, keys", "encoder, values", "Gates before attention, birds en-de, dev", "10"} <= set(found)
    assert found.index("1") < found.index("2") < found.index("10")


def test_what_no_system_has_is_said(tmp_path):
    """One system, without a baseline, a gate or attention that is shown."""
    variants = {"transformer": {}}
    experiment = make_experiment(tmp_path, variants=variants, train={"bitext": ["transformer"]}, focus="transformer")
    for seed in (1, 2):
        found = {test: {"ngram_accuracy_1": 50} for test in ("dev", "test")}
        write_flat(experiment.analyses(f"transformer-{seed}"), found)
    write_tables(evaluate_all(experiment))
    page = (experiment.reports / "pages/analyses.md").read_text(encoding="utf-8")
    assert "No system shows its cross-attention." in page
    assert "No system has a gate between global and local cross-attention." in page
    assert page.count("| transformer |") == 2
    assert page.count("| transformer | 50.00 ± 0.00 |") == 2
    assert "figures/" not in page
    assert [path.name for path in (experiment.reports / "pages/figures").iterdir()] == ["learning_curves.svg"]
    assert len(tables(results_page(read_results(experiment)), "test")) == 1  # nothing to compare


def test_what_one_run_lacks_its_system_lacks(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    write_flat(experiment.analyses("again-2"), {test: {"other": 1.0} for test in ("dev", "test")})
    write_flat(experiment.analyses("gauss-2"), {"dev": {"locality_entropy": 1.0}})
    experiment.analyses("transformer-1").unlink()
    dev, test = tables(inside_page(read_results(experiment), []), "Locality entropy")
    assert set(dev["again"].values()) == set(dev["Transformer"].values()) == {DASH}
    assert dev["Gauss | half"]["all layers"].startswith("1.295 ± ")
    assert (set(test["Gauss | half"].values()), test["alone"]["layer 1"]) == ({DASH}, "1.300 ± 0.014")


def test_what_has_not_run_yet_is_a_dash_and_the_rest_is_there(tmp_path):
    """Of one system there is a seed without scores, of another one a test set, and one test set is new."""
    experiment = evaluate_all(make_experiment(tmp_path))
    complete = scores_table(read_results(experiment))
    experiment.scores("gauss-2").unlink()
    write_flat(experiment.scores("again-1"), {"dev": read_flat(experiment.scores("again-1"))["dev"]})
    models = read_json(experiment.metrics / "models.json")
    corpus = PARAMETERS["corpus"] | {"tests": ["dev", "test", "extra"]}
    experiment.parameters.write_text(yaml.safe_dump(PARAMETERS | {"corpus": corpus}), encoding="utf-8")
    experiment = type(experiment)(tmp_path)
    write_tables(experiment)
    dev, test, extra = (scores_table(read_results(experiment), name) for name in ("dev", "test", "extra"))
    assert (test["Gauss | half"]["Parameters"], test["Gauss | half"]["sacrebleu"]) == ("2,000,000", DASH)
    assert (dev["again"]["chrf"], test["again"]["chrf"]) == (complete["again"]["chrf"], DASH)
    assert [test[name] for name in ("alone", "Transformer")] == [complete[name] for name in ("alone", "Transformer")]
    assert list(extra["Transformer"]) == [title for title in test["Transformer"] if title[0].isupper()]
    del models["gauss"]
    write_json(experiment.metrics / "models.json", models)
    assert set(scores_table(read_results(experiment))) == {"Transformer", "again", "alone"}


def test_an_experiment_that_has_not_run_has_an_empty_table(tmp_path):
    experiment = make_experiment(tmp_path)
    for described in (True, False):
        if not described:
            (experiment.metrics / "models.json").unlink()
        for path in experiment.metrics.glob("analyses/*.csv"):
            path.unlink()
        write_tables(experiment)
        results = read_results(experiment)
        assert list(scores_table(results)) == (["Transformer", "Gauss | half", "again", "alone"] if described else [])
        assert results.measures == []


def test_focus_is_flat(experiment):
    write_focus(experiment)
    focus = json.loads((experiment.metrics / "focus.json").read_text(encoding="utf-8"))
    results = read_json(experiment.metrics / "results.json")
    assert set(focus) == {"dev", "test", "both", "model"}
    assert focus["test"]["chrf"] == results["gauss"]["test"]["chrf"]["mean"]
    assert focus["model"] == results["gauss"]["model"]


def test_same_bytes_on_a_second_run(experiment):
    def written():
        folders = (experiment.metrics, experiment.reports)
        files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    before = written()
    evaluate_all(experiment)
    write_tables(experiment)
    assert written() == before


def test_runs_that_params_yaml_no_longer_has_are_left_out(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    make_experiment(tmp_path, seeds=[2])
    changed = type(experiment)(tmp_path)
    write_tables(changed)
    assert read_json(changed.metrics / "results.json")["gauss"]["test"]["chrf"]["seeds"] == 1


def test_unknown_variants_and_broken_files_are_named(tmp_path):
    experiment = make_experiment(tmp_path)
    write_pairs(experiment)
    with pytest.raises(UserError, match=r"no variant 'gaus' in .*pairs; there are again, alone, gauss, transformer\. "):
        evaluate_variant(EvaluationFolder(experiment.folder), "gaus")
    write_output(experiment, "gauss-1", REFERENCE, dev=["only one"])
    with pytest.raises(UserError, match=r"gauss-1\.zip: dev has 1 lines, its references have 40"):
        scores_of(experiment, "gauss-1")
    path = experiment.analyses("gauss-2")
    path.write_text(path.read_text(encoding="utf-8") + "gauss-2,dev,chrf\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"analyses/gauss-2\.csv: line \d+: not a row"):
        read_results(experiment)
    write_lines(experiment.analyses("gauss-1"), ["metric,value", "chrf,1"])
    with pytest.raises(UserError, match=r"analyses/gauss-1\.csv: its columns are metric, value; they must be"):
        write_tables(experiment)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (p_text(0.0496), "= 0.0496"),  # 0.05 would not decide
        (p_text(0.0504), "= 0.05"),
        (p_text(0.031), "= 0.031"),
        (p_text(0.0002), "≤ 0.001"),
        (signed(-0.00001), "+0.00"),
        (signed(-1.04, 1), "−1.0"),  # noqa: RUF001
    ],
)
def test_numbers_in_print(text, expected):
    assert text == expected
