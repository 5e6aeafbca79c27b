from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_nmt.corpus.vocabulary import BEGIN, BYTES, END, PADDING, SPECIALS, UNKNOWN, Vocabulary, count_units
from context_nmt.files import UserError, write_lines

units = st.text(st.characters(exclude_characters=" \n", codec="utf-8"), min_size=1)


def test_special_units_come_first_and_the_rest_by_falling_count_then_name():
    vocabulary = Vocabulary.build({"b": 2, "a": 2, "c": 5, "</s>": 9})
    assert vocabulary.units == ("<pad>", "<s>", "</s>", "<unk>", "c", "a", "b")
    assert (PADDING, BEGIN, END, UNKNOWN) == (0, 1, 2, 3)
    assert Vocabulary.build({"b": 2, "a": 2, "c": 5}, size=2).units[4:] == ("c", "a")


def test_text_cannot_spell_a_special_unit():
    vocabulary = Vocabulary.build(Counter(["a", "<pad>", "</s>"]))
    assert vocabulary.ids("a </s> <pad> <unk> new") == [4, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]
    assert vocabulary.text([4, END]) == "a </s>"


@given(st.lists(units))
def test_known_units_come_back(tmp_path_factory, words):
    words = [word for word in words if not word.startswith("<")]
    vocabulary = Vocabulary.build(Counter(words))
    assert vocabulary.text(vocabulary.ids(" ".join(words))) == " ".join(words)
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.txt"
    vocabulary.save(path)
    assert Vocabulary.load(path) == vocabulary


def test_counts_split_at_spaces_only(tmp_path):
    write_lines(tmp_path / "text", ["a  b a", "", "b\u2028c \u00a0"])
    assert count_units(tmp_path / "text") == {"a": 2, "b": 1, "b\u2028c": 1, "\u00a0": 1}


def words(*units, is_sentencepiece=False):
    vocabulary = Vocabulary((*SPECIALS, *(BYTES if is_sentencepiece else ()), *dict.fromkeys({*units} - {*BYTES})))
    assert vocabulary.is_sentencepiece == is_sentencepiece
    return vocabulary.words([vocabulary.units.index(unit) for unit in units])


def test_units_make_up_words_in_the_way_of_their_kind():
    assert words("▁a", "b@@", "c", "d@@") == ["▁a", "bc", "d"]
    units = ["▁He", "▁s", "ä", "h", '▁"', "it", '."', "▁", "20", "th", "▁", "<0xE2>", "<0x82>", "<0xAC>", "<0xE2>"]
    assert words(*units, is_sentencepiece=True) == ["He", "säh", '"', "it", '."', "20th", "€\ufffd"]
    assert words() == words(is_sentencepiece=True) == []


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a", "b"], "start with the lines <pad> <s> </s> <unk>"),
        (["<pad>", "<s>", "</s>", "<unk>", "a", "a"], "twice"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_refused(tmp_path, lines, message):
    write_lines(tmp_path / "vocabulary.txt", lines)
    with pytest.raises(UserError, match=message):
        Vocabulary.load(tmp_path / "vocabulary.txt")
