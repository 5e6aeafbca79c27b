"""Concatenation: sentences joined with previous ones, in training, decoding and scoring."""

import numpy as np
import pytest
import torch
from small_models import small_model, small_plan
from test_document_model import CONCATENATION, DOCUMENTS, texts
from tiny_training import make_experiment, save_run

from context_nmt.corpus.batching import BREAK, sentences_before
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding.forced_scoring import score_pairs, score_text
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError
from context_nmt.measures.attention import attention_measures
from context_nmt.measures.recording import AnalysisInput, record_batches
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, initialise_from_run
from context_nmt.models.counting import describe
from context_nmt.models.plans import Filling, ModelPlan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.training.batches import pairs_for

KINDS = {name: {"kind": "concatenation", **kind} for name, kind in CONCATENATION.items()}
SIZES = {"source_vocabulary": 50, "target_vocabulary": 50}
SETTINGS = DecodingSettings(beam=3, n_best=2, maximum_length_ratio=1.0, maximum_length_offset=3)
BEFORE = sentences_before(DOCUMENTS, DOCUMENTS[-1].stop)


@pytest.fixture(params=KINDS)
def model(request):
    return small_model(**KINDS[request.param])


def window(number, maximum):
    """The numbers of a sentence and the sentences that are joined with it."""
    return range(number - min(maximum, int(BEFORE[number])), number + 1)


def join_by_hand(sentences):
    """The ids of joined sentences."""
    ids = [unit for sentence in sentences for unit in [BREAK, *sentence.tolist()]]
    return np.array(ids[1:], dtype=np.int64)


def slow_search(model, source, longest, forbidden):
    """The hypothesis and log-probability of a greedy search that runs the whole model for each unit."""
    units, total = [BEGIN], 0.0
    while True:
        states = model(torch.tensor([[*source.tolist(), END]]), torch.tensor([units]))
        scores = model.output(states[0, -1]).log_softmax(-1)
        scores[forbidden] = -torch.inf
        unit = END if len(units) > longest else int(scores.argmax())
        total += float(scores[unit])
        if unit == END:
            return units[1:], total
        units.append(unit)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["2-to-1", "4-to-1", "2-to-2", "3-to-2"])
def test_what_follows_the_expected_breaks_is_kept(kind):
    """The translation is the end of a slow search's hypothesis for a source that is joined by hand.

    If there are fewer breaks, it follows the last one. The log-probability is that of the whole hypothesis.
    """
    model, settings = small_model(**KINDS[kind]), DecodingSettings(beam=1, maximum_length_offset=6)
    sentences = [sentence for seed in range(1, 5) for sentence in texts(seed)]
    documents = [range(start, min(start + 4, len(sentences))) for start in range(0, len(sentences), 4)]
    results = translate_ids(model, sentences, settings, documents=documents)
    seen = set()
    for number, before in enumerate(sentences_before(documents, len(sentences)).tolist()):
        source, again = (
            join_by_hand(sentences[number - min(most, before) : number + 1])
            for most in (model.previous_sources, model.previous_targets)
        )
        forbidden = [PADDING] if model.previous_targets else [PADDING, BREAK]
        units, log_probability = slow_search(model, source, int(1.5 * len(again)) + 6, forbidden)
        breaks = [position for position, unit in enumerate(units) if unit == BREAK]
        expected = breaks[: min(model.previous_targets, before)]
        seen.add((before > 0, min(2, len(breaks))))
        last_sentence = units[expected[-1] + 1 :] if expected else units
        assert list(results[number][0].tokens) == [unit for unit in last_sentence if unit != BREAK]
        assert results[number][0].log_probability == pytest.approx(log_probability, abs=1e-10)
    assert len(seen) >= 4 or not model.previous_targets  # with breaks and without, and more than expected


@torch.no_grad()
def test_a_score_counts_only_the_last_sentence(model):
    sources, targets = texts(1), texts(2)
    contexts = [[(sources[m], targets[m]) for m in window(n, 9)[:-1]] for n in range(13)]
    scores = score_pairs(model, sources, targets, contexts=contexts)
    for number, score in enumerate(scores):
        source = join_by_hand([sources[m] for m in window(number, model.previous_sources)])
        target = join_by_hand([targets[m] for m in window(number, model.previous_targets)])
        states = model(torch.tensor([[*source.tolist(), END]]), torch.tensor([[BEGIN, *target.tolist()]]))
        units = [*target.tolist(), END]
        own_positions = range(len(target) - len(targets[number]), len(units))
        expected = sum(
            float(model.output(states[0, position]).log_softmax(-1)[units[position]]) for position in own_positions
        )
        assert score == pytest.approx(expected, abs=1e-10)
    assert score_text(model, sources, targets, documents=DOCUMENTS) == pytest.approx(scores, abs=1e-10)
    longer = score_pairs(model, sources, targets, contexts=[[(texts(3)[0], texts(3)[1])] * 3 + of for of in contexts])
    equal = [
        score == pytest.approx(longer_score, abs=1e-10) for score, longer_score in zip(scores, longer, strict=True)
    ]
    assert equal == [before >= model.previous_sources for before in BEFORE]


