import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_nmt.corpus.moses import MosesSide, Truecaser, count_casings, run_script
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_json, read_lines, write_json, write_lines
from context_nmt.settings.text import CleaningSettings, CorpusSettings, SideSettings, TextSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", validation="valid", tests=("valid",))
ENGLISH = ["The man sees the dog.", "We see The Hague.", "The dog sleeps."]
GERMAN = ["Der Mann sieht den Hund.", "Wir sehen Den Haag.", "Der Hund schläft."]
lines_of_text = st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8")))
python = sys.executable


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for split in ("train", "valid"):
        write_lines(tmp_path / "raw" / f"{split}.en", ENGLISH)
        write_lines(tmp_path / "raw" / f"{split}.de", GERMAN)
    return tmp_path / "raw"


def tokenize(raw: Path, **text: object) -> Path:
    tokenize_corpus(raw, raw.parent / "tokenized", CORPUS, TextSettings(**text))  # type: ignore[arg-type]
    return raw.parent / "tokenized"


@pytest.mark.slow
@given(lines_of_text, st.sampled_from(["en", "de", "fr", "ja", "xx"]), st.booleans())
def test_any_text_keeps_its_number_of_lines(lines: list[str], language: str, pretokenized: bool) -> None:
    side = MosesSide(language, SideSettings(pretokenized=pretokenized, aggressive_hyphens=True))
    for line in lines:
        tokens = side.tokens(line)
        assert tokens.split() == list(filter(None, tokens.split(" ")))
        truecaser = Truecaser.learn(count_casings([tokens]))
        assert len(truecaser.truecase(tokens).split()) == len(tokens.split())
        assert "\n" not in side.text(tokens)


def test_tokens_and_back() -> None:
    text = "He said: \"Don't go, R&D isn't well-known [now] | here,\" (today)."
    side = MosesSide("en", SideSettings(aggressive_hyphens=True))
    tokens = side.tokens(text)
    assert "R & D" in tokens
    assert "well @-@ known" in tokens
    assert "&amp;" not in tokens
    assert side.text(tokens) == text.replace("R&D", "R & D")
    assert "well-known" in MosesSide("en", SideSettings()).tokens(text)


def test_an_entity_in_the_text_stays_what_it_is() -> None:
    side = MosesSide("en", SideSettings(pretokenized=False))
    tokens = side.tokens("write &amp; not &")
    assert tokens == "write & amp ; not &"
    assert "&lt;" in side.text("a &lt; b")


def test_punctuation_is_normalised_if_asked() -> None:
    assert MosesSide("de", SideSettings()).tokens("„Ja“ — nein") == '" Ja " - nein'
    plain = MosesSide("de", SideSettings(normalize_punctuation=False))
    assert plain.tokens("„Ja“ — nein") == "„ Ja “ — nein"


def test_pretokenized_text_passes_through() -> None:
    side = MosesSide("en", SideSettings(pretokenized=True))
    assert side.tokens("do n't  ( „ go“\u2028 &quot; )\r") == "do n't ( „ go“ &quot; )"
    assert side.text("do n't ( go )") == "do n't ( go )"


def test_truecasing_learns_the_casing_inside_sentences(raw: Path) -> None:
    tokenized = tokenize(raw)
    assert read_lines(tokenized / "train.en") == ["the man sees the dog .", "We see The Hague .", "the dog sleeps ."]
    assert read_lines(tokenized / "valid.en.cased")[0] == "The man sees the dog ."
    assert not (tokenized / "train.en.cased").exists()
    truecaser = Truecaser.load(tokenized / "truecaser.en.json")
    assert truecaser.truecase("The Hague : The dog") == "the Hague : the dog"
    assert truecaser.detruecase("the dog . it sleeps") == "The dog . It sleeps"


def test_truecasing_keeps_tokens_that_look_like_markup(tmp_path: Path) -> None:
    write_json(tmp_path / "truecaser.json", {"best": {"see": "see"}, "known": []})
    assert Truecaser.load(tmp_path / "truecaser.json").truecase("See a<b c> | <x y |z") == "see a<b c> | <x y |z"


