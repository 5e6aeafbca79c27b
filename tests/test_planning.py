"""A variant of params.yaml becomes plans: its recipe and what fills each layer, or an error that names the key."""

import sys

import pytest
import yaml
from contract import experiment
from project_root import make_root

import context_nmt.mechanisms
from context_nmt.corpus.catalogue import read_entry
from context_nmt.corpus.download import read_data_plan
from context_nmt.files import UserError, read_json, write_json
from context_nmt.models import mechanisms
from context_nmt.models.mechanisms import PLAIN
from context_nmt.models.plans import VALIDATION, Filling, ModelPlan, TrainingPlan
from context_nmt.pipeline.planning import plan, write_plans
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.evaluation import (
    EvaluationPlan,
    SentenceProbePlan,
    SignificanceSettings,
    WordClassifierSettings,
)
from context_nmt.settings.model import AveragingSettings, ScheduleSettings
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.text import UnitPlan

MADE_UP = """
from dataclasses import dataclass
from context_nmt.mechanisms.multi_head_attention import build
from context_nmt.settings import Checked, require

SLOTS = ("encoder_self_attention", "cross_attention")

@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    kernel_size: int
    gate: bool = True

    def __post_init__(self):
        require(self.kernel_size >= 1, f"kernel_size is {self.kernel_size}; it must be at least 1")
"""
FILLING = Filling(mechanism=PLAIN)


@pytest.fixture(autouse=True)
def _made_up_mechanism(tmp_path, monkeypatch):
    """A file in the folder of mechanisms is all that a mechanism needs."""
    folder = tmp_path / "mechanisms"
    folder.mkdir()
    (folder / f"{PLAIN}.py").write_bytes((mechanisms.FOLDER / f"{PLAIN}.py").read_bytes())
    (folder / "__init__.py").touch()
    (folder / "made_up.py").write_text(MADE_UP)
    monkeypatch.setattr(mechanisms, "FOLDER", folder)
    monkeypatch.setattr(context_nmt.mechanisms, "__path__", [str(folder)])
    yield
    sys.modules.pop("context_nmt.mechanisms.made_up", None)


def fillings(slot="encoder_self_attention", model=None, **entry):
    one = experiment(slots={slot: {"mechanism": "made_up", **entry}}, model=model or {})
    return plan(one, "one").training.model.slots[slot]


def made_up(kernel_size, gate=True):
    return Filling(mechanism="made_up", settings={"kernel_size": kernel_size, "gate": gate})


def refusal(variant):
    with pytest.raises(UserError) as error:
        plan(experiment(**variant), "one")
    return str(error.value)


def slot_refusal(slot="encoder_self_attention", **entry):
    message = refusal({"slots": {slot: entry}})
    start = f"params.yaml: variants.one.slots.{slot}"
    assert message.startswith(start)
    return message.removeprefix(start)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"kernel_size": 3}, (made_up(3), made_up(3))),
        ({"kernel_size": [3, 5], "gate": False}, (made_up(3, gate=False), made_up(5, gate=False))),
        ({"layers": [2], "kernel_size": 3}, (FILLING, made_up(3))),
        ({"layers": [1], "kernel_size": [3]}, (made_up(3), FILLING)),
        ({"layers": [2, 1], "kernel_size": [3, 5]}, (made_up(5), made_up(3))),
    ],
)
def test_layers_picks_some_and_a_list_gives_a_value_per_layer(entry, expected):
    assert fillings(**entry) == expected


def test_each_stack_has_its_own_number_of_layers():
    depth = {"encoder_layers": 1, "decoder_layers": 3}
    assert fillings("encoder_self_attention", depth, kernel_size=3) == (made_up(3),)
    assert fillings("cross_attention", depth, kernel_size=[1, 2, 3]) == (made_up(1), made_up(2), made_up(3))
    assert plan(experiment(model=depth), "one").training.model.slots["decoder_self_attention"] == (FILLING,) * 3


