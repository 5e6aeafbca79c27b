"""The source words that a word of a translation looks at most: by hand, by slow computations, and printed by run."""

from dataclasses import asdict
from statistics import fmean

import pytest
import torch
from small_models import HEADS, LAYERS, shake, small_model
from tiny_training import make_experiment
from torch import nn

from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.decoding import masked_search
from context_nmt.files import UserError, write_json, write_lines
from context_nmt.measures.attention.attended_words import attended_words
from context_nmt.measures.attention.recording import Analysed
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, load_run, model_metadata, save, weights_of
from context_nmt.models.plans import Filling, TrainingPlan
from context_nmt.report.attended_words import print_attended_words
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.layout import Layout
from context_nmt.transformer.attention import Shows

SETTINGS = DecodingSettings(iterations=3, length_beam=2)
LEARNED = {"norm": "post", "positions": "learned", "maximum_positions": 16}
MASKED = {"kind": "masked", **LEARNED}
GATED = {"cross_attention": (Filling(mechanism="context_aware_cross_attention", settings={"window": 1}),) * LAYERS}
VARIANTS = {
    "plain": {},
    "masked": {"model": MASKED},
    "gated": {
        "model": MASKED,
        "slots": {"cross_attention": {"mechanism": "context_aware_cross_attention", "window": 1}},
    },
    "other": {"model": {"norm": "post"}},
    "joined_to_one_sentence": {"model": {"kind": "concatenation", "previous_sources": 1}},
    "joined_to_one_sentence_and_target": {
        "model": {"kind": "concatenation", "previous_sources": 1, "previous_targets": 1}
    },
}
SOURCES = ["a a", "a b@@ c d", "d"]
TARGETS = ["z", "X@@ y z x@@ y", "x@@ y"]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Runs with shaken weights on three sentences whose words have up to two units."""
    training = {"maximum_sentence_length": 10}
    experiment = make_experiment(tmp_path_factory.mktemp("words"), variants=VARIANTS, training=training)
    for split in ("train", "valid"):
        write_lines(experiment.subwords / f"{split}.xx", SOURCES)
        write_lines(experiment.subwords / f"{split}.yy", TARGETS)
    binarize(experiment.subwords, experiment.binarized, experiment.settings.corpus, experiment.settings.units)
    size = len(BinarizedCorpus(experiment.binarized).source_vocabulary)
    for seed, variant in enumerate(VARIANTS):
        plan = TrainingPlan.read(experiment.plan(variant, "training")).model
        torch.manual_seed(seed)
        model = shake(build(plan, source_vocabulary=size, target_vocabulary=size))
        path = experiment.model(f"{variant}-1") / RUN_WEIGHTS
        save(path, weights_of(model), model_metadata(plan, size, size))
        write_json(experiment.plan(variant, "decoding"), asdict(SETTINGS))
    return experiment


@pytest.fixture
def analysed(experiment):
    """A function: a small model with these slots on the three sentences."""
    corpus = BinarizedCorpus(experiment.binarized)

    def make(slots=None, **settings):
        return Analysed(
            small_model(slots, vocabulary=len(corpus.source_vocabulary), **settings), corpus, "valid", SETTINGS
        )

    with torch.no_grad():
        yield make


class HandMade(nn.Module):
    """A cross-attention with the weights [T, S] of each head."""

    shows = Shows(weights=("weights",))

    def __init__(self, heads):
        super().__init__()
        self.heads, self.weights = torch.tensor(heads), nn.Identity()

    def forward(self, queries, context):
        self.weights(self.heads[None].expand(len(queries), -1, -1, -1))
        return queries


def test_weights_are_means_over_heads_and_layers_and_sums_over_source_units(analysed):
    hand_made = analysed()
    #        a     b@@   c     d     </s>
    even = [[0.20, 0.20, 0.20, 0.20, 0.20]] * 6
    first = [[0.10, 0.40, 0.40, 0.10, 0.00], [0.50, 0.10, 0.10, 0.20, 0.10], *even[2:]]
    second = [[0.10, 0.40, 0.40, 0.10, 0.00], [0.30, 0.10, 0.10, 0.20, 0.30], *even[2:]]
    layers = hand_made.model.decoder.layers
    layers[0].cross_attention, layers[1].cross_attention = HandMade([first] * HEADS), HandMade([first, second])
    found = attended_words(hand_made, 1, "xy")  # case does not count
    assert found.translation == ["Xy", "z", "xy"]
    words = {"bc": 0.5, "a": (0.3 + 0.3 + 0.3 + 0.2) / 4, "d": 0.15, "</s>": (0.05 * 3 + 0.15) / 4}
    assert [*dict(found.words)] == [*words]
    assert dict(found.words) == pytest.approx(words)
    assert [weight for _, weight in attended_words(hand_made, 1, "z").words] == pytest.approx([0.4, 0.2, 0.2, 0.2])


@pytest.mark.parametrize("slots", [None, GATED])
def test_an_autoregressive_model_reads_the_reference(analysed, slots):
    found = attended_words(model := analysed(slots), 2, "xy")
    assert found.translation == ["xy"]
    source, target = (side[2].tolist() for side in model.corpus.parallel("valid"))
    kept = watched(model.model, lambda: model.model(torch.tensor([[*source, END]]), torch.tensor([[BEGIN, *target]])))
    expected = {"d": mean_of(kept, rows=(0, 1), column=0), "</s>": mean_of(kept, rows=(0, 1), column=1)}
    assert dict(found.words) == pytest.approx(expected)


@pytest.mark.parametrize("slots", [None, GATED])
def test_a_masked_model_is_watched_in_its_last_iteration(analysed, slots):
    masked = analysed(slots, **MASKED)
    model, ids = masked.model, torch.tensor([[*masked.corpus.side("valid", "xx")[2].tolist(), END]])
    translation = []

    def run():
        lengths = masked_search.best_lengths(model, ids, SETTINGS)
        translation.extend(masked_search.predict(model, model.encode(ids), lengths, SETTINGS.iterations)[0][0].tolist())

    kept = watched(model, run)
    units = [masked.corpus.target_vocabulary.units[unit] for unit in translation]
    places = [place for place, unit in enumerate(units) if unit != "</s>"]
    end = 1 + next((index for index, place in enumerate(places) if not units[place].endswith("@@")), len(places) - 1)
    word = "".join(units[place].removesuffix("@@") for place in places[:end])
    found = attended_words(masked, 2, word)
    assert found.translation[0] == word
    expected = {name: mean_of(kept, rows=places[:end], column=column) for column, name in enumerate(("d", "</s>"))}
    assert dict(found.words) == pytest.approx(expected)
    assert attended_words(masked, 2, "absent").words == []


def watched(model, run):
    """The last weights [H][T][S] of each layer's cross-attention."""
    kept = {}
    for number, layer in enumerate(model.decoder.layers):
        module = layer.cross_attention
        shown = module.weights if hasattr(module, "gate") else module.attend.weights
        shown.register_forward_hook(lambda _, __, output, number=number: kept.__setitem__(number, output[0].tolist()))
    run()
    return [*kept.values()]


