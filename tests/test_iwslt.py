"""TED talks of IWSLT: archives in small ones of the same form, and the experiments on them."""

import re
from pathlib import Path

import pytest
import yaml
from made_up_iwslt import archive, training_text, write, xml
from made_up_wmt import unchecked

from context_nmt.corpus.catalogue import read_catalogue, read_entry
from context_nmt.corpus.documents import read_documents
from context_nmt.corpus.download import make_corpus
from context_nmt.files import UserError, read_lines
from context_nmt.pipeline.planning import plan
from context_nmt.settings.parameters import read_parameters

ROOT = Path(__file__).parents[1]
ENTRIES = ROOT / "data/params.yaml"
NAMES = [name for name, entry in read_catalogue(ENTRIES)["corpora"].items() if entry["format"] == "iwslt"]
TRAIN = {"de": {1: ["Hallo", "Tschüss & Ende"], 7: ["Ja"]}, "en": {1: ["Hello", "Bye & end"], 7: ["Yes"]}}
FIRST = {"de": {20: ["a", "b & b"], 21: ["c"]}, "en": {20: ["A", "B"], 21: ["C"]}}
SECOND = {"de": {30: ["d"]}, "en": {30: ["D"]}}


def download(root, files, **options):
    """Download a corpus from a mirror of archives, given {archive: {member: (text, output)}}."""
    mirror = root / "mirror/toy"
    mirror.mkdir(parents=True, exist_ok=True)
    (root / "data").mkdir(exist_ok=True)
    entries = []
    for name, members in files.items():
        texts = {member: text for member, (text, _) in members.items() if text is not None}
        (mirror / name).write_bytes(archive(texts))
        outputs = {member: output for member, (_, output) in members.items()}
        entries.append({"url": f"http://nowhere/{name}", "sha256": None, "members": outputs, "by_hand": "Ask."})
    entry = {"format": "iwslt", "licence": "none", "homepage": "none", "files": entries, **options}
    (root / "data/params.yaml").write_text(yaml.safe_dump({"corpora": {"toy": entry}}))
    corpus, checksums = root / "data/toy", root / "data/checksums.json"
    checksums.unlink(missing_ok=True)
    make_corpus(read_entry(root / "data/params.yaml", "toy"), corpus, checksums=checksums, mirror=str(root / "mirror"))
    return corpus


def sides(member, talks, split, form):
    return {member.format(side): (form(talks[side]), f"{split}.{side}") for side in ("de", "en")}


def two_archives(**changes):
    """A training text with one set in the first archive, and another set of the same split in the second."""
    files = {
        "de-en.tgz": {
            **sides("de-en/train.tags.de-en.{}", TRAIN, "train", training_text),
            **sides("de-en/IWSLT14.TED.dev2010.de-en.{}.xml", FIRST, "test", xml),
        },
        "en-de.tgz": sides("en-de/IWSLT14.TED.tst2014.en-de.{}.xml", SECOND, "test", xml),
    }
    for members in files.values():
        for member in members:
            for ending, text in changes.items():
                if member.endswith(ending):
                    members[member] = (text, members[member][1])
    return files


def test_talks_are_documents_and_titles_are_no_text(tmp_path):
    corpus = download(tmp_path, two_archives())
    assert read_lines(corpus / "train.de") == ["Hallo", "Tschüss & Ende", "Ja"]
    assert read_lines(corpus / "train.en") == ["Hello", "Bye & end", "Yes"]
    assert read_documents(corpus, "train", 3) == [range(2), range(2, 3)]


def test_the_sets_of_a_split_are_concatenated_with_their_talks(tmp_path):
    corpus = download(tmp_path, two_archives())
    assert read_lines(corpus / "test.de") == ["a", "b & b", "c", "d"]
    assert read_lines(corpus / "test.en") == ["A", "B", "C", "D"]
    assert read_documents(corpus, "test", 4) == [range(2), range(2, 3), range(3, 4)]


