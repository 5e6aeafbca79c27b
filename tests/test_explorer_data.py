"""What the explorer's page gets: the models' own weights, word by word, and the sentences that a user asked for."""

import base64
import json
import os
import re
import zlib
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from made_up_explored import explored as made_up
from measured import assert_golden
from small_models import HEADS, LAYERS, VOCABULARY, small_model
from tiny_training import make_experiment, save_runs
from torch import nn

from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.vocabulary import END, MASK, SPECIALS, UNKNOWN, Vocabulary
from context_nmt.decoding.search import Hypothesis
from context_nmt.decoding.translating import translate_ids
from context_nmt.explorer import explore as exploring
from context_nmt.explorer.attention import masked_axes
from context_nmt.explorer.explore import Passage, System, explore, load_systems
from context_nmt.explorer.page import (
    Candidate,
    ExploredText,
    Run,
    Sentence,
    Translation,
    to_json,
    write_picture,
)
from context_nmt.explorer.passages import PassageQuery, find_passage, select_word, show_runs
from context_nmt.files import UserError, read_lines, write_json, write_lines
from context_nmt.measures.given_translations import contrast_run
from context_nmt.measures.word_accuracy import PRONOUNS
from context_nmt.models.plans import Filling
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.attention import Shows

NUMBER = re.compile(r"\d+\.\d+(?:e-\d+)?")
GOLDEN = Path(__file__).parent / "golden/explorer.jsonl"
UNITS = Vocabulary((*SPECIALS, "a", "b@@", "c", "d@@", "e", "f", "g"))
assert len(UNITS) == VOCABULARY  # of the small models
CORPUS = SimpleNamespace(source="en", target="de", source_vocabulary=UNITS, target_vocabulary=UNITS)
SOURCES = [np.array(ids) for ids in ([4, 5, 6], [6, 5, 7, 4], [UNKNOWN], [9, 8, 5])]  # a b@@ c | c b@@ d@@ a | …
TARGETS = [np.array(ids) for ids in ([7, 5, 8, 9], [10], [4, 6], [6, 7, 4])]
SETTINGS = DecodingSettings(iterations=3, length_beam=2)
CROSS, HAN = "context_aware_cross_attention", "hierarchical_attention"
MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 16}


def filled(slot, mechanism, count=LAYERS, **settings):
    return {slot: (Filling(mechanism=mechanism, settings=settings),) * count}


def explored(model, settings=SETTINGS, sources=SOURCES, **text):
    """The sentences of the one run."""
    system = System(name="run-1", label="Run", model=model, settings=settings)
    page = explore([system], Passage(title="text", sources=sources, **text), CORPUS)
    return page.runs[0].sentences


@pytest.fixture
def translated(monkeypatch):
    """Every system translates the sentences as TARGETS."""
    hypotheses = [[Hypothesis(tuple(target.tolist()), 0.0, 0.0)] for target in TARGETS]
    monkeypatch.setattr(exploring, "translate_ids", lambda model, sources, *_, **__: hypotheses[: len(sources)])


class OfAUser(nn.Module):
    """A cross-attention with given weights [T, S] of each head, a gate, perhaps a share of all words, and attributes
    of a meaning of its own."""

    lexical = 0.5

    def __init__(self, heads, global_share):
        super().__init__()
        self.shows = Shows(weights=("looking_around.weights",), gates={"value": "share"}, global_share=global_share)
        self.heads, self.window = torch.tensor(heads, dtype=torch.float64), 1
        self.looking_around, self.share, self.opened = nn.Module(), nn.Identity(), nn.Identity()
        self.looking_around.weights = nn.Identity()

    def forward(self, queries, context):
        length = context.memory_states[-1].size(1)
        self.looking_around.weights(self.heads[None, :, : queries.size(1)])
        self.share(torch.tensor([[0.1, 0.2, 0.6, 0.0, 0.9]])[:, :length, None].expand(len(queries), -1, 2))
        self.opened(torch.full((len(queries), HEADS, queries.size(1), 1), 0.5))
        return queries


