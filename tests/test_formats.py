"""Corpora that are no plain text when they are downloaded, in small ones of the same form."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from made_up_wmt import files_of, sentence, unchecked, write

from context_nmt.corpus.catalogue import read_catalogue, read_entry
from context_nmt.corpus.chinese import segment, segment_stream
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.documents import read_documents
from context_nmt.corpus.download import make_corpus
from context_nmt.files import UserError, read_lines

ORIGIN = "http://127.0.0.1:9/nothing-listens-here"
ENTRIES = Path(__file__).parents[1] / "data" / "params.yaml"


def download(root, form, name, content, *, to=None, before=(), **options):
    """Download a corpus of one file from a mirror that holds it; files `before` it are in the mirror already."""
    file = {"url": f"{ORIGIN}/{name}", "sha256": None} | ({} if to is None else {"to": to})
    entry = {"format": form, "licence": "none", "homepage": "none", "files": [*before, file], **options}
    (root / "mirror/toy").mkdir(parents=True, exist_ok=True)
    (root / "mirror/toy" / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    (root / "data").mkdir(exist_ok=True)
    (root / "data/params.yaml").write_text(yaml.safe_dump({"corpora": {"toy": entry}}))
    (root / "data/checksums.json").unlink(missing_ok=True)
    corpus, checksums = root / "data/toy", root / "data/checksums.json"
    make_corpus(read_entry(root / "data/params.yaml", "toy"), corpus, checksums=checksums, mirror=str(root / "mirror"))
    return corpus


def said(speaker, source, target):
    return {"utteranceID": 0, "speaker": speaker, "source": source, "target": target}


def test_a_side_of_a_chat_has_one_language_whoever_speaks(tmp_path):
    chats = {
        "one": [said("agent", "Hello.", "Hallo."), said("customer", "Eine Pizza.", "A pizza.")],
        "two": [said("agent", "Bye.", "Tschüss.")],
    }
    corpus = download(tmp_path, "bcontrast", "a.json", chats, to="dev")
    assert read_lines(corpus / "dev.en") == ["Hello.", "A pizza.", "Bye."]
    assert read_lines(corpus / "dev.de") == ["Hallo.", "Eine Pizza.", "Tschüss."]
    assert read_documents(corpus, "dev", 3) == [range(2), range(2, 3)]
    assert read_lines(corpus / "dev_agent.en") == ["Hello.", "Bye."]
    assert read_documents(corpus, "dev_agent", 2) == [range(1), range(1, 2)]
    assert read_lines(corpus / "dev_customer.de") == ["Eine Pizza."]
    assert read_documents(corpus, "dev_customer", 1) == [range(1)]


@pytest.mark.parametrize(
    "chats",
    [
        [],
        {"one": [{"speaker": "agent", "source": "Hello."}]},
        {"one": [said("robot", "Hello.", "Hallo.")]},
        {"one": [said("agent", 5, "Hallo.")]},
        {"one": [said("agent", "Hel\nlo.", "Hallo.")]},
        {"one": "text"},
    ],
)
def test_what_is_no_chat_is_refused(tmp_path, chats):
    with pytest.raises(UserError, match=r"a\.json: |dev\.en: line 1 contains a line break"):
        download(tmp_path, "bcontrast", "a.json", chats, to="dev")
    assert not (tmp_path / "data/toy").exists()


def test_an_anaphora_set_becomes_mirrored_items_with_context(tmp_path):
    before = {"m.sg": "Le fruit est là.", "f.sg": "La pomme est là."}
    he, she = "Il est rouge.", "Elle est rouge."
    target = [
        {"type": "m.sg", "correct": [before["m.sg"], he], "incorrect": [before["m.sg"], she]},
        {"type": "f.sg", "semi-correct": [before["f.sg"], she], "incorrect": [before["f.sg"], he]},
        {"type": "f.sg", "correct": [before["f.sg"], she], "incorrect": [before["f.sg"], he]},
    ]
    blocks = {"1": {"inspired by": [], "src": ["The apple is there.", "It is red."], "trg": target}}
    corpus = download(tmp_path, "discourse_mt", "a.json", blocks, to="anaphora")
    pairs, index = read_contrastive_set(corpus / "anaphora.en-fr.jsonl")
    assert pairs == [
        ("It is red.", he),
        ("It is red.", she),
        *(("The apple is there.", text) for text in before.values()),
    ]
    assert index["items"] == [
        {"right": 0, "wrong": [1], "categories": ["m.sg", "correct"], "context": [2]},
        {"right": 1, "wrong": [0], "categories": ["f.sg", "semi-correct"], "context": [3]},
        {"right": 1, "wrong": [0], "categories": ["f.sg", "correct"], "context": [3]},
    ]
    items = [json.loads(line) for line in read_lines(corpus / "anaphora.en-fr.jsonl")]
    assert [item.get("mirror") for item in items] == [1, 0, None]


def test_a_lexical_choice_set_has_several_categories(tmp_path):
    example = {"src": ["One.", "Two."], "trg": {"correct": ["Un.", "Deux."], "incorrect": ["Un.", "Trois."]}}
    block = {"inspired by": [], "type": "repet, disambig", "examples": [example]}
    corpus = download(tmp_path, "discourse_mt", "a.json", {"1": block}, to="lexical_choice")
    (item,) = [json.loads(line) for line in read_lines(corpus / "lexical_choice.en-fr.jsonl")]
    assert item["categories"] == ["repet", "disambig"]
    assert item["context"] == {"source": ["One."], "target": ["Un."]}


def test_an_item_with_two_contexts_is_refused(tmp_path):
    example = {"src": ["One.", "Two."], "trg": {"correct": ["Un.", "Deux."], "incorrect": ["Une.", "Trois."]}}
    with pytest.raises(UserError, match=r"a\.json: bad blocks: 1 of 1; .* block 1 \(two contexts for one item"):
        download(tmp_path, "discourse_mt", "a.json", {"1": {"type": "a", "examples": [example]}}, to="lexical_choice")


def pronoun_item(line, distance, *, document="1921_12806_3712161.de", source="It was old.", right="Es"):
    """An item whose antecedent is this far back."""
    wrong = [
        {"contrastive": f"{other} war alt.", "replacement": other} for other in ("Er", "Sie", "Es") if other != right
    ]
    return {
        "ante distance": distance,
        "corpus": "opensubs1921-ende",
        "document id": document,
        "errors": wrong,
        "intrasegmental": distance == 0,
        "ref pronoun": right,
        "ref segment": f"{right} war alt.",
        "segment id": line,
        "src pronoun": "It",
        "src segment": source,
    }


def opus_archive(*lines):
    """The archive of OPUS: (German file, English, German) per line."""
    content = io.BytesIO()
    texts = {
        "README": "OPUS",
        "OpenSubtitles.de-en.en": "".join(f"{english}\n" for _, english, _ in lines),
        "OpenSubtitles.de-en.de": "".join(f"{german}\n" for _, _, german in lines),
        "OpenSubtitles.de-en.ids": "".join(f"de/{file}.xml.gz\ten/{file[:-1]}9.xml.gz\t1\t1\n" for file, _, _ in lines),
    }
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return content.getvalue()


FILM, SERIES = "1921/12806/3712161", "2016/5/77"
FILMS = [
    (FILM, "Look, a table.", "Schau, ein Tisch."),
    (SERIES, "Good night.", "Gute Nacht."),
    (FILM, "I see.", "Ich sehe\x85 ihn."),  # no line ends there
    (SERIES, "It was old.", "Es war alt."),
    (FILM, 'It was  "old".', "Er war alt."),
]


def download_contrapro(root, items, archive=None):
    json_file = {"url": f"{ORIGIN}/contrapro.json", "sha256": None, "to": "contrapro"}
    files = [{**json_file, "url": f"{ORIGIN}/de-en.txt.zip"}, json_file] if archive else [json_file]
    if archive:
        (root / "mirror/toy").mkdir(parents=True, exist_ok=True)
        (root / "mirror/toy/de-en.txt.zip").write_bytes(archive)
    return download(root, "contrapro", "contrapro.json", items, to="contrapro", files=files)


def test_contrapro_takes_contexts_from_documents(tmp_path):
    items = [
        pronoun_item(3, 2, right="Er"),
        pronoun_item(2, 0, document="2016_5_77.de"),
        pronoun_item(3, 17, right="Sie", source="It was old!"),
    ]
    corpus = download_contrapro(tmp_path, items, opus_archive(*FILMS))
    written = [json.loads(line) for line in read_lines(corpus / "contrapro.en-de.jsonl")]
    table = {"source": ["Look, a table.", "I see."], "target": ["Schau, ein Tisch.", "Ich sehe\x85 ihn."]}
    night = {"source": ["Good night."], "target": ["Gute Nacht."]}
    assert [item["context"] for item in written] == [table, night, table]
    assert [item["categories"] for item in written] == [
        ["er", "distance_2"],
        ["es", "within"],
        ["sie", "distance_over_3"],
    ]
    assert [item["right"] for item in written] == ["Er war alt.", "Es war alt.", "Sie war alt."]
    assert written[0]["wrong"] == ["Sie war alt.", "Es war alt."]
    _, index = read_contrastive_set(corpus / "contrapro.en-de.jsonl")
    assert len(index["items"]) == 3
    assert {path.name for path in corpus.iterdir()} == {"contrapro.en-de.jsonl"}


def test_contrapro_reads_only_files_of_its_format(tmp_path):
    text = {"url": f"{ORIGIN}/other.zip", "sha256": None, "format": "text", "members": {"a": "train.en"}}
    items = {"url": f"{ORIGIN}/contrapro.json", "sha256": None, "to": "contrapro"}
    (tmp_path / "mirror/toy").mkdir(parents=True)
    (tmp_path / "mirror/toy/other.zip").write_bytes(zipped(a=b"a\n"))
    corpus = download(tmp_path, "contrapro", "contrapro.json", [pronoun_item(3, 1)], files=[items, text])
    assert sorted(path.name for path in corpus.iterdir()) == ["contrapro.en-de.jsonl", "train.en"]
    (item,) = [json.loads(line) for line in read_lines(corpus / "contrapro.en-de.jsonl")]
    assert "context" not in item


def test_contrapro_reads_no_more_than_the_nearest_sentences(tmp_path):
    films = [(FILM, f"Number {number}.", f"Nummer {number}.") for number in range(1, 15)]
    films.append((FILM, "It was old.", "Es war alt."))
    corpus = download_contrapro(tmp_path, [pronoun_item(15, 1), pronoun_item(15, 3, right="Er")], opus_archive(*films))
    first, second = (json.loads(line) for line in read_lines(corpus / "contrapro.en-de.jsonl"))
    assert first["context"] == second["context"]
    assert first["context"]["target"] == [f"Nummer {number}." for number in range(5, 15)]


def test_contrapro_without_documents_has_no_context(tmp_path):
    corpus = download_contrapro(tmp_path, [pronoun_item(3, 1)])
    (item,) = [json.loads(line) for line in read_lines(corpus / "contrapro.en-de.jsonl")]
    assert "context" not in item
    assert item["categories"] == ["es", "distance_1"]


def test_some_items_may_differ_from_their_documents(tmp_path, capsys):
    items = [pronoun_item(3, 1)] * 199 + [pronoun_item(2, 1)]
    corpus = download_contrapro(tmp_path, items, opus_archive(*FILMS))
    *others, last = (json.loads(line) for line in read_lines(corpus / "contrapro.en-de.jsonl"))
    assert all(item["context"] for item in others)
    assert "context" not in last
    assert "1 of 200" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("items", "archive"),
    [
        ([pronoun_item(2, 1)], opus_archive(*FILMS)),  # another line
        ([pronoun_item(3, 1, document="1999_1_1.de")], opus_archive(*FILMS)),
        ([pronoun_item(4, 1)], opus_archive(*FILMS)),  # after the end
        ([{"src segment": "It."}], opus_archive(*FILMS)),
        ([pronoun_item(3, 1)], b"no archive"),
        ([pronoun_item(3, 1)], opus_archive(*FILMS)[:-30]),
        ({}, opus_archive(("Europarl", "It was old.", "Es war alt."))),
    ],
)
def test_what_is_not_contrapro_is_refused(tmp_path, items, archive):
    if not items:
        items = [pronoun_item(1, 1)]
    with pytest.raises(UserError, match=r"contrapro\.json: "):
        download_contrapro(tmp_path, items, archive)
    assert not (tmp_path / "data/toy").exists()


def sense(frequency, *wrong):
    return {
        "source": "Am Ton liegt es.",
        "reference": "It is the clay.",
        "errors": [{"contrastive": text, "sense": "sound"} for text in wrong],
        "ambig word": "Ton",
        "sense": "clay",
        "frequency of sense/ambig word in wmt16": f"{frequency}/90000",
    }


def test_senses_have_the_languages_of_the_file_and_the_class_of_their_frequency(tmp_path):
    wrong = ("It is the sound.", "It is the tone.", "It is the sound.")
    entries = [sense(count, *wrong) for count in (0, 20, 21, 500, 501, 10000, 10001)]
    corpus = download(tmp_path, "contrawsd", "de-en.final.json", entries, to="contrawsd")
    pairs, index = read_contrastive_set(corpus / "contrawsd.de-en.jsonl")
    assert [target for _, target in pairs] == ["It is the clay.", "It is the sound.", "It is the tone."]
    assert {(item["right"], *item["wrong"]) for item in index["items"]} == {(0, 1, 2)}
    assert [item["categories"] for item in index["items"]] == [
        *(["seen_0_20"], ["seen_0_20"], ["seen_21_50"], ["seen_201_500"], ["seen_501_1000"]),
        *(["seen_5001_10000"], ["seen_10001"]),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("final.json", [sense(1, "It is the sound.")], "must start with the languages, like de-en.final.json"),
        ("de-en.final.json", {"source": "Ton"}, "bad items: 1 of 1"),
        ("de-en.final.json", 5, "not of format contrawsd"),
        ("de-en.final.json", [sense("many", "It is the sound.")], r"bad items: 1 of 1; .* item 1 \(.*'many'"),
        ("de-en.final.json", [{"source": "Ton", "errors": []}], r"item 1 \(lacks 'reference'\)"),
    ],
)
def test_what_is_no_set_of_senses_is_refused(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message):
        download(tmp_path, "contrawsd", name, content, to="contrawsd")


def sgm(*versions):
    """Documents of segments in one version or more, as the test set has them."""
    documents = [
        f'<DOC docid="SUB{number:02}" sysid="reference_{version}">\n'
        + "".join(f"<p>\n<seg id={place}> {text}</seg>\n</p>\n" for place, text in enumerate(document, start=1))
        + "</DOC>\n"
        for version, references in enumerate(versions, start=1)
        for number, document in enumerate(references, start=1)
    ]
    return '<refset setid="a" srclang="Chinese" trglang="English">\n' + "".join(documents) + "</refset>\n"


def subtitles(**changes):
    """An archive like GitHub's; a change of None leaves a file out."""
    files = {
        "orignal/train/separated/10.zh": "十\n",
        "orignal/train/separated/10.en": "Ten.\n",
        "orignal/train/separated/2.zh": "二\n两\n",
        "orignal/train/separated/2.en": "Two.\nA couple.\n",
        "orignal/train/separated/2.np.tk.qb.es.zh": "left out",
        "orignal/dev/dev.orignal.zh": "好 \n",
        "orignal/dev/dev.orignal.en": "Good &apos;un . \n",
        "processed/dev/dev_trg.sgm": sgm([["good &apos;un ."]]),
        "orignal/test/test.orignal.zh": "一\n二\n三\n",
        "orignal/test/test.orignal.en": "One , Anna . \ntwo-three \nI don &apos;t .\n",
        "processed/test/test_trg.sgm": sgm(
            [["one , anna .", "two @-@ three"], ["i don &apos;t ."]], [["1 .  @-@  one", "2 @-@ 3"], ["no"]]
        ),
    } | changes
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            if text is not None:
                info = tarfile.TarInfo(f"tvsub-0123/data/{name}")
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


