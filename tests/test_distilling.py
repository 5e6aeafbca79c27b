"""Distillation: the teacher's translations of the training source, shard by shard, and students that learn them."""

import pytest
from tiny_training import RUN, column, make_experiment

from context_nmt.corpus.binarized import BinarizedCorpus, write_ids
from context_nmt.decoding import distilling
from context_nmt.decoding.distilling import distill_run
from context_nmt.files import UserError, read_json, read_lines, write_json, write_lines
from context_nmt.models.averaging import average_run
from context_nmt.training.trainer import train_run

TRAINING = {"maximum_updates": 20, "validate_every": 10}


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A teacher on digits that has hardly learnt anything."""
    experiment = make_experiment(tmp_path_factory.mktemp("taught"), pairs=50, training=TRAINING)
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    return experiment


@pytest.fixture
def calls(monkeypatch):
    """The number of translated sentences in each call."""
    counts, translate = [], distilling.translate_ids

    def counted(model, sentences, *arguments, **options):
        counts.append(len(sentences))
        return translate(model, sentences, *arguments, **options)

    monkeypatch.setattr(distilling, "translate_ids", counted)
    return counts


def test_every_line_has_its_translation_in_its_place(taught, calls):
    distill_run(taught, "plain", 1, device="cpu", shard=50)
    whole = read_lines(taught.distilled("1") / "train.yy")
    distill_run(taught, "plain", 1, device="cpu", shard=7)
    assert calls == [50, *[7] * 7, 1]
    assert read_lines(taught.distilled("1") / "train.yy") == whole
    assert len(whole) == 50
    corpus = BinarizedCorpus(taught.binarized, training_target=taught.distilled("1"))
    source, target = corpus.parallel("train")
    assert len(source) == len(target) == 50
    assert [corpus.target_vocabulary.text(target[number]) for number in range(50)] == whole
    assert read_json(taught.distilled("1") / "distilled.json") == {"teacher": RUN, "sentences": 50}
    assert not taught.scratch(f"distilled-{RUN}").exists()


@pytest.mark.parametrize(("changes", "shards"), [({}, 5), ({"beam": 1}, 8)])
def test_a_stopped_distillation_resumes_after_the_finished_shards(taught, calls, monkeypatch, changes, shards):
    """With other search settings, it starts from the beginning."""
    path, counted = taught.plan("plain", "decoding"), distilling.translate_ids
    settings = read_json(path)

    def stop(*arguments, **options):
        if len(calls) == 3:
            raise KeyboardInterrupt
        return counted(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(distilling, "translate_ids", stop)
        with pytest.raises(KeyboardInterrupt):
            distill_run(taught, "plain", 1, device="cpu", shard=10)
    write_json(path, settings | changes)
    distill_run(taught, "plain", 1, device="cpu", shard=10)
    write_json(path, settings)
    assert calls == [10] * shards


def test_a_student_learns_the_teachers_translations(tmp_path):
    """If a teacher always gives the same translation, a student's training loss is lower than on the bitext."""
    losses = {}
    for distilled in (False, True):
        experiment = make_experiment(tmp_path / str(distilled), pairs=50, training=TRAINING)
        if distilled:
            write_lines(experiment.distilled("1") / "train.yy", ["7 7 7"] * 50)
            vocabulary = BinarizedCorpus(experiment.binarized).target_vocabulary
            write_ids(experiment.distilled("1") / "train.yy", experiment.distilled("1"), vocabulary)
        train_run(experiment, "plain", 1, device="cpu", distilled=distilled)
        losses[distilled] = column(experiment, "train_loss")[-1]
    assert losses[True] < losses[False] - 0.5  # 1.5 with six seeds


def test_a_missing_distilled_text_is_an_error(tmp_path):
    experiment = make_experiment(tmp_path, pairs=20, training=TRAINING)
    with pytest.raises(UserError, match=r"distilled.1.train\.yy\.tokens\.npy: no such file"):
        train_run(experiment, "plain", 1, device="cpu", distilled=True)
