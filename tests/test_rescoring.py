"""A teacher chooses among a masked model's candidates: its choices, the written files, and refusals."""

import shutil

import made_up_experiment
import numpy as np
import pytest
from measured import by_name, read_flat
from shown import tables
from small_models import VOCABULARY, small_model
from tiny_training import make_experiment

from context_nmt.corpus.hypotheses import digests, read_hypotheses
from context_nmt.decoding.decoding_run import decode_run
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_lines, write_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rescoring import rescore_ids, rescore_run
from context_nmt.measures.rows import write_rows
from context_nmt.measures.scores import score_rows
from context_nmt.models.averaging import average_run
from context_nmt.models.devices import Processes
from context_nmt.report.formats import render
from context_nmt.report.pages import results_page
from context_nmt.report.tables import DASH
from context_nmt.results.reading import read_results
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.layout import RESCORED
from context_nmt.settings.run_layout import run_name
from context_nmt.training.trainer import train_run

pytestmark = pytest.mark.slow

KIND = {"kind": "masked", "positions": "learned", "maximum_positions": 16}


def made_up_sentences(count):
    random = np.random.default_rng(3)
    return [random.integers(4, VOCABULARY, random.integers(1, 8)) for _ in range(count)]


@pytest.fixture(scope="module")
def model():
    return small_model(**KIND)


@pytest.fixture(scope="module")
def teacher():
    return small_model(width=12)


def settings(**changes):
    return DecodingSettings(**({"iterations": 3, "length_beam": 5} | changes))


def test_the_choice_equals_a_slow_loop(model, teacher):
    """The choice is by the mean; the sum, or the model itself, would choose other candidates."""
    sentences = made_up_sentences(40)
    choices, shared = (
        rescore_ids(model, teacher, sentences, settings(batch_tokens=64), processes=Processes(workers=workers))
        for workers in (1, 2)
    )
    assert choices == shared
    by_sum, by_model = [], []
    for sentence, choice in zip(sentences, choices, strict=True):
        (candidates,) = translate_ids(model, [sentence], settings(n_best=5))
        tokens = [candidate.tokens for candidate in candidates]
        sums = score_pairs(teacher, [sentence] * 5, [np.array(units, dtype=int) for units in tokens])
        means = [total / (len(units) + 1) for total, units in zip(sums, tokens, strict=True)]
        best = int(np.argmax(np.round(means, 9)))
        assert choice.tokens == tokens[best]
        assert (choice.log_probability, choice.score) == pytest.approx((sums[best], means[best]), abs=1e-9)
        by_sum.append(tokens[int(np.argmax(sums))])
        by_model.append(tokens[0])
    chosen = [choice.tokens for choice in choices]
    assert chosen != by_sum
    assert chosen != by_model


def test_models_of_the_wrong_kind_are_refused(model, teacher):
    sentences = made_up_sentences(2)
    with pytest.raises(UserError, match="the model is autoregressive"):
        rescore_ids(teacher, teacher, sentences, settings())
    with pytest.raises(UserError, match="the teacher is a masked model"):
        rescore_ids(model, model, sentences, settings())


def test_as_many_are_given_as_the_search_has(model, teacher):
    for translator, count in ((model, 3), (teacher, 2)):
        results = translate_ids(translator, made_up_sentences(3), settings(beam=2, n_best=count))
        assert [len(hypotheses) for hypotheses in results] == [count] * 3
    with pytest.raises(UserError, match=r"decoding\.n_best is 3; .* decoding\.beam 2"):
        translate_ids(teacher, made_up_sentences(3), settings(beam=2, n_best=3))


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """A student and its teacher, hardly trained to reverse digits."""
    masked = {"kind": "masked", "positions": "learned", "maximum_positions": 32}
    experiment = make_experiment(
        tmp_path_factory.mktemp("rescoring"),
        task="reverse",
        variants={"teacher": {}, "student": {"model": masked}},
        training={"maximum_updates": 30, "validate_every": 30, "maximum_sentence_length": 30},
    )
    for language in ("xx", "yy"):
        lines = read_lines(experiment.subwords / f"valid.{language}")
        for path in (experiment.corpus / f"valid.{language}", experiment.tokenized / f"valid.{language}.cased"):
            write_lines(path, lines)
    for variant in ("teacher", "student"):
        train_run(experiment, variant, 1, device="cpu")
        average_run(experiment, variant, 1)
        decode_run(experiment, variant, 1, device="cpu")
    rescore_run(EvaluationFolder(experiment.folder), "student", 1, "teacher-1", device="cpu")
    return experiment