def test_episodes_are_documents_in_the_order_of_their_numbers(tmp_path):
    corpus = download(tmp_path, "tvsub", "0123.tar.gz", subtitles())
    assert read_lines(corpus / "train.zh") == ["二", "两", "十"]
    assert read_lines(corpus / "train.en") == ["Two.", "A couple.", "Ten."]
    assert read_documents(corpus, "train", 3) == [range(2), range(2, 3)]
    assert read_lines(corpus / "dev.zh") == ["好"]
    assert read_lines(corpus / "test.en") == ["One , Anna .", "two-three", "I don't ."]
    assert read_lines(corpus / "test.en.1") == ["1 . - one", "2-3", "no"]
    assert read_documents(corpus, "test", 3) == [range(2), range(2, 3)]
    names = {f"{split}.{ending}" for split in ("train", "dev", "test") for ending in ("zh", "en", "documents")}
    assert {path.name for path in corpus.iterdir()} == {*names, "test.en.1"}


def test_so_many_episodes_as_asked_for(tmp_path):
    corpus = download(tmp_path, "tvsub", "0123.tar.gz", subtitles(), documents=1)
    assert (read_lines(corpus / "train.en"), read_documents(corpus, "train", 2)) == (["Two.", "A couple."], [range(2)])
    with pytest.raises(UserError, match="documents is 3; there are 2 episodes"):
        download(tmp_path, "tvsub", "0123.tar.gz", subtitles(), documents=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"orignal/train/separated/2.en": "Two.\n"}, r"1 of 2; .* episode 2 \(2 Chinese lines and 1 English ones\)"),
        ({"orignal/train/separated/2.en": None}, r"1 of 2; .* episode 2 \('2.en' is not in the archive\)"),
        ({"processed/test/test_trg.sgm": None}, "'test_trg.sgm' is not in the archive"),
        ({"orignal/dev/dev.orignal.zh": "好\n好\n"}, "the languages of a split have different .* dev.en 1, dev.zh 2"),
        ({"processed/dev/dev_trg.sgm": ""}, "not of format tvsub"),
        (
            {"processed/test/test_trg.sgm": sgm([["1", "2", "3", "4"]])},
            "test_trg.sgm has 4 segments, test.orignal.en 3 lines",
        ),
    ],
)
def test_an_archive_that_does_not_fit_is_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        download(tmp_path, "tvsub", "0123.tar.gz", subtitles(**changes))
    assert not (tmp_path / "data/toy").exists()


