"""A variant overrides keys of the experiment's recipe; what is wrong alone or together names them."""

import pytest
from contract import experiment

from context_nmt.files import UserError
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.planning import plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.training import AveragingSettings, ScheduleSettings


def refusal(variant):
    with pytest.raises(UserError) as error:
        plan(experiment(**variant), "one")
    return str(error.value)


def test_a_variant_overrides_the_recipe_key_by_key():
    recipe = {
        "training": {"batch_tokens": 77, "keep_last": 9, "schedule": {"kind": "cosine", "warmup": 5, "factor": 2.0}},
        "decoding": {"beam": 3},
    }
    changes = {
        "model": {"width": 16, "norm": "post"},
        "training": {"maximum_updates": 11, "schedule": {"warmup": 7}},
        "averaging": {"count": 8},
        "decoding": {"length_penalty": "none"},
    }
    settings = experiment(more=recipe, **changes)
    one, plain = plan(settings, "one"), plan(settings, "plain")
    assert (one.training.model.model.width, one.training.model.model.norm) == (16, "post")
    assert one.training.model.model.heads == plain.training.model.model.heads
    assert (one.training.training.maximum_updates, one.training.training.batch_tokens) == (11, 77)
    assert one.training.training.schedule == ScheduleSettings(kind="cosine", warmup=7, factor=2.0)
    assert one.averaging == AveragingSettings(select="last", count=8)
    assert one.decoding == DecodingSettings(beam=3, length_penalty="none")

    assert (plain.training.model.model, plain.training.training) == (settings.model, settings.training)
    assert (plain.averaging, plain.decoding) == (settings.averaging, settings.decoding)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        # wrong alone
        ({"model": {"widht": 16}}, [".model.widht", "did you mean 'width'?"]),
        ({"model": {"width": 9}}, [".model", "width is 9", "heads (2)"]),
        ({"training": {"schedule": {"warmup": 0}}}, [".training.schedule.warmup", "1, not 0"]),
        ({"training": {"schedule": 7}}, [".training.schedule", "not 7"]),
        # wrong together
        ({"averaging": {"count": 6}}, ["averaging.count is 6", "training.keep_last keeps only 5"]),
        ({"training": {"keep_last": 4}}, ["averaging.count is 5", "training.keep_last keeps only 4"]),
        ({"averaging": {"select": "best", "count": 1}}, ["averaging.count is 1", "training.keep_best keeps only 0"]),
        ({"decoding": {"n_best": 3, "beam": 2}}, ["decoding.n_best is 3", "autoregressive", "decoding.beam (2)"]),
        (
            {"model": {"kind": "masked"}, "decoding": {"n_best": 3, "length_beam": 2}},
            ["decoding.n_best is 3", "masked", "decoding.length_beam (2)"],
        ),
        ({"decoding": {"reference_context": True}}, ["decoding.reference_context is true", "slot"]),
        (
            {"model": {"kind": "masked"}, "slots": {"encoder_output": {"mechanism": "cache_memory"}}},
            ["slots.encoder_output", "model.kind is masked"],
        ),
        (
            {"model": {"positions": "learned", "maximum_positions": 256}},
            ["training.maximum_sentence_length is 256", "at most 255", "model.maximum_positions (256)"],
        ),
        ({"model": {"kind": "masked", "maximum_positions": 257}}, ["training.maximum_sentence_length", "at most 255"]),
        (
            {"training": {"schedule": {"kind": "cosine", "warmup": 20}, "maximum_updates": 20}},
            ["training.schedule.warmup is 20", "training.maximum_updates (20)"],
        ),
    ],
)
def test_a_wrong_change_is_named(variant, words):
    message = refusal(variant)
    assert message.startswith("params.yaml: variants.one")
    assert all(word in message for word in words), message


def test_two_vocabularies_do_not_share_a_table():
    separate = {"units": {"joint": False}}
    with pytest.raises(UserError, match=r"model\.tying is all, but units\.joint is false"):
        plan(experiment(more=separate), "one")
    untied = plan(experiment(more=separate, model={"tying": "decoder"}), "one")
    assert untied.training.model.model.tying == "decoder"


def test_as_many_checkpoints_as_are_kept_can_be_averaged():
    variant = {"averaging": {"select": "best", "count": 2}, "training": {"keep_best": 2, "keep_last": 0}}
    assert plan(experiment(**variant), "one").averaging.count == 2


@pytest.mark.parametrize("text", ["{}", "[]", '{"training": {"schedule": {}, "colour": 1}}', '{"training": 7}'])
def test_a_file_that_is_no_plan_is_refused(tmp_path, text):
    path = tmp_path / "training.json"
    path.write_text(text)
    with pytest.raises(UserError, match="not the plan of a training"):
        TrainingPlan.read(path)