@pytest.mark.parametrize("global_share", [None, "opened"])
def test_a_mechanism_of_a_users_own_appears_by_what_it_shows(monkeypatch, global_share):
    """Means over heads and layers are those that the table of a word's source words had."""
    target = np.array([7, 8, 6, 7, 8])  # d@@ e | c | d@@ e
    monkeypatch.setattr(exploring, "translate_ids", lambda *_, **__: [[Hypothesis(tuple(target.tolist()), 0.0, 0.0)]])
    model = small_model()
    #        a     b@@   c     d     </s>
    even = [[0.20, 0.20, 0.20, 0.20, 0.20]] * 6
    first = [[0.10, 0.40, 0.40, 0.10, 0.00], [0.50, 0.10, 0.10, 0.20, 0.10], *even[2:]]
    second = [[0.10, 0.40, 0.40, 0.10, 0.00], [0.30, 0.10, 0.10, 0.20, 0.30], *even[2:]]
    model.decoder.layers[0].cross_attention = OfAUser([first] * HEADS, global_share)
    model.decoder.layers[1].cross_attention = OfAUser([first, second], global_share)
    (sentence,) = explored(model, sources=[np.array([4, 5, 6, 8])])
    (view,) = (view for view in sentence.views if view.place == "cross")
    assert view.title == "Cross-attention, looking around"
    words = [(0.3 + 0.3 + 0.3 + 0.2) / 4, 0.5, 0.15, (0.05 * 3 + 0.15) / 4]  # a, bc, e, </s>
    np.testing.assert_allclose(view.weights.mean((0, 1))[:2], [words, [0.2, 0.4, 0.2, 0.2]])
    gate, *shares = sentence.gates
    if global_share is None:
        assert (view.window, shares) == (None, [])
    else:
        assert (view.window.size, len(shares)) == (1, 1)
        assert shares[0].values == pytest.approx(0.5)
        assert view.window.centers[:, :, 0].tolist() == [[1, 1], [1, 1]]  # b@@ of bc
    assert (gate.side, gate.layers, gate.title) == ("source", [1, 2], "Cross-attention, value: share of the context")
    np.testing.assert_allclose(gate.values, [[0.1, 0.4, 0.0]] * 2, atol=1e-7)


JOINT = filled("encoder_output", HAN, 1, sentences=1) | filled("decoder_output", HAN, 1, sentences=2)
GATES = filled("cross_attention", "lexical_shortcuts")
GATES |= filled("decoder_self_attention", "context_aware_self_attention", context="global")


TWO_DOCUMENTS = {"documents": [range(1), range(1, 4)]}
CASES = {  # slots and settings of a model, and more of a passage
    "two attentions": (filled("encoder_self_attention", "dual_context"), {}, {}),
    "a window around the largest weight": (filled("cross_attention", CROSS, window=1), {}, {}),
    "a window around the target position, which is after the last word of some sources": (
        filled("cross_attention", CROSS, window=0, center="target"),
        {},
        {"sources": SOURCES[2:] + SOURCES[:2]},
    ),
    "gates": (GATES, {}, {}),
    "masked": ({}, MASKED, {}),
    "masked, with a window": (filled("cross_attention", CROSS, window=1), MASKED, {}),
    "joined": ({}, {"kind": "concatenation", "previous_sources": 2, "previous_targets": 1}, {}),
    "joined, in two documents": ({}, {"kind": "concatenation", "previous_sources": 1}, TWO_DOCUMENTS),
    "earlier sentences of both sides": (JOINT, {}, {}),
    "earlier sentences, in two documents": (JOINT, {}, TWO_DOCUMENTS),
    "earlier references": (JOINT, {}, {"references": TARGETS[3:] + TARGETS[:3]}),
    "earlier sources": (filled("decoder_output", HAN, 1, sentences=2, context="source"), {}, {}),
    "earlier alignments": (filled("decoder_output", HAN, 1, sentences=2, context="alignment"), {}, {}),
}


