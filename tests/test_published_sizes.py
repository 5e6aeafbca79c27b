"""The experiments at paper size: every system has the parameters that its paper counts, and its paper's recipe."""

from dataclasses import asdict, replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import torch
import yaml

from context_nmt.models.building import build
from context_nmt.pipeline.planning import plan
from context_nmt.report.published import read_papers
from context_nmt.results.metrics import is_score
from context_nmt.settings.parameters import read_parameters

ROOT = Path(__file__).parents[1]
FACTS = yaml.safe_load((ROOT / "tests/paper_sizes.yaml").read_text(encoding="utf-8"))
CROSS = "wmt14-en-de-cross-attention"
DOCUMENTS = [experiment for experiment, facts in FACTS.items() if facts.get("paper") == "hierarchical_attention"]


def having(key):
    return [experiment for experiment, facts in FACTS.items() if key in facts]


@cache
def settings(experiment):
    return read_parameters(ROOT / "experiments" / experiment / "params.yaml")


@cache
def plans(experiment):
    return {variant: plan(settings(experiment), variant) for variant in settings(experiment).variants}


@cache
def counts(experiment):
    """The parameters of every variant."""
    size, by_variant = FACTS[experiment]["vocabulary"], {}
    for variant, variant_plan in plans(experiment).items():
        with torch.device("meta"):
            model = build(variant_plan.training.model, source_vocabulary=size, target_vocabulary=size)
        by_variant[variant] = sum(parameter.numel() for parameter in model.parameters())
    return by_variant


def at(values, path):
    """The value at a dotted path; tuples become lists, as in YAML."""
    for name in path.split("."):
        values = values.get(name) if isinstance(values, dict) else getattr(values, name)
        values = values() if callable(values) else values
    return list(values) if isinstance(values, tuple) else values


@pytest.mark.parametrize("experiment", having("added"))
def test_every_system_adds_the_parameters_that_its_paper_counts(experiment):
    by_variant = counts(experiment)
    base = {
        variant: by_variant["transformer_big" if variant.endswith("_big") else "transformer"] for variant in by_variant
    }
    assert {variant: count - base[variant] for variant, count in by_variant.items()} == FACTS[experiment]["added"]


@pytest.mark.parametrize("experiment", having("thousands"))
def test_all_parameters_together_round_to_what_is_published(experiment):
    unit, published = FACTS[experiment]["unit"], FACTS[experiment]["thousands"]
    assert {name: unit * round(counts(experiment)[name] / 1000 / unit) for name in published} == published


