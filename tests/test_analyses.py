"""Analyses equal slow, plain ones on small input."""

import json
import math
from dataclasses import asdict

import pytest
import sacrebleu
import torch
from hypothesis import given
from hypothesis import strategies as st
from measured import flat
from small_models import LAYERS, small_model
from tiny_training import RUN, make_experiment
from torch import nn

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.corpus.vocabulary import BEGIN, END
from context_nmt.decoding import masked_search
from context_nmt.decoding.running import decode_run
from context_nmt.files import UserError, read_lines, write_json, write_lines
from context_nmt.measures.analyses import analyse_run
from context_nmt.measures.attention.locality import locality
from context_nmt.measures.bleu_breakdowns import bleu_by_length, equal_groups, length_classes, ngram_accuracy
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.rows import read_rows
from context_nmt.models.averaging import average_run
from context_nmt.models.checkpoints import load_run
from context_nmt.models.plans import Filling
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.text import SideSettings, UnitSettings
from context_nmt.training.running import train_run
from context_nmt.transformer.attention import Shows

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


def measures(layers):
    """By name: of each layer, and the means over layers."""
    names = ("locality_entropy", "locality_entropy_of_mean_map")
    overall = {name: sum(layer[place] for layer in layers) / LAYERS for place, name in enumerate(names)}
    return overall | {
        f"{name}_{number}": layer[place]
        for number, layer in enumerate(layers, start=1)
        for place, name in enumerate(names)
    }


@torch.no_grad()
def test_locality_of_an_autoregressive_model_is_read_on_the_reference(corpus):
    model = model_for(corpus)
    found = flat(locality(model, corpus, "valid", SETTINGS))
    expected = slow(model, corpus, lambda ids, target: model(ids, torch.tensor([[BEGIN, *target]])))
    assert found == pytest.approx(measures(expected), abs=1e-6)


@torch.no_grad()
def test_locality_of_a_masked_model_is_that_of_its_last_iteration(corpus):
    model = model_for(corpus, GATED, **MASKED)
    found = flat(locality(model, corpus, "valid", SETTINGS))

    def run(ids, _):
        lengths = masked_search.best_lengths(model, ids, SETTINGS)
        masked_search.predict(model, model.encode(ids), lengths, SETTINGS.iterations)

    assert all(0 < found.pop(f"local_share_{number}") < 1 for number in range(1, LAYERS + 1))
    assert found == pytest.approx(measures(slow(model, corpus, run)), abs=1e-6)


@torch.no_grad()
def test_the_local_share_is_one_less_the_gate(corpus):
    model = model_for(corpus, GATED)
    for number, layer in enumerate(model.decoder.layers, start=1):
        layer.cross_attention.gate[0].weight.zero_()
        layer.cross_attention.gate[0].bias.fill_(math.log(number))  # 1/2, 2/3
    found = flat(locality(model, corpus, "valid", SETTINGS))
    assert [found["local_share_1"], found["local_share_2"]] == pytest.approx([1 / 2, 1 / 3], abs=1e-6)


class Opaque(nn.Module):
    """An attention that shows weights of one half everywhere, or nothing."""

    def __init__(self, shown):
        super().__init__()
        self.weights = nn.Identity()
        if shown:
            self.shows = Shows(weights=("weights",))

    def forward(self, queries, context):
        self.weights(torch.full((len(queries), 1, queries.size(1), context.memory_states[-1].size(1)), 0.5))
        return queries


@pytest.mark.parametrize("shown", [True, False])
@torch.no_grad()
def test_an_attention_that_shows_no_weights_has_no_measures(corpus, shown):
    """The first layer is as ever; nothing is said of all layers where one has no weights."""
    model = model_for(corpus)
    before = flat(locality(model, corpus, "valid", SETTINGS))
    model.decoder.layers[1].cross_attention = Opaque(shown).double()
    found = flat(locality(model, corpus, "valid", SETTINGS))
    first = ("locality_entropy_1", "locality_entropy_of_mean_map_1")
    assert {name: found[name] for name in first} == {name: before[name] for name in first}
    others = {
        "locality_entropy",
        "locality_entropy_2",
        "locality_entropy_of_mean_map",
        "locality_entropy_of_mean_map_2",
    }
    assert set(found) == set(first) | (others if shown else set())


