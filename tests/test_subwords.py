import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_nmt.corpus.subwords import Segmenter, learn_merges, segment_corpus, to_cyrillic, to_latin
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


def test_small_texts_and_words(tmp_path):
    subwords = segment(write_tokens(tmp_path / "letters", ["a b"], ["c"]))
    assert read_lines(subwords / "codes.joint") == ["#version: 0.2"]
    assert Segmenter(subwords, "en").units("ab a") == "a@@ b a"
    subwords = segment(write_tokens(tmp_path / "threshold", ["ab ab"], ["ab"]), vocabulary_threshold=99)
    assert read_lines(subwords / "train.en") == ["a@@ b a@@ b"]
    subwords = segment(write_tokens(tmp_path / "words", ["a@@ b"], ["c"]), kind="words")
    assert read_lines(subwords / "train.en") == ["a@@ b"]
    assert Segmenter(subwords, "en").tokens("a@@ b") == "a@@ b"
    assert not list(subwords.glob("codes.*"))
    segmenter = Segmenter(segment(write_tokens(tmp_path / "within", ENGLISH, GERMAN)), "en")
    assert [segmenter.tokens(text) for text in ("a@@ b c@@", "@@ b", "")] == ["ab c", "b", ""]


RUSSIAN = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
SYMBOLS = " .,!?-()0123456789\u00ab\u00bb\u2014"


def test_russian_letters_are_those_of_iso_9():
    pangram = "съешь же ещё этих мягких французских булок да выпей чаю"
    assert to_latin(pangram) == "s\u02baeš\u02b9 že eŝë ètih mâgkih francuzskih bulok da vypej čaû"
    assert to_latin(RUSSIAN[:7].upper()) == "ABVGDEË"
    assert unicodedata.is_normalized("NFC", to_latin(RUSSIAN))


@given(st.text(RUSSIAN + RUSSIAN.upper() + SYMBOLS), st.text(st.characters(exclude_categories=["Cs"])))
def test_russian_can_be_restored_and_other_text_stays(russian, text):
    assert to_cyrillic(to_latin(russian)) == russian
    assert len(to_latin(text)) == len(text)
    not_russian = "".join(character for character in text if character not in RUSSIAN + RUSSIAN.upper())
    assert to_latin(not_russian) == not_russian


COGNATES = {"telefon": "телефон", "moskva": "москва", "student": "студент", "kontakt": "контакт", "2-j": "2-й"}


@pytest.mark.parametrize("threshold", [0, 2])
def test_words_of_two_scripts_are_segmented_alike(tmp_path, threshold):
    latin, cyrillic = " ".join(COGNATES), " ".join(COGNATES.values())
    tokenized = write_tokens(tmp_path, [latin] * 3, [cyrillic] * 3)
    subwords = segment(tokenized, joint="transliterated", merges=60, vocabulary_threshold=threshold)
    english, russian = Segmenter(subwords, "en"), Segmenter(subwords, "de")
    for word, cognate in COGNATES.items():
        assert to_latin(russian.units(cognate)) == english.units(word)
        assert russian.tokens(russian.units(cognate)) == cognate
    assert all(word in read_lines(subwords / "train.de")[0] for word in ("телефон", "москва"))


def test_merges_of_two_scripts_have_one_order(tmp_path):
    tokenized = write_tokens(tmp_path, [*COGNATES] * 3, [*COGNATES.values()] * 3)
    codes = read_lines(segment(tokenized, joint="transliterated", merges=20) / "codes.joint")
    latin = [code for code in codes[1:] if to_latin(code) == code]
    assert latin == learn_merges(Counter(to_latin(word) for pair in COGNATES.items() for word in pair * 3), 20)[1:]
    assert list(dict.fromkeys(map(to_latin, codes[1:]))) == latin
    assert len(set(codes)) == len(codes)