@pytest.mark.usefixtures("translated")
def test_pages_are_as_they_were():
    """Tests that computed them in another way, from the outputs of submodules, are in the history of this file."""
    lines = []
    for name, (slots, settings, passage) in CASES.items():
        decoding = replace(SETTINGS, reference_context="references" in passage)
        system = System(name=name, label="Run", model=small_model(slots, **settings), settings=decoding)
        page = explore([system], Passage(title="text", **{"sources": SOURCES} | passage), CORPUS)
        lines.append(
            json.dumps(page.runs, default=lambda value: vars(value) if hasattr(value, "__dict__") else rounded(value))
        )
    if os.environ.get("GOLDEN") == "write":
        write_lines(GOLDEN, lines)
    for found, expected in zip(lines, read_lines(GOLDEN), strict=True):
        assert NUMBER.sub("", found) == NUMBER.sub("", expected)
        numbers, expected_numbers = (list(map(float, NUMBER.findall(line))) for line in (found, expected))
        assert numbers == pytest.approx(expected_numbers, abs=2e-4)


def rounded(values):
    return values.round(4).tolist()


@pytest.mark.parametrize(
    ("read", "keys"),
    [
        ([MASK, MASK, MASK, MASK], [("␣", 0), ("␣", 1), ("␣", 2), ("␣", 3)]),
        ([7, MASK, 8, MASK], [(0, 0), (0, 2), ("␣", 1), ("␣", 3)]),
        ([7, END, MASK, 6], [(0, 0), ("</s>", 1), ("␣", 2), (1, 3)]),  # one of the units of a word
        ([7, END, 8, 6], [(0, 0), (0, 2), ("</s>", 1), (1, 3)]),
    ],
)
def test_a_mask_that_was_read_is_not_named_by_the_word_in_its_place(read, keys):
    axes = masked_axes(SOURCES[0], np.array(read), np.array([7, END, 8, 6]), {"source": UNITS, "target": UNITS})
    inputs = [
        (token.key.get("word", token.key.get("text")), place) for token in axes.inputs for place in token.positions
    ]
    assert inputs == keys
    assert [token.positions for token in axes.outputs] == [[0, 2], [3]]


def test_a_masked_model_translates_in_the_precision_of_decoding():
    model = small_model(**MASKED)
    # shapes that are the same in both: a sentence and a length at a time
    settings = replace(SETTINGS, precision="bf16", length_beam=1, batch_tokens=1)
    translations, exact = (explored(model, mode) for mode in (settings, replace(settings, precision="fp32")))
    hypotheses = translate_ids(model, SOURCES, settings)
    assert [translation.target for translation in translations] == [UNITS.words(best.tokens) for (best,) in hypotheses]
    for translation, exact_translation in zip(translations, exact, strict=True):
        assert abs(translation.views[0].weights - exact_translation.views[0].weights).max() > 1e-6  # of the encoder


def assert_same(data, value):
    """Compare data of JSON with a page; arrays are bytes, shares in 65535ths."""
    if isinstance(value, np.ndarray):
        expected = np.rint(65535 * value) if value.dtype.kind == "f" else value
        found = np.frombuffer(zlib.decompress(base64.b64decode(data), wbits=-15), "<u2")
        assert found.tolist() == expected.flatten().tolist()
    elif isinstance(value, list):
        for item, expected in zip(data, value, strict=True):
            assert_same(item, expected)
    elif is_dataclass(value) or isinstance(value, dict):
        values = vars(value) if is_dataclass(value) else value
        assert data.keys() == values.keys()
        for key, expected in values.items():
            assert_same(data[key], expected)
    else:
        assert data == value


@pytest.mark.usefixtures("translated")
def test_json_has_all_of_it_in_65535ths():
    model = small_model(filled("cross_attention", CROSS) | JOINT)
    system = System(name="run-1", label="</script>", model=model, settings=SETTINGS)
    page = explore([system], Passage(title="text", sources=SOURCES, references=TARGETS), CORPUS)
    assert (page.languages, page.pronouns["target"]) == ({"source": "en", "target": "de"}, PRONOUNS["de"].split())
    assert (page.sentences[1].source, page.sentences[1].reference) == (["c", "bda"], ["g"])
    assert page.runs[0].sentences[3].views[2].window.centers.any()
    text = to_json(page)
    assert "<" not in text
    assert_same(json.loads(text), page)


