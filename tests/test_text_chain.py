"""Each line of any text keeps its position in all text stages, for any number of processes; files of hypotheses."""

from multiprocessing import active_children

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from context_nmt.corpus import workers
from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.hypotheses import digests, read_hypotheses, write_hypotheses
from context_nmt.corpus.moses import INNER_MARKS, MosesSide, combining_marks
from context_nmt.corpus.subwords import Segmenter, segment_corpus
from context_nmt.corpus.text_chain import TextChain
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_lines, write_lines
from context_nmt.models.averaging import copy_text_files
from context_nmt.settings.text import CleaningSettings, CorpusSettings, SideSettings, TextSettings, UnitSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", validation="valid", tests=("valid", "test"))
SENTENCE = "Der Mann sieht den Hund."  # has no byte order mark and no CR
EVERYTHING = CleaningSettings(maximum_length=10**9, maximum_ratio=1e9)

JOINT = st.sampled_from([True, False, "transliterated"])
TYPOGRAPHY = "\u2026\u201e\u201c\u201d\u2018\u2019\u201a\u00ab\u00bb\u2013\u2014\u00b4\u00ba"
SPECIAL_CHARACTERS = "\u00a0\u2028\x85\r\t\x0c한字हि\u0301\U0001f600"
MOSES = st.sampled_from("aZß1 .,'\"`-()[]{}<>|&;:!?%$@#/" + TYPOGRAPHY + SPECIAL_CHARACTERS)
line = st.text(st.characters(exclude_characters="\n", codec="utf-8")) | st.text(MOSES)
line |= st.lists(st.sampled_from(["U.S.", "e.g.", "No. 5", "Mr.", "don't", "...", "x.y.", "Dr. a"])).map(" ".join)


def build(root, lines, side, units, **cleaning):
    """Run all text stages on a corpus with these lines in all splits and sides, cleaned if `cleaning` has limits."""
    for split in ("train", "valid", "test"):
        for language in ("en", "de"):
            write_lines(root / "raw" / f"{split}.{language}", lines)
    text = TextSettings(source=side, target=side, cleaning=CleaningSettings(**cleaning) if cleaning else EVERYTHING)
    tokenize_corpus(root / "raw", root / "tokenized", CORPUS, text, untokenized=units.untokenized)
    segment_corpus(root / "tokenized", root / "subwords", CORPUS, units)
    binarize(root / "subwords", root / "binarized", CORPUS, units)
    copy_text_files(root / "tokenized", root / "subwords", root / "binarized", root / "text")
    return root


def restored_text(root):
    """The raw text of the target side's ids of the test set, processed like a model's output."""
    corpus = BinarizedCorpus(root / "binarized")
    units, chain = map(corpus.target_vocabulary.text, corpus.parallel("test")[1]), TextChain(root / "text")
    write_hypotheses(root / "hypotheses.zip", {"test": chain.target_tokens(units)})
    return list(chain.target_text(read_hypotheses(root / "hypotheses.zip", "test")))


ODD = [
    *("a\u2028b \u2029", "c\x85d", "e\x0bf\x0cg", "h\rj", "ends in \r", "", " ", "\u3000", "\ufeffno mark here"),
    *("\x00\x1c\x1d\x1e\x1f", "@@ b@@", "</s> <unk>", "| <a b> &amp;", "\U0001f600\u200d\u0301", "Hund " * 10_000),
]


@settings(max_examples=25)
@example(lines=ODD, side=SideSettings(), units=UnitSettings(merges=20))
@given(
    lines=st.lists(line),
    side=st.builds(SideSettings, pretokenized=st.booleans(), truecase=st.booleans(), aggressive_hyphens=st.booleans()),
    units=st.builds(UnitSettings, kind=st.just("words"), joint=st.booleans())
    | st.builds(UnitSettings, joint=JOINT, merges=st.just(10), vocabulary_threshold=st.integers(0, 2)),
)
def test_every_line_keeps_its_position_in_both_directions(tmp_path_factory, lines, side, units):
    lines = [SENTENCE, SENTENCE, *lines]  # twice, otherwise the file could look like a CRLF file
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
        assert cased == [moses.tokens(line) for line in moses.prepare(lines)]
        assert [line.lower() for line in tokens] == [line.lower() for line in cased] or side.truecase
        assert [len(line.split(" ")) for line in tokens] == [len(line.split(" ")) for line in cased]
        subwords = [vocabulary.text(sentence) for sentence in ids]
        assert subwords == read_lines(root / "subwords" / f"test.{language}")
        assert [segmenter.tokens(line) for line in subwords] == tokens
    assert chain.source_subwords(lines) == read_lines(root / "subwords" / "test.en")
    tokens = [next(chain.target_tokens([line])) for line in read_lines(root / "subwords" / "test.de")]
    assert restored_text(root) == [next(chain.target_text([line])) for line in tokens]


