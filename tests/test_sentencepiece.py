"""Pieces of sentencepiece: any text is restored, the same text gives the same model, and all stages work with them."""

import importlib
import io
import json
import os
import shutil
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from project_root import make_root
from test_text_chain import CORPUS, SENTENCE, build, line, restored_text

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.hypotheses import read_hypotheses, write_hypotheses
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.subwords import Segmenter, learn_pieces, segment_corpus
from context_nmt.corpus.text_chain import TextChain
from context_nmt.corpus.vocabulary import SPECIALS
from context_nmt.decoding.translating_text import translate_text
from context_nmt.explorer.passages import PassageQuery, show_runs
from context_nmt.files import UserError, read_json, read_lines, write_lines
from context_nmt.measures.discourse import DocumentScorer
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import read_rows
from context_nmt.measures.scores import score_rows
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.text import SideSettings, UnitSettings

ROOT = Path(__file__).parents[1]
PLAIN = SideSettings(truecase=False, normalize_punctuation=False)
SPELT_LIKE_PIECES = ["a </s> <unk> b", "<s><pad>", "<0x41><0x0A>", "\u2047 \u2585"]


def pieces(**values):
    return UnitSettings(kind="sentencepiece", **values)


def expected(text):
    """The restored text: white space and sentencepiece's mark for it become single spaces."""
    return " ".join(text.replace("\u2581", " ").split())


@settings(max_examples=25)
@given(
    lines=st.lists(line | st.sampled_from(SPELT_LIKE_PIECES)),
    units=st.builds(pieces, joint=st.booleans(), model_type=st.sampled_from(["unigram", "bpe"])),
)
@example(lines=["\ufb2a e\u0301"], units=pieces(joint=False, model_type="unigram"))  # composing changes both letters
def test_any_text_is_restored_in_order(tmp_path_factory, lines, units):
    lines = [SENTENCE, SENTENCE, *SPELT_LIKE_PIECES, *lines]
    root = build(tmp_path_factory.mktemp("corpus"), lines, PLAIN, units)
    composed = [unicodedata.normalize("NFC", line) for line in lines]
    assert restored_text(root) == [expected(line) for line in composed]
    for language in ("en", "de"):
        moses, tokenized = MosesSide(language, PLAIN), root / "tokenized"
        assert read_lines(tokenized / f"test.{language}.cased") == [moses.tokens(line) for line in composed]
        assert read_lines(tokenized / f"test.{language}") == [" ".join(line.split()) for line in composed]
        vocabulary = Segmenter(root / "subwords", language).vocabulary()
        subwords = read_lines(root / "subwords" / f"test.{language}")
        assert [vocabulary.text(vocabulary.ids(line)) for line in subwords] == subwords
        assert not {unit for line in subwords for unit in line.split(" ")} & {*SPECIALS}
        assert vocabulary == BinarizedCorpus(root / "binarized").source_vocabulary or not units.joint
    assert TextChain(root / "text").source_subwords(lines) == read_lines(root / "subwords" / "test.en")


def test_cleaning_counts_tokens_for_all_kinds_of_units(tmp_path):
    lines = [SENTENCE, "Halt!", "a, b, c, d.", "", SENTENCE.upper()]
    cleaning = {"minimum_length": 3, "maximum_length": 6, "maximum_ratio": 2.0}
    cleaned = {}
    for kind in ("bpe", "sentencepiece"):
        root = build(tmp_path / kind, lines, PLAIN, UnitSettings(kind=kind), **cleaning)
        cleaned[kind] = (root / "tokenized/cleaning.json").read_bytes()
        assert (root / "tokenized/valid.de.cased").read_bytes() == b"".join(
            f"{MosesSide('de', PLAIN).tokens(line)}\n".encode() for line in lines
        )
    assert cleaned["bpe"] == cleaned["sentencepiece"]
    assert read_lines(tmp_path / "sentencepiece/tokenized/train.en") == [SENTENCE, SENTENCE.upper()]
    lines = [SENTENCE, "\u201eJa\u201c \u2026"]  # normalized because of the side's setting
    root = build(tmp_path / "normalized", lines, SideSettings(truecase=False), pieces())
    assert restored_text(root)[1] == MosesSide("de", SideSettings()).normalize(lines[1]) == '"Ja" ...'


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_a_model_depends_only_on_its_text_and_settings(tmp_path, model_type, capfd):
    """It depends neither on the folder nor on the number of cores; so it does not contain a file name."""
    lines = [f"Sentence {n % 90}: the {n % 13} birds' {'song ' * (n % 4)}sounds." for n in range(400)]
    cores, models = os.sched_getaffinity(0), []
    try:
        for folder, used in (("one", sorted(cores)[:1]), ("another", cores)):
            write_lines(tmp_path / folder / "text", lines)
            os.sched_setaffinity(0, used)
            models.append(learn_pieces(pieces(pieces=500, model_type=model_type), [tmp_path / folder / "text"]))
    finally:
        os.sched_setaffinity(0, cores)
    assert models[0] == models[1]
    assert str(tmp_path).encode() not in models[0]
    assert capfd.readouterr() == ("", "")


