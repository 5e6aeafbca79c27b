"""Accuracy of pronouns and nouns: every case by hand, lists of words, alignments, and the authors' own counts."""

import json
import os
from pathlib import Path

import nltk
import pytest

from context_nmt.files import UserError, write_lines
from context_nmt.measures.word_accuracy import (
    WordPositions,
    find_listed_words,
    find_nouns,
    find_pronouns,
    read_alignments,
    word_accuracy,
)

ONE_TO_ONE = [(0, 0), (1, 1), (2, 2)]
MIRROR = Path(os.environ.get("DATA_MIRROR", "absent"))


def cases(reference, hypothesis, to_reference, to_hypothesis, similar=None):
    """What becomes of the pronouns of one sentence, of which one counts."""
    words = WordPositions("w", find_pronouns([reference], "en").positions, similar or {})
    score = word_accuracy(words, [reference], [hypothesis], [to_reference], [to_hypothesis], alignment="a")
    assert score["counts"].pop("total") == 1
    return {case for case, number in score["counts"].items() if number}


@pytest.mark.parametrize(
    ("hypothesis", "links", "case"),
    [
        ("they saw him", ONE_TO_ONE, "equal"),
        ("THEY saw him", ONE_TO_ONE, "equal"),  # in lower case
        ("saw they him", [(0, 1)], "equal"),  # at any position
        ("people they him", [(0, 0), (0, 1)], "equal"),  # any of the linked words
        ("we saw him", ONE_TO_ONE, "similar"),
        ("people saw him", ONE_TO_ONE, "different"),
        ("he saw they", ONE_TO_ONE, "different"),  # the right word elsewhere
        ("they saw him", [(1, 1), (2, 2)], "untranslated"),
    ],
)
def test_a_pronoun_is_followed_to_the_source_and_on(hypothesis, links, case):
    counted = cases("They saw it", hypothesis, [(0, 0)], links, similar={"they": {"we"}})
    assert counted == {case, "not_in_source"}  # "it" is linked to nothing


@pytest.mark.parametrize(
    ("texts", "to_reference", "to_hypothesis", "case"),
    [
        (("it sleeps", "he it"), [(0, 0), (1, 0), (2, 1)], [(0, 0), (1, 1)], "equal"),
        (("it sleeps", "he it"), [(0, 0), (2, 1)], [(0, 0), (1, 1)], "different"),
        (("they sleep", "we they it"), [(0, 0)], ONE_TO_ONE, "different"),  # none is similar
    ],
)
def test_a_word_is_followed_through_every_source_word_that_it_is_linked_to(texts, to_reference, to_hypothesis, case):
    assert cases(*texts, to_reference, to_hypothesis) == {case}


def test_the_accuracy_is_the_weighted_share_of_the_cases_that_count():
    """Of six words, two come out equal, one similar, one different, one is left out, and one is in no source."""
    words, texts = WordPositions("w", [list(range(6))], {"a": {"b"}}), (["a a a a a a"], ["a A b c"])
    links, missing = [[(position, position) for position in range(5)]], [[]]
    score = word_accuracy(words, *texts, links, [links[0][:4]], alignment="x")
    counts = {"equal": 2, "similar": 1, "different": 1, "untranslated": 1, "not_in_source": 1, "total": 5}
    assert score == {"score": 0.5, "signature": "words:w|alignment:x|similar:0.5|case:lc", "counts": counts}
    assert word_accuracy(words, *texts, missing, links, alignment="x") is None


def test_lists_of_words(tmp_path):
    path = tmp_path / "words.txt"
    write_lines(path, ["Er", "sie es", ""])
    words = find_listed_words(["Sie sieht es .", "ER"], path)
    assert words.positions == [[0, 2], [0]]
    assert words.similar == {"er": set(), "sie": {"es"}, "es": {"sie"}}
    assert words.name == "3-of-words.txt"
    assert find_pronouns(["Sie sieht die Ihren und ihre Hand"], "de").positions == [[0, 3, 5]]
    assert find_pronouns(["Sie sieht"], "de-AT").positions == [[0]]
    assert find_pronouns(["x"], "fi") is None


def test_nouns_are_those_of_nltks_tagger(tmp_path, monkeypatch):
    """The tagger's data is not part of the project: this one knows three words."""
    folder = tmp_path / "taggers/averaged_perceptron_tagger_eng"
    folder.mkdir(parents=True)
    tags = {"Ann": "NNP", "sees": "VBZ", "birds": "NNS"}
    for name, value in {"weights": {}, "tagdict": tags, "classes": list(tags.values())}.items():
        (folder / f"averaged_perceptron_tagger_eng.{name}.json").write_text(json.dumps(value))
    monkeypatch.setattr(nltk.data, "path", [])
    assert find_nouns(["Ann sees birds"], "en") is None
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert find_nouns(["Ann sees birds", "sees"], "en").positions == [[0, 2], []]
    assert find_nouns(["Ann"], "de") is None


def read_links(path):
    return read_alignments(path, ["a b c", "d e"], ["x y z", "u v"])


def read_list(path):
    return find_listed_words(["x"], path)


