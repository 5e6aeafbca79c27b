"""Corpus scores: known values, signatures, and what is refused."""

import json
import re
import subprocess
import sys
import unicodedata
from dataclasses import replace

import pytest

from context_nmt.files import UserError
from context_nmt.measures.bleu import (
    moses_tokens,
    score_documents,
    score_raw,
    score_raw_and_tokenized,
    score_tokenized,
    split_compounds,
)
from context_nmt.measures.file_scores import score_files
from context_nmt.measures.scored_text import token_origin
from context_nmt.results.file_comparison import compare_files
from context_nmt.settings.evaluation import EvaluationPlan, SignificanceSettings
from context_nmt.settings.text import CorpusSettings, SideSettings, TextSettings

SENTENCES = ["The well-known bank is closed today .", "It was opened again after two long years ."]


def values(scores):
    return {name: score["score"] for name, score in scores.items()}


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def score(folder, hypothesis, *references, tokenized=True, source=None, language="en", tokenizer=None):
    paths = [write(folder / f"{index}.txt", lines) for index, lines in enumerate([hypothesis, *references])]
    source = source and write(folder / "source.txt", source)
    output = folder / "scores.json"
    options = {"tokenized": tokenized, "language": language, "tokenizer": tokenizer}
    return score_files(paths[0], paths[1:], source=source, output=output, **options)


def test_identical_text_scores_100_everywhere_and_signatures_say_what_was_scored():
    scores = score_raw_and_tokenized(SENTENCES, [SENTENCES], language="de", tokenizer="13a")
    parts = {"sacrebleu": "tok:13a", "chrf": "nw:0", "chrf_plus_plus": "nw:2", "ter": "tok:tercom"}
    parts |= {"bleu_tokenized": "text:moses-de-sacremoses-", "bleu_compound_split": "compounds:split"}
    parts |= {"bleu_lowercased": "case:lc"}
    assert values(scores) == dict.fromkeys(parts, 100.0) | {"ter": 0.0}
    assert [name for name, part in parts.items() if part not in scores[name]["signature"]] == []
    assert len({score["signature"] for score in scores.values()}) == len(scores)


OUTPUT = ["The well known bank's closed today .", "Again it was opened after two years .", "", "Was it opened?"]
REFERENCES = [
    ["The well-known bank is closed today .", "It was opened again after two long years .", "Yes.", "Was it Opened?"],
    ["The famous bank is closed now.", "After two years, it was opened again.", "Yes, yes.", "Did it open?"],
]
DOCUMENTS = [range(2), range(2, 4)]


def sacrebleu_command(folder, hypothesis, references, *options):
    """What sacrebleu's own command prints: score and signature."""
    files = [write(folder / f"reference.{number}", lines) for number, lines in enumerate(references)]
    system = write(folder / "output", hypothesis)
    command = [sys.executable, "-m", "sacrebleu", *files, "-i", system, "-w", "4", "-f", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout)
    return {"score": printed["score"], "signature": printed["signature"]}


METRICS = {"sacrebleu": "bleu", "chrf": "chrf", "chrf_plus_plus": "chrf --chrf-word-order 2", "ter": "ter"}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("references", [REFERENCES[:1], REFERENCES])
def test_scores_are_those_of_sacrebleus_command(tmp_path, metric, references):
    expected = sacrebleu_command(tmp_path, OUTPUT, references, "-m", *METRICS[metric].split())
    assert score_raw(OUTPUT, references, tokenizer="13a")[metric] == expected
    assert 0 < expected["score"] < 100


@pytest.mark.parametrize("references", [REFERENCES[:1], REFERENCES])
def test_d_bleu_is_bleu_of_joined_lines(tmp_path, references):
    joined = [[" ".join(lines[:2]), " ".join(lines[2:])] for lines in (OUTPUT, *references)]
    expected = sacrebleu_command(tmp_path, joined[0], joined[1:], "-m", "bleu")
    score = score_documents(OUTPUT, references, DOCUMENTS, tokenizer="13a")["d_bleu"]
    assert score == expected | {"signature": f"{expected['signature']}|lines:documents"}
    assert score["score"] != score_raw(OUTPUT, references, tokenizer="13a")["sacrebleu"]["score"]