def test_what_is_longer_than_learned_positions_is_named():
    model = small_model(**KINDS["3-to-3"])
    long = [*texts(2)[:5], np.full(18, 5), *texts(2)[6:]]
    translate_ids(model, long, SETTINGS)
    with pytest.raises(UserError, match=r"model\.maximum_positions 24"):
        translate_ids(model, long, SETTINGS, documents=[range(13)])
    contexts = [[(long[5], long[5])] if n == 3 else [] for n in range(13)]
    with pytest.raises(UserError, match=r"the source of pair 4 has .* units"):
        score_pairs(model, [np.full(6, 4)] * 13, texts(1), contexts=contexts)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Strings of 1 to 9 digits in documents of several sizes."""
    experiment = make_experiment(tmp_path_factory.mktemp("digits"), pairs=120, longest=9, task="reverse")
    starts = "".join(f"{start}\n" for start in (0, 1, 4, 50, 51, 100))
    (experiment.binarized / "training/train.documents").write_text(starts, encoding="utf-8")
    return BinarizedCorpus(experiment.binarized)


def test_pairs_are_joined_with_those_before_them_in_the_document(corpus, model):
    """Those that are too long are left out, as if their documents did not have them."""
    pairs = pairs_for(model, corpus, "train", 7)
    source, target = corpus.parallel("train")
    kept = [[n for n in document if source.lengths[n] <= 7] for document in corpus.documents("train")]
    assert 60 < sum(map(len, kept)) < 115
    for numbers in kept:
        for position, number in enumerate(numbers):
            batch = pairs.load(np.flatnonzero(pairs.kept == number))
            before = [
                numbers[max(0, position - maximum) : position]
                for maximum in (model.previous_sources, model.previous_targets)
            ]
            sides = [[side[n] for n in (*ns, number)] for side, ns in zip((source, target), before, strict=True)]
            assert batch.source.tolist() == [[*join_by_hand(sides[0]).tolist(), END]]
            assert batch.target_inputs.tolist() == [[BEGIN, *join_by_hand(sides[1]).tolist()]]
            assert batch.targets.tolist() == [[*join_by_hand(sides[1]).tolist(), END]]
            assert batch.previous is None
            assert batch.tokens == batch.targets.numel()  # also those of previous sentences


def test_batches_hold_each_sentence_once_and_the_bound_counts_joined_sentences(corpus, model):
    pairs = pairs_for(model, corpus, "train", 7)
    batches = pairs.batches(tokens=100, random=np.random.default_rng(1))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs.kept)))
    loaded = [pairs.load(batch) for batch in batches]
    assert all(max(batch.source.numel(), batch.targets.numel()) <= 100 for batch in loaded)
    assert max(batch.source.numel() for batch in loaded) > 80


def test_it_starts_from_the_transformer_without_remainder(corpus, tmp_path):
    plan, size = small_plan(), len(corpus.source_vocabulary)
    plain = save_run(tmp_path, plan, corpus)
    assert "previous_sources" not in plan.to_dict()["model"]  # no plan of another kind has the key
    joining = small_plan(**KINDS["2-to-2"])
    assert ModelPlan.from_dict(joining.to_dict()) == joining
    model = build(joining, source_vocabulary=size, target_vocabulary=size)
    initialise_from_run(model, joining, tmp_path / RUN_WEIGHTS, corpus)
    for name, values in plain.named_parameters():
        assert torch.equal(values, dict(model.named_parameters())[name])
    wrong = small_plan(**KINDS["2-to-2"], norm="post")
    with pytest.raises(UserError, match=r"model\.norm pre; the variant that starts from it has post"):
        initialise_from_run(model, wrong, tmp_path / RUN_WEIGHTS, corpus)


def test_it_has_the_parameters_of_the_transformer_and_more_flops():
    described = {name: describe(small_plan(**kind), **SIZES) for name, kind in {"1-to-1": {}, **KINDS}.items()}
    flops = {name: values["flops_per_target_token"] for name, values in described.items()}
    assert flops["1-to-1"] < flops["2-to-1"] < flops["4-to-1"]
    assert 2 * flops["1-to-1"] < min(flops["2-to-2"], flops["3-to-3"])
    del described["3-to-3"]
    assert len({str(values["parameters_by_part"]) for values in described.values()}) == 1
    assert described["2-to-1"]["kind"] == "concatenation"


def test_in_analyses_a_sentence_is_alone(corpus):
    slots = {"encoder_self_attention": (Filling(mechanism="context_aware_self_attention"),) * 2}
    model = small_model(slots, vocabulary=len(corpus.source_vocabulary), **KINDS["2-to-1"]).float()
    analysed = AnalysisInput(model, corpus, "valid", DecodingSettings())
    assert list(attention_measures(analysed, {}))
    lengths = corpus.side("valid", "xx").lengths
    for batch in record_batches(analysed, ["encoder.final_norm"]):
        assert batch.source.sum(1).tolist() == (lengths[batch.sentences] + 1).tolist()
