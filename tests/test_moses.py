import subprocess
import sys
from pathlib import Path

import pytest

from context_nmt.corpus.chinese import segment
from context_nmt.corpus.moses import MosesSide, Truecaser, count_casings, has_rules, run_script
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import UserError, read_json, read_lines, read_yaml, write_json, write_lines
from context_nmt.measures.bleu import tokenizer_name
from context_nmt.settings.text import CleaningSettings, CorpusSettings, SideSettings, TextSettings

CORPUS = CorpusSettings(name="toy", source="en", target="de", validation="valid", tests=("valid",))
ENGLISH = ["The man sees the dog.", "We see The Hague.", "The dog sleeps."]
GERMAN = ["Der Mann sieht den Hund.", "Wir sehen Den Haag.", "Der Hund schläft."]
TEXTS = read_yaml(Path(__file__).with_name("moses.yaml"))
python = sys.executable


@pytest.fixture
def raw(tmp_path):
    for split in ("train", "valid"):
        write_lines(tmp_path / "raw" / f"{split}.en", ENGLISH)
        write_lines(tmp_path / "raw" / f"{split}.de", GERMAN)
    return tmp_path / "raw"


def tokenize(raw, **text):
    tokenize_corpus(raw, raw.parent / "tokenized", CORPUS, TextSettings(**text))
    return raw.parent / "tokenized"


def test_tokens_and_back():
    text = "He said: \"Don't go, R&D isn't well-known [now] | here,\" (today)."
    side = MosesSide("en", SideSettings(aggressive_hyphens=True))
    tokens = side.tokens(text)
    assert all(part in tokens for part in ("R & D", "well @-@ known"))
    assert "&amp;" not in tokens
    assert side.text(tokens) == text.replace("R&D", "R & D")
    assert "well-known" in MosesSide("en", SideSettings()).tokens(text)
    assert "&lt;" in MosesSide("en", SideSettings()).text("a &lt; b")
    assert MosesSide("en", SideSettings(pretokenized=True)).text("do n't ( go )") == "do n't ( go )"


@pytest.mark.parametrize(("language", "settings", "line", "tokens"), TEXTS["settings"])
def test_settings_of_a_side(language, settings, line, tokens):
    assert MosesSide(language, SideSettings(**settings)).tokens(line) == tokens


@pytest.mark.parametrize(
    ("code", "language", "line"),
    [
        ("en-GB", "en", "Mr. Smith's dog isn't here."),
        ("pt_BR", "pt", "O Sr. Silva disse: «não»."),
        ("fr-CA", "fr", "Il a dit : « C'est l'été ! »"),
        ("zh_TW", "zh", "我们 走。"),
    ],
)
def test_a_region_has_the_rules_of_its_language(code, language, line):
    settings = SideSettings(normalize_punctuation=False)
    region, base = MosesSide(code, settings), MosesSide(language, settings)
    assert region.tokens(line) == base.tokens(line)
    assert region.text(region.tokens(line)) == base.text(base.tokens(line))
    assert has_rules(code)
    assert tokenizer_name(code, normalized=True) == tokenizer_name(language, normalized=True)


def test_truecasing_learns_the_casing_inside_sentences(raw):
    tokenized = tokenize(raw)
    assert read_lines(tokenized / "train.en") == ["the man sees the dog .", "We see The Hague .", "the dog sleeps ."]
    assert read_lines(tokenized / "valid.en.cased")[0] == "The man sees the dog ."
    assert not (tokenized / "train.en.cased").exists()
    truecaser = Truecaser.load(tokenized / "truecaser.en.json")
    assert truecaser.truecase("The Hague : The dog") == "the Hague : the dog"
    assert truecaser.detruecase("the dog . it sleeps") == "The dog . It sleeps"


def test_truecasing_keeps_tokens_that_look_like_markup(tmp_path):
    write_json(tmp_path / "truecaser.json", {"best": {"see": "see"}, "known": []})
    assert Truecaser.load(tmp_path / "truecaser.json").truecase("See a<b c> | <x y |z") == "see a<b c> | <x y |z"


def test_truecaser_does_not_depend_on_the_order_of_the_text(tmp_path):
    lines = ["x Essen gut", "x essen gut", "x Gut ESSEN", "x es"]
    for name, order in (("a", lines), ("b", lines[::-1])):
        Truecaser.learn(count_casings(order)).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Truecaser.load(tmp_path / "a").truecase("x essen Essen eSSen") == "x essen Essen essen"


def test_sides_without_truecasing_have_no_model(raw):
    tokenized = tokenize(raw, source=SideSettings(truecase=False))
    assert read_lines(tokenized / "train.en")[0] == "The man sees the dog ."
    assert not (tokenized / "truecaser.en.json").exists()
    assert read_json(tokenized / "moses.json")["source"]["truecase"] is False


def test_cleaning_drops_pairs_by_either_side_and_counts_why(raw):
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


def test_cleaning_that_leaves_nothing_is_an_error(raw):
    with pytest.raises(UserError, match=r"text\.cleaning: no training pair of 3.*'too_short': 3"):
        tokenize(raw, cleaning=CleaningSettings(minimum_length=50))
    assert not (raw.parent / "tokenized").exists()


def test_script_maps_raw_lines_without_a_shell(raw):
    script = f"{python} -c \"import sys; [print(line.strip().upper() + ' $HOME;') for line in sys.stdin]\""
    tokenized = tokenize(raw, source=SideSettings(script=script, pretokenized=True, truecase=False))
    assert read_lines(tokenized / "valid.en")[0] == "THE MAN SEES THE DOG. $HOME;"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{python} -c 'print(1)'", "1 lines printed for 3 lines given"),
        (f"{python} -c 'import sys; print(); sys.exit(\"no model\")'", "exit status 1 no model"),
        (f"{python} -c 'import sys; sys.stdout.buffer.write(bytes([255, 10]) * 3)'", "can't decode"),
        ("no-such-segmenter --fast", "No such file"),
        ("", "text script ''"),
        ("'open quote", "No closing quotation"),
    ],
)
def test_the_error_of_a_script_has_its_cause(command, message):
    with pytest.raises(UserError, match="text script") as error:
        list(run_script(command, ["a", "b", "c"]))
    assert message in str(error.value)


@pytest.mark.parametrize(("language", "tokens"), TEXTS["marks"])
def test_marks_and_inner_apostrophes_stay_with_their_letters(language, tokens):
    side = MosesSide(language, SideSettings(normalize_punctuation=False))
    assert side.tokens(side.text(tokens)) == tokens
    assert (side.text(tokens) == tokens) == (language == "fr")  # French has a space before the mark


@pytest.mark.parametrize(("language", "text"), TEXTS["punctuation"])
def test_punctuation_that_is_not_ascii_is_restored(language, text):
    side = MosesSide(language, SideSettings(normalize_punctuation=False))
    assert side.text(side.tokens(text)) == text


def test_chinese_is_segmented_into_words():
    assert segment("老师今天去图书馆看书吗\u3002  OK\r") == "老师 今天 去 图书馆 看书 吗 \u3002 OK"
    command = [python, "-m", "context_nmt.corpus.chinese"]
    text = "\ufeff我去\r我\n\n安娜在北京".encode()
    result = subprocess.run(command, input=text, capture_output=True, check=True)
    assert result.stdout.decode() == "我 去 我\n\n安娜 在 北京\n"
    result = subprocess.run(command, input=b"a\n\xff\n", capture_output=True, check=False)
    assert result.returncode == 1
    assert b"standard input: line 2 is not UTF-8" in result.stderr