def test_rescored_translations_have_the_paths_of_a_run(experiment, tmp_path):
    """Their scores are those of any run with these translations."""
    name = run_name("student" + RESCORED, 1)
    usual, chosen = experiment.hypotheses("student-1"), experiment.hypotheses(name)
    assert digests(usual).keys() == digests(chosen).keys() == {"valid.txt"}
    lines = [read_hypotheses(path, "valid") for path in (usual, chosen)]
    assert len(lines[0]) == len(lines[1]) == 40
    assert lines[0] != lines[1]
    again = EvaluationFolder(tmp_path / "again")
    shutil.copytree(experiment.folder, again.folder)
    again.hypotheses(name).rename(again.hypotheses("student-1"))
    written = read_flat(experiment.scores(name))
    assert by_name(score_rows(again, "student-1")) == written
    assert written.keys() == {"valid"}


def test_a_teacher_with_other_units_is_refused(experiment, tmp_path):
    other = EvaluationFolder(tmp_path / "other")
    shutil.copytree(experiment.folder, other.folder)
    vocabulary = other.model("teacher-1") / "text" / "vocabulary.yy.txt"
    vocabulary.write_text(vocabulary.read_text().replace("7", "seven"))
    for variant, teacher, message in (
        ("student", "teacher-1", r"vocabulary\.yy\.txt: differs from the vocabulary that .*teacher-1"),
        ("cmlm", "teacher-1", r"plans/cmlm/decoding\.json: no such file"),
        ("student", "big-1", "runs/models/big-1: no trained run"),
    ):
        with pytest.raises(UserError, match=message):
            rescore_run(other, variant, 1, teacher, device="cpu")


def test_the_page_shows_the_choice_beside_the_model_s_own(tmp_path):
    parameters = made_up_experiment.PARAMETERS
    variants = parameters["variants"] | {"gauss": parameters["variants"]["gauss"] | {"model": {"kind": "masked"}}}
    train = parameters["train"] | {"teachers": ["transformer"]}
    experiment = made_up_experiment.make_experiment(tmp_path, variants=variants, train=train, rescored=["gauss"])
    made_up_experiment.evaluate_all(experiment)
    for seed in (1, 2):
        name = run_name("gauss" + RESCORED, seed)
        made_up_experiment.write_output(experiment, name, made_up_experiment.REFERENCE)
        write_rows(experiment.scores(name), name, score_rows(EvaluationFolder(tmp_path), name))
    results = read_results(experiment)
    label = "Gauss | half, chosen by the teacher"
    (table,) = tables(results_page(results), "both (mean of dev, test)")
    scores = [read_flat(experiment.scores(f"gauss-{seed}"))["both"]["sacrebleu"]["score"] for seed in (1, 2)]
    assert table[label]["sacrebleu"] == f"100.00 ± 0.00 (+{100 - np.mean(scores):.2f})"
    assert [*table].index(label) == [*table].index("Gauss | half") + 1
    page = " ".join(render("results.md.j2", page=results_page(results)).split())
    assert "Transformer with the same seed chooses" in page
    experiment.scores(run_name("gauss" + RESCORED, 2)).unlink()
    (table,) = tables(results_page(read_results(experiment)), "both (mean of dev, test)")
    assert set(table[label].values()) == {DASH}
