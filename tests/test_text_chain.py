from pathlib import Path

import pytest

from context_nmt.corpus.binarized import binarize
from context_nmt.corpus.hypotheses import digests, read_hypotheses, write_hypotheses
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.corpus.text_chain import TextChain, copy_text_files, write_tokens
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_lines, write_lines
from context_nmt.settings.text import CorpusSettings, SideSettings, TextSettings, UnitSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", validation="valid", tests=("valid", "test"))
ENGLISH = ["The man sees the dog.", 'He said: "Yes, they see."', "The dog sleeps, and so does the man."]
GERMAN = ["Der Mann sieht den Hund.", 'Er sagte: "Ja, sie sehen."', "Der Hund schläft, und so tut es der Mann."]


def build(root: Path, text: TextSettings, units: UnitSettings) -> Path:
    for split in ("train", "valid", "test"):
        write_lines(root / "raw" / f"{split}.en", ENGLISH)
        write_lines(root / "raw" / f"{split}.de", GERMAN)
    tokenize_corpus(root / "raw", root / "tokenized", CORPUS, text)
    segment_corpus(root / "tokenized", root / "subwords", CORPUS, units)
    binarize(root / "subwords", root / "binarized", CORPUS, units)
    copy_text_files(root / "tokenized", root / "subwords", root / "binarized", root / "text")
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"), TextSettings(), UnitSettings(merges=40))


SETTINGS = [
    (TextSettings(), UnitSettings(merges=40)),
    (TextSettings(), UnitSettings(merges=40, joint=False, vocabulary_threshold=2)),
    (TextSettings(), UnitSettings(kind="words", joint=False)),
    (TextSettings(source=SideSettings(truecase=False), target=SideSettings(truecase=False)), UnitSettings(merges=9)),
    (TextSettings(source=SideSettings(pretokenized=True), target=SideSettings(pretokenized=True)), UnitSettings()),
]


@pytest.mark.parametrize(("text", "units"), SETTINGS)
def test_the_copied_chain_repeats_the_stages_and_finds_the_way_back(
    tmp_path: Path, text: TextSettings, units: UnitSettings
) -> None:
    root = build(tmp_path, text, units)
    chain = TextChain(root / "text")
    assert chain.source_subwords(ENGLISH) == read_lines(root / "subwords" / "test.en")
    tokens = list(chain.target_tokens(read_lines(root / "subwords" / "test.de")))
    assert tokens == read_lines(root / "tokenized" / "test.de.cased")
    assert list(chain.target_text(tokens)) == GERMAN


def test_a_file_that_is_missing_is_named(built: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"moses\.json: no such file"):
        copy_text_files(built / "subwords", built / "subwords", built / "binarized", tmp_path / "text")
    with pytest.raises(UserError, match=r"corpus\.json: no such file"):
        TextChain(tmp_path)


def test_hypotheses_of_every_test_set_are_written_or_none(built: Path, tmp_path: Path) -> None:
    for test in CORPUS.tests:
        write_lines(tmp_path / "decoded" / f"{test}.subwords.txt", read_lines(built / "subwords" / "test.de"))
    arguments = (built / "text", built / "binarized", tmp_path / "decoded", tmp_path / "hypotheses.zip")
    write_tokens(*arguments)
    assert list(TextChain(built / "text").target_text(read_hypotheses(arguments[-1], "test"))) == GERMAN
    assert read_hypotheses(arguments[-1], "valid")[0] == "Der Mann sieht den Hund ."
    before = arguments[-1].read_bytes()
    write_lines(tmp_path / "decoded" / "test.subwords.txt", ["a"])
    with pytest.raises(UserError, match=r"test\.subwords\.txt: 1 translations for 3 sentences"):
        write_tokens(*arguments)
    assert arguments[-1].read_bytes() == before


STRANGE = ["", " a ", "\u2028\x85\r", "\x00ü😀", ""]


def test_translations_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "run-1.zip"
    for lines in ([], [""], STRANGE):
        write_hypotheses(path, {"valid": lines, "test": ["one"]})
        assert (read_hypotheses(path, "valid"), read_hypotheses(path, "test")) == (lines, ["one"])
    before, texts = path.read_bytes(), digests(path)
    write_hypotheses(path, {"valid": STRANGE, "test": ["two"]})
    assert digests(path)["valid.txt"] == texts["valid.txt"]
    assert digests(path)["test.txt"] != texts["test.txt"]
    write_hypotheses(path, {"valid": STRANGE, "test": ["one"]})
    assert path.read_bytes() == before


def test_what_is_no_file_of_translations_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run-1.zip"
    for content, message in ((None, "no such file"), (b"PK", "not a zip")):
        if content is not None:
            path.write_bytes(content)
        for read in (lambda: read_hypotheses(path, "test"), lambda: digests(path)):
            with pytest.raises(UserError, match=rf"run-1\.zip: {message}"):
                read()
    write_hypotheses(path, {"valid": []})
    with pytest.raises(UserError, match="no translations of test"):
        read_hypotheses(path, "test")