def test_truecaser_does_not_depend_on_the_order_of_the_text(tmp_path: Path) -> None:
    lines = ["x Essen gut", "x essen gut", "x Gut ESSEN", "x es"]
    for name, order in (("a", lines), ("b", lines[::-1])):
        Truecaser.learn(count_casings(order)).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Truecaser.load(tmp_path / "a").truecase("x essen Essen eSSen") == "x essen Essen essen"


def test_sides_without_truecasing_have_no_model(raw: Path) -> None:
    tokenized = tokenize(raw, source=SideSettings(truecase=False))
    assert read_lines(tokenized / "train.en")[0] == "The man sees the dog ."
    assert not (tokenized / "truecaser.en.json").exists()
    assert read_json(tokenized / "moses.json")["source"]["truecase"] is False


def test_cleaning_drops_pairs_by_either_side_and_counts_why(raw: Path) -> None:
    pairs = [("a b", "c d"), ("", "x"), ("x", " "), ("a " * 9, "b " * 8), ("a " * 7, "b " * 2), ("a b", "c " * 6)]
    write_lines(raw / "train.en", [source for source, _ in pairs])
    write_lines(raw / "train.de", [target for _, target in pairs])
    tokenized = tokenize(raw, cleaning=CleaningSettings(minimum_length=1, maximum_length=8, maximum_ratio=3.0))
    assert read_json(tokenized / "cleaning.json") == {
        "read": 6,
        "kept": 2,
        "dropped": {"too_short": 2, "too_long": 1, "ratio": 1},
    }
    assert read_lines(tokenized / "train.en") == ["a b", "a b"]
    assert len(read_lines(tokenized / "valid.en")) == len(ENGLISH)


def test_cleaning_that_leaves_nothing_is_an_error(raw: Path) -> None:
    with pytest.raises(UserError, match=r"text\.cleaning: none of the 3 training pairs.*'too_short': 3"):
        tokenize(raw, cleaning=CleaningSettings(minimum_length=50))
    assert not (raw.parent / "tokenized").exists()


def test_script_maps_raw_lines_without_a_shell(raw: Path) -> None:
    script = f"{python} -c \"import sys; [print(line.strip().upper() + ' $HOME;') for line in sys.stdin]\""
    tokenized = tokenize(raw, source=SideSettings(script=script, pretokenized=True, truecase=False))
    assert read_lines(tokenized / "valid.en")[0] == "THE MAN SEES THE DOG. $HOME;"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print(1)", "1 lines printed for 3 lines given"),
        ("import sys; print(sys.stdin.read()); print(); sys.exit('no model')", "exit status 1 no model"),
        ("import sys; sys.stdout.buffer.write(bytes([255, 10]) * 3)", "can't decode"),
    ],
)
def test_script_that_fails_says_how(code: str, message: str) -> None:
    with pytest.raises(UserError, match=f"text script .*{message}"):
        list(run_script(f'{python} -c "{code}"', ["a", "b", "c"]))


def test_script_that_does_not_exist_is_named() -> None:
    for command in ("no-such-segmenter --fast", "", "'open quote"):
        with pytest.raises(UserError, match="text script"):
            list(run_script(command, ["a"]))


def test_unequal_missing_and_empty_files_are_named(raw: Path) -> None:
    write_lines(raw / "valid.de", GERMAN[:2])
    with pytest.raises(UserError, match=r"valid\.en has 3 lines and .*valid\.de has 2"):
        tokenize(raw)
    write_lines(raw / "valid.de", [])
    with pytest.raises(UserError, match=r"valid\.de: the file is empty"):
        tokenize(raw)
    (raw / "valid.de").unlink()
    with pytest.raises(UserError, match=r"valid\.de: no such file"):
        tokenize(raw)
    assert [path.name for path in raw.parent.iterdir()] == ["raw"]
