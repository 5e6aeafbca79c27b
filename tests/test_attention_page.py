"""The page of a document: the weights are the model's own, and nothing on it comes from elsewhere."""

import re
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from shown import texts
from small_models import VOCABULARY, shake, small_model
from tiny_training import make_experiment

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import SPECIALS, UNKNOWN, Vocabulary
from context_nmt.files import UserError, write_json
from context_nmt.measures.attention.earlier_sentences import Looks, Seen, looks, modules_that_show
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, model_metadata, save, weights_of
from context_nmt.models.plans import Filling, TrainingPlan
from context_nmt.report.attention_page import Sentence, show_document, write_attention_page, write_attention_picture
from context_nmt.settings.decoding import DecodingSettings

HAN = Filling(mechanism="hierarchical_attention", settings={"sentences": 2})
ENCODER = (replace(HAN, settings={"sentences": 1}),)
CONFIGURATIONS = {
    "joint": {"encoder_output": ENCODER, "decoder_output": (HAN,)},
    "source": {"decoder_output": (replace(HAN, settings={"sentences": 2, "context": "source"}),)},
    "alignment": {"decoder_output": (replace(HAN, settings={"sentences": 2, "context": "alignment"}),)},
}
UNITS = Vocabulary((*SPECIALS, "a", "b@@", "c", "d@@", "e", "f", "g"))
SOURCES = [np.array(ids) for ids in ([4, 5, 6], [6, 5, 7, 4], [UNKNOWN], [9, 8, 5])]  # a b@@ c | c b@@ d@@ a | …
TARGETS = [np.array(ids) for ids in ([7, 5, 8, 9], [10], [4, 6], [6, 7, 4])]


def by_hand(model):
    """The weights [sentence, T, S] and [sentence, T, j] of each module, from one pass over the document."""
    kept = {}
    for name in modules_that_show(model):
        for level in ("word", "sentence"):
            module = model.get_submodule(f"{name}.{level}_attention.attend.weights")
            module.register_forward_hook(lambda _, __, out, key=(name, level): kept.__setitem__(key, out))
    source = torch.tensor([[4, 5, 6, 2, 0], [6, 5, 7, 4, 2], [3, 2, 0, 0, 0], [9, 8, 5, 2, 0]])
    inputs = torch.tensor([[1, 7, 5, 8, 9], [1, 10, 0, 0, 0], [1, 4, 6, 0, 0], [1, 6, 7, 4, 0]])
    previous = torch.tensor([[-1, -1], [-1, 0], [0, 1], [1, 2]])[:, -model.sentences :]
    with torch.no_grad():
        model(source, inputs, previous)
    return kept


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_weights_are_the_models_own(configuration):
    model = small_model(CONFIGURATIONS[configuration])
    found = looks(model, SOURCES, TARGETS, TARGETS, {"source": UNITS, "target": UNITS})
    kept = by_hand(model)
    assert [[one.module for one in of_sentence] for of_sentence in found] == [modules_that_show(model)] * 4
    for number, of_sentence in enumerate(found):
        for one in of_sentence:
            words = kept[one.module, "word"].mean(1)
            count = len(words) // 4
            words = words.view(4, count, *words.shape[1:])[number]
            shares = kept[one.module, "sentence"].mean(1).view(4, -1, count)[number]
            if number == 0:
                assert one.words == []
            for seen in (seen for of_word in one.words for seen in of_word):
                assert sum(seen.words) == pytest.approx(1 if one.seen_side == "target" or seen.number != 2 else 0)
            assert all(sum(seen.weight for seen in of_word) == pytest.approx(1) for of_word in one.words)
            if (
                number == 1
            ):  # its words are c, b@@ d@@ a in the source, g in the target; behind a b@@ c, and d@@ b@@ e f
                queries = [(0, 1), (1, 4)] if one.own_side == "source" else [(0, 1)]
                keys = [(0, 1), (1, 3)] if one.seen_side == "source" else [(1, 4), (4, 5)]
                for (start, stop), (seen,) in zip(queries, one.words, strict=True):
                    assert seen.number == 0
                    assert seen.weight == pytest.approx(float(shares[start:stop, -1].mean()))
                    mean = words[-1, start:stop].mean(0)
                    assert seen.words == pytest.approx([float(mean[first:last].sum()) for first, last in keys])


