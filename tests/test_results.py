"""Scores of runs, their means over seeds, differences from baselines, tables and the focus."""

from dataclasses import replace

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
from measured import add_flat, assert_golden, by_name, change, read_flat, write_flat
from scipy.stats import binomtest
from shown import tables, texts
from test_ceilings import prepare

from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_json, read_lines, write_json, write_lines
from context_nmt.measures.contrastive import read_outcomes
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.pairs import write_pairs
from context_nmt.measures.rows import TESTS, TEXT, Measure, Row
from context_nmt.measures.scored_text import token_origin
from context_nmt.measures.scores import read_scoring_inputs, score_rows
from context_nmt.report import overview
from context_nmt.report.formats import write_page
from context_nmt.report.overview import print_results
from context_nmt.report.pages import results_page
from context_nmt.report.writing import write_tables
from context_nmt.results.evaluation import evaluate_variant
from context_nmt.results.metrics import format_difference, format_p
from context_nmt.results.reading import read_results
from context_nmt.results.significance import compare
from context_nmt.settings.evaluation import SignificanceSettings
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.text import SideSettings, UnitSettings
from stages import focus

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    experiment = evaluate_all(make_experiment(tmp_path_factory.mktemp("experiment")))
    write_tables(experiment)
    return experiment


@pytest.fixture
def results(experiment):
    return read_results(experiment)


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """An experiment with a bound, a contrastive set, gates, documents for training and a label like Markdown."""
    gauss = PARAMETERS["variants"]["gauss"] | {"label": "A* | *b* **c**"}
    changes = {"variants": PARAMETERS["variants"] | {"gauss": gauss}}
    changes["corpus"] = PARAMETERS["corpus"] | {"contrastive": ["pronouns"]}
    experiment = make_experiment(tmp_path_factory.mktemp("rich"), **changes)
    write_lines(experiment.tokenized / "train.documents", ["0", "20", "25"])
    write_lines(experiment.corpus / "test.bound.de", [line.replace(" .", ".") for line in output(6, 2)])
    write_output(experiment, "alone-1", output(5, 1), dev=["something else entirely"] * 40)
    write_contrastive(experiment)
    keys = {"": 0.5, "_1": 0.2, "_2": 0.8, "_VERB": 0.3, "_ADJ": 0.4}
    gates = {"gate_encoder_value_10": 0.9} | {f"gate_encoder_key{end}": value for end, value in keys.items()}
    lengths = {"bleu_of_units_0": 30, "bleu_of_units_50": 20.5, "sentences_of_units_0_text": 1234}
    lengths["sentences_of_units_50_text"] = 2
    for variant, measured in (("gauss", gates | lengths), ("transformer", lengths)):
        for seed in (1, 2):
            write_flat(experiment.analyses(f"{variant}-{seed}"), dict.fromkeys(("dev", "test"), measured))
    for name, curve in {"gauss-1": (1, 5, 4, 8, 8.5), "gauss-2": (1, 5, 7, 8, 8.5)}.items():
        lines = [f"{update},{bleu}" for update, bleu in enumerate(curve, start=1)]
        write_lines(experiment.curve(name), ["update,valid_bleu", *lines])
    low = {"score": 68.81, "reason": "for example, 'l' comes back as 'm'"}
    write_json(experiment.metrics / "ceilings.json", {"dev": {"score": 100.0}, "test": low})
    write_tables(evaluate_all(experiment))
    return experiment


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """An experiment with doubtful p-values: `again` is better than its baseline with one seed and worse with the other.

    A p of `gauss` is larger with one seed, a score has another signature, and a test was against another system.
    """
    experiment = make_experiment(tmp_path_factory.mktemp("odd"))
    for seed, lines in ((1, REFERENCE), (2, output(1, 1))):
        write_output(experiment, f"again-{seed}", lines)
    path = evaluate_all(experiment).scores("gauss-2")
    change(path, Measure("dev", "p_sign", tag="sacrebleu"), value=0.03)  # one mark, not two
    change(path, Measure("test", "chrf"), signature="another|version")  # no difference
    change(path, Measure("test", "p_sign", tag="sacrebleu"), signature="alone|better:9")  # a difference without p
    write_tables(experiment)
    return experiment