def test_only_the_tags_of_wit3_are_no_text(tmp_path):
    spoken = {1: ["<applause>", "<b>a</b> b", "<url >"]}
    texts = {f"train.tags.de-en.{side}": training_text(spoken).replace("&lt;", "<") for side in ("de", "en")}
    texts = {name: text.replace("&gt;", ">") for name, text in texts.items()}
    assert read_lines(download(tmp_path, two_archives(**texts)) / "train.de") == ["<applause>", "<b>a</b> b"]


def test_every_so_many_th_pair_is_held_out(tmp_path):
    corpus = download(tmp_path, two_archives(), held_out_every=3)
    assert read_lines(corpus / "train.en") == ["Hello", "Bye & end"]
    assert (read_lines(corpus / "valid.de"), read_lines(corpus / "valid.en")) == (["Ja"], ["Yes"])
    assert read_documents(corpus, "train", 2) == [range(2)]
    assert read_documents(corpus, "valid", 1) == [range(1)]


@pytest.mark.parametrize(
    ("ending", "text", "names"),
    [
        (
            "train.tags.de-en.de",
            training_text({1: ["Hallo"], 7: ["Ja"]}),
            [
                "train: bad talks: 1 of 2",
                "talk 1 (1 lines in de-en/train.tags.de-en.de from line 3, 2 lines in ",
                ".en from",
            ],
        ),
        (
            "train.tags.de-en.en",
            training_text({1: ["Hello", "Bye"], 8: ["Yes"]}),
            ["train: bad talks: 2 of 3", "talk 7 (de-en/train.tags.de-en.de from line 11; not in en)"],
        ),
        (
            "train.tags.de-en.de",
            training_text({1: TRAIN["de"][1]}),
            ["1 of 2", "talk 7 (", "train.tags.de-en.en", "not in de"],
        ),
        ("train.tags.de-en.en", "Hello\n", ["train.tags.de-en.en", "line 1"]),
        ("train.tags.de-en.en", "<talkid>1</talkid>\n", ["train.tags.de-en.en", "<title>"]),
        ("train.tags.de-en.en", None, ["'de-en/train.tags.de-en.en' is not a plain file of the archive"]),
        ("dev2010.de-en.de.xml", xml({20: ["a", "b"]}), ["test: bad talks: 1 of 2", "talk 21", "not in de"]),
        ("dev2010.de-en.de.xml", xml({20: ["a"], 21: ["c"]}), ["talk 20", "dev2010.de-en.en.xml from line 4"]),
        ("dev2010.de-en.de.xml", '<doc docid="20">\n<seg id="1"> a\nb\n', ["dev2010.de-en.de.xml", "line 2"]),
        ("dev2010.de-en.de.xml", '<seg id="1"> a </seg>\n', ["dev2010.de-en.de.xml", "line 1"]),
        ("dev2010.de-en.de.xml", "<mteval>\n</mteval>\n", ["dev2010.de-en.de.xml", "<doc"]),
    ],
)
def test_languages_that_differ_are_refused_with_the_file_and_the_line(tmp_path, ending, text, names):
    with pytest.raises(UserError) as refused:
        download(tmp_path, two_archives(**{ending: text}))
    assert [name for name in names if name not in str(refused.value)] == []
    assert not (tmp_path / "data/toy").exists()


HEAD = "<title>Wren: title 1</title>"
UNUSUAL = [
    ("\ufeff" + training_text(TRAIN["de"])),
    ("<transcript>\n" + training_text(TRAIN["de"])),
    training_text(TRAIN["de"]).replace(HEAD, "<title>Wren:\n title 1</title>"),
    training_text(TRAIN["de"]).replace("TED Talk 7:", "TED Talk\n7:\n"),
    "\n \n" + training_text(TRAIN["de"]),
    training_text(TRAIN["de"]).replace("<title>", "<url>x</url>\n<date>2010</date>\n<title>"),
    training_text(TRAIN["de"]).replace("</translator>\n", "</translator>\n\n<date>2010</date>\n<transcript>\n"),
]


@pytest.mark.parametrize(
    "text",
    UNUSUAL,
    ids=["byte order mark", "unknown tag", "title", "description", "blank lines", "date", "head between talks"],
)
def test_a_training_text_may_have_an_unusual_head(tmp_path, text):
    corpus = download(tmp_path, two_archives(**{"train.tags.de-en.de": text}))
    assert read_lines(corpus / "train.de") == ["Hallo", "Tschüss & Ende", "Ja"]
    assert read_documents(corpus, "train", 3) == [range(2), range(2, 3)]


