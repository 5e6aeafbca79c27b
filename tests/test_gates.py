"""Gates and divergences that hooks read equal what is computed by hand, slowly."""

import math
from statistics import fmean

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from measured import flat
from small_models import HEADS, LAYERS
from test_analyses import GATED, MASKED, SETTINGS, corpus, model_for  # noqa: F401 (a fixture)

from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.measures.attention.divergence import divergence, jensen_shannon
from context_nmt.measures.attention.gates import gates
from context_nmt.measures.attention.locality import locality
from context_nmt.measures.attention.recording import attentions
from context_nmt.measures.parts_of_speech import TaggedWord, tagged_words
from context_nmt.models.plans import Filling


def filled(mechanism, *slots, **settings):
    return {slot: (Filling(mechanism=mechanism, settings=settings),) * LAYERS for slot in slots}


SELF = ("encoder_self_attention", "decoder_self_attention")
DUAL = filled("dual_context", *SELF, kernel_size=2)
CONTEXT = filled("context_aware_self_attention", *SELF, context="deep_global", gate="head")
SHORTCUTS = filled("lexical_shortcuts", *SELF, "cross_attention", feature_fusion=True)


def sentences_of(corpus):  # noqa: F811
    """Ids that the encoder and the decoder see, sentence by sentence."""
    for source, target in zip(*corpus.parallel("valid"), strict=True):
        yield torch.tensor([[*source.tolist(), END]]), torch.tensor([[BEGIN, *target.tolist()]])


def nats(one, other):
    """JS of two rows by its definition."""
    mean = [(p + q) / 2 for p, q in zip(one, other, strict=True)]
    return sum(p * math.log(p / m) / 2 for row in (one, other) for p, m in zip(row, mean, strict=True) if p > 0)


def slow_divergences(corpus, layer, run, first=0):  # noqa: F811
    """Of an attention of two units: of the maps of maxima, and of heads of the same number; sentence by sentence."""
    units = [layer.self_attention.local_interaction, layer.self_attention.global_interaction]
    of_maxima, of_heads = [], []
    for source, target in sentences_of(corpus):
        kept = []
        handles = [
            unit.attend.weights.register_forward_hook(lambda _, __, output, kept=kept: kept.append(output[0].tolist()))
            for unit in units
        ]
        run(source, target)
        for handle in handles:
            handle.remove()
        queries, keys = range(first, len(kept[0][0])), len(kept[0][0][0])
        rows = []
        for t in queries:
            maps = []
            for weights in kept:
                greatest = [max(head[t][s] for head in weights) for s in range(keys)]
                maps.append([value / sum(greatest) for value in greatest])
            rows.append(nats(*maps))
        of_maxima.append(fmean(rows))
        of_heads.append(fmean(nats(kept[0][h][t], kept[1][h][t]) for h in range(HEADS) for t in queries))
    return fmean(of_maxima), fmean(of_heads)


@torch.no_grad()
def test_the_divergence_of_two_units_equals_a_slow_one(corpus):  # noqa: F811
    model = model_for(corpus, DUAL)
    found = flat(divergence(model, corpus, "valid", SETTINGS))
    expected = {}
    for place, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        layers = [slow_divergences(corpus, layer, model) for layer in stack.layers]
        for measure, values in zip(("divergence", "head_divergence"), zip(*layers, strict=True), strict=True):
            expected |= {f"{measure}_{place}": fmean(values)}
            expected |= {f"{measure}_{place}_{number}": value for number, value in enumerate(values, start=1)}
    assert found == pytest.approx(expected, abs=1e-6)  # as it is rounded
    assert all(0 < value < math.log(2) for value in found.values())


@torch.no_grad()
def test_the_length_before_a_masked_model_s_source_is_no_query(corpus):  # noqa: F811
    model = model_for(corpus, filled("dual_context", "encoder_self_attention", kernel_size=3), **MASKED)
    found = flat(divergence(model, corpus, "valid", SETTINGS))
    expected = slow_divergences(corpus, model.encoder.layers[1], lambda source, _: model.encode(source), first=1)
    assert (found["divergence_encoder_2"], found["head_divergence_encoder_2"]) == pytest.approx(expected, abs=1e-6)