@pytest.mark.parametrize(
    ("read", "lines", "message"),
    [
        (read_links, ["0-0"], "has 1 lines for 2 sentences"),
        (read_links, ["0-0", "0-0 1:1"], "line 2 has '1:1'"),
        (read_links, ["0-0", "0-2"], "line 2 links target token 2"),
        (read_links, ["3-0", "0-0"], "line 1 links source token 3"),
        (read_list, [" "], "has no words"),
        (read_list, ["he", "it He"], "lists he twice"),
    ],
)
def test_alignments_and_lists_that_do_not_fit_are_refused(tmp_path, read, lines, message):
    write_lines(tmp_path / "file", lines)
    with pytest.raises(UserError, match=message):
        read(tmp_path / "file")


@pytest.fixture
def score(tmp_path, monkeypatch, call):
    """Runs `context-nmt score` on files of one or two lines; returns its status, its output file and standard error."""
    files = {"out": ["we saw a dog", "he ran"], "ref": ["they saw a dog", "she ran"], "list": ["dog", "they we"]}
    files |= {"links": ["0-0 1-1 2-2 3-3", "0-0 1-1"]}
    for name, lines in files.items():
        write_lines(tmp_path / name, lines)
    monkeypatch.chdir(tmp_path)

    def run(*options, usual=("--hypothesis", "out", "--reference", "ref", "--output", "scores.json")):
        status, _, errors = call("score", *usual, *options)
        output = tmp_path / "scores.json"
        scores = json.loads(output.read_text()) if output.exists() else None
        return status, scores, errors

    return run


ALIGNED = ("--reference-alignment", "links", "--hypothesis-alignment", "links")


def test_files_are_scored_by_their_alignments(score):
    status, scores, stderr = score(
        "--tokenized", *ALIGNED, "--pronouns", "list", "--nouns", "list", "--reference", "out"
    )
    assert status == 0
    assert scores["apt_pronouns"]["score"] == 0.75  # the dog, and half of they
    assert scores["apt_pronouns"]["signature"].startswith("words:3-of-list|alignment:as-given, reference 1 of 2|")
    assert scores["apt_nouns"] == scores["apt_pronouns"]
    assert "note: " not in stderr


def test_likely_mistakes_are_noted(score, tmp_path):
    write_lines(tmp_path / "out", ["we saw a dog .", "he ran ."])
    status, scores, stderr = score("--language", "tlh")
    assert (status, "sacrebleu" in scores) == (0, True)
    assert "no rules for the language 'tlh'" in stderr
    assert "2 of 2 lines end in ' .'" in stderr
    assert "use --tokenized" in stderr


def test_measures_that_cannot_be_computed_are_left_out_with_a_note(score, tmp_path, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    status, scores, stderr = score("--tokenized", *ALIGNED, "--language", "fi")
    assert (status, "apt_pronouns" in scores) == (0, False)
    assert "there is a list of pronouns for en, de and none for fi; give --pronouns" in stderr
    assert "NLTK has no tagger for fi here" in stderr
    write_lines(tmp_path / "links", ["", ""])  # no word has a link
    _, scores, stderr = score("--tokenized", *ALIGNED, "--pronouns", "list", "--nouns", "list")
    assert "apt_pronouns" not in scores
    assert stderr.count("no such word of the reference is linked") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ALIGNED, "count tokens: use tokenized files and --tokenized"),
        (("--tokenized", *ALIGNED[:2]), "need both --reference-alignment and --hypothesis-alignment"),
        (("--tokenized", "--nouns", "list"), "need both --reference-alignment and --hypothesis-alignment"),
        (("--language", "german"), "--language is 'german'"),
    ],
)
def test_incomplete_options_are_refused(score, options, message):
    status, scores, stderr = score(*options)
    assert (status, scores) == (1, None)
    assert message in stderr


@pytest.mark.parametrize(
    ("system", "bleu", "accuracy", "equal"), [("baseline", 35.44, 0.68, 5873), ("HA-enc-dec", 37.24, 0.696, 6011)]
)
def test_the_authors_scores_of_published_outputs(score, system, bleu, accuracy, equal):
    """Golden: multi-bleu.perl and APT as run by the authors of HAN (their .bleu and .apt.score files)."""
    folder = MIRROR.absolute() / "han_outputs"
    if not folder.is_dir():
        pytest.skip("DATA_MIRROR has no han_outputs")
    files = {
        "hypothesis": f"TED_es-en_{system}.en",
        "reference": "IWSLT14.TED.tst.tc.en",
        "source": "IWSLT14.TED.tst.tc.es",
        "reference-alignment": "IWSLT14.TED.tst.tc.align",
        "hypothesis-alignment": f"TED_es-en_{system}.align",
    }
    options = [word for name, file in files.items() for word in (f"--{name}", str(folder / file))]
    _, scores, _ = score("--tokenized", *options, usual=("--output", "scores.json"))
    assert round(scores["bleu_tokenized"]["score"], 2) == bleu
    assert scores["apt_pronouns"]["score"] == accuracy
    counts = scores["apt_pronouns"]["counts"]
    assert (counts["equal"], counts["total"], counts["not_in_source"]) == (equal, 8637, 1004)
