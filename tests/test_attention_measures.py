"""Locality, divergence and gates that hooks read equal slow, plain computations, sentence by sentence."""

import math
from contextlib import contextmanager
from statistics import fmean

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from measured import flat
from small_models import HEADS, LAYERS, small_model
from tiny_training import make_experiment
from torch import nn

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, BYTES, END, SPECIALS, Vocabulary
from context_nmt.decoding import masked_search
from context_nmt.measures.attention import attention_measures, jensen_shannon
from context_nmt.measures.parts_of_speech import TaggedWord, tagged_words
from context_nmt.measures.recording import AnalysisInput, attention_sites
from context_nmt.models.plans import Filling
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.transformer.attention import Shows

SETTINGS = DecodingSettings(iterations=3, length_beam=2)
MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 16}
SELF = ("encoder_self_attention", "decoder_self_attention")
NUMBERS = range(1, LAYERS + 1)
DIVERGENCES = ("divergence", "literal_divergence", "head_divergence")


def filled(mechanism, *slots, **settings):
    return {slot: (Filling(mechanism=mechanism, settings=settings),) * LAYERS for slot in slots}


GATED = filled("context_aware_cross_attention", "cross_attention", window=1)
DUAL = filled("dual_context", *SELF, kernel_size=2)
CONTEXT = filled("context_aware_self_attention", *SELF, context="deep_global", gate="head")
SHORTCUTS = filled("lexical_shortcuts", *SELF, "cross_attention", feature_fusion=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return BinarizedCorpus(make_experiment(tmp_path_factory.mktemp("corpus"), pairs=12).binarized)


@pytest.fixture
def analysed(corpus):
    """A function: a small model with these slots on the test set."""

    def make(slots=None, **settings):
        model = small_model(slots, vocabulary=len(corpus.target_vocabulary), **settings)
        return AnalysisInput(model, corpus, "valid", SETTINGS)

    with torch.no_grad():
        yield make


def measured(analysed, *prefixes, **tagged):
    """The measures whose names begin like this."""
    return {
        name: value for name, value in flat(attention_measures(analysed, tagged)).items() if name.startswith(prefixes)
    }


def sentences_of(corpus):
    """Ids that the encoder and the decoder see, sentence by sentence."""
    for source, target in zip(*corpus.parallel("valid"), strict=True):
        yield torch.tensor([[*source.tolist(), END]]), torch.tensor([[BEGIN, *target.tolist()]])


@contextmanager
def watched(*modules, keep=lambda module, inputs, output: output[0].tolist()):
    """Yield a list for each module of what `keep` makes of its calls."""
    kept = [[] for _ in modules]
    handles = [
        module.register_forward_hook(lambda *call, calls=calls: calls.append(keep(*call)))
        for module, calls in zip(modules, kept, strict=True)
    ]
    yield kept
    for handle in handles:
        handle.remove()


def by_layer(name, values):
    """A metric of each layer, and its mean over layers."""
    return {name: fmean(values)} | {f"{name}_{number}": value for number, value in enumerate(values, start=1)}


def bits(distribution):
    return -sum(p * math.log2(p) for p in distribution if p > 0)


def slow_locality(analysed, run):
    """Layer by layer and head by head; `run` takes the ids of one sentence."""
    sites = [layer.cross_attention for layer in analysed.model.decoder.layers]
    single, mean = ([[] for _ in sites] for _ in range(2))
    for source, inputs in sentences_of(analysed.corpus):
        with watched(*(site.attend.weights for site in sites)) as kept:
            run(source, inputs)
        for layer, calls in enumerate(kept):
            weights = calls[-1]  # [H][T][S]
            averaged = [[fmean(column) for column in zip(*rows, strict=True)] for rows in zip(*weights, strict=True)]
            single[layer].append(fmean(bits(row) for head in weights for row in head))
            mean[layer].append(fmean(map(bits, averaged)))
    return by_layer("locality_entropy", list(map(fmean, single))) | by_layer(
        "locality_entropy_of_mean_map", list(map(fmean, mean))
    )


def test_locality_of_an_autoregressive_model_is_read_on_the_reference(analysed):
    """Plain attention has neither divergence nor gates."""
    plain = analysed()
    assert measured(plain, "") == pytest.approx(slow_locality(plain, plain.model), abs=1e-6)


def test_locality_of_a_masked_model_is_that_of_its_last_iteration(analysed):
    masked = analysed(GATED, **MASKED)
    measures = measured(masked, "loca")

    def run(ids, _):
        lengths = masked_search.best_lengths(masked.model, ids, SETTINGS)
        masked_search.mask_predict(masked.model, masked.model.encode(ids), lengths, SETTINGS.iterations)

    assert all(0 < measures.pop(f"local_share_{number}") < 1 for number in NUMBERS)
    assert measures == pytest.approx(slow_locality(masked, run), abs=1e-6)


def test_the_local_share_is_one_less_the_gate(analysed):
    gated = analysed(GATED)
    for number, layer in enumerate(gated.model.decoder.layers, start=1):
        layer.cross_attention.gate[0].weight.zero_()
        layer.cross_attention.gate[0].bias.fill_(math.log(number))  # 1/2, 2/3
    shares = measured(gated, "local_share")
    assert [shares["local_share_1"], shares["local_share_2"]] == pytest.approx([1 / 2, 1 / 3], abs=1e-6)


class Opaque(nn.Module):
    """An attention that shows weights of one half everywhere as often as said."""

    def __init__(self, times):
        super().__init__()
        self.weights = nn.Identity()
        self.shows = Shows(weights=("weights",) * times)

    def forward(self, queries, context):
        self.weights(torch.full((len(queries), 1, queries.size(1), context.memory_states[-1].size(1)), 0.5))
        return queries


@pytest.mark.parametrize("times", [0, 1, 2])
def test_an_attention_that_does_not_show_one_map_has_no_locality(analysed, times):
    """The first layer is as ever; there is no mean over layers where one is missing."""
    plain = analysed()
    before = measured(plain, "")
    plain.model.decoder.layers[1].cross_attention = Opaque(times)
    after = measured(plain, "")
    first = ("locality_entropy_1", "locality_entropy_of_mean_map_1")
    assert {name: after[name] for name in first} == {name: before[name] for name in first}
    assert set(after) == (set(before) if times == 1 else set(first))


def nats(first, second):
    """JS of two rows by its definition."""
    mean = [(p + q) / 2 for p, q in zip(first, second, strict=True)]
    return sum(p * math.log(p / m) / 2 for row in (first, second) for p, m in zip(row, mean, strict=True) if p > 0)


def slow_divergences(analysed, layer, run, first=0):
    """Of an attention of two units: of the maps of maxima, renormalized and not, and of heads of the same number."""
    units = [layer.self_attention.local_interaction, layer.self_attention.global_interaction]
    of_maxima, literal, of_heads = [], [], []
    for source, target in sentences_of(analysed.corpus):
        with watched(*(unit.attend.weights for unit in units)) as kept:
            run(source, target)
        maps = [calls[0] for calls in kept]  # [H][T][S]
        maxima, as_they_are, queries = [], [], range(first, len(maps[0][0]))
        for t in queries:
            greatest = [
                [max(column) for column in zip(*(head[t] for head in unit_map), strict=True)] for unit_map in maps
            ]
            maxima.append(nats(*([value / sum(row) for value in row] for row in greatest)))
            as_they_are.append(nats(*greatest))
        of_maxima.append(fmean(maxima))
        literal.append(fmean(as_they_are))
        of_heads.append(fmean(nats(maps[0][h][t], maps[1][h][t]) for h in range(HEADS) for t in queries))
    return fmean(of_maxima), fmean(literal), fmean(of_heads)


def test_the_divergence_of_two_units_equals_a_slow_one(analysed):
    dual = analysed(DUAL)
    expected = {}
    for stack in ("encoder", "decoder"):
        layers = [slow_divergences(dual, layer, dual.model) for layer in getattr(dual.model, stack).layers]
        for measure, values in zip(DIVERGENCES, zip(*layers, strict=True), strict=True):
            expected |= by_layer(f"{measure}_{stack}", values)
    assert measured(dual, *DIVERGENCES) == pytest.approx(expected, abs=1e-6)  # as it is rounded


def test_the_length_before_a_masked_model_s_source_is_no_query(analysed):
    masked = analysed(filled("dual_context", SELF[0], kernel_size=3), **MASKED)
    measures, model = measured(masked, *DIVERGENCES), masked.model
    expected = slow_divergences(masked, model.encoder.layers[1], lambda source, _: model.encode(source), first=1)
    assert [measures[f"{name}_encoder_2"] for name in DIVERGENCES] == pytest.approx(expected, abs=1e-6)


distributions = st.lists(st.sampled_from([0.0, 0.1, 1.0, 7.0]), min_size=4, max_size=4).filter(any)


@given(distributions, distributions)
def test_the_divergence_is_that_of_the_definition_and_bounded(first, second):
    first, second = ([value / sum(row) for value in row] for row in (first, second))
    (divergence,) = jensen_shannon(*(torch.tensor([row], dtype=torch.float64) for row in (first, second))).tolist()
    assert divergence == pytest.approx(nats(first, second), abs=1e-10) == pytest.approx(nats(second, first), abs=1e-10)
    assert 0 <= divergence <= math.log(2) + 1e-12  # that of rows apart


def test_the_mean_divergence_is_over_the_layers_that_have_two_units(analysed):
    one_layer = {SELF[0]: (Filling(mechanism="multi_head_attention"), DUAL[SELF[0]][1])}
    measures = measured(analysed(one_layer), *DIVERGENCES)
    assert set(measures) == {f"{name}_encoder{end}" for name in DIVERGENCES for end in ("", "_2")}
    assert measures["divergence_encoder"] == measures["divergence_encoder_2"]


def opened(module, inputs, _):
    """Lambda of equation 6, per position and mean over heads, from the projections that it mixes."""
    states, context = inputs
    projected = module.projection(states).unflatten(-1, (HEADS, -1))
    mixed = module.context(context).expand(-1, states.size(1), -1).unflatten(-1, (HEADS, -1))
    weight, bias = module.gate[0].weight[0], module.gate[0].bias
    half = len(weight) // 2
    return torch.sigmoid(projected @ weight[:half] + mixed @ weight[half:] + bias)[0].mean(-1).tolist()


def test_gates_of_queries_and_keys_are_the_lambdas_of_the_equation(analysed):
    context = analysed(CONTEXT)
    expected = {}
    for stack in ("encoder", "decoder"):
        for side in ("query", "key"):
            layers = getattr(context.model, stack).layers
            with watched(*(getattr(layer.self_attention, side) for layer in layers), keep=opened) as kept:
                for ids in sentences_of(context.corpus):
                    context.model(*ids)
            expected |= by_layer(f"gate_{stack}_{side}", [fmean(map(fmean, calls)) for calls in kept])
    assert measured(context, "gate") == pytest.approx(expected, abs=1e-6)


def test_gates_of_shortcuts_are_r_of_keys_and_values(analysed):
    """With the projections at 0, r is the sigmoid of its bias at every position."""
    shortcuts = analysed(SHORTCUTS)
    sites = attention_sites(shortcuts.model)
    assert [(site.kind, site.layer) for site in sites] == [
        (place, number) for place in ("encoder", "decoder", "cross") for number in NUMBERS
    ]
    expected = {}
    for number, site in enumerate(sites):
        assert site.shows.gates.keys() == {"key", "value"}
        for side, name in site.shows.gates.items():
            module = shortcuts.model.get_submodule(name.removesuffix(".mixed.gate"))
            module.projection.weight.zero_()
            module.mixed.bias.fill_(math.log(1 + number))
            expected.setdefault(f"gate_{site.kind}_{side}", []).append(1 - 1 / (2 + number))
    expected = {name: share for metric, shares in expected.items() for name, share in by_layer(metric, shares).items()}
    assert measured(shortcuts, "gate") == pytest.approx(expected, abs=1e-6)


def test_a_tag_s_gate_is_the_mean_over_words_of_their_units_and_layers(analysed):
    context = analysed(CONTEXT)
    model, (source, target) = context.model, context.corpus.parallel("valid")
    lengths = [min(2, len(sentence)) for sentence in source]
    tagged = {
        "source": [[TaggedWord(0, length, "NOUN")] if n % 2 else [] for n, length in enumerate(lengths)],
        "target": [
            [TaggedWord(position, position + 1, "VERB") for position in range(len(sentence))] for sentence in target
        ],
    }
    nouns, verbs = [], []
    for number, ids in enumerate(sentences_of(context.corpus)):
        with (
            watched(*(layer.self_attention.key for layer in model.encoder.layers), keep=opened) as keys,
            watched(*(layer.self_attention.query for layer in model.decoder.layers), keep=opened) as queries,
        ):
            model(*ids)
        if number % 2:
            nouns.append(fmean(value for (layer,) in keys for value in layer[: lengths[number]]))
        verbs += map(fmean, zip(*(layer[1:] for (layer,) in queries), strict=True))
    by_tag = {name: value for name, value in measured(context, "gate", **tagged).items() if name[-1].isupper()}
    assert set(by_tag) == {
        *(f"gate_encoder_{side}_NOUN" for side in ("query", "key")),
        *(f"gate_decoder_{side}_VERB" for side in ("query", "key")),
    }
    assert by_tag["gate_encoder_key_NOUN"] == pytest.approx(fmean(nouns), abs=1e-6)
    assert by_tag["gate_decoder_query_VERB"] == pytest.approx(fmean(verbs), abs=1e-6)


def test_the_length_that_stands_before_a_masked_model_s_source_is_no_unit(analysed):
    """What it translates has no tags of the reference."""
    masked = analysed(CONTEXT, **MASKED)
    measures = measured(masked, "gate", **dict.fromkeys(("source", "target"), [[TaggedWord(0, 1, "NOUN")]] * 40))
    tagged = {name for name in measures if name.endswith("NOUN")}
    assert tagged == {"gate_encoder_key_NOUN", "gate_encoder_query_NOUN"}
    means, first = [], []
    for ids, _ in sentences_of(masked.corpus):
        with watched(*(layer.self_attention.key for layer in masked.model.encoder.layers), keep=opened) as kept:
            masked.model.encode(ids)
        layers = [calls[0] for calls in kept]
        means.append(fmean(layers[0][1:]))
        first.append(fmean(values[1] for values in layers))
    assert measures["gate_encoder_key_1"] == pytest.approx(fmean(means), abs=1e-6)
    assert measures["gate_encoder_key_NOUN"] == pytest.approx(fmean(first), abs=1e-6)


PIECES = ["▁don", "'", "t", "▁s", "<0xC3>", "<0xA4>", "h", "▁", "a.!"]


@pytest.mark.parametrize(
    ("units", "tokens", "tags", "expected"),
    [
        (["a", "b@@", "c@@", "d", "."], "a bcd .", "DT NN .", [(0, 1, "DT"), (1, 4, "NN"), (4, 5, ".")]),
        (["a", "b"], "a", "DT", []),
        ([], "", "", []),
        # the last piece begins in "a"
        (PIECES, "don 't säh a . !", "VB RB VV DT . .", [(0, 1, "VB"), (1, 3, "RB"), (3, 7, "VV"), (7, 9, "DT")]),
        (PIECES, "don 't säh a . ! b", "X X X X X X X", []),
    ],
)
def test_units_are_put_together_to_tagged_words(units, tokens, tags, expected):
    vocabulary = Vocabulary((*SPECIALS, *BYTES) if units is PIECES else SPECIALS)
    assert tagged_words(vocabulary, units, tokens.split(), tags.split()) == expected