def test_the_picture_is_of_one_word_of_the_last_sentence(tmp_path):
    page, path = made_up(), tmp_path / "word.svg"
    page = replace(page, runs=page.runs[1:2])
    write_picture(path, page)
    assert_golden(path.read_text(encoding="utf-8"), "explorer-word.svg")
    write_picture(path, page, "Sank")
    assert re.findall('"bold" fill="#b64a00">(.*?)<', path.read_text(encoding="utf-8")) == ["sank", "es", "es"]
    with pytest.raises(UserError, match=r"no word 'boat': it sank"):
        write_picture(path, page, "boat")
    with pytest.raises(UserError, match=r"no pronoun: it sank"):
        write_picture(path, replace(page, pronouns={"source": [], "target": []}))


def kind(**settings):
    return {"model": settings}


VARIANTS = {
    "plain": {"label": "Plain"},
    "joint": {
        "slots": {slot: {"mechanism": "hierarchical_attention"} for slot in ("encoder_output", "decoder_output")}
    },
    "cache": {"slots": {"decoder_output": {"mechanism": "cache_memory"}}},
    "joined": kind(kind="concatenation", previous_sources=1, previous_targets=1),
    "masked": kind(**MASKED),
}
CONTEXT = {"source": ["1", "2"], "target": ["1 2", "2 1"]}
ITEMS = [
    {"source": "3", "right": "3 3", "wrong": ["3 1", "3 2"], "context": {"source": [], "target": []}},
    {"source": "4", "right": "3 2", "wrong": ["3 3"], "context": CONTEXT},
    {"source": "5", "right": "4 4", "wrong": ["4 5"], "context": {"source": [], "target": []}},
]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Runs with shaken weights, `valid` with 14 documents, of three sentences but the last, and the set `choices`."""
    experiment = make_experiment(
        tmp_path_factory.mktemp("shown"),
        task="previous",
        pairs=30,
        variants=VARIANTS,
        training={"maximum_sentence_length": 10},
    )
    write_lines(experiment.folder / "choices.jsonl", map(json.dumps, ITEMS))
    pairs, index = read_contrastive_set(experiment.folder / "choices.jsonl")
    write_json(experiment.tokenized / "choices.items.json", index)
    for language, side in zip(("xx", "yy"), zip(*pairs, strict=True), strict=True):
        write_lines(experiment.subwords / f"choices.{language}", side)
    settings = experiment.settings
    binarize(
        experiment.subwords, experiment.binarized, replace(settings.corpus, contrastive=("choices",)), settings.units
    )
    decoding = asdict(replace(SETTINGS, maximum_length_offset=4))
    save_runs(experiment, **decoding)
    write_json(experiment.plan("joint", "decoding"), decoding | {"reference_context": True})
    return experiment


def text_of(experiment, **query):
    return find_passage(experiment, BinarizedCorpus(experiment.binarized), PassageQuery(**{"test": "valid"} | query))


def shown(experiment, output, *runs, device="cpu", **query):
    show_runs(experiment, runs or ["plain-1"], PassageQuery(**{"test": "valid"} | query), output=output, device=device)
    return output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("query", "title", "lines"),
    [
        ({}, "valid, document 1", [1, 2, 3]),
        ({"document": 2}, "valid, document 2", [4, 5, 6]),
        ({"document": 14}, "valid, document 14", [40]),
        ({"document": 2, "limit": 2}, "valid, document 2", [4, 5]),
        ({"sentence": 6}, "valid, sentence 6", [4, 5, 6]),
        ({"sentence": 6, "limit": 2}, "valid, sentence 6", [5, 6]),
        ({"test": "choices", "word": "2"}, "choices, item 2", [8, 9, 4]),
        ({"test": "choices", "word": "4"}, "choices, item 3", [6]),  # 4 is the source of item 2
        ({"test": "choices", "word": "5"}, "choices, item 3", [6]),  # no reference has it
    ],
)
def test_sentences_are_those_of_a_document_or_up_to_one(experiment, query, title, lines):
    text = text_of(experiment, **query)
    sources, _ = BinarizedCorpus(experiment.binarized).parallel(query.get("test", "valid"))
    assert [ids.tolist() for ids in text.sources] == [sources[line - 1].tolist() for line in lines]
    assert (text.title, text.lines) == (title, lines if "test" not in query else None)


def test_a_word_chooses_the_first_sentence_with_it(experiment):
    references = read_lines(experiment.subwords / "valid.yy")
    word = references[7].split()[0]
    first = next(number for number, line in enumerate(references, start=1) if word in line.split())
    assert text_of(experiment, word=word).title == f"valid, sentence {first}"


def test_a_page_of_every_kind_of_system_has_its_document(experiment, tmp_path):
    runs = [f"{variant}-1" for variant in VARIANTS]
    corpus = BinarizedCorpus(experiment.binarized)
    systems = load_systems(experiment, runs, corpus, "cpu")
    page = explore(systems, text_of(experiment, document=2), corpus)
    assert [run.label for run in page.runs] == ["Plain", *list(VARIANTS)[1:]]
    by_name = {run.name: run.sentences for run in page.runs}
    assert {name for name, sentences in by_name.items() if sentences[2].iterations} == {"masked-1"}
    assert {name for name, sentences in by_name.items() if sentences[2].earlier} == {"joint-1"}
    assert {name for name, sentences in by_name.items() if sentences[2].seen_target} == {"joint-1"}
    assert all(sentence.views for sentences in by_name.values() for sentence in sentences)
    page = shown(experiment, tmp_path / "page.html", *runs, document=2)
    assert shown(experiment, tmp_path / "again.html", *runs, document=2) == page
    word = read_lines(experiment.subwords / "valid.xx")[4]
    picture = shown(experiment, tmp_path / "word.svg", "joint-1", document=2, limit=2, word=word)
    assert f"joint-1, valid, document 2: where “{word}” looks" in picture


def test_only_systems_that_look_back_see_the_sentences_before(experiment, tmp_path, monkeypatch):
    counts = []
    monkeypatch.setattr(
        "context_nmt.explorer.passages.write_explorer",
        lambda path, page: (counts.append(len(page.sentences)), path.touch()),
    )
    for runs in (["plain-1", "masked-1"], ["plain-1", "joined-1"], ["cache-1"]):
        shown(experiment, tmp_path / "page.html", *runs, sentence=6)
    assert counts == [1, 3, 3]


@pytest.mark.parametrize("variant", VARIANTS)
def test_candidates_have_the_scores_of_the_contrastive_stage(experiment, variant):
    contrast_run(experiment, variant, 1, device="cpu")
    rows = read_lines(experiment.contrastive_margins(f"{variant}-1") / "choices.tsv")[1:]
    corpus = BinarizedCorpus(experiment.binarized)
    systems = load_systems(experiment, [f"{variant}-1"], corpus, "cpu")
    for number, row in enumerate(rows, start=1):
        page = explore(systems, text_of(experiment, test="choices", document=number), corpus)
        item = ITEMS[number - 1]
        candidates = [" ".join(candidate.text) for candidate in page.sentences[-1].candidates]
        assert candidates == [item["right"], *item["wrong"]]
        assert [candidate.correct for candidate in page.sentences[-1].candidates] == [True] + [False] * len(
            item["wrong"]
        )
        right, *wrong = page.runs[0].sentences[-1].scores
        assert right - max(wrong) == pytest.approx(float(row.split("\t")[2]), rel=1e-4)
        assert [" ".join(sentence.reference) for sentence in page.sentences] == [
            *item["context"]["target"],
            item["right"],
        ]
        before = page.runs[0].sentences[:-1]
        assert [translation.scores for translation in before] == [None] * len(item["context"]["source"])
        seen_targets = [
            target.split() if variant in ("joint", "cache", "joined") else None for target in item["context"]["target"]
        ]
        assert [translation.seen_target for translation in before] == seen_targets  # as in scoring


def a_page(*targets, reference=("a", "b", "c"), source=("s", "t")):
    sentences = [Sentence(line=1, source=[*source], reference=[*reference])]
    runs = [
        Run(name=f"run-{i}", label="", sentences=[Translation(target=[*target])]) for i, target in enumerate(targets)
    ]
    return ExploredText(title="page", languages={}, select=None, pronouns={}, sentences=sentences, runs=runs)


@pytest.mark.parametrize(
    ("targets", "word", "expected"),
    [
        (["xb", "ab"], "B", (0, "target", 1)),
        (["xx", "ab"], "b", (1, "target", 1)),
        (["axc"], "b", (0, "target", 1)),  # at its position
        (["axyc"], "c", (0, "target", 3)),
        (["ac"], "b", (0, "target", 0)),
        ([""], "b", None),
        (["abc"], "t", (0, "source", 1)),
        (["abc"], None, None),
        # a contrastive item, whose candidates differ in the noun after its article
        (["adnsx", "aemsx"], None, (0, "target", 2)),
        (["adx", "aex"], None, (0, "target", 1)),
        (["adnx", "aepqx"], None, (0, "target", 2)),
        (["axb", "axb"], None, (0, "target", 0)),
        (["abz", "ab"], None, (0, "target", 2)),
    ],
)
def test_the_wanted_word_is_selected(targets, word, expected):
    page = a_page(*targets)
    if word is None and expected:
        page = a_page(targets[0], reference=targets[0])
        candidates = [Candidate(text=[*text], correct=text is targets[0]) for text in targets]
        page = replace(page, sentences=[replace(page.sentences[0], candidates=candidates)])
    selection = select_word(page, PassageQuery(test="valid", sentence=1, word=word))
    assert (selection and (selection.run, selection.side, selection.word)) == expected


@pytest.mark.parametrize(
    ("message", "runs", "query"),
    [
        ("runs/models/none-1: no trained run .* cache-1, .*, plain-1$", ["none-1"], {}),
        ("runs/models/plain: no trained run .* VARIANT-SEED, such as plain-1$", ["plain"], {}),
        ("runs/models/plain-2: no trained run .* such as plain-1$", ["plain-1", "plain-2"], {}),
        (r"--test is train; the test sets are valid \(corpus.tests\)", ["plain-1"], {"test": "train"}),
        ("--document is 15; valid has the documents 1 to 14", ["plain-1"], {"document": 15}),
        ("--document is 0; valid has the documents 1 to 14", ["plain-1"], {"document": 0}),
        ("--sentence is 41; valid has the sentences 1 to 40", ["plain-1"], {"sentence": 41}),
        ("--sentence is 4; choices has the items 1 to 3", ["plain-1"], {"test": "choices", "sentence": 4}),
        ("--sentences is 2; item 2 of choices has 3", ["plain-1"], {"test": "choices", "document": 2, "limit": 2}),
        ("--document is 1 and --sentence 1; choose one", ["plain-1"], {"document": 1, "sentence": 1}),
        ("--word is w, which no reference or source of valid has", ["plain-1"], {"word": "w"}),
        ("--word is w, which valid, sentence 3 has neither", ["plain-1"], {"word": "w", "sentence": 3}),
        ("--word is empty", ["plain-1"], {"word": ""}),
        (r"--output is .*page\.pdf; its name must end in \.html, .*, or \.svg", ["plain-1"], {"output": "page.pdf"}),
        ("a picture of one run, but there are 2: joint-1, plain-1", ["joint-1", "plain-1"], {"output": "word.svg"}),
        ("plain-1 shows no attention to a sentence before", ["plain-1"], {"output": "word.svg", "document": 2}),
        ("cache-1 shows no attention to a sentence before", ["cache-1"], {"output": "word.svg", "document": 2}),
    ],
)
def test_what_cannot_be_shown_is_one_clear_error(experiment, tmp_path, runs, query, message):
    output = tmp_path / query.get("output", "page.html")
    with pytest.raises(UserError, match=message) as refused:
        shown(experiment, output, *runs, **{key: value for key, value in query.items() if key != "output"})
    assert "\n" not in str(refused.value)
    assert not output.exists()


def test_a_test_set_without_documents_has_sentences_alone(experiment, tmp_path):
    documents = experiment.binarized / "training/valid.documents"
    documents.rename(experiment.binarized / "elsewhere")
    try:
        with pytest.raises(UserError, match="--test is valid, which has no documents"):
            shown(experiment, tmp_path / "page.html")
        assert text_of(experiment, sentence=6).lines == [6]
    finally:
        (experiment.binarized / "elsewhere").rename(documents)
