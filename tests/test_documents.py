"""Document boundaries: through cleaning and all text stages, and what is refused."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.documents import read_documents, without_dropped
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_lines, write_lines
from context_nmt.settings.text import CleaningSettings, CorpusSettings, TextSettings, UnitSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", tests=("test",))
UNITS = UnitSettings(merges=10)
LONG = " ".join(["word"] * 9)  # what cleaning drops
DOCUMENTS = [["A dog.", LONG], [LONG, "", LONG], ["A cat.", "", "A cow."], [LONG, "A dog."]]


@given(st.lists(st.lists(st.booleans(), min_size=1), min_size=1))
def test_each_sentence_that_is_kept_stays_in_its_document(documents):
    kept = [keep for document in documents for keep in document]
    ranges = [range(*ends) for ends in pairwise(accumulate(map(len, documents), initial=0))]
    left = [number for number, keep in enumerate(kept) if keep]
    assert [[left[number] for number in document] for document in without_dropped(ranges, kept)] == [
        of_document for document in ranges if (of_document := [number for number in document if kept[number]])
    ]


@pytest.fixture
def folders(tmp_path):
    """The folders of raw text, tokens, units and ids of the test set; `valid` has no documents."""
    for split in ("train", "valid", "test"):
        for language in ("en", "de"):
            write_lines(tmp_path / "raw" / f"{split}.{language}", [line for lines in DOCUMENTS for line in lines])
        if split != "valid":
            write_lines(tmp_path / "raw" / f"{split}.documents", ["0", "2", "5", "8"])
    return [tmp_path / name for name in ("raw", "tokenized", "subwords", "binarized/tests")]


def text_stages(folders):
    raw, tokenized, subwords, tests = folders
    tokenize_corpus(raw, tokenized, CORPUS, TextSettings(cleaning=CleaningSettings(maximum_length=5)))
    segment_corpus(tokenized, subwords, CORPUS, UNITS)
    binarize(subwords, tests.parent, CORPUS, UNITS)
    return BinarizedCorpus(tests.parent)


def test_documents_go_through_all_text_stages(folders):
    corpus = text_stages(folders)
    assert corpus.documents("valid") is None
    sentences = [corpus.source_vocabulary.text(ids).replace("@@ ", "") for ids in corpus.side("train", "en")]
    found = [[sentences[number] for number in document] for document in corpus.documents("train")]
    assert found == [["A dog ."], ["A cat .", "A cow ."], ["A dog ."]]
    assert corpus.documents("test") == [range(2), range(2, 5), range(5, 8), range(8, 10)]
    for folder in folders:
        assert (folder / "test.documents").read_bytes() == b"0\n2\n5\n8\n"
        assert not (folder / "valid.documents").exists()
    assert not (corpus.training_folder / "valid.documents").exists()
    names = [path.name for path in corpus.training_files()]
    assert [name for name in names if name.endswith(".documents")] == ["train.documents"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1"], "the numbers must start at 0, increase, and stay below 10, the number of lines of test"),
        (["0", "10"], "the numbers must"),
        (["0", "4", "4"], "the numbers must"),
        ([], "the numbers must"),
        (["0", "-1"], "line 2 is '-1'; it must be a line number, from 0"),
        (["0", "9" * 5000], "line 2 is '999"),
        (["0", "٣"], "line 2 is '٣'; it must be a line number, from 0"),
    ],
)
def test_documents_that_do_not_fit_are_refused_at_every_stage(folders, lines, message):
    corpus = text_stages(folders)
    raw, tokenized, subwords, tests = folders
    for folder in folders:
        write_lines(folder / "test.documents", lines)
    for folder, work in (
        (raw, lambda: tokenize_corpus(raw, raw.parent / "new", CORPUS, TextSettings())),
        (tokenized, lambda: segment_corpus(tokenized, raw.parent / "new", CORPUS, UNITS)),
        (subwords, lambda: binarize(subwords, raw.parent / "new", CORPUS, UNITS)),
        (tests, lambda: corpus.documents("test")),
    ):
        with pytest.raises(UserError) as refused:
            work()
        assert str(refused.value).startswith(f"{folder / 'test.documents'}: {message}")
        assert not (raw.parent / "new").exists()


def test_cleaning_renumbers_across_chunks(folders):
    raw, tokenized, *_ = folders
    lines = [LONG if number % 7 == 0 else f"A {number}." for number in range(2500)]
    for language in ("en", "de"):
        write_lines(raw / f"train.{language}", lines)
    write_lines(raw / "train.documents", ["0", "1", "990", "2002"])
    tokenize_corpus(raw, tokenized, CORPUS, TextSettings(cleaning=CleaningSettings(maximum_length=5)))
    kept = read_lines(tokenized / "train.en")
    starts = [kept[document.start] for document in read_documents(tokenized, "train", len(kept))]
    assert starts == ["A 1 .", "A 990 .", "A 2003 ."]