@pytest.mark.parametrize(
    ("usual", "unusual"),
    [
        ("<doc ", "<DOC "),
        ("</doc>", "</DOC>"),
        ("b &amp; b", "b\n &amp;\nb"),
        ("  </seg>", "\n</seg>"),
        ("<seg", "<SEG"),
    ],
)
def test_a_test_set_may_be_written_unusually(tmp_path, usual, unusual):
    text = xml(FIRST["de"])
    assert usual in text
    corpus = download(tmp_path, two_archives(**{"dev2010.de-en.de.xml": text.replace(usual, unusual)}))
    assert read_lines(corpus / "test.de") == ["a", "b & b", "c", "d"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (xml({5: ["x"]}).replace('docid="5"', 'docid="5b"'), "not in de"),
        (xml({5: ["x", "y"]}), "2 lines in "),
        (xml({5: ["x"]}).replace("</seg>", ""), "is no whole segment"),
        (xml({5: ["x"]}).replace("x", "x&#10;y"), "is no whole segment"),
        (xml({5: ["x"]}).replace("</seg>", '</seg> <seg id="2"> y </seg>'), "is no whole segment"),
    ],
    ids=["number", "lines", "segment", "line break", "two segments"],
)
def test_a_bad_talk_is_left_out_in_both_languages(tmp_path, capsys, changed, reason):
    english = xml({number: ["x"] for number in range(250)})
    document = re.search(r'<doc docid="5".*?</doc>', english, re.DOTALL)[0]
    german = english.replace(document, re.search("<doc .*</doc>", changed, re.DOTALL)[0])
    files = {"a.tgz": {f"a.{side}.xml": (text, f"test.{side}") for side, text in (("de", german), ("en", english))}}
    corpus = download(tmp_path, files)
    assert len(read_lines(corpus / "test.de")) == len(read_lines(corpus / "test.en")) == 249
    (note,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("note: "))
    assert note.startswith("note: test: bad talks left out: ")
    assert "talk 5" in note
    assert reason in note


def test_a_talk_with_text_that_is_not_utf8_is_left_out(tmp_path, capsys):
    text = training_text({number: ["schön"] for number in range(150)})
    latin = text.replace("schön", "sch\udcf6n", 1)  # as one byte
    files = {"a.tgz": {"train.tags.de": (latin, "train.de"), "train.tags.en": (text, "train.en")}}
    corpus = download(tmp_path, files)
    assert read_lines(corpus / "train.de") == read_lines(corpus / "train.en") == ["schön"] * 149
    assert "train: bad talks left out: 1 of 150: talk 0 (train.tags.de: line 5 is not UTF-8)" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_each_corpus_can_be_made_of_archives_with_the_files_that_it_names(tmp_path, name):
    entry = unchecked(read_entry(ENTRIES, name))
    write(tmp_path / name, entry)
    make_corpus(entry, tmp_path / "data" / name, checksums=tmp_path / "checksums.json", mirror=str(tmp_path))
    languages = {output.partition(".")[2] for file in entry.files for output in file.outputs}
    assert len(languages) == 2
    for path in (tmp_path / "data" / name).glob("*.documents"):
        counts = {len(read_lines(path.with_suffix(f".{language}"))) for language in languages}
        assert len(counts) == 1
        assert len(read_documents(path.parent, path.stem, counts.pop())) > 0


def test_the_test_set_of_german_is_all_five():
    (file,) = read_entry(ENTRIES, "iwslt14-de-en").files
    assert sum(output == "test.en" for output in file.outputs) == 5