def test_the_output_of_a_model_becomes_one_line_of_text(tmp_path):
    root = build(tmp_path, [SENTENCE], PLAIN, pieces())
    segmenter = Segmenter(root / "subwords", "de")
    for units, text in (("", ""), ("▁ <0x0A> ▁ a", "a"), ("<0xC3>", "\ufffd"), ("<0xC3> <0xA4> ▁ n", "ä n")):
        assert segmenter.tokens(units) == text


MIN_PIECES = len(SPECIALS) + 256 + len({*SENTENCE.replace(" ", "\u2581")})  # all bytes and characters


def test_a_text_with_fewer_pieces_than_allowed_is_noted(tmp_path, capsys):
    build(tmp_path / "few", [SENTENCE], PLAIN, pieces(pieces=MIN_PIECES))
    assert "note" not in capsys.readouterr().err
    root = build(tmp_path / "many", [SENTENCE], PLAIN, pieces(pieces=1_000_000, joint=False))
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    for language, note in zip(("en", "de"), notes, strict=True):
        size = len(Segmenter(root / "subwords", language).vocabulary())
        assert f"sentencepiece.{language}.model" in note
        assert f" {size:,} " in note
        assert "1,000,000" in note


def test_a_text_or_model_that_cannot_be_used_is_named(tmp_path):
    root = build(tmp_path, [SENTENCE], PLAIN, pieces())
    before = sorted(path.name for path in (root / "subwords").iterdir())
    for wrong, message in (
        (pieces(pieces=3), rf"units\.pieces is 3; .*at least {MIN_PIECES}$"),
        (
            pieces(pieces=MIN_PIECES - 1, model_type="bpe"),
            rf"units\.pieces is {MIN_PIECES - 1}; .*at least {MIN_PIECES}$",
        ),
        (pieces(joint=False), "no such file"),
    ):
        if message == "no such file":
            (root / "tokenized/train.de").unlink()
        with pytest.raises(UserError, match=message):
            segment_corpus(root / "tokenized", root / "subwords", CORPUS, wrong)
        assert sorted(path.name for path in (root / "subwords").iterdir()) == before
    model = root / "text/sentencepiece.joint.model"
    model.write_bytes(b"none")
    with pytest.raises(UserError, match="not a model of sentencepiece"):
        TextChain(root / "text")
    model.unlink()
    with pytest.raises(UserError, match=r"joint\.model: no such file"):
        TextChain(root / "text")


PARAMETERS = Path(__file__).with_name("sentencepiece.params.yaml").read_text(encoding="utf-8")
BIRDS = ("The owl, it sang", "Die Eule, sie sang"), ("The finch: it ate", "Der Fink: er aß"), ("It slept", "Er schlief")
RUNS = ("plain", "student", "han")


def stage(name, *arguments):
    importlib.import_module(f"stages.{name}").main(*arguments)