def document(*sentences):
    """A document of OPUS, with ids from 1."""
    lines = (f'<p id="{number}"><s id="{number}">{text}</s></p>' for number, text in enumerate(sentences, start=1))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<text>\n{"".join(lines)}\n</text>\n'.encode()


def zipped(**files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


ALIGNED = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "">
<cesAlign version="1.0">
<linkGrp targType="s" toDoc="es/two.xml.gz" fromDoc="en/two.xml.gz">
<link certainty="0.5" xtargets="1 2;1" id="SL1"/>
<link xtargets="3;2"/>
</linkGrp>
<linkGrp fromDoc="en/empty.xml.gz" toDoc="es/empty.xml.gz">
<link xtargets="1;"/>
<link xtargets="2;1"/>
</linkGrp>
<linkGrp fromDoc="en/one.xml.gz" toDoc="es/one.xml.gz">
<link xtargets="1;1"/>
</linkGrp>
</cesAlign>
"""
SPANISH = {"two": document("Uno y dos.", "Tres."), "empty": document(" "), "one": document("Q&amp;A")}


def aligned(root, *, alignment=ALIGNED, **spanish):
    two = document("One", "<i>and</i>\n two.", "Three.")
    english = {"two": two, "empty": document("Left", "out"), "one": document("Q&amp;A")}
    mirror = root / "mirror/toy"
    mirror.mkdir(parents=True)
    for language, documents in {"en": english, "es": SPANISH | spanish}.items():
        members = {f"News-Commentary/raw/{language}/{name}.xml": content for name, content in documents.items()}
        (mirror / f"{language}.zip").write_bytes(
            zipped(**{name: text for name, text in members.items() if text is not None})
        )
    files = [{"url": f"http://127.0.0.1:9/{language}.zip", "sha256": None} for language in ("en", "es")]
    return download(root, "opus_xml", "en-es.xml.gz", gzip.compress(alignment.encode()), before=files)


def test_aligned_documents_of_opus_become_lines(tmp_path):
    corpus = aligned(tmp_path)
    assert read_lines(corpus / "train.en") == ["One and two.", "Three.", "Q&A"]
    assert read_lines(corpus / "train.es") == ["Uno y dos.", "Tres.", "Q&A"]
    assert read_documents(corpus, "train", 3) == [range(2), range(2, 3)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"two": document("Uno.")}, r"bad groups of sentences: 1 of 5; .* en/two\.xml, 3;2 \('2' is not there\)"),
        ({"one": None}, r"bad documents: 1 of 3; .* en/one\.xml \('es/one\.xml' is not there\)"),
        ({"one": b"<text>"}, r"bad documents: 1 of 3; .* en/one\.xml \(.* is not XML"),
        ({"alignment": ALIGNED[:-20]}, "not of format opus_xml"),
    ],
)
def test_an_alignment_that_does_not_fit_is_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        aligned(tmp_path, **changes)
    assert not (tmp_path / "data/toy").exists()


def many_aligned(root, count, **changed):
    """Documents of two sentences, aligned with themselves; `changed` has the content of some in Spanish, or None."""
    english = {f"d{number}": document("a", "b") for number in range(count)}
    packed = {"en": {}, "es": {}}
    for language, documents in {"en": english, "es": english | changed}.items():
        for number, (name, content) in enumerate(documents.items()):
            if content is not None:  # OPUS has some documents gzipped
                member, content = (".xml.gz", gzip.compress(content)) if number % 2 else (".xml", content)
                packed[language][f"News/raw/{language}/{name}{member}"] = content
    links = '<link xtargets="1;1"/><link xtargets="2;2"/>'
    groups = [f'<linkGrp fromDoc="en/{name}.xml.gz" toDoc="es/{name}.xml.gz">{links}</linkGrp>' for name in english]
    mirror = root / "mirror/toy"
    mirror.mkdir(parents=True)
    for language, members in packed.items():
        (mirror / f"{language}.zip").write_bytes(zipped(**members))
    files = [{"url": f"http://127.0.0.1:9/{language}.zip", "sha256": None} for language in ("en", "es")]
    alignment = gzip.compress(f"<cesAlign>{''.join(groups)}</cesAlign>".encode())
    return download(root, "opus_xml", "en-es.xml.gz", alignment, before=files)


@pytest.mark.parametrize(
    ("content", "reason", "lost"),
    [
        (document("a\x1e", "b"), "News/raw/es/d3.xml.gz is not XML: not well-formed", 2),
        (document("Q & A", "b"), "News/raw/es/d3.xml.gz is not XML: not well-formed", 2),
        (None, "'es/d3.xml' is not there", 2),
        (document("a"), "'2' is not there", 1),
    ],
    ids=["control character", "bare &", "missing document", "missing sentence"],
)
def test_a_bad_document_of_opus_is_left_out(tmp_path, capsys, content, reason, lost):
    corpus = many_aligned(tmp_path, 150, d3=content)
    sentences = read_lines(corpus / "train.es")
    assert len(sentences) == len(read_lines(corpus / "train.en")) == 300 - lost
    assert len(read_documents(corpus, "train", len(sentences))) == (149 if lost == 2 else 150)
    (note,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("note: "))
    assert "en/d3.xml" in note
    assert reason in note


def test_many_bad_documents_of_opus_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"en-es\.xml\.gz: bad documents: 2 of 150; .* The first: en/d3\.xml \("):
        many_aligned(tmp_path, 150, d3=None, d9=b"<text>")
    assert not (tmp_path / "data/toy").exists()


def test_a_bad_episode_chat_block_or_item_is_left_out(tmp_path, capsys):
    episodes = {f"orignal/train/separated/{n}.{side}": "a\n" for n in range(100, 250) for side in ("zh", "en")}
    corpus = download(
        tmp_path, "tvsub", "0123.tar.gz", subtitles(**episodes, **{"orignal/train/separated/2.en": "a\n"})
    )
    assert len(read_lines(corpus / "train.zh")) == len(read_lines(corpus / "train.en")) == 151
    chat = [said("agent", "a", "b"), said("customer", "c", "d")]
    chats = {str(number): chat for number in range(150)} | {"x": [said("agent", "a\nb", "c")]}
    assert len(read_lines(download(tmp_path, "bcontrast", "a.json", chats, to="dev") / "dev_agent.de")) == 150
    example = {"src": ["One.", "Two."], "trg": {"correct": ["Un.", "Deux."], "incorrect": ["Un.", "Trois."]}}
    blocks = {str(number): {"type": "a", "examples": [example]} for number in range(150)} | {"x": {"type": "a"}}
    corpus = download(tmp_path, "discourse_mt", "a.json", blocks, to="lexical_choice")
    assert len(read_lines(corpus / "lexical_choice.en-fr.jsonl")) == 150
    senses = [sense(1, "It is the sound.")] * 150 + [{"source": "Ton"}]
    corpus = download(tmp_path, "contrawsd", "de-en.final.json", senses, to="contrawsd")
    assert len(read_lines(corpus / "contrawsd.de-en.jsonl")) == 150
    items = [pronoun_item(3, 1)] * 150 + [{"src segment": "It."}]
    assert len(read_lines(download_contrapro(tmp_path, items) / "contrapro.en-de.jsonl")) == 150
    for value in (None, 5, "two\nlines"):
        for key in ("src segment", "ref segment"):
            download_contrapro(tmp_path, [pronoun_item(3, 1)] * 150 + [pronoun_item(3, 1) | {key: value}])
        for bad in ({"source": value}, {"reference": value}, {"errors": [{"contrastive": value}]}):
            senses[-1] = senses[0] | bad
            corpus = download(tmp_path, "contrawsd", "de-en.final.json", senses, to="contrawsd")
            assert len(read_lines(corpus / "contrawsd.de-en.jsonl")) == 150
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    places = [
        "episode 2 (2 Chinese lines",
        "chat x (a line break",
        "block x (lacks 'trg')",
        "item 151 (lacks",
        "item 151 (lacks",
        *[f"item 151 ({reason}" for reason in ("None is no text", "5 is no text", "a line break") for _ in range(5)],
    ]
    for note, place in zip(notes, places, strict=True):
        assert "left out: 1 of 15" in note
        assert place in note


def test_a_subtitle_without_names_is_left_out(tmp_path, capsys):
    archive = subtitle_archive([*EPISODES, ("2001/1/1.xml.gz", 200)])
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        ids = opened.read("Subs.en-es.ids").decode().splitlines()
    ids[2] = "no tab"
    content = subtitle_archive([*EPISODES, ("2001/1/1.xml.gz", 200)], **{"Subs.en-es.ids": "\n".join(ids) + "\n"})
    corpus = download(tmp_path, "opus_moses", "en-es.txt.zip", content, **DRAWN | {"documents": 5})
    assert "en 2000/2/1.xml.gz 1" not in [
        line for split in ("train", "dev", "test") for line in read_lines(corpus / f"{split}.en")
    ]
    assert "Subs.en-es.ids: bad lines left out: 1 of 228: line 3 (" in capsys.readouterr().out


@pytest.mark.parametrize("number", [228, 227, 100])
def test_a_subtitle_goes_on_after_a_line_without_names(tmp_path, number):
    archive = subtitle_archive([*EPISODES, ("2001/1/1.xml.gz", 200)])
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        ids = opened.read("Subs.en-es.ids").decode().splitlines()
    ids[number - 1] = "no tab"
    content = subtitle_archive([*EPISODES, ("2001/1/1.xml.gz", 200)], **{"Subs.en-es.ids": "\n".join(ids) + "\n"})
    corpus = download(tmp_path, "opus_moses", "en-es.txt.zip", content, **DRAWN | {"documents": 5})
    for language in ("en", "es"):
        kept = {split: read_lines(corpus / f"{split}.{language}") for split in ("train", "dev", "test")}
        long = [f"{language} 2001/1/1.xml.gz {line}" for line in range(200) if line != number - 29]
        (split,) = (split for split, lines in kept.items() if long[0] in lines)
        assert [line for line in kept[split] if "2001" in line] == long
        assert sum(map(len, kept.values())) == 227
        for split, lines in kept.items():
            documents = read_documents(corpus, split, len(lines))
            assert [len({lines[n].split()[1] for n in document}) for document in documents] == [1] * len(documents)


def subtitle_archive(episodes, **changes):
    """An archive of OPUS' Moses files with these numbers of lines by episode; each line is the name of its episode."""
    ids = [f"en/{name}\tes/{name}\t1\t1" for name, count in episodes for _ in range(count)]
    files = {"README": "", "Subs.en-es.ids": "".join(f"{line}\n" for line in ids)}
    for language in ("en", "es"):
        text = [f"{language} {name} {line}" for name, count in episodes for line in range(count)]
        files[f"Subs.en-es.{language}"] = "".join(f"{line}\n" for line in text)
    return zipped(**{name: content for name, content in (files | changes).items() if content is not None})


EPISODES = [(f"2000/{number}/1.xml.gz", number) for number in range(1, 8)]
DRAWN = {"documents": 4, "held_out_documents": {"dev": 1, "test": 2}, "seed": 1}


def test_episodes_are_drawn_for_every_split_and_stay_whole(tmp_path):
    content = subtitle_archive([*EPISODES, ("2000/3/2.xml.gz", 9)])
    corpus = download(tmp_path, "opus_moses", "en-es.txt.zip", content, **DRAWN)
    found = {}
    for split, count in (("train", 4), ("dev", 1), ("test", 2)):
        english, spanish = read_lines(corpus / f"{split}.en"), read_lines(corpus / f"{split}.es")
        assert [f"es{line[2:]}" for line in english] == spanish
        documents = read_documents(corpus, split, len(english))
        assert len(documents) == count
        for lines in documents:
            (name,) = {english[line].split()[1] for line in lines}
            assert name not in found
            found[name] = len(lines)
    assert found == dict(EPISODES)  # without the second version of one
    drawn = set()
    for seed in range(10):
        corpus = download(tmp_path, "opus_moses", "en-es.txt.zip", content, **DRAWN | {"seed": seed})
        drawn.add(tuple(read_lines(corpus / "test.en")))
    assert len(drawn) > 1


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"documents": 5}, "documents is 5, held out are 3; there are 7 episodes"),
        ({"Subs.en-es.ids": None}, {}, r"the archive has 0 files \.ids"),
        ({"Subs.en-es.es": None}, {}, r"Subs\.en-es\.es"),
        ({"Subs.en-es.es": "una\n"}, {}, r"toy/a\.zip: Subs\.en-es\.es has 1 lines, and Subs\.en-es\.ids has 28"),
        ({"Subs.en-es.es": "una\n" * 29}, {}, r"Subs\.en-es\.es has 29 lines, and Subs\.en-es\.ids has 28"),
        ({"Subs.en-es.es": "una\n" * 27}, {"documents": 1}, r"Subs\.en-es\.es has 27 lines"),
    ],
)
def test_subtitles_that_do_not_fit_are_refused(tmp_path, changes, options, message):
    with pytest.raises(UserError, match=message):
        download(tmp_path, "opus_moses", "a.zip", subtitle_archive(EPISODES, **changes), **DRAWN | options)
    assert not (tmp_path / "data/toy").exists()