DUAL = {  # Ampomah et al., sections 4.1 and 4.2: corpus, validation set, test set, merges, tested score
    "iwslt14-es-en": ("iwslt14-es-en", "dev", "tst2014", 34_000, "bleu_tokenized"),
    "iwslt14-en-es": ("iwslt14-es-en", "dev", "tst2014", 34_000, "bleu_tokenized"),
    "iwslt14-ro-en": ("iwslt14-ro-en", "dev", "tst2014", 32_000, "bleu_tokenized"),
    "iwslt14-en-ro": ("iwslt14-ro-en", "dev", "tst2014", 32_000, "bleu_tokenized"),
    "iwslt15-fr-en": ("iwslt15-fr-en", "tst2013", "tst2014_2015", 31_000, "bleu_tokenized"),
    "iwslt15-en-fr": ("iwslt15-fr-en", "tst2013", "tst2014_2015", 31_000, "bleu_tokenized"),
    "iwslt15-en-vi": ("iwslt15-en-vi", "tst2012", "tst2013", 21_000, "sacrebleu"),
    "iwslt15-vi-en": ("iwslt15-en-vi", "tst2012", "tst2013", 21_000, "sacrebleu"),
    "iwslt14-de-en": ("iwslt14-de-en", "valid", "test", 10_000, "bleu_tokenized"),  # not of the paper
}


def settings(experiment):
    return read_parameters(ROOT / "experiments" / experiment / "params.yaml")


@pytest.mark.parametrize("experiment", DUAL)
def test_the_recipe_of_dual_context(experiment):
    read = settings(experiment)
    corpus, validation, test, merges, metric = DUAL[experiment]
    assert (read.corpus.name, read.corpus.validation, read.corpus.tests) == (corpus, validation, (test,))
    assert read.corpus.direction == experiment.partition("-")[2]
    assert (read.units.kind, read.units.joint, read.units.merges) == ("bpe", True, merges)
    assert read.significance.metric == metric
    assert read.text.source.pretokenized == read.text.target.pretokenized == (corpus == "iwslt15-en-vi")
    systems = [variant for variant in read.variants if variant.startswith(("transformer", "dual_context"))]
    assert systems == ["transformer", "dual_context_encoder", "dual_context_decoder", "dual_context_both"]
    for variant in read.variants:
        chosen = plan(read, variant)
        model, training, decoding = chosen.training.model.model, chosen.training.training, chosen.decoding
        assert (model.width, model.heads, model.encoder_layers, model.decoder_layers) == (256, 4, 4, 4)
        assert (model.norm, model.tying) == ("post", "all")
        assert (training.batch_tokens * training.accumulation, training.maximum_updates) == (2048, 200_000)
        assert (training.schedule.kind, training.adam_beta1, training.adam_beta2) == ("cosine", 0.9, 0.98)
        assert (decoding.beam, decoding.length_penalty, decoding.length_penalty_weight) == (6, "gnmt", 1.1)


@pytest.mark.parametrize(
    ("experiment", "corpus", "direction", "test", "metric"),
    [
        ("ted-es-en", "ted-es-en", "es-en", "ted_tst2010_2012", "bleu_lowercased"),
        ("ted-zh-en", "iwslt15-zh-en", "zh-en", "ted_tst2010_2013", "bleu_tokenized"),
    ],
)
def test_ted_talks_have_the_recipe_of_the_subtitles(experiment, corpus, direction, test, metric):
    """But for the text and how long an epoch of it is."""
    read, subtitles = settings(experiment), settings("tvsub-zh-en")
    assert (read.corpus.name, read.corpus.direction) == (corpus, direction)
    assert (read.corpus.validation, read.corpus.tests) == ("dev2010", (test,))
    assert read.significance.metric == metric
    assert (read.units, read.model, read.train) == (subtitles.units, subtitles.model, subtitles.train)
    assert list(read.variants) == list(subtitles.variants)
    assert (read.text.target, read.text.cleaning) == (subtitles.text.target, subtitles.text.cleaning)
    assert read.text.source == (subtitles.text.source if direction == "zh-en" else read.text.target)
    for variant in read.variants:
        own, other = plan(read, variant), plan(subtitles, variant)
        assert own.training.model == other.training.model
        assert (own.averaging, own.decoding) == (other.averaging, other.decoding)
        keys = ("batch_tokens", "accumulation", "maximum_sentence_length", "schedule", "adam_beta2", "label_smoothing")
        for key in keys:
            assert getattr(own.training.training, key) == getattr(other.training.training, key)