def test_compounds_are_split_as_tensor2tensor_splits_them():
    assert split_compounds("a well-known man") == "a well ##AT##-##AT## known man"
    assert split_compounds("state-of-the -x y- - z") == "state ##AT##-##AT## of ##AT##-##AT## the -x y- - z"
    assert split_compounds("a-b-c") == "a ##AT##-##AT## b-c"  # its regular expression does not overlap either
    assert split_compounds("rock @-@ solid") == "rock @-@ solid"


def test_known_tokenized_bleu():
    # 5 of 6 unigrams, 3 of 5 bigrams, 2 of 4 trigrams, 1 of 3 four-grams match; equal lengths
    scores = score_tokenized(["a b c d x f"], [["a b c d e f"]], text="as-given")
    assert scores["bleu_tokenized"]["score"] == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, abs=1e-3)
    # without any matching four-gram multi-bleu is 0: no smoothing
    assert score_tokenized(["a b c x e f"], [["a b c d e f"]], text="as-given")["bleu_tokenized"]["score"] == 0


def test_each_definition_sees_only_its_own_difference():
    def scored(lines, reference):
        return values(score_tokenized(lines, [reference], text="as-given"))

    reference = ["the well-known bank is closed today", "it was opened after two long years"]
    cased = scored([line.upper() for line in reference], reference)
    assert (cased["bleu_tokenized"], cased["bleu_lowercased"]) == (0, 100)
    hypothesis = [reference[0].replace("known", "liked"), reference[1]]
    by_hand = [[line.replace("-", " ##AT##-##AT## ") for line in lines] for lines in (hypothesis, reference)]
    scores = scored(hypothesis, reference)
    assert scores["bleu_compound_split"] == scored(*by_hand)["bleu_tokenized"] != scores["bleu_tokenized"]


def test_tokens_get_no_score_that_is_defined_on_raw_text(tmp_path):
    score(tmp_path, SENTENCES, SENTENCES, source=["x", "y"])
    written = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert set(written) == {"bleu_tokenized", "bleu_compound_split", "bleu_lowercased"}
    assert written["bleu_tokenized"]["score"] == 100


def test_odd_line_breaks_inside_a_line_do_not_shift_lines(tmp_path):
    lines = ["one\u2028two three four five\r six", "seven\x85eight nine ten eleven"]
    scores = score(tmp_path, lines, lines, tokenized=False)
    assert scores["sacrebleu"]["score"] == 100


@pytest.mark.parametrize(
    ("hypothesis", "reference", "options", "message"),
    [
        (SENTENCES, SENTENCES[:1], {}, r"1\.txt has 1 lines, .*0\.txt has 2; they must be equal"),
        (SENTENCES, SENTENCES, {"source": ["x"]}, r"source\.txt has 1 lines"),
        ([], SENTENCES, {}, r"0\.txt: the file is empty"),
        (["", " "], SENTENCES, {}, r"0\.txt: all lines are empty"),
        (SENTENCES, SENTENCES, {"language": "Chinese"}, "--language is 'Chinese'"),
        (SENTENCES, SENTENCES, {"tokenizer": "jieba"}, "--tokenizer is 'jieba'; it must be one of 13a, intl, zh, ja"),
        (SENTENCES, SENTENCES, {"tokenizer": "zh", "tokenized": True}, "--tokenizer is for raw text"),
    ],
)
def test_unusable_files_and_options_are_refused(tmp_path, hypothesis, reference, options, message):
    with pytest.raises(UserError, match=message):
        score(tmp_path, hypothesis, reference, **{"tokenized": False} | options)
    assert not (tmp_path / "scores.json").exists()


RIVER = "\u5728\u6cb3\u8fb9\uff0c\u90bb\u5c45\u5531\u6b4c\u3002"
THAI = "\u0e23\u0e49\u0e2d\u0e07\u0e40\u0e1e\u0e25\u0e07\u0e40\u0e2a\u0e35\u0e22\u0e07"


