"""Corpora that are not plain text when they are downloaded, as small made-up downloads of the same form."""

import gzip
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from made_up_mirror import (
    FILM,
    FILMS,
    alignment,
    document,
    encoded,
    films,
    moses_archive,
    pronoun_item,
    sense_item,
    sgm,
    subtitles,
    tarred,
    training_text,
    utterance,
    xml,
    zipped,
)
from measured import assert_golden

from context_nmt.corpus.catalogue import CorpusEntry
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.download import make_corpus
from context_nmt.files import UserError, read_lines, read_yaml
from context_nmt.settings import check


def make(root, form, files, **options):
    """Make a corpus of {file: (content, keys of its entry)}; return its texts and the items of its sets, by name."""
    mirror, corpus = root / "mirror/toy", root / "toy"
    mirror.mkdir(parents=True, exist_ok=True)
    for name, (content, _) in files.items():
        (mirror / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    entries = [{"url": f"http://nowhere/{name}", "sha256": None, **keys} for name, (_, keys) in files.items()]
    values = {"format": form, "licence": "none", "homepage": "none", "files": entries, **options}
    (root / "checksums.json").unlink(missing_ok=True)
    entry = check(CorpusEntry, values, where="toy")
    make_corpus(entry, corpus, checksums=root / "checksums.json", mirror=str(root / "mirror"))
    texts = {path.name: read_lines(path) for path in corpus.iterdir()}
    for name in (name for name in texts if name.endswith(".jsonl")):
        read_contrastive_set(corpus / name)
        texts[name] = list(map(json.loads, texts[name]))
    return texts


def error_message(root, *arguments, **options):
    """The error of such a corpus."""
    with pytest.raises(UserError) as error:
        make(root, *arguments, **options)
    assert not (root / "toy").exists()
    return str(error.value)


def one_set(name, content):
    return {name: (content, {"to": "set"})}


DATA = read_yaml(Path(__file__).with_name("formats.yaml"))
CHATS, ANAPHORA, CHOICES = DATA["chats"], DATA["anaphora"], DATA["choices"]
(CHOICE,) = CHOICES["examples"]
TRAIN, FIRST, SECOND = DATA["talks"].values()


def contrapro(items, archive=None, **others):
    files = {"de-en.txt.zip": (archive, {"to": "set"})} if archive else {}
    return files | one_set("contrapro.json", items) | others


NUMBERED = [(FILM, f"Number {number}.", f"Nummer {number}.") for number in range(1, 15)]
PRONOUNS = [
    pronoun_item(3, 2, right="Er"),
    pronoun_item(2, 0, document="2016_5_77.de"),
    pronoun_item(3, 3, right="Sie", source="It was old!"),
    pronoun_item(3, 4, right="Sie", source="It was old!"),
]
FREQUENCIES = (0, 20, 21, 50, 51, 100, 101, 200, 201, 500, 501, 1000, 1001, 2000, 2001, 5000, 5001, 10000, 10001)
WRONG_SENSES = ("It is the sound.", "It is the tone.", "It is the sound.")


def tvsub(**changes):
    return {"0123.tar.gz": (subtitles(**changes), {})}


ENGLISH = {"two": document("One", "<i>and</i>\n two.", "Three."), "empty": document("Left", "out")}
ENGLISH["one"] = document("Q&amp;A")
SPANISH = {"two": document("Uno y dos.", "Tres."), "empty": document(" "), "one": document("Q&amp;A")}
ALIGNED = {"two": ["1 2;1", "3;2"], "empty": ["1;", "2;1"], "one": ["1;1"]}


def opus(english=ENGLISH, spanish=SPANISH, aligned=None):
    """Documents of OPUS; every second one is gzipped, as some of OPUS are."""
    files = {}
    for language, documents in {"en": english, "es": spanish}.items():
        members = {}
        for number, (name, content) in enumerate(documents.items()):
            if content is not None:
                member, content = (".xml.gz", gzip.compress(content)) if number % 2 else (".xml", content)
                members[f"News/raw/{language}/{name}{member}"] = content
        files[f"{language}.zip"] = (zipped(members), {})
    return files | {"en-es.xml.gz": (aligned or alignment(ALIGNED), {})}


EPISODES = [f"2000/{number}/1.xml.gz" for number in range(1, 8) for _ in range(number)]
DRAWN = {"documents": 4, "held_out_documents": {"dev": 1, "test": 2}, "seed": 1}


def moses(names, **changes):
    return {"a.zip": (moses_archive(("en", "es"), names, **changes), {})}


def iwslt(**changes):
    """A training text and a test set in the first archive, and another set of the same split in the second."""
    texts = {"de-en.tgz": {}, "en-de.tgz": {}}
    for name, split, member, talks, form in (
        ("de-en.tgz", "train", "de-en/train.tags.de-en.{}", TRAIN, training_text),
        ("de-en.tgz", "test", "de-en/IWSLT14.TED.dev2010.de-en.{}.xml", FIRST, xml),
        ("en-de.tgz", "test", "en-de/IWSLT14.TED.tst2014.en-de.{}.xml", SECOND, xml),
    ):
        texts[name] |= {member.format(side): (form(talks[side]), f"{split}.{side}") for side in ("de", "en")}
    files = {}
    for name, members in texts.items():
        content = {member: text for member, (text, _) in members.items()}
        content |= {m: text for m in members for ending, text in changes.items() if m.endswith(ending)}
        outputs = {member: output for member, (_, output) in members.items()}
        files[name] = (tarred({m: text for m, text in content.items() if text is not None}), {"members": outputs})
    return files


SPOKEN = training_text({1: ["<applause>", "<b>a</b> b", "<url >"]}).replace("&lt;", "<").replace("&gt;", ">")
FORMATS = {  # (format, files, options)
    "chats": ("bcontrast", {"a.json": (CHATS, {"to": "dev"})}, {}),
    "discourse: mirrored items": ("discourse_mt", one_set("a.json", {"1": ANAPHORA, "2": CHOICES}), {}),
    "pronouns: contexts from documents": ("contrapro", contrapro(PRONOUNS, films(*FILMS)), {}),
    "pronouns: the nearest 10 sentences": (
        "contrapro",
        contrapro(
            [pronoun_item(15, 1), pronoun_item(15, 3, right="Er")],
            films(*NUMBERED, (FILM, "It was old.", "Es war alt.")),
        ),
        {},
    ),
    "pronouns: no documents, and a zip of another format": (
        "contrapro",
        contrapro(
            [pronoun_item(3, 1)],
            **{"other.zip": (zipped({"a": "a\n"}), {"format": "text", "members": {"a": "train.en"}})},
        ),
        {},
    ),
    "senses": (
        "contrawsd",
        one_set("de-en.final.json", [sense_item(count, *WRONG_SENSES) for count in FREQUENCIES]),
        {},
    ),
    "episodes": ("tvsub", tvsub(), {}),
    "episodes: the first": ("tvsub", tvsub(), {"documents": 1}),
    "episodes: as many as there are": ("tvsub", tvsub(), {"documents": 2}),
    "aligned documents": ("opus_xml", opus(), {}),
    "talks": ("iwslt", iwslt(), {}),
    "talks: only the tags of WIT3 are no text": (
        "iwslt",
        iwslt(**{f"train.tags.de-en.{side}": SPOKEN for side in ("de", "en")}),
        {},
    ),
    "talks: every 3rd pair is held out": ("iwslt", iwslt(), {"held_out_every": 3}),
    "talks: every 2nd pair is held out": ("iwslt", iwslt(), {"held_out_every": 2}),
}


def test_every_format_becomes_texts_documents_and_items(tmp_path):
    listing = ""
    for number, (name, (form, files, options)) in enumerate(FORMATS.items()):
        make(tmp_path / str(number), form, files, **options)
        listing += f"{name}\n"
        for path in sorted((tmp_path / str(number) / "toy").iterdir()):
            listing += "".join([f"    {path.name}\n", *(f"        {line}\n" for line in read_lines(path))])
    assert_golden(listing, "formats.txt")


def documents_of(texts, split):
    """The English lines of each document of a split; the Spanish ones differ only in the name of the language."""
    english, starts = texts[f"{split}.en"], [*map(int, texts[f"{split}.documents"]), len(texts[f"{split}.en"])]
    assert [f"es{line[2:]}" for line in english] == texts[f"{split}.es"]
    return [english[start:stop] for start, stop in pairwise(starts)]


def test_episodes_are_drawn_for_every_split_and_stay_whole(tmp_path):
    files = moses([*EPISODES, *["2000/3/2.xml.gz"] * 9])  # the second version of one
    texts = make(tmp_path, "opus_moses", files, **DRAWN)
    splits = {split: documents_of(texts, split) for split in ("train", "dev", "test")}
    assert {split: len(documents) for split, documents in splits.items()} == {"train": 4, "dev": 1, "test": 2}
    all_documents = sorted((document for documents in splits.values() for document in documents), key=len)
    assert all_documents == [[f"en 2000/{n}/1.xml.gz {line}" for line in range(n)] for n in range(1, 8)]
    assert all(documents == sorted(documents, key=len) for documents in splits.values())  # the archive's order
    drawn = {tuple(make(tmp_path, "opus_moses", files, **DRAWN | {"seed": seed})["test.en"]) for seed in range(10)}
    assert len(drawn) > 1


@pytest.mark.parametrize("number", [3, 228, 227, 100])
def test_a_subtitle_continues_after_a_line_without_names(tmp_path, capsys, number):
    names = [*EPISODES, *["2001/1/1.xml.gz"] * 200]
    ids = [f"en/{name}\tes/{name}\t1\t1" for name in names]
    ids[number - 1] = "no tab"
    texts = make(tmp_path, "opus_moses", moses(names, **{"Subs.en-es.ids": encoded(ids)}), **DRAWN | {"documents": 5})
    documents = [document for split in ("train", "dev", "test") for document in documents_of(texts, split)]
    assert [len({line.split()[1] for line in document}) for document in documents] == [1] * 8
    lines = [f"en {name} {names[:index].count(name)}" for index, name in enumerate(names)]
    assert sorted(line for document in documents for line in document) == sorted(lines[: number - 1] + lines[number:])
    assert f"Subs.en-es.ids: bad lines left out: 1 of 228: line {number} (" in capsys.readouterr().out


@pytest.mark.parametrize(("ending", "usual", "unusual"), DATA["unusual talks"])
def test_a_text_of_talks_may_have_an_unusual_form(tmp_path, ending, usual, unusual):
    text = xml(FIRST["de"]) if ending.endswith(".xml") else training_text(TRAIN["de"])
    assert usual in text
    changed = iwslt(**{ending: text.replace(usual, unusual, -1 if usual else 1)})
    assert make(tmp_path / "unusual", "iwslt", changed) == make(tmp_path / "usual", "iwslt", iwslt())


def talks(changed):
    """250 talks of one line in both languages; the German talk 5 is replaced by the changed one."""
    english = xml({number: ["x"] for number in range(250)})
    talk = re.search(r'<doc docid="5".*?</doc>', english, re.DOTALL)[0]
    german = english.replace(talk, re.search("<doc .*</doc>", changed, re.DOTALL)[0])
    members = {"a.de.xml": "test.de", "a.en.xml": "test.en"}
    return {"a.tgz": (tarred({"a.de.xml": german, "a.en.xml": english}), {"members": members})}


def pages(**changed):
    """150 documents of OPUS with two lines; some Spanish ones are changed."""
    english = {f"d{number}": document("a", "b") for number in range(150)}
    return opus(english, english | changed, alignment({name: ["1;1", "2;2"] for name in english}))


SOUNDS = [sense_item(1, "It is the sound.")] * 150
ITEMS = [pronoun_item(3, 1)] * 150
SECOND_EPISODE, DEV_CHINESE = "orignal/train/separated/2.en", "orignal/dev/dev.orignal.zh"
DEV_SGM, TEST_SGM = "processed/dev/dev_trg.sgm", "processed/test/test_trg.sgm"
EPISODES_151 = {f"orignal/train/separated/{n}.{side}": "a\n" for n in range(100, 250) for side in ("zh", "en")}
CHATS_151 = {str(n): CHATS["one"] for n in range(150)} | {"x": [utterance("agent", "a\nb", "c")]}
BLOCKS_151 = {str(n): {"type": "a", "examples": [CHOICE]} for n in range(150)} | {"x": {"type": "a"}}
WRONG_LINES = ((None, "None is not a string"), (5, "5 is not a string"), ("two\nlines", "a line break"))
ONE_TALK = xml({5: ["x"]})


@pytest.mark.parametrize(
    ("form", "files", "sizes", "reasons"),
    [
        *(
            (
                "opus_xml",
                pages(d3=content),
                {"train.en": 300 - lost, "train.documents": documents},
                ["en/d3.xml", reason],
            )
            for content, reason, lost, documents in (
                (document("a\x1e", "b"), "News/raw/es/d3.xml.gz is not XML: not well-formed", 2, 149),
                (document("Q & A", "b"), "News/raw/es/d3.xml.gz is not XML: not well-formed", 2, 149),
                (None, "lacks 'es/d3.xml'", 2, 149),
                (document("a"), "d3.xml, 2;2 (lacks '2')", 1, 150),
            )
        ),
        *(
            (
                "iwslt",
                talks(changed),
                {"test.de": 249, "test.documents": 249},
                ["note: test: bad talks", "talk 5", reason],
            )
            for changed, reason in (
                (ONE_TALK.replace('docid="5"', 'docid="5b"'), "not in de"),
                (xml({5: ["x", "y"]}), "2 lines in "),
                (ONE_TALK.replace("</seg>", ""), "is not a whole segment"),
                (ONE_TALK.replace("x", "x&#10;y"), "is not a whole segment"),
                (ONE_TALK.replace("</seg>", '</seg> <seg id="2"> y </seg>'), "is not a whole segment"),
                (xml({5: ["sch\udcf6n"]}), "is not UTF-8"),
            )
        ),
        ("tvsub", tvsub(**EPISODES_151, **{SECOND_EPISODE: "a\n"}), {"train.zh": 151}, ["episode 2 (2 Chinese lines"]),
        ("bcontrast", one_set("a.json", CHATS_151), {"set_agent.de": 150}, ["chat x (a line break"]),
        ("discourse_mt", one_set("a.json", BLOCKS_151), {"set.en-fr.jsonl": 150}, ["block x (lacks 'trg')"]),
        *(
            ("contrapro", contrapro([*ITEMS, item]), {"set.en-de.jsonl": 150}, [reason])
            for item, reason in (
                ({"src segment": "It."}, "item 151 (lacks"),
                *(
                    (ITEMS[0] | {key: value}, reason)
                    for value, reason in WRONG_LINES
                    for key in ("src segment", "ref segment")
                ),
            )
        ),
        *(
            ("contrawsd", one_set("de-en.json", [*SOUNDS, item]), {"set.de-en.jsonl": 150}, [reason])
            for item, reason in (
                ({"source": "Ton"}, "item 151 (lacks"),
                *(
                    (SOUNDS[0] | bad, reason)
                    for value, reason in WRONG_LINES
                    for bad in ({"source": value}, {"reference": value}, {"errors": [{"contrastive": value}]})
                ),
            )
        ),
    ],
)
def test_a_bad_document_talk_chat_block_or_item_is_left_out(tmp_path, capsys, form, files, sizes, reasons):
    texts = make(tmp_path, form, files)
    assert {name: len(texts[name]) for name in sizes} == sizes
    if form in ("opus_xml", "iwslt"):
        assert len({tuple(lines) for name, lines in texts.items() if not name.endswith(".documents")}) == 1
    (note,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    for reason in reasons:
        assert reason in note
    assert "left out: 1 of 15" in note or form in ("opus_xml", "iwslt")


def test_some_items_may_differ_from_their_documents(tmp_path, capsys):
    items = [pronoun_item(3, 1)] * 198 + [pronoun_item(2, 1)] * 2
    set_items = make(tmp_path, "contrapro", contrapro(items, films(*FILMS)))["set.en-de.jsonl"]
    assert ["context" in item for item in set_items] == [True] * 198 + [False] * 2
    assert "note: 2 of 200 items are not in the documents" in capsys.readouterr().out


WRONG_CHATS = [[], 5, {"one": "text"}, {"one": [{"speaker": "agent", "source": "Hello."}]}]
WRONG_CHATS += [
    {"one": [utterance(*texts)]} for texts in (("robot", "a", "b"), ("agent", 5, "b"), ("agent", "a\nb", "c"))
]
TWO_CONTEXTS = CHOICE | {"trg": {"correct": ["Un.", "Deux."], "incorrect": ["Une.", "Trois."]}}
WRONG_PRONOUNS = [
    ([pronoun_item(2, 1)], films(*FILMS)),  # another line
    ([pronoun_item(3, 1, document="1999_1_1.de")], films(*FILMS)),
    ([pronoun_item(4, 1)], films(*FILMS)),  # after the end
    ([pronoun_item(3, 1)] * 197 + [pronoun_item(2, 1)] * 2, films(*FILMS)),  # more than 1%
    ([{"src segment": "It."}], films(*FILMS)),
    ([pronoun_item(3, 1)], b"no archive"),
    ([pronoun_item(3, 1)], films(*FILMS)[:-30]),
    ([pronoun_item(1, 1)], films(("Europarl", "It was old.", "Es war alt."))),
]
WRONG_SUBTITLES = [
    ({"es": "una\n"}, r"toy/a\.zip: .*Subs\.en-es\.es has 1 lines, and Subs\.en-es\.ids has 28"),
    ({"es": "una\n" * 27}, r"Subs\.en-es\.es has 27 lines"),
    ({"es": "una\n" * 29}, r"Subs\.en-es\.es has 29 lines"),
    ({"ids": None}, r"the archive has 0 \.ids files"),
    ({"es": None}, r"Subs\.en-es\.es"),
]


def talk_text(ending, talks):
    """The text of {number: lines}; a text stays as it is."""
    return (xml if ending.endswith(".xml") else training_text)(talks) if isinstance(talks, dict) else talks


@pytest.mark.parametrize(
    ("form", "files", "message"),
    [
        *(("bcontrast", one_set("a.json", chats), r"a\.json") for chats in WRONG_CHATS),
        (
            "discourse_mt",
            one_set("a.json", {"1": {"type": "a", "examples": [TWO_CONTEXTS]}}),
            r"a\.json: bad blocks: 1 of 1; .*block 1 \(two contexts for one item",
        ),
        (
            "opus_xml",
            pages(d3=None, d9=b"<text>"),
            r"en-es\.xml\.gz: bad documents: 2 of 150; .* The first: en/d3\.xml \(",
        ),
        *(("contrapro", contrapro(*pronouns), r"contrapro\.json: ") for pronouns in WRONG_PRONOUNS),
        ("contrawsd", one_set("final.json", SOUNDS), "must start with the languages, like de-en.final.json"),
        ("contrawsd", one_set("de-en.json", 5), "cannot be read as contrawsd"),
        ("contrawsd", one_set("de-en.json", [sense_item("many", "x")]), r"bad items: 1 of 1; .*item 1 \(.*'many'"),
        ("tvsub", tvsub(**{SECOND_EPISODE: "Two.\n"}), r"1 of 2; .*2 \(2 Chinese lines and 1 English ones\)"),
        ("tvsub", tvsub(**{SECOND_EPISODE: None}), r"1 of 2; .*episode 2 \('2\.en' is not in the archive\)"),
        ("tvsub", tvsub(**{TEST_SGM: None}), r"'test_trg\.sgm' is not in the archive"),
        ("tvsub", tvsub(**{DEV_CHINESE: "好\n好\n"}), r"different numbers .*dev\.en 1, dev\.zh 2"),
        ("tvsub", tvsub(**{DEV_SGM: ""}), "cannot be read as tvsub"),
        (
            "tvsub",
            tvsub(**{TEST_SGM: sgm([["1", "2", "3", "4"]])}),
            r"trg\.sgm has 4 segments, test\.orignal\.en 3 lines",
        ),
        (
            "opus_xml",
            opus(spanish=SPANISH | {"two": document("Uno.")}),
            r"groups .*: 1 of 5; .*two\.xml, 3;2 \(lacks '2'\)",
        ),
        ("opus_xml", opus(aligned=gzip.compress(b"<cesAlign><linkGrp")), "cannot be read as opus_xml"),
        *(
            ("opus_moses", moses(EPISODES, **{f"Subs.en-es.{end}": text for end, text in changes.items()}), message)
            for changes, message in WRONG_SUBTITLES
        ),
        *(("iwslt", iwslt(**{ending: talk_text(ending, text)}), message) for ending, text, message in DATA["no talks"]),
    ],
)
def test_a_file_of_another_format_is_refused(tmp_path, form, files, message):
    assert re.search(message, error_message(tmp_path, form, files, **DRAWN if form == "opus_moses" else {}))


def test_more_documents_than_there_are_is_an_error(tmp_path):
    assert "documents is 3; there are 2 episodes" in error_message(tmp_path, "tvsub", tvsub(), documents=3)
    message = error_message(tmp_path, "opus_moses", moses(EPISODES), **DRAWN | {"documents": 5})
    assert "documents is 5, held out are 3; there are 7 episodes" in message
    short = moses(EPISODES, **{"Subs.en-es.es": "una\n" * 27})  # though no line is missed
    assert "es has 27 lines" in error_message(tmp_path, "opus_moses", short, **DRAWN | {"documents": 1})
