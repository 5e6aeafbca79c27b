"""Runs of models that read previous sentences: oracle mode, rereading translations, starts and refusals."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from test_document_model import DOCUMENTS, make_model, texts
from tiny_training import make_experiment, save_run

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.decoding_run import decode_run
from context_nmt.decoding.forced_scoring import score_pairs
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_lines, write_json
from context_nmt.measures import recording
from context_nmt.models.averaging import copy_text_files
from context_nmt.models.checkpoints import RUN_WEIGHTS, initialise_from_run, load_run
from context_nmt.models.kinds.document import DocumentModel
from context_nmt.models.plans import Filling, TrainingPlan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.training.batches import pairs_for

CPU = torch.device("cpu")
SLOT = {"mechanism": "hierarchical_attention", "sentences": 2}
VARIANTS = {
    "encoder": {"slots": {"encoder_output": SLOT}},
    "joint": {"slots": {"encoder_output": SLOT, "decoder_output": SLOT}},
}


@pytest.fixture
def experiment(tmp_path):
    """Runs with shaken weights, and 14 documents, of three sentences each except the last."""
    experiment = make_experiment(tmp_path, task="previous", pairs=30, variants=VARIANTS)
    for variant in VARIANTS:
        torch.manual_seed(2)
        folder = experiment.model(f"{variant}-1")
        save_run(folder, plan_of(experiment, variant), BinarizedCorpus(experiment.binarized))
        copy_text_files(experiment.tokenized, experiment.subwords, experiment.binarized, folder / "text")
    return experiment


def decoded(experiment, variant, *, reference_context):
    settings = DecodingSettings(beam=2, maximum_length_offset=4, reference_context=reference_context)
    write_json(experiment.plan(variant, "decoding"), asdict(settings))
    decode_run(experiment, variant, 1, device="cpu")
    return read_lines(experiment.decoded(f"{variant}-1") / "valid.subwords.txt")


def test_in_oracle_mode_a_run_sees_the_references(experiment):
    oracle, usual = (decoded(experiment, "joint", reference_context=is_oracle) for is_oracle in (True, False))
    assert oracle[::3] == usual[::3]  # each document's first sentence has nothing before it
    assert oracle != usual


def test_models_that_read_only_sources_do_not_reread_translations(experiment, monkeypatch):
    usual = decoded(experiment, "encoder", reference_context=False)
    monkeypatch.setattr(DocumentModel, "target_states", lambda *_: pytest.fail("read again"))
    assert decoded(experiment, "encoder", reference_context=True) == usual
    with pytest.raises(pytest.fail.Exception, match="read again"):
        decoded(experiment, "joint", reference_context=False)
    (experiment.binarized / "training/valid.documents").unlink()
    decoded(experiment, "joint", reference_context=False)  # each sentence is a document, and its last one


def test_what_is_longer_than_learned_positions_is_named():
    model, settings = make_model("learned positions"), DecodingSettings()
    long = [*texts(2)[:4], np.full(9, 5), *texts(2)[5:]]
    empty = [()] * (len(long) - 3)
    with pytest.raises(UserError, match=r"^sentence 5 has 9 units.*model\.maximum_positions 9"):
        translate_ids(model, long, settings, documents=DOCUMENTS)
    with pytest.raises(UserError, match=r"^the reference of sentence 5 has 9 units"):
        translate_ids(model, texts(1), settings, documents=DOCUMENTS, references=long)
    for context in ((long[4], long[0]), (long[0], long[4])):
        contexts = [(), (), ((long[1], long[1]), context), *empty]
        with pytest.raises(UserError, match=r"^a sentence before pair 3 has 9 units"):
            score_pairs(model, texts(1), texts(1), contexts=contexts)
        unseen = [(), (), (context, *[(long[1], long[1])] * model.receptive_sentences), *empty]
        score_pairs(model, texts(1), texts(1), contexts=unseen)


def test_batches_that_are_recorded_fit_with_the_sentences_before_them(experiment, monkeypatch):
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model("joint-1"), CPU, corpus)

    def recorded_states(tokens):
        monkeypatch.setattr(recording, "BATCH_TOKENS", tokens)
        sizes, total, positions = [], 0.0, 0
        handle = model.register_forward_hook(lambda _, inputs, __: sizes.append(max(ids.numel() for ids in inputs[:2])))
        analysed = recording.AnalysisInput(model, corpus, "valid", DecodingSettings())
        for batch in recording.record_batches(analysed, ["decoder_output"]):
            total += float((batch.outputs["decoder_output"] * batch.target[..., None]).double().sum())
            positions += int(batch.target.sum())
        handle.remove()
        return sizes, total, positions

    small, whole = recorded_states(20), recorded_states(10_000)
    assert len(whole[0]) == 1
    assert len(small[0]) > 5
    assert max(small[0]) <= 20
    assert small[1:] == (pytest.approx(whole[1], rel=1e-5), whole[2])


def plan_of(experiment, variant):
    return TrainingPlan.read(experiment.plan(variant, "training")).model


def test_a_start_fills_all_parts_that_the_other_run_has(experiment):
    corpus, path = BinarizedCorpus(experiment.binarized), experiment.model("encoder-1") / RUN_WEIGHTS
    encoder, joint = (load_run(experiment.model(run), CPU, corpus) for run in ("encoder-1", "joint-1"))
    with torch.no_grad():
        for parameter in joint.parameters():
            parameter.fill_(0.5)
    initialise_from_run(joint, plan_of(experiment, "joint"), path, corpus)
    parameters = dict(joint.named_parameters())
    for name, value in encoder.named_parameters():
        assert torch.equal(parameters.pop(name), value), name
    assert {name.split(".")[0] for name in parameters} == {"decoder_output"}
    assert all((value == 0.5).all() for value in parameters.values())


def test_a_start_with_more_parts_or_other_layers_is_refused(experiment):
    """Also if its weights would fit."""
    corpus, path = BinarizedCorpus(experiment.binarized), experiment.model("joint-1") / RUN_WEIGHTS
    model, plan = load_run(experiment.model("encoder-1"), CPU, corpus), plan_of(experiment, "encoder")
    with pytest.raises(UserError, match=r"only one of the two has decoder_output\."):
        initialise_from_run(model, plan, path, corpus)
    heads = replace(plan, model=replace(plan.model, heads=1, dropout=0.5))
    with pytest.raises(UserError, match=r"model\.heads 2.* 1"):
        initialise_from_run(model, heads, path, corpus)
    rotary = (Filling(mechanism="rotary_positions", settings={"base": 10000.0}),) * plan.model.encoder_layers
    attention = replace(plan, slots=plan.slots | {"encoder_self_attention": rotary})
    with pytest.raises(UserError, match=r"slots\.encoder_self_attention differs"):
        initialise_from_run(model, attention, path, corpus)


@pytest.mark.parametrize("name", ["encoder", "2-to-1"])
def test_training_without_documents_names_the_missing_file(experiment, name):
    (experiment.binarized / "training/train.documents").unlink()
    with pytest.raises(UserError, match=r"train\.documents is missing"):
        pairs_for(make_model(name), BinarizedCorpus(experiment.binarized), "train", None)