def gold_of(language, text):
    tokens = MosesSide(language, PLAIN).tokens(text).split()
    return {"tokens": tokens, "tags": ["NN" if token.istitle() else "." for token in tokens]}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A toy experiment after all its stages."""
    folder = tmp_path_factory.mktemp("finished")
    make_root(folder)
    (folder / "params.yaml").write_text(PARAMETERS)
    data = folder / "data/toy"
    for split, count in (("train", 60), ("valid", 12)):
        pairs = [tuple(f"{text} {number % 5}." for text in BIRDS[number * number % 7 % 3]) for number in range(count)]
        for language, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            write_lines(data / f"{split}.{language}", lines)
        write_lines(data / f"{split}.documents", map(str, range(0, count, 3)))
    gold = [{"en": gold_of("en", source), "de": gold_of("de", target)} for source, target in pairs]
    write_lines(data / "valid.gold.jsonl", map(json.dumps, gold))
    context = {"source": [pairs[0][0]], "target": [pairs[0][1]]}
    item = {"source": "It slept 1.", "right": "Er schlief 1.", "wrong": ["Sie schlief 1.", "Es schlief…"]}
    write_lines(data / "choice.en-de.jsonl", [json.dumps(item | {"context": context})])
    tasks = [
        f"{code}\t{label}\t{BIRDS[label][0]} ." for code in ("tr", "va", "te") for label in (0, 1) for _ in range(4)
    ]
    write_lines(folder / "data/tasks/past_present.txt", tasks)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("plan", "tokenize", "bpe"):
            stage(name)
        stage("train", "plain", 1)
        stage("average", "plain", 1)
        stage("distill", "plain", 1)
        stage("train", "student", 1, True)
        stage("train", "han", 1, False, "plain")
        for run in RUNS:
            if run != "plain":
                stage("average", run, 1)
            for name in ("decode", "contrast", "analyse"):
                stage(name, run, 1)
        for probe in ("sentences", "words"):
            stage("probe", importlib.import_module("stages.probe").Probe(probe), "plain", 1)
        stage("pair")
        for run in RUNS:
            stage("significance", run)
        stage("describe")
    return folder


@pytest.fixture
def project(finished, monkeypatch):
    monkeypatch.chdir(finished)
    return finished


def measured(path):
    return {(row.measure.metric, row.measure.tag): row.value for row in read_rows(Path(path))}


@pytest.mark.slow
@pytest.mark.parametrize("variant", RUNS)
def test_translations_are_raw_text(project, variant):
    """The stage and standard input give the same text, and all scores are there."""
    segmenter = Segmenter(project / f"runs/models/{variant}-1/text", "de")
    hypotheses = read_hypotheses(project / f"metrics/hypotheses/{variant}-1.zip", "valid")
    units = read_lines(project / f"runs/decoded/{variant}-1/valid.subwords.txt")
    assert hypotheses == [segmenter.tokens(line) for line in units]
    assert len(set(hypotheses)) > 1
    lines = read_lines(Path("data/toy/valid.en"))
    text = io.BytesIO("\n\n".join("\n".join(lines[start : start + 3]) for start in range(0, len(lines), 3)).encode())
    output = io.BytesIO()
    translate_text(Path(f"runs/models/{variant}-1"), text, output, beam=None, device="cpu")
    assert [
        line for number, line in enumerate(output.getvalue().decode().split("\n")[:-1]) if number % 4 != 3
    ] == hypotheses
    metrics = {metric for metric, _ in measured(f"metrics/scores/{variant}/1.csv")}
    assert {"sacrebleu", "chrf", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "apt_pronouns"} <= metrics


@pytest.mark.slow
def test_scores_of_a_translation_do_not_depend_on_the_units(project, tmp_path, monkeypatch):
    """Translations as text (units are pieces) or as tokens (units are words) have the same measures."""
    shutil.copytree(project / "data", tmp_path / "data")
    shutil.copytree(project / "src", tmp_path / "src")
    (tmp_path / "params.yaml").write_text(PARAMETERS.replace("kind: sentencepiece, pieces: 400", "kind: words"))
    monkeypatch.chdir(tmp_path)
    for name in ("plan", "tokenize", "bpe"):
        stage(name)
    references = read_lines(tmp_path / "data/toy/valid.de")
    translations = [*references[6:], *references[:6]]
    tokens = [MosesSide("de", PLAIN).tokens(line) for line in translations]
    results = []
    for folder, lines in ((project, translations), (tmp_path, tokens)):
        experiment = EvaluationFolder(folder)
        write_hypotheses(experiment.hypotheses("shifted-1"), {"valid": lines})
        results.append([*score_rows(experiment, "shifted-1"), *DocumentScorer(experiment).rows("shifted-1")])
    assert results[0] == results[1]
    assert {"sacrebleu", "bleu_tokenized", "apt_pronouns", "coherence"} <= {row.measure.metric for row in results[0]}


@pytest.mark.slow
def test_students_plans_items_analyses_probes_and_pages_use_pieces_and_words(project, tmp_path):
    taught = BinarizedCorpus(project / "runs/binarized", training_target=project / "runs/distilled/1")
    lines = read_lines(project / "runs/distilled/1/train.de")
    assert [taught.target_vocabulary.text(ids) for ids in taught.side("train", "de")] == lines
    assert len(lines) == 60
    units = read_json(project / "metrics/plans/units.json")["units"]
    assert units == {"kind": "sentencepiece", "joint": True, "pieces": 400, "model_type": "unigram"}
    assert read_json(project / "runs/subwords/units.json") == units
    contrast = measured("metrics/contrastive/plain-1.csv")
    assert (contrast["items", "all"], 0 <= contrast["accuracy", "all"] <= 100) == (1, True)
    assert ("gate_encoder_key", "NOUN") in measured("metrics/analyses/student-1.csv")
    words = measured("metrics/analyses/words/plain-1.csv")
    assert {("lexical_encoder_by_tag", tag) for tag in ("NN", ".")} <= words.keys()
    assert ("probe", "past_present") in measured("metrics/analyses/sentences/plain-1.csv")
    page = tmp_path / "page.html"
    show_runs(Experiment(project), ["han-1"], PassageQuery(test="valid", limit=3), output=page, device="cpu")
    assert "\u2581" not in page.read_text(encoding="utf-8")
    assert '"owl"' in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_exported_model_translates_pieces(project, tmp_path):
    ctranslate2 = pytest.importorskip("ctranslate2", reason="needs the package ctranslate2 (make speed installs it)")
    from context_nmt.models.exporting import export

    export(project / "runs/models/plain-1", tmp_path / "exported")
    translator = ctranslate2.Translator(str(tmp_path / "exported"), device="cpu", compute_type="float32")
    segmenter = Segmenter(tmp_path / "exported/text", "en")
    result = translator.translate_batch([segmenter.units("The owl, it sang 0.").split(" ")], beam_size=2)
    assert set(result[0].hypotheses[0]) <= {*BinarizedCorpus(project / "runs/binarized").target_vocabulary.units}