def test_slots_that_are_left_out_are_plain():
    slots = plan(experiment(slots={"cross_attention": {"mechanism": "made_up", "kernel_size": 3}}), "one")
    assert slots.training.model.slots == {
        "encoder_self_attention": (FILLING, FILLING),
        "decoder_self_attention": (FILLING, FILLING),
        "cross_attention": (made_up(3), made_up(3)),
    }


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"mechanism": "made_op"}, "no mechanism 'made_op'; there are made_up, " + PLAIN),
        ({"mechanism": "__init__"}, "no mechanism '__init__'; there are made_up, " + PLAIN),
        ({"layers": [1]}, "this key is required; there are made_up, " + PLAIN),
        (
            {"slot": "decoder_self_attention", "mechanism": "made_up", "kernel_size": 3},
            "made_up does not fit this slot; it accepts encoder_self_attention, cross_attention",
        ),
    ],
)
def test_a_wrong_mechanism_is_told_what_is_allowed(entry, message):
    assert slot_refusal(**entry) == f".mechanism: {message}"


@pytest.mark.parametrize(
    ("entry", "key", "words"),
    [
        ({"kernel_sise": 3}, "kernel_sise", ["did you mean 'kernel_size'?", "mechanism, layers, kernel_size, gate"]),
        ({"kernel_size": 3, "layer": [1]}, "layer", ["did you mean 'layers'?"]),
        ({}, "kernel_size", ["required"]),
        ({"kernel_size": "three"}, "kernel_size", ["integer", "not 'three'"]),
        ({"kernel_size": [3, 0]}, "", ["kernel_size is 0", "at least 1"]),
        ({"kernel_size": [3, 5, 7]}, "kernel_size", ["[3, 5, 7]", "3 values", "here 2"]),
        ({"kernel_size": [3, 5], "layers": [2]}, "kernel_size", ["[3, 5]", "2 values", "here 1"]),
    ],
)
def test_a_wrong_setting_is_named(entry, key, words):
    message = slot_refusal(mechanism="made_up", **entry)
    assert message.startswith(f".{key}: " if key else ": ")
    assert all(word in message for word in words), message


@pytest.mark.parametrize("layers", [[], [3], [0], [-1, 1], [1, 1], 2, "1", [[1]], [True], ["1"], None])
def test_layers_that_are_not_there_are_refused(layers):
    assert slot_refusal(mechanism="made_up", kernel_size=3, layers=layers) == (
        f".layers: {layers!r} is not a list of different layers of 1..2"
    )


def test_entries_of_one_slot_fill_layers_of_their_own():
    plain = {"mechanism": PLAIN, "layers": [1]}
    other = {"mechanism": "made_up", "kernel_size": 3, "layers": [2]}
    for order in ([plain, other], [other, plain], [other]):
        one = experiment(slots={"encoder_self_attention": order})
        assert plan(one, "one").training.model.slots["encoder_self_attention"] == (FILLING, made_up(3))


def test_entries_that_share_a_layer_and_a_wrong_one_of_a_list_are_named():
    entries = [{"mechanism": PLAIN, "layers": [1]}, {"mechanism": "made_upp", "layers": [2]}]
    message = refusal({"slots": {"encoder_self_attention": entries}})
    assert message.startswith("params.yaml: variants.one.slots.encoder_self_attention[1].mechanism: no mechanism")
    entries = [{"mechanism": "made_up", "kernel_size": 3, "layers": [2]}, {"mechanism": PLAIN}]
    assert refusal({"slots": {"encoder_self_attention": entries}}) == (
        "params.yaml: variants.one.slots.encoder_self_attention[1].layers: another entry of this slot fills [2], too"
    )


