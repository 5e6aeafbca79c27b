"""Runs of models that look at previous sentences: oracle mode, learned positions, what is read again."""

from dataclasses import asdict

import numpy as np
import pytest
import torch
from small_models import VOCABULARY, shake, small_model
from tiny_training import make_experiment

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.previous import sentences_before
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.decoding.running import decode_run
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_lines, write_json
from context_nmt.measures.attention import recording
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, load_run, model_metadata, save, weights_of
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.plans import Filling, TrainingPlan
from context_nmt.settings.decoding import DecodingSettings

CPU = torch.device("cpu")
SLOT = {"mechanism": "hierarchical_attention", "sentences": 2}
VARIANTS = {
    "encoder": {"slots": {"encoder_output": SLOT}},
    "joint": {"slots": {"encoder_output": SLOT, "decoder_output": SLOT}},
}
HAN = (Filling(mechanism="hierarchical_attention", settings={"sentences": 2}),)
JOINT = {"encoder_output": HAN, "decoder_output": HAN}
DOCUMENTS = [range(3), range(3, 7)]


@pytest.fixture
def experiment(tmp_path):
    """Runs with shaken weights, which never look the same way twice; 14 documents, of three sentences but the last."""
    experiment = make_experiment(tmp_path, task="previous", pairs=30, variants=VARIANTS)
    size = len(BinarizedCorpus(experiment.binarized).source_vocabulary)
    for variant in VARIANTS:
        plan = TrainingPlan.read(experiment.plan(variant, "training")).model
        torch.manual_seed(2)
        model = shake(build(plan, source_vocabulary=size, target_vocabulary=size))
        path = experiment.model(f"{variant}-1") / RUN_WEIGHTS
        save(path, weights_of(model), model_metadata(plan, size, size))
    return experiment


def texts(seed, longest=5):
    """Seven sentences of 1 to `longest` units."""
    random = np.random.default_rng(seed)
    return [random.integers(4, VOCABULARY, random.integers(1, longest + 1)) for _ in range(7)]


def decoded(experiment, variant, *, reference_context):
    settings = DecodingSettings(beam=2, maximum_length_offset=4, reference_context=reference_context)
    write_json(experiment.plan(variant, "decoding"), asdict(settings))
    decode_run(experiment, variant, 1, device="cpu")
    return settings, read_lines(experiment.decoded(f"{variant}-1") / "valid.subwords.txt")


def test_in_oracle_mode_a_run_sees_the_references(experiment):
    settings, oracle = decoded(experiment, "joint", reference_context=True)
    _, own = decoded(experiment, "joint", reference_context=False)
    assert oracle[::3] == own[::3]  # each document's first sentence has nothing before it
    assert oracle != own
    corpus = BinarizedCorpus(experiment.binarized)
    source, target = corpus.parallel("valid")
    model = load_run(experiment.model("joint-1"), CPU, corpus)
    found = translate_ids(
        model, source, settings, documents=corpus.documents("valid"), references=target, device=CPU, workers=1
    )
    assert [corpus.target_vocabulary.text(one[0].tokens) for one in found] == oracle


def test_what_looks_at_sources_alone_does_not_read_its_translations_again(experiment, monkeypatch):
    _, usual = decoded(experiment, "encoder", reference_context=False)
    monkeypatch.setattr(DocumentModel, "remembered", lambda *_: pytest.fail("read again"))
    assert decoded(experiment, "encoder", reference_context=True)[1] == usual
    with pytest.raises(pytest.fail.Exception, match="read again"):
        decoded(experiment, "joint", reference_context=False)
    (experiment.binarized / "training/valid.documents").unlink()
    decoded(experiment, "joint", reference_context=False)  # each sentence is a document, and its last one


def test_with_learned_positions_a_translation_scores_what_its_document_gives_it():
    model = small_model(JOINT, positions="learned", maximum_positions=9)
    settings = DecodingSettings(beam=1, length_penalty="none", maximum_length_offset=20)
    sources = texts(1, longest=8)  # END takes the ninth position
    found = translate_ids(model, sources, settings, documents=DOCUMENTS, device=CPU)
    targets = [np.array(one[0].tokens, dtype=np.int64) for one in found]
    assert max(map(len, targets)) == 8
    before = sentences_before(DOCUMENTS, 7)
    contexts = [[(sources[m], targets[m]) for m in range(n - before[n], n)] for n in range(7)]
    scores = score_pairs(model, sources, targets, contexts=contexts, device=CPU)
    assert [one[0].log_probability for one in found] == pytest.approx(scores, abs=1e-9)


def test_what_is_longer_than_learned_positions_is_named():
    model, settings = small_model(JOINT, positions="learned", maximum_positions=9), DecodingSettings()
    long = [*texts(2)[:4], np.full(9, 5), *texts(2)[5:]]
    with pytest.raises(UserError, match=r"^sentence 5 has 9 units.*model\.maximum_positions 9"):
        translate_ids(model, long, settings, documents=DOCUMENTS, device=CPU)
    with pytest.raises(UserError, match=r"^the reference of sentence 5 has 9 units"):
        translate_ids(model, texts(1), settings, documents=DOCUMENTS, references=long, device=CPU)
    for context in ((long[4], long[0]), (long[0], long[4])):
        contexts = [(), (), ((long[1], long[1]), context), *[()] * 4]
        with pytest.raises(UserError, match=r"^a sentence before pair 3 has 9 units"):
            score_pairs(model, texts(1), texts(1), contexts=contexts, device=CPU)
        unseen = [(), (), (context, *[(long[1], long[1])] * model.reach), *[()] * 4]
        score_pairs(model, texts(1), texts(1), contexts=unseen, device=CPU)


def test_batches_that_are_recorded_fit_with_the_sentences_before_them(experiment, monkeypatch):
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model("joint-1"), CPU, corpus)

    def recorded(tokens):
        monkeypatch.setattr(recording, "TOKENS", tokens)
        sizes, total, positions = [], 0.0, 0
        handle = model.register_forward_hook(lambda _, given, __: sizes.append(max(one.numel() for one in given[:2])))
        analysed = recording.Analysed(model, corpus, "valid", DecodingSettings())
        for batch in recording.recorded(analysed, ["decoder_output"]):
            total += float((batch.outputs["decoder_output"] * batch.target[..., None]).double().sum())
            positions += int(batch.target.sum())
        handle.remove()
        return sizes, total, positions

    small, whole = recorded(20), recorded(10_000)
    assert len(whole[0]) == 1
    assert len(small[0]) > 5
    assert max(small[0]) <= 20
    assert small[1:] == (pytest.approx(whole[1], rel=1e-5), whole[2])