def test_chinese_becomes_words(tmp_path):
    assert segment("老师今天去图书馆看书吗\u3002  OK\r") == "老师 今天 去 图书馆 看书 吗 \u3002 OK"
    written = io.BytesIO()
    segment_stream(io.BytesIO("我去\r我\n\n安娜在北京".encode()), written)
    assert written.getvalue().decode() == "我 去 我\n\n安娜 在 北京\n"
    with pytest.raises(UserError, match="standard input: line 2 is not UTF-8"):
        segment_stream(io.BytesIO(b"a\n\xff\n"), written)


WMT = [name for name in read_catalogue(ENTRIES)["corpora"] if name.startswith(("wmt", "aspec"))]


@pytest.mark.parametrize("corpus", WMT)
def test_corpora_of_wmt_are_made_from_a_mirror(tmp_path, corpus):
    """From made-up files; none of their addresses has been tried."""
    entry = unchecked(read_entry(ENTRIES, corpus))
    write(tmp_path / "mirror" / corpus, entry, lines=5)
    folder, checksums = tmp_path / corpus, tmp_path / "checksums.json"
    make_corpus(entry, folder, checksums=checksums, mirror=str(tmp_path / "mirror"))
    others = ("", ".documents", ".jsonl")
    outputs = [output for file in files_of(entry) for output in file.outputs if Path(output).suffix not in others]
    assert {path.name for path in folder.iterdir() if path.suffix not in others} == set(outputs)
    for output in set(outputs):
        assert read_lines(folder / output) == [
            sentence(output.partition(".")[2], number) for number in range(5)
        ] * outputs.count(output)
    languages = {output.partition(".")[2] for output in outputs}
    assert languages == set(corpus.split("-")[1:]) or corpus == "aspec"
    if corpus == "wmt14-de-en":
        pairs, index = read_contrastive_set(folder / "contrawsd.de-en.jsonl")
        assert (len(index["items"]), pairs[0]) == (5, (sentence("de", 0), sentence("en", 0)))


