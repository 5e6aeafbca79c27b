"""Test sets with several references."""

import pytest
from made_up_experiment import RAW, REFERENCE, make_experiment
from measured import by_name, read_flat

from context_nmt.corpus.documents import reference_names
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_lines, write_lines
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.pairs import write_pairs
from context_nmt.measures.scores import score_rows
from context_nmt.results.evaluation import evaluate_variant
from context_nmt.settings.text import CorpusSettings, TextSettings

FURTHER, RAW_FURTHER = (  # as `gauss` errs
    [line.replace("small birds", "big fish") for line in lines] for lines in (REFERENCE, RAW)
)


@pytest.fixture
def experiment(tmp_path):
    """The made-up one, whose set `test` has a second reference."""
    made = make_experiment(tmp_path)
    write_lines(made.corpus / "test.de.1", RAW_FURTHER)
    write_lines(made.tokenized / "test.de.1.cased", FURTHER)
    return made


def test_every_reference_counts_in_scores_and_comparisons(experiment):
    write_pairs(experiment)
    evaluate_variant(EvaluationFolder(experiment.folder), "gauss")
    scores = read_flat(experiment.scores("gauss-1"))
    assert scores["dev"]["sacrebleu"]["score"] < scores["test"]["sacrebleu"]["score"] == 100
    assert scores["test"]["bleu_lowercased"]["score"] == 100
    metrics = ("sacrebleu", "chrf", "chrf_plus_plus", "ter", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased")
    for metric in metrics:
        assert scores["dev"][metric]["signature"].startswith("nrefs:1|")
        assert scores["test"][metric]["signature"].startswith("nrefs:2|")
    assert "better:9|worse:0|" in scores["dev"]["p_sign_sacrebleu"]["signature"]
    assert "better:0|worse:0|" in scores["test"]["p_sign_sacrebleu"]["signature"]  # the baseline's errors are none


def test_a_bound_is_scored_against_every_reference(experiment):
    write_lines(experiment.corpus / "test.bound.de", RAW_FURTHER)
    scores = by_name(score_rows(EvaluationFolder(experiment.folder), "transformer-1"))
    assert scores["test"]["sacrebleu_bound"]["score"] == 100


def test_further_references_are_tokenized_and_nothing_else(tmp_path):
    for name in ("train.en", "train.de", "test.en", "test.de", "test.de.1", "test.de.2", "test.de.1.old"):
        write_lines(tmp_path / "raw" / name, [f"Ein Satz aus {name}, ja.", "Noch einer."])
    corpus = CorpusSettings(name="toy", source="en", target="de", validation="test", tests=("test",))
    tokenize_corpus(tmp_path / "raw", tmp_path / "tokens", corpus, TextSettings())
    assert read_lines(tmp_path / "tokens/test.de.2.cased") == ["Ein Satz aus test.de.2 , ja .", "Noch einer ."]
    found = {path.name for path in (tmp_path / "tokens").glob("test.*")}
    assert found == {"test.en", "test.en.cased", "test.de", "test.de.cased", "test.de.1.cased", "test.de.2.cased"}
    write_lines(tmp_path / "raw/test.de.2", ["Nur einer."])
    with pytest.raises(UserError, match=r"test\.en has 2 lines and .*test\.de\.2 has 1; they must be"):
        tokenize_corpus(tmp_path / "raw", tmp_path / "tokens", corpus, TextSettings())


def test_references_are_in_the_order_of_their_numbers_and_have_no_gap(tmp_path):
    for number in (10, *range(1, 10)):
        write_lines(tmp_path / f"test.de.{number}", ["x"])
    names = reference_names(tmp_path, "test", "de")
    assert names == ["test.de", *(f"test.de.{number}" for number in range(1, 11))]
    (tmp_path / "test.de.1").unlink()
    with pytest.raises(UserError, match=r"further references must be test\.de\.1, test\.de\.2, …; there are \[2, "):
        reference_names(tmp_path, "test", "de")