def mean_of(kept, *, rows, column):
    return fmean(head[row][column] for layer in kept for head in layer for row in rows)


def test_a_model_that_does_not_show_its_weights_is_refused(analysed):
    hidden = analysed()
    hidden.model.decoder.layers[1].cross_attention.shows = Shows()
    with pytest.raises(UserError, match="does not show"):
        attended_words(hidden, 0, "z")


def printed(experiment, capsys, *runs, **options):
    monkey = {"test": "valid", "word": "xy", "sentence": None, "device": "cpu"}
    print_attended_words(experiment, runs, **monkey | options)
    return capsys.readouterr().out


def by_first_word(out):
    return {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}


def test_runs_are_compared_on_the_first_sentence_with_the_word(experiment, capsys, monkeypatch):
    """In a terminal of 80 columns, with whole names."""
    monkeypatch.setenv("COLUMNS", "80")
    out = printed(experiment, capsys, *(f"{variant}-1" for variant in VARIANTS))
    lines = by_first_word(out)
    assert "sentence 2" in out
    assert lines["source:"] == ["source:", "a", "bc", "d"]
    assert lines["reference:"] == ["reference:", "Xy", "z", "xy"]
    for variant in VARIANTS.keys() - {"masked", "gated"}:  # they read the reference, which has the word
        words, weights = lines[f"{variant}-1"][1:7:2], [float(weight) for weight in lines[f"{variant}-1"][2:8:2]]
        assert set(words) <= {"a", "bc", "d", "</s>"}
        assert weights == sorted(weights, reverse=True)
        assert f"{variant}-1:" not in lines
    assert {"masked-1", "gated-1"} <= set(lines)
    assert "sentence 3" in printed(experiment, capsys, "plain-1", sentence=3)


def test_runs_that_are_analysed_without_their_previous_sentences_are_named(experiment, capsys):
    joined = [f"{variant}-1" for variant in VARIANTS if variant.startswith("joined")]
    assert printed(experiment, capsys, "plain-1", *joined).splitlines()[-1].endswith(f": {', '.join(joined)}")
    assert printed(experiment, capsys, "plain-1").splitlines()[-1].startswith("reference: ")


def test_a_word_may_be_of_the_translation_alone(experiment, capsys):
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model("masked-1"), torch.device("cpu"), corpus)
    translation = attended_words(Analysed(model, corpus, "valid", SETTINGS), 2, "absent").translation
    lines = by_first_word(printed(experiment, capsys, "masked-1", sentence=3, word=translation[0].upper()))
    assert lines["masked-1"][1] in ("d", "</s>")
    assert lines.get("masked-1:", ["masked-1:", "xy"])[1:] == translation


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (["plain-1"], {"test": "dev"}, "--test is dev; the test sets are valid"),
        (["plain-1"], {"sentence": 4}, "--sentence is 4; valid has the sentences 1 to 3"),
        (["plain-1"], {"sentence": 0}, "--sentence is 0"),
        (["plain-1"], {"word": "w"}, "--word is w, which no reference of valid has"),
        (["plain-1"], {"word": "z", "sentence": 3}, "--word is z, which sentence 3 of valid has neither"),
        (["plain-1"], {"word": ""}, "--word is empty"),
        (["none-1"], {}, "runs/models/none-1: no trained run .* gated-1, .*, plain-1$"),
        (["plain"], {}, "runs/models/plain: no trained run .* VARIANT-SEED, such as plain-1$"),
        (["plain-1", "plain-2"], {}, "runs/models/plain-2: no trained run .* such as plain-1$"),
    ],
)
def test_what_cannot_be_shown_is_refused(experiment, capsys, runs, options, message):
    with pytest.raises(UserError, match=message):
        printed(experiment, capsys, *runs, **options)


def test_a_folder_without_runs_is_refused(tmp_path, capsys):
    with pytest.raises(UserError, match=r"runs/models/plain-1: no trained run .*`make repro`"):
        printed(Layout(tmp_path), capsys, "plain-1")
