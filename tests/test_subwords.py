from collections import Counter

from context_nmt.corpus.subwords import Segmenter, learn_merges, segment_corpus
from context_nmt.files import read_lines, write_lines
from context_nmt.settings.text import CorpusSettings, UnitSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", validation="valid", tests=("valid",))
ENGLISH = ["low lower lowest", "", "new newer newest low"]
GERMAN = ["neu neuer neueste", "tief tiefer", "tiefste"]


def write_tokens(folder, english, german):
    for split in ("train", "valid"):
        write_lines(folder / "tokenized" / f"{split}.en", english)
        write_lines(folder / "tokenized" / f"{split}.de", german)
    return folder / "tokenized"


def segment(tokenized, **units):
    segment_corpus(tokenized, tokenized.parent / "subwords", CORPUS, UnitSettings(**units))
    return tokenized.parent / "subwords"


def test_merges_are_joint_or_per_side(tmp_path):
    tokenized = write_tokens(tmp_path, ENGLISH, GERMAN)
    subwords = segment(tokenized, merges=6, joint=True)
    assert sorted(path.name for path in subwords.glob("codes.*")) == ["codes.joint"]
    assert len(read_lines(subwords / "codes.joint")) == 7
    joint = read_lines(subwords / "train.de")
    subwords = segment(tokenized, merges=6, joint=False)
    assert sorted(path.name for path in subwords.glob("codes.*")) == ["codes.de", "codes.en"]
    assert read_lines(subwords / "codes.en") != read_lines(subwords / "codes.de")
    assert read_lines(subwords / "train.de") != joint


def test_merges_do_not_depend_on_the_order_of_the_text():
    words = Counter(" ".join(ENGLISH + GERMAN).split())
    assert learn_merges(words, 30) == learn_merges(Counter(dict(reversed(words.items()))), 30)


def test_single_letters_need_no_merges(tmp_path):
    subwords = segment(write_tokens(tmp_path, ["a b"], ["c"]))
    assert read_lines(subwords / "codes.joint") == ["#version: 0.2"]
    assert Segmenter(subwords, "en").units("ab a") == "a@@ b a"


def test_rare_units_are_split_further_on_their_own_side(tmp_path):
    tokenized = write_tokens(tmp_path, ["wasser"] * 5 + ["see"], ["see"] * 5 + ["wasser"])
    assert read_lines(segment(tokenized, merges=50) / "valid.en")[-1] == "see"
    subwords = segment(tokenized, merges=50, vocabulary_threshold=3)
    assert read_lines(subwords / "vocabulary.en") == ["wasser 5", "see 1"]
    assert (read_lines(subwords / "valid.en")[-1], read_lines(subwords / "valid.de")[-1]) == (
        "s@@ e@@ e",
        "w@@ a@@ s@@ s@@ e@@ r",
    )
    assert (Segmenter(subwords, "en").units("wasser"), Segmenter(subwords, "de").units("see")) == ("wasser", "see")


def test_a_threshold_that_no_unit_reaches_splits_everything(tmp_path):
    subwords = segment(write_tokens(tmp_path, ["ab ab"], ["ab"]), vocabulary_threshold=99)
    assert read_lines(subwords / "train.en") == ["a@@ b a@@ b"]


def test_words_pass_through(tmp_path):
    subwords = segment(write_tokens(tmp_path, ["a@@ b"], ["c"]), kind="words")
    assert read_lines(subwords / "train.en") == ["a@@ b"]
    assert Segmenter(subwords, "en").tokens("a@@ b") == "a@@ b"
    assert not list(subwords.glob("codes.*"))


def test_a_line_may_end_within_a_word(tmp_path):
    segmenter = Segmenter(segment(write_tokens(tmp_path, ENGLISH, GERMAN)), "en")
    assert [segmenter.tokens(text) for text in ("a@@ b c@@", "@@ b", "")] == ["ab c", "b", ""]