@pytest.mark.parametrize(
    ("language", "line", "tokenizer", "signature"),
    [
        ("zh", RIVER, None, "tok:zh"),
        ("zh", RIVER, "char", "tok:char"),  # another tokenizer does not change what words are
        ("th", THAI, None, "tok:char"),
        ("de", "Ein m\u00fcder B\u00e4cker singt laut.", None, "tok:13a"),
        ("en", "Two tired bakers sing aloud.", "char", "tok:char"),
    ],
)
def test_text_equals_itself_in_any_language_and_form(tmp_path, capsys, language, line, tokenizer, signature):
    decomposed = unicodedata.normalize("NFD", line)
    scores = score(tmp_path, [decomposed], [line], tokenized=False, language=language, tokenizer=tokenizer)
    assert scores["sacrebleu"]["score"] == pytest.approx(100)
    assert signature in scores["sacrebleu"]["signature"]
    noted = f"bleu_ scores count what stands between spaces, not words of {language!r}" in capsys.readouterr().err
    assert noted == (language in ("zh", "th"))


def test_raw_text_is_split_as_the_pipeline_splits_it_and_the_signature_says_so():
    lines = ["L\u2019homme dit qu\u2019il vient.", "Don\u2019t do it, he said."]
    assert moses_tokens(lines, "fr") == ["L\u2019homme dit qu\u2019il vient .", "Don\u2019t do it , he said ."]
    as_given = score_raw_and_tokenized(lines, [lines], language="fr", tokenizer="13a")["bleu_tokenized"]["signature"]
    text = re.search(r"text:(.*)", as_given)[1]
    corpus = CorpusSettings(name="toy", source="en", target="fr", validation="valid", tests=("test",))

    def of_pipeline(**side):
        return token_origin(EvaluationPlan(corpus=corpus, text=TextSettings(target=SideSettings(**side))))

    assert text == of_pipeline(normalize_punctuation=False)
    assert "joined-marks" in text
    assert "joined-marks" not in of_pipeline()  # as before, in signatures of results whose tokens are the same
    hindi = replace(corpus, target="hi")
    assert "joined-marks" in token_origin(EvaluationPlan(corpus=hindi, text=TextSettings()))


@pytest.mark.parametrize(
    ("line", "language", "doubt"),
    [
        (RIVER, "en", True),
        ("\u79c1\u305f\u3061\u306f iPhone \u3092\u8cb7\u3044\u307e\u3057\u305f\u3002", "de", True),
        (THAI, "en", True),
        (RIVER, "zh", False),
        ("The word \u5728\u6cb3 is Chinese.", "en", False),
        ("\u041c\u0430\u043c\u0430 \u043c\u044b\u043b\u0430 \u0440\u0430\u043c\u0443.", "ru", False),
    ],
)
def test_a_tokenizer_that_cannot_split_the_text_is_doubted(tmp_path, capsys, line, language, doubt):
    score(tmp_path, [line], [line], tokenized=False, language=language)
    assert (f"is --language {language} right?" in capsys.readouterr().err) == doubt
    paths = [write(tmp_path / name, [line] * 5) for name in ("system", "baseline", "reference")]
    compare_files(*paths[:2], paths[2:], SignificanceSettings(resamples=3), tmp_path / "x.json", language=language)
    assert (f"is --language {language} right?" in capsys.readouterr().err) == doubt


def test_files_are_compared_as_they_are_scored(tmp_path):
    lines = [f"\u5728\u6cb3\u8fb9\u5531{number}\u9996\u6b4c\u3002" for number in range(30)]
    system, baseline = (write(tmp_path / name, text) for name, text in (("system", lines), ("baseline", lines[::-1])))
    settings = SignificanceSettings(resamples=10)
    comparison = compare_files(system, baseline, [system], settings, tmp_path / "compared.json", language="zh")
    assert comparison["system"] == pytest.approx(100)
    assert 0 < comparison["baseline"] < 100
    assert "tok:zh" in comparison["signature"]
    assert "tok:zh" in comparison["sacrebleu"]["signature"]