@pytest.mark.parametrize("given", ["made_up", ["made_up"], None, [], [None], 3])
def test_what_is_no_entry_is_refused(given):
    assert refusal({"slots": {"encoder_self_attention": given}}) == (
        f"params.yaml: variants.one: slots.encoder_self_attention is {given!r}; it must be {{mechanism: NAME, …}} or a"
        " list of such entries"
    )


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
        ({"model": {"previous_sources": 1}}, [".model", "previous_sources is 1", "kind is autoregressive"]),
        ({"model": {"kind": "masked", "previous_targets": 1}}, [".model", "previous_targets is 1", "kind is masked"]),
        ({"model": {"kind": "concatenation"}}, [".model", "previous_sources is 0", "concatenation", "at least 1"]),
        (
            {"model": {"kind": "concatenation", "previous_sources": 1, "previous_targets": 2}},
            [".model", "previous_targets is 2", "at most previous_sources (1)"],
        ),
        (
            {"model": {"kind": "concatenation", "previous_sources": 3, "positions": "learned"}},
            ["training.maximum_sentence_length is 256", "at most 255", "(1024) shared by 4 sentences"],
        ),
        (
            {
                "model": {"kind": "concatenation", "previous_sources": 1},
                "slots": {"encoder_output": {"mechanism": "cache_memory"}},
            },
            ["slots.encoder_output", "model.kind is concatenation"],
        ),
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


def test_a_plan_is_read_as_it_was_written(tmp_path):
    variant = {
        "slots": {"encoder_self_attention": {"mechanism": "made_up", "kernel_size": 3, "layers": [2]}},
        "model": {"norm": "post", "dropout": 0.25},
        "training": {"schedule": {"kind": "cosine", "decay_updates": 9}, "patience": 3},
    }
    written = plan(experiment(**variant), "one").training
    written.write(tmp_path / "plan.json", {"context_nmt.mechanisms.made_up": "0123"})
    assert TrainingPlan.read(tmp_path / "plan.json") == written
    assert ModelPlan.from_dict(read_json(tmp_path / "plan.json")["model"]) == written.model


def write_experiment(folder, **variant):
    values = {
        "root": ".",
        "corpus": {"name": "any", "source": "en", "target": "de", "tests": ["test"]},
        "decoding": {"beam": 3},
        "variants": {"plain": {}, "one": variant},
        "train": {"bitext": ["plain", "one"]},
        "seeds": [1],
        "focus": "one",
    }
    make_root(folder)
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    return Experiment(folder)


def test_a_training_plan_has_the_digests_of_what_it_loads_by_name_and_of_nothing_else(tmp_path):
    mixed = {"encoder_self_attention": {"mechanism": "made_up", "kernel_size": 3, "layers": [1]}}
    written = write_experiment(tmp_path, slots=mixed, training={"validation_bleu": True})
    known = tmp_path / "src/code/loaded_by_name.json"
    with pytest.raises(
        UserError, match=r"loaded_by_name\.json does not have context_nmt\.mechanisms\.made_up; run `dvc"
    ):
        write_plans(written)
    digests = read_json(known) | {"context_nmt.mechanisms.made_up": "0123"}
    write_json(known, digests)
    write_plans(written)
    names = {
        "plain": [f"context_nmt.mechanisms.{PLAIN}"],
        "one": [f"context_nmt.mechanisms.{PLAIN}", "context_nmt.mechanisms.made_up", VALIDATION],
    }
    names = {variant: [*found, "context_nmt.models.kinds.autoregressive"] for variant, found in names.items()}
    for variant, expected in names.items():
        code = read_json(written.plan(variant, "training"))["code"]
        assert code == {name: digests[name] for name in expected}