def test_what_is_looked_at_is_what_was_read():
    """In oracle mode the sentences before are the references, and the words that look those of the translation."""
    model = small_model(CONFIGURATIONS["joint"])
    references = [TARGETS[3], TARGETS[0], TARGETS[1], TARGETS[2]]
    units = {"source": UNITS, "target": UNITS}
    own, oracle = (looks(model, SOURCES, TARGETS, read, units) for read in (TARGETS, references))
    assert [one[0] for one in oracle] == [one[0] for one in own]  # behind the encoder
    decoder = oracle[1][1]
    assert len(decoder.words) == len(UNITS.words(TARGETS[1]))
    assert len(decoder.words[0][0].words) == len(UNITS.words(references[0]))
    kept = []
    model.decoder_output.word_attention.attend.weights.register_forward_hook(lambda *given: kept.append(given[-1]))
    with torch.no_grad():
        model(
            torch.tensor([[6, 5, 7, 4, 2], [4, 5, 6, 2, 0]]),
            torch.tensor([[1, 10, 0, 0], [1, 6, 7, 4]]),
            torch.tensor([[-1, 1], [-1, -1]]),
        )
    first = kept[0].mean(1)[1, 0]  # of the sentence before the first row's, over c, d@@ a behind BEGIN
    assert decoder.words[0][0].words == pytest.approx([float(first[1]), float(first[2:].sum())])


def test_words_are_made_of_units():
    assert UNITS.words(np.array([5, 7, 4, 6, 5])) == ["bda", "c", "b"]
    assert UNITS.words(np.array([], dtype=np.int64)) == []


def test_the_page_marks_pronouns_and_fetches_nothing(tmp_path):
    seen = [Seen(number=0, weight=1.0, words=[0.004, 0.25, 0.746])]
    sentence = Sentence(
        line=7,
        source=["<b>", "boat", "&"],
        translation=["x"],
        reference=["y"],
        seen_target=["x"],
        looks=[Looks(module="encoder_output", own_side="source", seen_side="source", words=[])],
    )
    behind = replace(
        sentence,
        source=["It", "sank"],
        looks=[Looks(module="encoder_output", own_side="source", seen_side="source", words=[seen, seen])],
    )
    path = tmp_path / "page.html"
    write_attention_page(path, "T & U", [sentence, behind], {"source": "en", "target": "de"}, oracle=False)
    text = path.read_text(encoding="utf-8")
    assert text.count("<details open>") == text.count("<details>") == 1
    opened = text.split("<details open>")[1].split("</details>")[0]
    assert ">It</b>" in opened
    assert "1 before 100% · &amp;" in opened
    assert 'title="25.0% of this sentence">boat<sub>25</sub>' in opened
    assert 'title="74.6% of this sentence">&amp;<sub>75</sub>' in opened
    assert "\n&lt;b&gt;\n" in opened  # 0.4% is not marked
    assert "<b>\n" not in text
    assert not re.search(r"https?:|url\(|@import|<(link|script|img|iframe)|\bsrc=", text)
    assert {link[0] for link in re.findall(r'href="([^"]+)"', text)} == {"#"}
    for element in ("details", "section", "div", "p", "span", "dl", "b", "summary"):
        assert len(re.findall(f"<{element}[ >]", text)) == text.count(f"</{element}>"), element


def test_the_picture_is_of_one_word_of_the_last_sentence(tmp_path):
    def module(*weights):
        seen = [[Seen(number=0, weight=weight, words=[0.25, 0.75])] for weight in weights]
        return Looks(module="encoder_output", own_side="source", seen_side="source", words=seen)

    parts = {"line": 1, "translation": ["er", "<&>"], "reference": ["sie"], "seen_target": ["y"]}
    first = Sentence(source=["A", "<boat>"], looks=[module()], **parts)
    last = Sentence(source=["It", "sank"], looks=[module(0.5, 1.0)], **parts)
    path, languages = tmp_path / "word.svg", {"source": "en", "target": "de"}
    write_attention_picture(path, "T & U", [first, last], languages)
    shown = "1 back|50%|25|A|75|<boat>|source|It|sank|translation|er|<&>|reference|sie"
    assert "|".join(texts(path)[1:-1]) == shown
    picture = path.read_text(encoding="utf-8")
    assert re.findall('"bold" fill="#b64a00">(.*?)<', picture) == ["It", "er", "sie"]
    assert not re.search(r"url\(|@import|<(script|image)|href=", picture)
    write_attention_picture(path, "T", [first, last], languages, "Sank")
    assert "100%" in texts(path)
    with pytest.raises(UserError, match=r"no word 'boat': It sank"):
        write_attention_picture(path, "T", [first, last], languages, "boat")
    with pytest.raises(UserError, match=r"no pronoun: It sank"):
        write_attention_picture(path, "T", [first, last], languages | {"source": "xx"})
    with pytest.raises(UserError, match="sentence 1 has no previous sentence"):
        write_attention_picture(path, "T", [first], languages)


