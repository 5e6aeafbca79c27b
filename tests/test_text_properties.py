"""What holds for any text: each line keeps its place through all text stages, whatever the number of processes."""

from multiprocessing import active_children
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from context_nmt.corpus import workers
from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.hypotheses import read_hypotheses
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.subwords import Segmenter, segment_corpus
from context_nmt.corpus.text_chain import TextChain, copy_text_files, write_tokens
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import read_lines, write_lines
from context_nmt.settings.text import CleaningSettings, CorpusSettings, SideSettings, TextSettings, UnitSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", validation="valid", tests=("test",))
SENTENCE = "Der Mann sieht den Hund."  # the first line of each file: no mark stands before it, no CR behind it
EVERYTHING = CleaningSettings(maximum_length=10**9, maximum_ratio=1e9)

TYPOGRAPHY = "\u2026\u201e\u201c\u201d\u2018\u2019\u201a\u00ab\u00bb\u2013\u2014\u00b4\u00ba"
OTHER = "\u00a0\u2028\x85\r\t\x0c한字हि\u0301\U0001f600"
MOSES = st.sampled_from("aZß1 .,'\"`-()[]{}<>|&;:!?%$@#/" + TYPOGRAPHY + OTHER)
line = st.text(st.characters(exclude_characters="\n", codec="utf-8")) | st.text(MOSES)
line |= st.lists(st.sampled_from(["U.S.", "e.g.", "No. 5", "Mr.", "don't", "...", "x.y.", "Dr. a"])).map(" ".join)


def build(root: Path, lines: list[str], side: SideSettings, units: UnitSettings) -> Path:
    """All text stages on a corpus whose splits and sides are these lines."""
    for split in ("train", "valid", "test"):
        for language in ("en", "de"):
            write_lines(root / "raw" / f"{split}.{language}", lines)
    text = TextSettings(source=side, target=side, cleaning=EVERYTHING)
    tokenize_corpus(root / "raw", root / "tokenized", CORPUS, text)
    segment_corpus(root / "tokenized", root / "subwords", CORPUS, units)
    binarize(root / "subwords", root / "binarized", CORPUS, units)
    copy_text_files(root / "tokenized", root / "subwords", root / "binarized", root / "text")
    return root


def back(root: Path) -> list[str]:
    """The test set's ids on the target side as raw text, as if a model had written them."""
    corpus = BinarizedCorpus(root / "binarized")
    units = [corpus.target_vocabulary.text(ids) for ids in corpus.parallel("test")[1]]
    write_lines(root / "decoded" / "test.subwords.txt", units)
    write_tokens(root / "text", root / "binarized", root / "decoded", root / "hypotheses.zip")
    return list(TextChain(root / "text").target_text(read_hypotheses(root / "hypotheses.zip", "test")))


@settings(max_examples=25)
@given(
    lines=st.lists(line),
    side=st.builds(SideSettings, pretokenized=st.booleans(), truecase=st.booleans(), aggressive_hyphens=st.booleans()),
    units=st.builds(
        UnitSettings,
        kind=st.sampled_from(["bpe", "words"]),
        joint=st.booleans(),
        merges=st.just(10),
        vocabulary_threshold=st.integers(0, 2),
    ),
)
def test_every_line_keeps_its_place_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], side: SideSettings, units: UnitSettings
) -> None:
    lines = [SENTENCE, *lines]
    root = build(tmp_path_factory.mktemp("corpus"), lines, side, units)
    chain, corpus = TextChain(root / "text"), BinarizedCorpus(root / "binarized")
    for language, ids, vocabulary in zip(
        ("en", "de"),
        corpus.parallel("test"),
        (chain.corpus.source_vocabulary, chain.corpus.target_vocabulary),
        strict=True,
    ):
        moses, segmenter = MosesSide(language, side), Segmenter(root / "subwords", language)
        cased, tokens = (read_lines(root / "tokenized" / f"test.{language}{end}") for end in (".cased", ""))
        assert cased == [moses.tokens(line) for line in lines]
        assert [line.lower() for line in tokens] == [line.lower() for line in cased] or side.truecase
        assert [len(line.split(" ")) for line in tokens] == [len(line.split(" ")) for line in cased]
        written = [vocabulary.text(sentence) for sentence in ids]
        assert written == read_lines(root / "subwords" / f"test.{language}")
        assert [segmenter.tokens(line) for line in written] == tokens
    assert chain.source_subwords(lines) == read_lines(root / "subwords" / "test.en")
    tokens = [next(chain.target_tokens([line])) for line in read_lines(root / "subwords" / "test.de")]
    assert back(root) == [next(chain.target_text([line])) for line in tokens]