def two_systems(metric):
    """The changes of params.yaml for an experiment with two systems and one seed."""
    variants = {name: PARAMETERS["variants"][name] for name in ("transformer", "gauss")}
    settings = {"metric": metric, "resamples": 50, "seed": 1}
    return {"variants": variants, "train": {"bitext": list(variants)}, "significance": settings, "seeds": [1]}


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """An experiment with one seed, and a bootstrap in which the system always wins: its p is 2 / 50."""
    changes = two_systems("sacrebleu")
    changes["variants"] = {"transformer": {}, "gauss": {"baseline": "transformer"}}
    experiment = evaluate_all(make_experiment(tmp_path_factory.mktemp("once"), **changes))
    write_tables(experiment)
    return experiment


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An experiment with a single system, which has no baseline and shows no gate and no attention."""
    changes = {"variants": {"transformer": {}}, "train": {"bitext": ["transformer"]}, "focus": "transformer"}
    experiment = make_experiment(tmp_path_factory.mktemp("bare"), **changes)
    for seed in (1, 2):
        accuracies = {test: {"ngram_accuracy_1": 50} for test in ("dev", "test")}
        write_flat(experiment.analyses(f"transformer-{seed}"), accuracies)
    write_tables(evaluate_all(experiment))
    return experiment


@pytest.fixture(scope="module")
def partly(tmp_path_factory):
    """An experiment that has run in part: systems lack a seed, a run, a set or everything; one signature differs."""
    experiment = evaluate_all(make_experiment(tmp_path_factory.mktemp("partly")))
    experiment.scores("gauss-2").unlink()
    write_flat(experiment.scores("again-1"), {"dev": read_flat(experiment.scores("again-1"))["dev"]})
    add_flat(experiment.scores("alone-1"), {"test": {"sacrebleu_of_bound": 60}})  # as where the bound's file came later
    add_flat(experiment.scores("alone-2"), {"test": {"sacrebleu_of_bound": 61}})
    change(experiment.scores("alone-2"), Measure("dev", "chrf"), signature="another|version")
    write_flat(experiment.analyses("again-2"), {test: {"other": 1.0} for test in ("dev", "test")})
    write_flat(experiment.analyses("gauss-2"), {"dev": {"locality_entropy": 1.0}})
    experiment.analyses("transformer-1").unlink()
    models = read_json(experiment.models)
    models["transformer"]["kind"] = "masked"
    write_json(experiment.models, models | {"elsewhere": models["alone"]})
    corpus = PARAMETERS["corpus"] | {"tests": ["dev", "test", "extra"], "contrastive": ["pronouns"]}
    variants = PARAMETERS["variants"] | {"new": {"label": "Newcomer"}}
    changes = {"corpus": corpus, "variants": variants, "train": {"bitext": list(variants)}}
    experiment.parameters.write_text(yaml.safe_dump(PARAMETERS | changes), encoding="utf-8")
    experiment = Experiment(experiment.folder)
    write_tables(experiment)
    return experiment


@pytest.mark.parametrize("name", ["results.csv", "results.json", "results.md", "analyses.md", "pictures.txt"])
@pytest.mark.parametrize("state", ["experiment", "rich", "partly", "odd", "once", "bare"])
def test_tables_and_pages_are_as_before(request, state, name):
    """Tables have means, deviations, gains, intervals, p-values and marks; of pictures, all texts are compared."""
    experiment = request.getfixturevalue(state)
    if name == "pictures.txt":
        paths = sorted((experiment.reports / "pages/figures").iterdir())
        shown = "".join(f"{path.stem}: {', '.join(texts(path))}\n" for path in paths)
    else:
        folder = experiment.reports / "pages" if name == "analyses.md" else experiment.metrics
        shown = (folder / name).read_text(encoding="utf-8")
    assert_golden(shown, f"{state}-{name}")


@pytest.mark.parametrize("old", [("gauss",), ("transformer",), ("transformer", "gauss", "again", "alone")])
def test_systems_that_are_out_of_date_are_marked(experiment, old):
    """They have no costs, and no differences from systems that are up to date; other differences stay."""
    write_page(
        experiment.folder / "page.md", "results.md.j2", page=results_page(read_results(experiment, out_of_date=old))
    )
    assert_golden((experiment.folder / "page.md").read_text(encoding="utf-8"), f"old-{old[0]}-{len(old)}.md")


@pytest.mark.parametrize("width", [60, 200])
def test_the_main_results_are_printed_with_their_signature(experiment, capsys, monkeypatch, width):
    """Columns that do not fit are left out as a whole."""
    monkeypatch.setattr(overview, "WIDTH_OF_FILES", width)
    print_results(experiment)
    assert_golden(capsys.readouterr().out.replace(str(experiment.folder), "FOLDER"), f"main-{width}.txt")


@pytest.mark.parametrize("run", ["transformer-1", "transformer-2", "gauss-2"])
def test_scores_of_runs_are_as_before(rich, run):
    """The first file without a baseline also has sizes of the text; tests compare runs with the same seed."""
    assert_golden(rich.scores(run).read_text(encoding="utf-8"), f"scores-{run}.csv")


def test_accuracies_are_compared_item_by_item(rich):
    """By the exact test on the items that only one of the two systems gets right; a tie is between right and wrong."""
    experiment = EvaluationFolder(rich.folder)
    path, items = rich.contrastive_outcomes("gauss-1"), "10=01101011="
    before, pairs = path.read_bytes(), [rich.pairs(name).read_bytes() for name in ("gauss", "again")]
    try:
        digest = read_outcomes(path)["pronouns"].sha256
        write_json(path, {"pronouns": [digest, {"accuracy": items, "accuracy_normalized": "=" * 12}]})
        write_pairs(rich)
        is_changed = [rich.pairs(name).read_bytes() != old for name, old in zip(("gauss", "again"), pairs, strict=True)]
        assert is_changed == [True, False]
        evaluate_variant(experiment, "gauss")
        scores = read_flat(rich.scores("gauss-1"))["pronouns"]
        for category, better, worse in (("all", 7, 1), ("cross", 3, 1)):  # the baseline is right on the first two
            p = binomtest(better, better + worse).pvalue
            assert scores[f"p_mcnemar_{category}"]["score"] == pytest.approx(p, rel=1e-5)
            counts = f"transformer|better:{better}|worse:{worse}|"
            assert scores[f"p_mcnemar_{category}"]["signature"].startswith(counts)
            assert scores[f"p_mcnemar_normalized_{category}"]["score"] == 1
        write_json(path, {"pronouns": ["another", {"accuracy": items, "accuracy_normalized": items}]})
        with pytest.raises(UserError, match=r"gauss-1.json: pronouns: the set has changed; run contrast again"):
            evaluate_variant(experiment, "gauss")
        path.unlink()
        write_pairs(rich)
        evaluate_variant(experiment, "gauss")
        assert "pronouns" not in read_flat(rich.scores("gauss-1"))
    finally:
        path.write_bytes(before)
        evaluate_all(rich)


def test_losses_of_two_kinds_of_likelihood_have_no_difference(tmp_path):
    experiment = make_experiment(tmp_path)
    for variant, kind, nll in (
        ("transformer", "likelihood", 2.0),
        ("gauss", "likelihood", 1.5),
        ("again", "pseudo", 1),
    ):
        for seed in (1, 2):
            loss = {"nll": {"score": nll, "signature": f"{kind}|units:8"}}
            write_flat(experiment.contrastive(f"{variant}-{seed}"), {"test": loss})
    results, measure = read_results(evaluate_all(experiment)), Measure("test", "nll")
    assert results.estimate("gauss", measure).gain.mean == -0.5
    assert (results.estimate("again", measure).mean, results.estimate("again", measure).gain) == (1, None)
    assert results.estimate("alone", measure) is None  # a system without a model
    write_tables(experiment)
    assert read_json(experiment.results)["gauss"]["test"]["nll"]["mean"] == 1.5


def test_without_results_a_table_is_empty(tmp_path, capsys):
    experiment = make_experiment(tmp_path)
    print_results(experiment)
    (line,) = capsys.readouterr().out.splitlines()
    assert "results.json" in line
    for path in experiment.metrics.glob("analyses/*.csv"):
        path.unlink()
    for labels in (["Transformer", "Gauss | half", "again", "alone"], []):
        write_tables(experiment)
        assert list(tables(results_page(read_results(experiment)), "test")[0]) == labels
        assert read_results(experiment).measures == []
        experiment.models.unlink(missing_ok=True)


def scores_of(experiment, run):
    return by_name(score_rows(EvaluationFolder(experiment.folder), run))


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


def test_words_are_tokens_also_where_units_are_made_of_raw_text(tmp_path):
    cased = {side: {"truecase": False} for side in ("source", "target")}
    experiment = make_experiment(tmp_path, seeds=[1], units={"kind": "sentencepiece"}, text=cased)
    write_lines(experiment.tokenized / "train.de", ["Ja, gut."] * 40)
    results, size = read_results(evaluate_all(experiment)), Measure("train", "words_of_text", tag="de")
    assert results.reference_value(TEXT, size) == 4 * 40
    (system, seed), rows = list(results.rows.items())[-1]
    of_former_text = results.rows | {(system, seed): [*rows, Row(size, 7, subject=TEXT)]}
    assert replace(results, rows=of_former_text).reference_value(TEXT, size) == 7
    assert replace(results, rows=of_former_text, out_of_date=(system,)).reference_value(TEXT, size) == 4 * 40


def test_raw_text_is_made_of_tokens(tmp_path):
    experiment = make_experiment(tmp_path)
    write_output(experiment, "alone-1", REFERENCE)
    scores = scores_of(experiment, "alone-1")["test"]
    assert scores.pop("ter")["score"] == 0
    assert {score["score"] for score in scores.values()} == {100}
    write_lines(experiment.corpus / "test.de", [line.replace(".", "?") for line in RAW])
    scores = scores_of(experiment, "alone-1")["test"]
    assert scores["sacrebleu"]["score"] < 100 == scores["bleu_tokenized"]["score"]


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


@pytest.mark.parametrize(
    "metric", ["sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "chrf", "ter"]
)
def test_the_tested_metric_has_the_mark_and_no_other(tmp_path, metric):
    changes = two_systems(metric)
    experiment = evaluate_all(make_experiment(tmp_path, **changes))
    results = read_results(experiment)
    tested = [
        measure
        for measure in results.measures
        if getattr(results.estimate("gauss", measure).gain, "p", None) is not None
    ]
    assert tested == [Measure("dev", metric), Measure("test", metric)]
    evaluated, tokenized = EvaluationFolder(tmp_path), metric.startswith("bleu")
    lines, references = read_scoring_inputs(evaluated, "gauss-1", "test", tokenized=tokenized)
    baseline, _ = read_scoring_inputs(evaluated, "transformer-1", "test", tokenized=tokenized)
    settings, text = SignificanceSettings(**changes["significance"]), token_origin(evaluated.settings)
    expected = compare(lines, baseline, references, settings, tokenizer="13a", text=text if tokenized else "raw")
    scores = read_flat(experiment.scores("gauss-1"))["test"]
    assert [scores[f"p_{test}_{metric}"]["score"] for test in TESTS] == [
        expected[test]["p"] or 2 / 50 for test in TESTS
    ]
    signature = expected["signature"].removesuffix("|text:raw")
    assert scores[metric] == {"score": expected["system"], "signature": signature}


def test_the_summary_has_the_tested_metric_of_every_system(experiment):
    results, summary = (read_json(experiment.metrics / f"{name}.json") for name in ("results", "summary"))
    assert summary == {
        system: {test: round(sets[test]["sacrebleu"]["mean"], 2) for test in ("dev", "test", "both")}
        for system, sets in results.items()
    }
    assert set(summary) == set(PARAMETERS["variants"])


def test_focus_is_flat(experiment, monkeypatch):
    monkeypatch.chdir(experiment.folder)
    focus.main()
    shown = read_json(experiment.metrics / "focus.json")
    results = read_json(experiment.metrics / "results.json")
    assert set(shown) == {"dev", "test", "both", "model"}
    assert shown["test"]["chrf"] == results["gauss"]["test"]["chrf"]["mean"]
    assert shown["model"] == results["gauss"]["model"]
    write_json(experiment.metrics / "results.json", {"other": {}})
    with pytest.raises(UserError, match=r"params\.yaml: focus: no results of 'gauss'; there are other"):
        focus.main()
    write_json(experiment.metrics / "results.json", results)


def test_runs_that_params_yaml_no_longer_has_are_left_out(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    make_experiment(tmp_path, seeds=[2])
    changed = type(experiment)(tmp_path)
    write_tables(changed)
    assert read_json(changed.metrics / "results.json")["gauss"]["test"]["chrf"]["seeds"] == 1


def test_unknown_variants_and_broken_files_are_named(tmp_path):
    experiment = make_experiment(tmp_path)
    write_pairs(experiment)
    with pytest.raises(UserError, match=r"no system 'gaus' in .*pairs; there are again, alone, gauss, transformer\. "):
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
        (format_p(0.0496), "= 0.0496"),  # 0.05 would not decide
        (format_p(0.0504), "= 0.05"),
        (format_p(0.031), "= 0.031"),
        (format_p(0.0002), "≤ 0.001"),
        (format_difference(-0.00001), "+0.00"),
        (format_difference(-1.04, 1), "−1.0"),  # noqa: RUF001
    ],
)
def test_numbers_in_print(text, expected):
    assert text == expected