def test_one_address_has_one_checksum():
    found = {}
    for names in read_catalogue(ENTRIES).values():
        for file in (file for name in names for file in getattr(read_entry(ENTRIES, name), "files", ())):
            found.setdefault(file.url, set()).add(file.sha256)
    assert {url: checksums for url, checksums in found.items() if len(checksums) > 1} == {}
    assert sum(checksums != {None} for checksums in found.values()) > 25


def test_what_needs_a_form_says_so(tmp_path):
    asked = {}
    for corpus in WMT:
        entry = unchecked(read_entry(ENTRIES, corpus))
        asked[corpus] = [file.name for file in entry.files if file.by_hand]
        if asked[corpus]:
            write(tmp_path / "mirror" / corpus, entry, lines=1)
            (tmp_path / "mirror" / corpus / asked[corpus][0]).unlink()
            with pytest.raises(UserError, match=f"{corpus}: {asked[corpus][0]} must be fetched by hand: .*https?://"):
                make_corpus(
                    entry, tmp_path / corpus, checksums=tmp_path / f"{corpus}.json", mirror=str(tmp_path / "mirror")
                )
    assert {corpus: names for corpus, names in asked.items() if names} == {
        "wmt17-en-ru": ["1mcorpus.zip"],
        "wmt18-en-cs": ["czeng17.tsv.gz"],
        "aspec": ["train-1.txt", "train-2.txt", "dev.txt", "test.txt"],
    }