# What Moses gives back as it was, with truecasing: sentences of words and numbers with one space, or a comma and a
# space, between them, some in brackets or straight double quotes, that start with a capital and end in one mark.
# It does not give back other white space, typographic quotes, apostrophes and hyphens of every language, a comma behind
# a quote, or a capital after a colon.
word = st.text("abcdefghijklmnopqrstuvwxyzäöüé", min_size=2, max_size=8)
group = word | word.map(str.capitalize) | st.integers(0, 10**6).map(str)
group |= st.lists(word, min_size=1, max_size=3).map(" ".join).flatmap(lambda w: st.sampled_from([f"({w})", f'"{w}"']))
rest = st.lists(st.tuples(st.sampled_from([" ", ", "]), group), max_size=8).map(
    lambda parts: "".join(" " + group if last.endswith('"') else mark + group for last, (mark, group) in
                          zip(["", *(group for _, group in parts)], parts, strict=False))
)  # fmt: skip
sentence = st.builds("{}{} {}{}".format, word.map(str.capitalize), rest, word, st.sampled_from(".!?"))


@settings(max_examples=20)
@given(lines=st.lists(sentence, min_size=1), joint=st.booleans(), threshold=st.integers(0, 2))
def test_plain_sentences_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], joint: bool, threshold: int
) -> None:
    units = UnitSettings(joint=joint, merges=30, vocabulary_threshold=threshold)
    assert back(build(tmp_path_factory.mktemp("corpus"), lines, SideSettings(), units)) == lines


token = (line | st.text(st.sampled_from("@ab</w>\\"))).map(lambda text: "".join(text.split())).filter(bool)


@settings(max_examples=40)
@given(lines=st.lists(st.lists(token).map(" ".join)), joint=st.booleans(), threshold=st.integers(0, 3))
def test_tokens_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], joint: bool, threshold: int
) -> None:
    side = SideSettings(pretokenized=True, truecase=False)
    units = UnitSettings(merges=10, joint=joint, vocabulary_threshold=threshold)
    lines = [SENTENCE, *lines]
    assert back(build(tmp_path_factory.mktemp("corpus"), lines, side, units)) == lines


@pytest.mark.slow
@settings(max_examples=100)
@example("en", "5  %", False)
@example("de", '"Ja", sagte er.', False)
@given(st.sampled_from(["en", "de", "fr", "cs", "ja", "zh", "xx"]), line, st.booleans())
def test_tokens_are_those_of_sacremoses(language: str, text: str, hyphens: bool) -> None:
    normalized = MosesPunctNormalizer(language).normalize(text)
    tokens = MosesTokenizer(language).tokenize(normalized, aggressive_dash_splits=hyphens, escape=False)
    assert MosesSide(language, SideSettings(aggressive_hyphens=hyphens)).tokens(text) == " ".join(tokens)


def test_several_processes_write_what_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'{SENTENCE} "Wer{number % 7}?" a\u2028b\r{number}' * (number % 4) for number in range(60)]
    monkeypatch.setattr(workers, "CHUNK", 7)
    written = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(workers, "usable_cores", lambda cores=cores: cores)
        root = build(tmp_path / str(cores), lines, SideSettings(), UnitSettings(merges=30))
        back(root)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        written.append({str(path.relative_to(root)): path.read_bytes() for path in files})
    assert written[0] == written[1] == written[2]
    assert active_children() == []