def test_divergences_by_hand():
    apart = torch.tensor([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]], dtype=torch.float64)
    other = torch.tensor([[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    expected = [math.log(2), 0, 0.75 * math.log(4 / 3)]  # the last: (log(4/3) + log(2/3) / 2 + log(2) / 2) / 2
    assert jensen_shannon(apart, other).tolist() == pytest.approx(expected, abs=1e-12)


distributions = st.lists(st.sampled_from([0.0, 0.1, 1.0, 7.0]), min_size=4, max_size=4).filter(any)


@given(distributions, distributions)
def test_the_divergence_is_that_of_the_definition_and_bounded(one, other):
    one, other = ([value / sum(row) for value in row] for row in (one, other))
    (found,) = jensen_shannon(*(torch.tensor([row], dtype=torch.float64) for row in (one, other))).tolist()
    assert found == pytest.approx(nats(one, other), abs=1e-10)
    assert 0 <= found <= math.log(2) + 1e-12
    assert found == pytest.approx(nats(other, one), abs=1e-10)


@torch.no_grad()
def test_where_one_layer_has_two_units_it_is_the_mean_of_layers(corpus):  # noqa: F811
    plain = Filling(mechanism="multi_head_attention")
    model = model_for(corpus, {"encoder_self_attention": (plain, DUAL["encoder_self_attention"][1])})
    found = flat(divergence(model, corpus, "valid", SETTINGS))
    assert set(found) == {f"{head}divergence_encoder{end}" for head in ("", "head_") for end in ("", "_2")}
    assert found["divergence_encoder"] == found["divergence_encoder_2"]


def test_plain_attention_has_no_divergence_and_no_gates(corpus):  # noqa: F811
    model = model_for(corpus)
    assert list(divergence(model, corpus, "valid", SETTINGS)) == list(gates(model, corpus, "valid", SETTINGS, {})) == []


def opened(module, inputs):
    """Lambda of equation 6, per position and mean over heads, from the projections that it mixes."""
    states, context = inputs
    projected = module.projection(states).unflatten(-1, (HEADS, -1))
    mixed = module.context(context).expand(-1, states.size(1), -1).unflatten(-1, (HEADS, -1))
    weight, bias = module.gate[0].weight[0], module.gate[0].bias
    half = len(weight) // 2
    return torch.sigmoid(projected @ weight[:half] + mixed @ weight[half:] + bias)[0].mean(-1).tolist()


@torch.no_grad()
def test_gates_of_queries_and_keys_are_the_lambdas_of_the_equation(corpus):  # noqa: F811
    model = model_for(corpus, CONTEXT)
    found = flat(gates(model, corpus, "valid", SETTINGS, {}))
    for place, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for side in ("query", "key"):
            layers = []
            for layer in stack.layers:
                module, values = getattr(layer.self_attention, side), []
                handle = module.register_forward_hook(
                    lambda one, inputs, _, values=values: values.append(fmean(opened(one, inputs)))
                )
                for source, target in sentences_of(corpus):
                    model(source, target)
                handle.remove()
                layers.append(fmean(values))
            names = [f"gate_{place}_{side}_{number}" for number in range(1, LAYERS + 1)]
            assert [found[name] for name in names] == pytest.approx(layers, abs=1e-6)
            assert found[f"gate_{place}_{side}"] == pytest.approx(fmean(layers), abs=1e-6)


@torch.no_grad()
def test_gates_of_shortcuts_are_r_of_keys_and_values(corpus):  # noqa: F811
    """With the projections at 0, r is the sigmoid of its bias at every position."""
    model = model_for(corpus, SHORTCUTS)
    found = attentions(model)
    for number, attention in enumerate(found):
        assert attention.shows.gates.keys() == {"key", "value"}
        for name in attention.shows.gates.values():
            module = model.get_submodule(name.removesuffix(".mixed.gate"))
            module.projection.weight.zero_()
            module.mixed.bias.fill_(math.log(1 + number))
        assert attention.layer == number % LAYERS + 1
        assert attention.place == ("encoder", "decoder", "cross")[number // LAYERS]
    places = [(one.place, one.layer) for one in found]
    found = flat(gates(model, corpus, "valid", SETTINGS, {}))
    shares = [1 - 1 / (2 + number) for number in range(3 * LAYERS)]
    expected = {
        f"gate_{place}_{side}_{layer}": share
        for (place, layer), share in zip(places, shares, strict=True)
        for side in ("key", "value")
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert set(found) - set(expected) == {
        f"gate_{place}_{side}" for place in ("encoder", "decoder", "cross") for side in ("key", "value")
    }


@torch.no_grad()
def test_a_tag_s_gate_is_the_mean_over_words_of_their_units_and_layers(corpus):  # noqa: F811
    model = model_for(corpus, CONTEXT)
    source, target = corpus.parallel("valid")
    tagged = {
        "source": [
            [TaggedWord(0, min(2, len(one)), "NOUN")] if number % 2 else [] for number, one in enumerate(source)
        ],
        "target": [[TaggedWord(place, place + 1, "VERB") for place in range(len(one))] for one in target],
    }
    found = flat(gates(model, corpus, "valid", SETTINGS, tagged))
    expected = {"gate_encoder_key_NOUN": [], "gate_decoder_query_VERB": []}
    for number, (ids, inputs) in enumerate(sentences_of(corpus)):
        kept = []
        modules = [(layer.self_attention.key, layer) for layer in model.encoder.layers]
        modules += [(layer.self_attention.query, layer) for layer in model.decoder.layers]
        handles = [
            module.register_forward_hook(lambda one, given, _, kept=kept: kept.append(opened(one, given)))
            for module, _ in modules
        ]
        model(ids, inputs)
        for handle in handles:
            handle.remove()
        encoder, decoder = kept[:LAYERS], kept[LAYERS:]
        if number % 2:
            units = range(min(2, len(source[number])))
            expected["gate_encoder_key_NOUN"].append(fmean(layer[unit] for layer in encoder for unit in units))
        expected["gate_decoder_query_VERB"] += [
            fmean(layer[1 + place] for layer in decoder) for place in range(len(target[number]))
        ]
    assert {name: found[name] for name in expected} == pytest.approx(
        {name: fmean(values) for name, values in expected.items()}, abs=1e-6
    )
    assert {name for name in found if name[-1].isupper()} == {
        *(f"gate_encoder_{side}_NOUN" for side in ("query", "key")),
        *(f"gate_decoder_{side}_VERB" for side in ("query", "key")),
    }


@torch.no_grad()
def test_what_a_masked_model_translates_has_no_tags_of_the_reference(corpus):  # noqa: F811
    model = model_for(corpus, SHORTCUTS, **MASKED)
    length = len(corpus.parallel("valid")[0])
    tagged = {side: [[TaggedWord(0, 1, "NOUN")]] * length for side in ("source", "target")}
    found = flat(gates(model, corpus, "valid", SETTINGS, tagged))
    assert {name for name in found if name.endswith("NOUN")} == {
        f"gate_{place}_{side}_NOUN" for place in ("encoder", "cross") for side in ("key", "value")
    }


@pytest.mark.parametrize("slots", [CONTEXT, SHORTCUTS, GATED], ids=["context", "shortcuts", "cross"])
@pytest.mark.parametrize("settings", [{}, MASKED], ids=["autoregressive", "masked"])
def test_every_gate_is_a_share(corpus, slots, settings):  # noqa: F811
    model = model_for(corpus, slots, **settings)
    with torch.no_grad():
        found = flat([*gates(model, corpus, "valid", SETTINGS, {}), *locality(model, corpus, "valid", SETTINGS)])
    shares = [value for name, value in found.items() if name.startswith(("gate_", "local_share"))]
    assert shares
    assert all(0 <= value <= 1 for value in shares)


@torch.no_grad()
def test_the_length_that_stands_before_a_masked_model_s_source_is_no_unit(corpus):  # noqa: F811
    model = model_for(corpus, CONTEXT, **MASKED)
    tagged = [[TaggedWord(0, 1, "NOUN")]] * len(corpus.parallel("valid")[0])
    found = flat(gates(model, corpus, "valid", SETTINGS, {"source": tagged}))
    means, first = [], []
    for ids, _ in sentences_of(corpus):
        kept = []
        modules = [layer.self_attention.key for layer in model.encoder.layers]
        handles = [
            one.register_forward_hook(lambda one, given, _, kept=kept: kept.append(opened(one, given)))
            for one in modules
        ]
        model.encode(ids)
        for handle in handles:
            handle.remove()
        assert {len(values) for values in kept} == {1 + ids.size(1)}
        means.append(fmean(kept[0][1:]))
        first.append(fmean(values[1] for values in kept))
    assert found["gate_encoder_key_1"] == pytest.approx(fmean(means), abs=1e-6)
    assert found["gate_encoder_key_NOUN"] == pytest.approx(fmean(first), abs=1e-6)


def test_units_are_put_together_to_tagged_words():
    found = tagged_words(["a", "b@@", "c@@", "d", "."], ["DT", "NN", "."])
    assert found == [(0, 1, "DT"), (1, 4, "NN"), (4, 5, ".")]
    assert tagged_words(["a", "b"], ["DT"]) == []
    assert tagged_words([], []) == []