@pytest.mark.parametrize("experiment", [name for name in DOCUMENTS if name in having("vocabulary")])
def test_hierarchical_attention_adds_what_its_code_uses(experiment):
    by_variant = counts(experiment)
    added = {
        variant: count - by_variant["transformer"]
        for variant, count in by_variant.items()
        if variant.startswith("han_")
    }
    assert added.pop("han_decoder_alignment") == 4_730_880 + 2 * 512  # with a norm for what it reads
    per_module = {variant: count // (1 + variant.startswith("han_joint")) for variant, count in added.items()}
    assert per_module == dict.fromkeys(added, 4_730_880)


def test_the_masked_model_has_what_mask_predict_has_but_for_unused_positions():
    """The layers of a post-norm Transformer with biases, a table of units, those of positions and one of lengths."""
    square, inner = 512 * 512 + 512, 2 * 512 * 2048 + 2048 + 512
    layers = 6 * (4 * square + inner + 2 * 1024) + 6 * (8 * square + inner + 3 * 1024)
    assert layers == 44_138_496
    assert counts(CROSS)["cmlm"] == layers + 512 * FACTS[CROSS]["vocabulary"] + 3 * 1024 * 512


@pytest.mark.parametrize("experiment", having("settings"))
def test_corpora_units_and_teachers_match_the_paper(experiment):
    expected = FACTS[experiment]["settings"]
    assert {path: at(settings(experiment), path) for path in expected} == expected


@pytest.mark.parametrize("experiment", having("systems"))
def test_every_recipe_matches_its_paper(experiment):
    for pattern, expected in FACTS[experiment]["systems"].items():
        matching = [variant_plan for variant, variant_plan in plans(experiment).items() if fnmatch(variant, pattern)]
        assert matching
        for variant_plan in matching:
            training = asdict(variant_plan.training.training)
            training["tokens"] = training["batch_tokens"] * training["accumulation"]
            values = {"model": asdict(variant_plan.training.model.model), "training": training}
            values |= {"averaging": asdict(variant_plan.averaging), "decoding": asdict(variant_plan.decoding)}
            assert {path: at(values, path) for path in expected} == expected


@pytest.mark.parametrize("experiment", [*DOCUMENTS, CROSS])
def test_systems_are_marked_by_the_test_of_their_paper(experiment):
    variants = settings(experiment).variants
    test = "sign" if experiment == CROSS else "sacrebleu"  # by Moses; of masked models
    compared = {name for name, variant in variants.items() if variant.baseline and not name.startswith("transformer")}
    assert {name for name, variant in variants.items() if variant.test == test} == compared


def test_windows_and_layers_match_table_3():
    for variant, (window, center, layers) in FACTS[CROSS]["windows"].items():
        filled = {
            (slot, number): filling.settings
            for slot, fillings in plans(CROSS)[variant].training.model.slots.items()
            for number, filling in enumerate(fillings)
            if filling.settings
        }
        assert filled == {("cross_attention", number): {"window": window, "center": center} for number in layers}


@pytest.mark.parametrize("experiment", having("paper"))
def test_every_table_of_the_paper_can_show_marks(experiment):
    """The metric that is tested is that of a column, in each table with scores of the experiment's test sets."""
    read, shown = settings(experiment), []
    for table in read_papers()[FACTS[experiment]["paper"]].tables:
        columns = [column for column in table.columns if column.languages == read.corpus.direction]
        metrics = {
            column.metric for column in columns if column.test_set in read.corpus.tests and is_score(column.metric)
        }
        assert not metrics or read.significance.metric in metrics
        shown += metrics
    assert shown


def test_every_system_is_trained_as_its_baseline_is():
    """A system differs from its baseline only in its slots and its warm-up."""
    for experiment in having("added"):
        read = settings(experiment)
        for variant, variant_settings in read.variants.items():
            if variant_settings.baseline is None:
                assert variant == "transformer"
            elif variant.startswith("transformer"):  # another size
                assert variant_settings.baseline == "transformer"
                assert not variant_settings.slots
            elif variant == "cmlm":  # another kind of model
                assert variant_settings.baseline in read.train.teachers
            elif variant == "cmlm_raw":  # another text
                assert plans(experiment)[variant] == plans(experiment)[variant_settings.baseline]
            else:
                variant_plan, baseline_plan = plans(experiment)[variant], plans(experiment)[variant_settings.baseline]
                assert variant_plan.training.model.slots != baseline_plan.training.model.slots
                assert variant_plan.training.model.model == baseline_plan.training.model.model
                assert (variant_plan.averaging, variant_plan.decoding) == (
                    baseline_plan.averaging,
                    baseline_plan.decoding,
                )
                warmup = baseline_plan.training.training.schedule.warmup
                schedule = replace(variant_plan.training.training.schedule, warmup=warmup)
                assert replace(variant_plan.training.training, schedule=schedule) == baseline_plan.training.training


@pytest.mark.parametrize("experiment", having("like"))
def test_other_language_pairs_have_the_recipe_of_english_german(experiment):
    original, changed = FACTS[experiment]["like"], FACTS[experiment].get("but", {})
    read, same = settings(experiment), settings(original)
    assert replace(read.significance, minimum_ceiling=90) == same.significance or original == CROSS
    for variant, variant_settings in read.variants.items():
        expected, original_settings = plans(original)[variant], same.variants[variant]
        model = expected.training.model.model
        model = replace(expected.training.model, model=replace(model, **changed.get(model.kind, {})))
        assert plans(experiment)[variant] == replace(expected, training=replace(expected.training, model=model))
        assert (variant_settings.label, variant_settings.test) == (original_settings.label, original_settings.test)
        assert variant_settings.baseline == original_settings.baseline or variant == "cmlm"