def test_the_plans_of_all_variants_and_stages_are_written(tmp_path):
    written = write_experiment(tmp_path, decoding={"beam": 1}, averaging={"count": 2})
    parameters = yaml.safe_load(written.parameters.read_text())
    parameters["download"] = ["miniature", "multi30k"]
    written.parameters.write_text(yaml.safe_dump(parameters))
    write_plans(written)
    settings = written.settings
    text = read_plan(EvaluationPlan, written.stage_plan("text"))
    assert (text.corpus, text.text, text.untokenized, text.code) == (settings.corpus, settings.text, False, {})
    assert read_plan(UnitPlan, written.stage_plan("units")).units == settings.units
    assert read_plan(SignificanceSettings, written.stage_plan("significance")) == settings.significance
    classifier = settings.probing.sentence_classifier
    assert read_plan(SentenceProbePlan, written.stage_plan("probe_sentences")).classifier == classifier
    assert read_plan(WordClassifierSettings, written.stage_plan("probe_words")) == settings.probing.word_classifier
    for variant in ("plain", "one"):
        expected = plan(settings, variant)
        assert TrainingPlan.read(written.plan(variant, "training")) == expected.training
        assert DecodingSettings(**read_json(written.plan(variant, "decoding"))) == expected.decoding
        assert AveragingSettings(**read_json(written.plan(variant, "averaging"))) == expected.averaging
    for corpus, module in {"miniature": "miniature.generation", "multi30k": "corpus.formats.text"}.items():
        assert read_data_plan(written.data_plan(corpus)) == read_entry(tmp_path / "data/params.yaml", corpus)
        assert list(read_json(written.data_plan(corpus))["code"]) == [f"context_nmt.{module}"]


def test_the_plan_of_the_text_has_its_script_s_code_and_says_whether_it_is_tokenized(tmp_path):
    written = write_experiment(tmp_path)
    parameters = yaml.safe_load(written.parameters.read_text())
    script = "context_nmt.corpus.chinese"
    parameters["text"] = {"source": {"script": f"python -m {script}", "truecase": False}, "target": {"truecase": False}}
    parameters["units"] = {"kind": "sentencepiece", "pieces": 300}
    written.parameters.write_text(yaml.safe_dump(parameters))
    write_plans(written)
    text = read_plan(EvaluationPlan, written.stage_plan("text"))
    assert (list(text.code), text.untokenized) == ([script], True)
    assert read_plan(UnitPlan, written.stage_plan("units")).units == written.settings.units


def test_the_text_stage_s_plans_change_with_a_ceiling_and_not_with_tests(tmp_path):
    """And a tokenizer that is not given is in none of the plans, so that those of before this key stay as they were."""
    written = write_experiment(tmp_path)
    write_plans(written)
    text, ceilings, tests = (read_json(written.stage_plan(name)) for name in ("text", "ceilings", "significance"))
    assert not {"tokenizer", "minimum_ceiling"} & {*text, *tests}
    assert ceilings == {"metric": "sacrebleu", "minimum_ceiling": 90.0}
    parameters = yaml.safe_load(written.parameters.read_text())
    parameters["significance"] = {"tokenizer": "char", "minimum_ceiling": 50.0, "resamples": 7}
    written.parameters.write_text(yaml.safe_dump(parameters))
    write_plans(Experiment(tmp_path))
    assert read_json(written.stage_plan("text")) == text | {"tokenizer": "char"}
    assert read_json(written.stage_plan("ceilings")) == ceilings | {"minimum_ceiling": 50.0}
    assert read_json(written.stage_plan("significance")) == tests | {"resamples": 7}


def test_where_one_variant_is_wrong_no_plan_is_written(tmp_path):
    written = write_experiment(tmp_path, decoding={"beam": 0})
    with pytest.raises(UserError, match=r"params\.yaml: variants\.one\.decoding\.beam"):
        write_plans(written)
    assert not written.metrics.exists()


@pytest.mark.parametrize("text", ["{}", "[]", '{"training": {"schedule": {}, "colour": 1}}', '{"training": 7}'])
def test_a_file_that_is_no_plan_is_refused(tmp_path, text):
    path = tmp_path / "training.json"
    path.write_text(text)
    with pytest.raises(UserError, match="run the plan stage again"):
        TrainingPlan.read(path)
