import numpy as np
import pytest

from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile, binarize
from context_nmt.files import UserError, write_lines
from context_nmt.settings.text import CorpusSettings, UnitSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", validation="valid", tests=("valid", "test"))
ENGLISH = ["a b c", "", "a a"]
GERMAN = ["x b", "y", ""]


@pytest.fixture
def subwords(tmp_path):
    for split in ("train", "valid", "test"):
        write_lines(tmp_path / "subwords" / f"{split}.en", ENGLISH)
        write_lines(tmp_path / "subwords" / f"{split}.de", GERMAN)
    return tmp_path / "subwords"


def make(subwords, **units):
    binarize(subwords, subwords.parent / "binarized", CORPUS, UnitSettings(**units))
    return BinarizedCorpus(subwords.parent / "binarized")


def test_sentences_come_back_in_order(subwords):
    corpus = make(subwords)
    assert (corpus.source, corpus.target, corpus.train, corpus.validation) == ("en", "de", "train", "valid")
    assert corpus.tests == ("valid", "test")
    for split in ("train", "valid", "test"):
        source, target = corpus.parallel(split)
        assert [corpus.source_vocabulary.text(ids) for ids in source] == ENGLISH
        assert [corpus.target_vocabulary.text(ids) for ids in target] == GERMAN
        assert source.lengths.tolist() == [3, 0, 2]
    with pytest.raises(IndexError):
        source[3]


def test_joint_vocabulary_counts_both_sides_and_separate_ones_their_own(subwords):
    joint = make(subwords, joint=True)
    assert joint.source_vocabulary == joint.target_vocabulary
    assert joint.source_vocabulary.units[4:] == ("a", "b", "c", "x", "y")
    separate = make(subwords, joint=False)
    assert separate.source_vocabulary.units[4:] == ("a", "b", "c")
    assert separate.target_vocabulary.units[4:] == ("b", "x", "y")


def test_rare_words_become_unknown(subwords):
    corpus = make(subwords, kind="words", words=2, joint=False)
    assert [corpus.source_vocabulary.text(ids) for ids in corpus.side("test", "en")] == ["a b <unk>", "", "a a"]


def test_a_large_vocabulary_takes_wider_numbers(subwords):
    assert make(subwords).side("train", "en")[0].dtype == np.uint16
    write_lines(subwords / "train.en", [" ".join(f"{line}-{word}" for word in range(2**15)) for line in range(3)])
    corpus = make(subwords, joint=False)
    assert corpus.side("train", "en")[0].dtype == np.int32
    assert corpus.side("train", "de")[0].dtype == np.uint16
    assert corpus.side("train", "en")[2].max() == len(corpus.source_vocabulary) - 1


def test_a_corpus_of_empty_lines_can_be_read(subwords):
    for path in subwords.iterdir():
        write_lines(path, ["", ""])
    assert [len(ids) for ids in make(subwords).side("train", "en")] == [0, 0]


def test_unequal_sides_are_refused_and_leave_nothing(subwords):
    write_lines(subwords / "test.de", GERMAN[:2])
    with pytest.raises(UserError, match=r"test: .* 3 in en, 2 in de"):
        make(subwords)
    assert [path.name for path in subwords.parent.iterdir()] == ["subwords"]


def test_missing_and_foreign_files_are_named(subwords):
    corpus = make(subwords)
    with pytest.raises(UserError, match=r"other\.en\.tokens\.npy: no such file"):
        corpus.side("other", "en")
    np.save(corpus.folder / "tests/test.en.offsets.npy", np.arange(3))
    with pytest.raises(UserError, match="run the bpe stage again"):
        TokenFile(corpus.folder / "tests", "test.en")
    (subwords / "valid.en").unlink()
    with pytest.raises(UserError, match=r"valid\.en: no such file"):
        make(subwords)