def test_two_weights_are_not_told_apart(corpus):
    model = model_for(corpus)
    model.decoder.layers[0].cross_attention.shows = Shows(weights=("attend.weights", "output"))
    assert set(flat(locality(model, corpus, "valid", SETTINGS))) == {
        "locality_entropy_2",
        "locality_entropy_of_mean_map_2",
    }


def test_ngrams_by_hand():
    """Of a b c, a a a right are a, b, a, a; a b, a a; nothing; and there is no 4-gram."""
    found = flat(ngram_accuracy("test", ["a b c", "a a a"], ["a b d", "a a"], longest=4))
    assert list(found) == ["ngram_accuracy_1", "ngram_accuracy_2", "ngram_accuracy_3"]
    assert list(found.values()) == [pytest.approx(100 * 4 / 6, abs=1e-6), 50.0, 0.0]


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=12).map(" ".join), min_size=1, max_size=5))
def test_a_text_has_all_its_own_ngrams(lines):
    longest = max(len(line.split()) for line in lines)
    found = flat(ngram_accuracy("test", lines, lines))
    assert found == dict.fromkeys((f"ngram_accuracy_{n}" for n in range(1, min(longest, 10) + 1)), 100)


def test_a_run_s_analyses_are_those_of_its_model_and_of_its_translations(tmp_path):
    experiment = make_experiment(tmp_path, pairs=12)
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    write_texts(experiment, "1 2 4", "1 2 3")
    analyse_run(Evaluated(experiment.folder), "plain", 1, device="cpu")
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model(RUN), torch.device("cpu"), corpus)
    accuracies = {"ngram_accuracy_1": 66.666667, "ngram_accuracy_2": 50.0, "ngram_accuracy_3": 0.0}
    units = corpus.side("valid", "xx").lengths.tolist()
    lengths = flat(bleu_by_length("valid", ["1 2 4"] * 40, [["1 2 3"] * 40], units, [7] * 40))
    assert lengths["words_of_tenth_10"] == 7
    expected = flat(locality(model, corpus, "valid", SETTINGS)) | accuracies | lengths
    assert flat(read_rows(experiment.analyses(RUN))) == expected
    write_hypotheses(experiment.hypotheses(RUN), {"valid": ["1 2 4"] * 39})
    with pytest.raises(UserError, match="valid has 39 lines, its references have 40"):
        analyse_run(Evaluated(experiment.folder), "plain", 1, device="cpu")


def test_bleu_by_iterations_is_that_of_the_translations(tmp_path):
    variants = {"plain": {"model": MASKED, "decoding": {"iterations": 3, "length_beam": 2}}}
    training = {"maximum_updates": 150, "validate_every": 150, "maximum_sentence_length": 12}
    experiment = make_experiment(tmp_path, pairs=300, variants=variants, training=training)
    sides = {role: {"language": language} for role, language in (("source", "xx"), ("target", "yy"))}
    for side in sides.values():
        side |= asdict(SideSettings(pretokenized=True, truecase=False))
    write_json(experiment.tokenized / "moses.json", sides)
    write_json(experiment.subwords / "units.json", asdict(UnitSettings(kind="words")))
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    references = [f"{line} 7" for line in read_lines(experiment.subwords / "valid.yy")]
    write_texts(experiment, "1 2", "1 2")
    write_lines(experiment.corpus / "valid.yy", references)
    decode_run(experiment, "plain", 1, device="cpu")
    decoded = read_lines(experiment.decoded(RUN) / "valid.subwords.txt")
    write_hypotheses(experiment.hypotheses(RUN), {"valid": decoded})
    analyse_run(Evaluated(experiment.folder), "plain", 1, device="cpu")
    found = flat(read_rows(experiment.analyses(RUN)))
    expected = {}
    for number in (1, 3, 4, 10):
        write_json(experiment.plan("plain", "decoding"), asdict(DecodingSettings(iterations=number, length_beam=2)))
        decode_run(experiment, "plain", 1, device="cpu")
        translations = read_lines(experiment.decoded(RUN) / "valid.subwords.txt")
        score = sacrebleu.corpus_bleu(translations, [references]).score
        expected[f"bleu_of_iterations_{number}"] = pytest.approx(score, abs=1e-3)
    assert {name: value for name, value in found.items() if "iterations" in name} == expected
    assert len({found[name] for name in expected}) > 1


