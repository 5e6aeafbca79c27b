"""A variant of params.yaml gives plans, with its recipe and the mechanism of each layer, or an error with the key."""

import difflib
import json
import sys
from typing import get_args

import pytest
import yaml
from contract import experiment
from measured import assert_golden
from project_root import make_root

import context_nmt.mechanisms
from context_nmt.corpus.catalogue import read_entry
from context_nmt.corpus.download import read_data_plan
from context_nmt.files import UserError, read_json, write_json
from context_nmt.models import mechanisms
from context_nmt.models.mechanisms import PLAIN
from context_nmt.models.plans import Filling, ModelPlan, TrainingPlan
from context_nmt.pipeline.planning import plan, write_plans
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.model import LayerSlot
from context_nmt.settings.parameters import Experiment

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
PLAIN_ATTENTION = Filling(mechanism=PLAIN)


@pytest.fixture(autouse=True)
def _made_up_mechanism(tmp_path, monkeypatch):
    """A mechanism needs only a file in the folder of mechanisms."""
    folder = tmp_path / "mechanisms"
    folder.mkdir()
    for name in {mechanisms.plain(slot) for slot in (*get_args(LayerSlot), "norm")}:
        (folder / f"{name}.py").write_bytes((mechanisms.FOLDER / f"{name}.py").read_bytes())
    (folder / "__init__.py").touch()
    (folder / "made_up.py").write_text(MADE_UP)
    monkeypatch.setattr(mechanisms, "FOLDER", folder)
    monkeypatch.setattr(context_nmt.mechanisms, "__path__", [str(folder)])
    yield
    sys.modules.pop("context_nmt.mechanisms.made_up", None)


def made_up(kernel_size, gate=True):
    return Filling(mechanism="made_up", settings={"kernel_size": kernel_size, "gate": gate})


def entry(**settings):
    return {"mechanism": "made_up", **settings}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (entry(kernel_size=3), (made_up(3), made_up(3))),
        (entry(kernel_size=[3, 5], gate=False), (made_up(3, gate=False), made_up(5, gate=False))),
        (entry(layers=[2], kernel_size=3), (PLAIN_ATTENTION, made_up(3))),
        (entry(layers=[1], kernel_size=[3]), (made_up(3), PLAIN_ATTENTION)),
        (entry(layers=[2, 1], kernel_size=[3, 5]), (made_up(5), made_up(3))),
        # Each of several entries fills its own layers.
        ([{"mechanism": PLAIN, "layers": [1]}, entry(kernel_size=3, layers=[2])], (PLAIN_ATTENTION, made_up(3))),
        ([entry(kernel_size=3, layers=[2]), {"mechanism": PLAIN, "layers": [1]}], (PLAIN_ATTENTION, made_up(3))),
        ([entry(kernel_size=3, layers=[2])], (PLAIN_ATTENTION, made_up(3))),
    ],
)
def test_layers_picks_some_and_a_list_gives_a_value_per_layer(entries, expected):
    """Slots that are not listed are plain."""
    slots = plan(experiment(slots={"encoder_self_attention": entries}), "one").training.model.slots
    assert slots.pop("encoder_self_attention") == expected
    assert slots == {
        **dict.fromkeys(("decoder_self_attention", "cross_attention"), (PLAIN_ATTENTION,) * 2),
        **dict.fromkeys(("encoder_feed_forward", "decoder_feed_forward"), (Filling(mechanism="feed_forward"),) * 2),
        "norm": (Filling(mechanism="layer_norm"),),
    }


def test_each_stack_has_its_own_number_of_layers():
    slots = {"encoder_self_attention": entry(kernel_size=3), "cross_attention": entry(kernel_size=[1, 2, 3])}
    depth = {"encoder_layers": 1, "decoder_layers": 3}
    assert plan(experiment(slots=slots, model=depth), "one").training.model.slots == {
        "encoder_self_attention": (made_up(3),),
        "decoder_self_attention": (PLAIN_ATTENTION,) * 3,
        "cross_attention": (made_up(1), made_up(2), made_up(3)),
        "encoder_feed_forward": (Filling(mechanism="feed_forward"),),
        "decoder_feed_forward": (Filling(mechanism="feed_forward"),) * 3,
        "norm": (Filling(mechanism="layer_norm"),),
    }


def test_two_vocabularies_do_not_share_a_table():
    separate = {"units": {"joint": False}}
    with pytest.raises(UserError, match=r"model\.tying is all, but units\.joint is false"):
        plan(experiment(top_level=separate), "one")
    untied = plan(experiment(top_level=separate, model={"tying": "decoder"}), "one")
    assert untied.training.model.model.tying == "decoder"


def test_as_many_checkpoints_as_are_kept_can_be_averaged():
    variant = {"averaging": {"select": "best", "count": 2}, "training": {"keep_best": 2, "keep_last": 0}}
    assert plan(experiment(**variant), "one").averaging.count == 2