VARIANTS = {
    "plain": {},
    "joint": {
        "slots": {slot: {"mechanism": "hierarchical_attention"} for slot in ("encoder_output", "decoder_output")}
    },
    "cache": {"slots": {"decoder_output": {"mechanism": "cache_memory"}}},
}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Runs with shaken weights; `valid` has fourteen documents, of three sentences but the last."""
    experiment = make_experiment(tmp_path_factory.mktemp("looks"), task="previous", pairs=30, variants=VARIANTS)
    size = len(BinarizedCorpus(experiment.binarized).source_vocabulary)
    for variant in VARIANTS:
        plan = TrainingPlan.read(experiment.plan(variant, "training")).model
        torch.manual_seed(2)
        model = shake(build(plan, source_vocabulary=size, target_vocabulary=size))
        path = experiment.model(f"{variant}-1") / RUN_WEIGHTS
        save(path, weights_of(model), model_metadata(plan, size, size))
        settings = DecodingSettings(maximum_length_offset=4, reference_context=variant == "joint")
        write_json(experiment.plan(variant, "decoding"), asdict(settings))
    return experiment


def shown(experiment, output, variant="joint", seed=1, **options):
    show_document(
        experiment, variant, seed, **{"test": "valid", "document": 2, "most": 9} | options, output=output, device="cpu"
    )
    return output.read_text(encoding="utf-8")


def test_a_document_of_a_run_becomes_a_page(experiment, tmp_path):
    text = shown(experiment, tmp_path / "page.html")
    assert re.findall(r"<small>line (\d+)</small>", text) == ["4", "5", "6"]
    assert "<h1>joint-1, valid, document 2</h1>" in text
    assert "decoding.reference_context" in text
    assert shown(experiment, tmp_path / "again.html") == text
    assert shown(experiment, tmp_path / "first.html", most=2).count("<section") == 2
    assert shown(experiment, tmp_path / "last.html", document=14).count("<section") == 1


def test_a_word_of_a_document_becomes_a_picture(experiment, tmp_path):
    page = shown(experiment, tmp_path / "page.html")
    sources = re.findall("<dt>source</dt><dd[^>]*>(.*?)</dd>", page)
    word = sources[1].split()[0]
    picture = shown(experiment, tmp_path / "word.svg", most=2, word=word)
    assert f"joint-1, valid, document 2: where “{word}” looks" in picture
    assert set(sources[0].split()) <= set(texts(tmp_path / "word.svg"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 2}, "runs/models/joint-2: no trained run .* such as joint-1$"),
        ({"document": 15}, "--document is 15; valid has the documents 1 to 14"),
        ({"document": 0}, "--document is 0; valid has the documents 1 to 14"),
        ({"test": "train"}, r"--test is train; the test sets are valid \(corpus.tests\)"),
        ({"word": "it"}, r"--word is it, but --output is .*page.html"),
        ({"variant": "plain"}, "this variant does not show where it looks"),
        ({"variant": "cache"}, "this variant does not show where it looks"),
    ],
)
def test_what_cannot_be_shown_is_one_clear_error(experiment, tmp_path, options, message):
    with pytest.raises(UserError, match=message):
        shown(experiment, tmp_path / "page.html", **options)
    assert not (tmp_path / "page.html").exists()


def test_a_test_set_without_documents_is_refused(experiment, tmp_path):
    documents = experiment.binarized / "training/valid.documents"
    documents.rename(experiment.binarized / "elsewhere")
    try:
        with pytest.raises(UserError, match="--test is valid, which has no documents"):
            shown(experiment, tmp_path / "page.html")
    finally:
        (experiment.binarized / "elsewhere").rename(documents)


def test_the_vocabulary_of_these_tests_fits_the_small_models():
    assert len(UNITS) == VOCABULARY