# Sentences that Moses restores exactly, with truecasing: words and numbers, separated by a space or by a comma and a
# space, with a capital at the start and a mark at the end.
word = st.text("abcdefghijklmnopqrstuvwxyzäöüé", min_size=2, max_size=8)
group = word | word.map(str.capitalize) | st.integers(0, 10**6).map(str) | word.map("({})".format)
rest = st.lists(st.tuples(st.sampled_from([" ", ", "]), group).map("".join), max_size=8).map("".join)
sentence = st.builds("{}{} {}{}".format, word.map(str.capitalize), rest, word, st.sampled_from(".!?"))
russian = st.lists(st.text("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", min_size=2), min_size=2).map(
    lambda words: " ".join(words).capitalize() + "."
)


@settings(max_examples=20)
@given(lines=st.lists(sentence | russian, min_size=1), joint=JOINT, threshold=st.integers(0, 2))
def test_plain_sentences_are_restored_exactly(tmp_path_factory, lines, joint, threshold):
    units = UnitSettings(joint=joint, merges=30, vocabulary_threshold=threshold)
    assert restored_text(build(tmp_path_factory.mktemp("corpus"), lines, SideSettings(), units)) == lines


KEPT_MARKS = {*combining_marks(), *INNER_MARKS}  # they stay with their letters; sacremoses separates them


@pytest.mark.slow
@settings(max_examples=100)
@example("en", "5  %", False)
@example("de", '"Ja", sagte er.', False)
@given(st.sampled_from(["en", "de", "fr", "cs", "ja", "zh", "xx"]), line, st.booleans())
def test_tokens_are_those_of_sacremoses(language, text, hyphens):
    text = "".join(character for character in text if character not in KEPT_MARKS)
    normalized = MosesPunctNormalizer(language).normalize(text)
    tokens = MosesTokenizer(language).tokenize(normalized, aggressive_dash_splits=hyphens, escape=False)
    assert MosesSide(language, SideSettings(aggressive_hyphens=hyphens)).tokens(text) == " ".join(tokens)


@pytest.mark.parametrize("kind", ["bpe", "sentencepiece"])
def test_several_processes_write_the_same_files_as_one(tmp_path, monkeypatch, kind):
    lines = [f'{SENTENCE} "Wer{number % 7}?" a\u2028b\r{number}' * (number % 4) for number in range(60)]
    monkeypatch.setattr(workers, "CHUNK_LINES", 7)
    contents = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(workers, "usable_cores", lambda cores=cores: cores)
        root = build(tmp_path / str(cores), lines, SideSettings(truecase=kind == "bpe"), UnitSettings(kind=kind))
        restored_text(root)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        contents.append({str(path.relative_to(root)): path.read_bytes() for path in files})
    assert contents[0] == contents[1] == contents[2]
    assert active_children() == []


def test_missing_files_are_named(tmp_path):
    root = build(tmp_path, [SENTENCE], SideSettings(), UnitSettings())
    with pytest.raises(UserError, match=r"moses\.json: no such file"):
        copy_text_files(root / "subwords", root / "subwords", root / "binarized", root / "new")
    with pytest.raises(UserError, match=r"corpus\.json: no such file"):
        TextChain(root)


STRANGE = ["", " a ", "\u2028\x85\r", "\x00ü😀", ""]


def test_translations_are_read_as_they_were_written(tmp_path):
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


def test_a_file_that_does_not_have_translations_is_named(tmp_path):
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
