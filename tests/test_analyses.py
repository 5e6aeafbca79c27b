"""Analyses equal slow, plain ones on small input."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_models import LAYERS, small_model
from tiny_training import make_experiment

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.decoding import masked_search
from context_nmt.evaluation.analyses.locality import locality
from context_nmt.evaluation.analyses.ngrams import ngram_accuracy
from context_nmt.models.plans import Filling
from context_nmt.settings import DecodingSettings

SETTINGS = DecodingSettings(iterations=3, length_beam=2)
GATED = {"cross_attention": (Filling(mechanism="context_aware_cross_attention", settings={"window": 1}),) * LAYERS}
MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 16}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    experiment = make_experiment(tmp_path_factory.mktemp("corpus"), pairs=12)
    return BinarizedCorpus(experiment.binarized)


def model_for(corpus, slots=None, **settings):
    import small_models

    before = small_models.VOCABULARY
    small_models.VOCABULARY = len(corpus.target_vocabulary)
    try:
        return small_model(slots, **settings)
    finally:
        small_models.VOCABULARY = before


def bits(distribution):
    return -sum(p * math.log2(p) for p in distribution if p > 0)


def slow(model, corpus, inputs_of):
    """Sentence by sentence, layer by layer, head by head."""
    layers = [([], []) for _ in range(LAYERS)]
    source, target = corpus.parallel("valid")
    for number in range(len(source)):
        ids = torch.tensor([[*source[number].tolist(), END]])
        kept = [[] for _ in range(LAYERS)]
        attentions = [layer.cross_attention for layer in model.decoder.layers]
        handles = [
            (one.weights if hasattr(one, "gate") else one.attend.weights).register_forward_hook(
                lambda _, __, output, store=store: store.append(output)
            )
            for one, store in zip(attentions, kept, strict=True)
        ]
        inputs_of(ids, target[number].tolist())
        for handle in handles:
            handle.remove()
        for (single, mean), store in zip(layers, kept, strict=True):
            weights = store[-1][0].tolist()  # [H][T][S]
            heads, length = len(weights), len(weights[0])
            single.append(sum(bits(row) for head in weights for row in head) / heads / length)
            averaged = [
                [sum(head[t][s] for head in weights) / heads for s in range(len(weights[0][0]))] for t in range(length)
            ]
            mean.append(sum(map(bits, averaged)) / length)
    return [(sum(one) / len(one), sum(other) / len(other)) for one, other in layers]


@torch.no_grad()
def test_locality_of_an_autoregressive_model_is_read_on_the_reference(corpus):
    model = model_for(corpus)
    found = locality(model, corpus, "valid", SETTINGS)
    expected = slow(model, corpus, lambda ids, target: model(ids, torch.tensor([[BEGIN, *target]])))
    for layer, (single, mean) in zip(found["layers"], expected, strict=True):
        assert layer == {
            "entropy": pytest.approx(single, abs=1e-9),
            "entropy_of_mean_map": pytest.approx(mean, abs=1e-9),
            "local": None,
        }
    assert found["entropy"] == pytest.approx(sum(single for single, _ in expected) / LAYERS, abs=1e-9)


@torch.no_grad()
def test_locality_of_a_masked_model_is_that_of_its_last_iteration(corpus):
    model = model_for(corpus, GATED, **MASKED)
    found = locality(model, corpus, "valid", SETTINGS)

    def run(ids, _):
        lengths = masked_search.best_lengths(model, ids, SETTINGS)
        masked_search.predict(model, model.encode(ids), lengths, SETTINGS.iterations)

    for layer, (single, mean) in zip(found["layers"], slow(model, corpus, run), strict=True):
        assert layer["entropy"] == pytest.approx(single, abs=1e-9)
        assert layer["entropy_of_mean_map"] == pytest.approx(mean, abs=1e-9)
        assert 0 < layer["local"] < 1


@torch.no_grad()
def test_the_local_share_is_one_less_the_gate(corpus):
    model = model_for(corpus, GATED)
    for number, layer in enumerate(model.decoder.layers, start=1):
        layer.cross_attention.gate[0].weight.zero_()
        layer.cross_attention.gate[0].bias.fill_(math.log(number))  # 1/2, 2/3
    shares = [layer["local"] for layer in locality(model, corpus, "valid", SETTINGS)["layers"]]
    assert shares == pytest.approx([1 / 2, 1 / 3], abs=1e-9)


def test_ngrams_by_hand():
    found = ngram_accuracy(["a b c", "a a a"], ["a b d", "a a"], longest=4)
    assert found == {1: 100 * 4 / 6, 2: 100 * 2 / 4, 3: 0.0, 4: 0.0}


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=12).map(" ".join), min_size=1, max_size=5))
def test_a_text_has_all_its_own_ngrams(lines):
    longest = max(len(line.split()) for line in lines)
    found = ngram_accuracy(lines, lines)
    assert all(value == (100 if n <= longest else 0) for n, value in found.items())