def write_texts(experiment, hypothesis, reference):
    """A test set of 40 equal lines, raw and in tokens."""
    for path in (experiment.corpus / "valid.yy", experiment.tokenized / "valid.yy.cased"):
        write_lines(path, [reference] * 40)
    write_hypotheses(experiment.hypotheses(RUN), {"valid": [hypothesis] * 40})
    for name in ("valid.xx", "valid.xx.cased"):
        write_lines(experiment.tokenized / name, ["1 2 3 4 5 6 7"] * 40)


def test_the_gates_of_a_run_are_read_word_by_word_where_gold_tags_are_known(tmp_path):
    slots = {"encoder_self_attention": {"mechanism": "context_aware_self_attention", "context": "global"}}
    experiment = make_experiment(tmp_path, pairs=12, variants={"plain": {"slots": slots}})
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    write_texts(experiment, "1 2 4", "1 2 3")
    analyse_run(Evaluated(experiment.folder), "plain", 1, device="cpu")
    found = flat(read_rows(experiment.analyses(RUN)))
    assert not any(name.endswith("NUM") for name in found)
    corpus = BinarizedCorpus(experiment.binarized)
    sources = [corpus.source_vocabulary.text(ids) for ids in corpus.parallel("valid")[0]]
    tagged = [{"xx": {"tokens": line.split(), "tags": ["CD"] * len(line.split())}} for line in sources]
    write_lines(experiment.tokenized / "valid.xx.cased", sources)
    write_lines(experiment.subwords / "valid.xx", sources)
    write_lines(experiment.corpus / "valid.gold.jsonl", map(json.dumps, tagged))
    analyse_run(Evaluated(experiment.folder), "plain", 1, device="cpu")
    with_tags = flat(read_rows(experiment.analyses(RUN)))
    assert set(with_tags) - set(found) == {"gate_encoder_key_NUM", "gate_encoder_query_NUM"}
    assert with_tags["gate_encoder_key_NUM"] != with_tags["gate_encoder_key"]  # that is with END


def test_classes_and_tenths_of_lengths_have_every_sentence_once():
    lengths = [number * 7 % 64 for number in range(123)]
    classes, tenths = length_classes(lengths), equal_groups(lengths)
    for groups in (classes, tenths):
        assert sorted(line for lines in groups.values() for line in lines) == list(range(123))
    assert all(first <= lengths[line] < first + 10 for first in (0, 10, 20, 30, 40) for line in classes[first])
    assert all(lengths[line] >= 50 for line in classes[50])
    assert {len(lines) for lines in tenths.values()} == {12, 13}
    assert all(
        max(lengths[line] for line in tenths[number]) <= min(lengths[line] for line in tenths[number + 1])
        for number in range(1, 10)
    )
    assert length_classes([9, 50, 3]) == {0: [0, 2], 50: [1]}
    assert equal_groups([5, 3]) == {5: [1], 10: [0]}


def test_bleu_of_a_length_is_that_of_its_sentences():
    good, bad = "A man is eating a big cake .", "Nothing of this is ever right here ."
    lines, references = [good] * 30 + [bad] * 10, [[good] * 40, [good] * 40]
    found = flat(bleu_by_length("test", lines, references, [5] * 20 + [15] * 20, [8] * 30 + [80] * 10))
    half = sacrebleu.corpus_bleu([good, bad], [[good, good]] * 2, force=True).score
    assert (found["bleu_of_units_0"], found["sentences_of_units_0"]) == (pytest.approx(100, abs=1e-3), 20)
    assert (found["bleu_of_units_10"], found["sentences_of_units_10"]) == (pytest.approx(half, abs=0.2), 20)
    assert [found[f"bleu_of_tenth_{number}"] > 90 for number in (1, 7, 8, 10)] == [True, True, False, False]
    assert (found["words_of_tenth_7"], found["words_of_tenth_8"]) == (8, 44)
    assert "bleu_of_units_20" not in found