def write_experiment(folder, variant, **settings):
    values = {
        "root": ".",
        "corpus": {"name": "any", "source": "en", "target": "de", "tests": ["test"]},
        "training": {"batch_tokens": 77, "keep_last": 9, "schedule": {"kind": "cosine", "warmup": 5, "factor": 2.0}},
        "decoding": {"beam": 3},
        "variants": {"plain": {}, "one": variant},
        "train": {"bitext": ["plain", "one"]},
        "seeds": [1],
        "focus": "one",
    }
    make_root(folder)
    (folder / "params.yaml").write_text(yaml.safe_dump(values | settings, sort_keys=False))
    return Experiment(folder)


def plans(experiment):
    """All plans as text, each with its path; digests of code are left out."""
    write_plans(experiment)
    paths = sorted((experiment.metrics / "plans").rglob("*.json"))
    plan_values = {str(path.relative_to(experiment.metrics)): without_digests(read_json(path)) for path in paths}
    return "".join(f"{path} {json.dumps(values, indent=1)}\n" for path, values in plan_values.items())


def without_digests(values):
    if not isinstance(values, dict):
        return values
    return {key: sorted(value) if key == "code" else without_digests(value) for key, value in values.items()}


MIXED = {  # a variant that changes keys of the experiment's recipe
    "model": {"width": 16, "norm": "post", "dropout": 0.25},
    "slots": {"encoder_self_attention": {"mechanism": "made_up", "kernel_size": 3, "layers": [1]}},
    "training": {"maximum_updates": 11, "validation_bleu": True, "patience": 3, "schedule": {"warmup": 7}},
    "averaging": {"count": 8},
    "decoding": {"length_penalty": "none"},
}


def test_the_plans_of_all_variants_and_stages_are_written(tmp_path):
    written = write_experiment(tmp_path, MIXED, download=["miniature", "multi30k"])
    code_file = tmp_path / "src/code/loaded_by_name.json"
    with pytest.raises(UserError, match=r"by_name\.json does not have context_nmt\.mechanisms\.made_up; run `dvc"):
        write_plans(written)
    digests = read_json(code_file) | {"context_nmt.mechanisms.made_up": "0123"}
    write_json(code_file, digests)
    assert_golden(plans(written), "plans.txt")
    for variant in written.settings.variants:
        code = read_json(written.plan(variant, "training"))["code"]
        assert code == {name: digests[name] for name in code}
        planned = plan(written.settings, variant).training
        assert TrainingPlan.read(written.plan(variant, "training")) == planned
        assert ModelPlan.from_dict(read_json(written.plan(variant, "training"))["model"]) == planned.model
    for corpus in written.settings.download:
        assert read_data_plan(written.data_plan(corpus))[0] == read_entry(tmp_path / "data/params.yaml", corpus)


def test_a_plan_changes_with_its_own_settings_alone(tmp_path):
    """Keys that were added after plans existed are in no plan unless they are set."""
    before = plans(write_experiment(tmp_path / "before", {})).splitlines()
    side = {"truecase": False}
    settings = {
        "text": {"source": side | {"script": "python -m context_nmt.corpus.chinese"}, "target": side},
        "units": {"kind": "sentencepiece", "pieces": 300},
        "significance": {"tokenizer": "char", "minimum_ceiling": 50.0, "resamples": 7},
        "probing": {"sentence_classifier": {"epochs": 3}, "word_classifier": {"epochs": 4}},
    }
    after = plans(write_experiment(tmp_path / "after", {}, **settings)).splitlines()
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-" or line.endswith("json {")]
    assert_golden("\n".join(changed), "plans-changed.txt")


def test_plans_of_searches_averages_and_probes_have_no_defaults(tmp_path):
    """So a new key with a default is in no plan, as long as it is not set."""
    classifier = {"sentence_classifier": {"epochs": 100, "seeds": [1, 2]}}
    variant = {"decoding": {"length_penalty": "gnmt", "iterations": 4}}
    written = write_experiment(tmp_path, variant, probing=classifier)
    write_plans(written)
    assert read_json(written.plan("plain", "decoding")) == {"beam": 3}
    assert read_json(written.plan("plain", "averaging")) == {}
    assert read_json(written.plan("one", "decoding")) == {"beam": 3, "iterations": 4}
    assert read_plan(DecodingSettings, written.plan("one", "decoding")) == plan(written.settings, "one").decoding
    assert read_json(written.stage_plan("probe_words")) == {}
    assert read_json(written.stage_plan("probe_sentences")) == {"classifier": {"seeds": [1, 2]}, "tasks": None}


def test_a_wrong_variant_prevents_all_plans(tmp_path):
    written = write_experiment(tmp_path, {"decoding": {"beam": 0}})
    with pytest.raises(UserError, match=r"params\.yaml: variants\.one\.decoding\.beam"):
        write_plans(written)
    assert not written.metrics.exists()


@pytest.mark.parametrize("text", ["{}", "[]", '{"training": {"schedule": {}, "colour": 1}}', '{"training": 7}'])
def test_a_file_that_is_not_a_plan_is_refused(tmp_path, text):
    path = tmp_path / "training.json"
    path.write_text(text)
    with pytest.raises(UserError, match="run the plan stage again"):
        TrainingPlan.read(path)
