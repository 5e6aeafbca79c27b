"""The purpose of the miniature: a single sentence does not reveal an antecedent before it, and HAN finds it there."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
import yaml
from measured import read_flat
from project_root import make_root
from small_models import shake
from tiny_training import MODEL

from context_nmt.corpus import workers
from context_nmt.corpus.binarized import BinarizedCorpus, binarize
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import read_lines, read_yaml
from context_nmt.measures.given_translations import contrast_run
from context_nmt.miniature import generation
from context_nmt.miniature.lexicon import load_lexicon
from context_nmt.models.averaging import average_run
from context_nmt.models.building import build
from context_nmt.models.checkpoints import RUN_WEIGHTS, model_metadata, save, weights_of
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.miniature import ContrastiveSettings, MiniatureSettings, RateSettings
from context_nmt.settings.parameters import Experiment
from context_nmt.training.trainer import train_run

KINDS = {"person", "furniture", "landscape"}  # of nouns: 19 things
RATES = dict.fromkeys((field.name for field in fields(RateSettings)), 0.0)
RATES |= {"pronoun_cross": 1.0, "distance_1": 1.0, "cue_beside": 1.0, "coordinated": 0.3}
TEXT = MiniatureSettings(
    train=4000,
    valid=60,
    test=60,
    rates=RateSettings(**RATES),
    contrastive=ContrastiveSettings(within=1, cross_pairs=90, beside=1, far=1, previous_pairs=60),
)
PARAMETERS = read_yaml(Path(__file__).with_name("miniature_learning.params.yaml"))
PARAMETERS["model"] = MODEL | {"dropout": 0.0}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Plans, and a text with few words: a sentence about a thing, and a sentence with a pronoun for it."""
    folder = tmp_path_factory.mktemp("miniature")
    make_root(folder)
    lexicon = load_lexicon()
    adjectives = {
        name: replace(adjective, kinds=tuple(kind for kind in adjective.kinds if kind in KINDS))
        for name, adjective in lexicon.adjectives.items()
        if adjective.cue or KINDS.intersection(adjective.kinds)
    }
    raw = folder / "data" / "miniature"
    raw.mkdir(parents=True)
    experiment = Experiment(folder)
    experiment.parameters.write_text(yaml.safe_dump(PARAMETERS), encoding="utf-8")
    settings = experiment.settings
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(generation, "load_lexicon", lambda: replace(lexicon, adjectives=adjectives))
        patched.setattr(workers, "usable_cores", lambda: 1)  # one process is enough
        generation.Generation(TEXT, raw).run()
        tokenize_corpus(raw, experiment.tokenized, settings.corpus, settings.text)
        segment_corpus(experiment.tokenized, experiment.subwords, settings.corpus, settings.units)
    binarize(experiment.subwords, experiment.binarized, settings.corpus, settings.units)
    write_plans(experiment)
    return experiment


def scores(experiment, variant, seed):
    """{metric: accuracy} of a run on both sets."""
    contrast_run(experiment, variant, seed, device="cpu")
    sets = read_flat(experiment.contrastive(f"{variant}-{seed}"))
    return {metric: values["score"] for metrics in sets.values() for metric, values in metrics.items()}


def at_chance(accuracies, *categories):
    return {accuracies[f"{category}{ending}"] for category in categories for ending in ("", "_normalized")} == {50.0}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("variant", ["plain", "masked"])
def test_a_system_that_reads_one_sentence_is_at_chance_with_any_weights(experiment, variant, seed):
    plan = TrainingPlan.read(experiment.plan(variant, "training")).model
    sizes = [len(BinarizedCorpus(experiment.binarized).source_vocabulary)] * 2  # a joint one
    torch.manual_seed(seed)
    model = shake(build(plan, source_vocabulary=sizes[0], target_vocabulary=sizes[1]))
    save(experiment.model(f"{variant}-{seed}") / RUN_WEIGHTS, weights_of(model), model_metadata(plan, *sizes))
    assert at_chance(scores(experiment, variant, seed), "pronouns_cross", "senses_cross")
    for name in ("pronouns", "senses"):
        rows = read_lines(experiment.contrastive_margins(f"{variant}-{seed}") / f"{name}.tsv")[1:]
        outcomes = [row.split("\t")[1] for row in rows]
        assert min(outcomes.count("1"), outcomes.count("0")) > 0.45 * len(rows)  # almost no ties


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_han_finds_the_antecedent_only_in_the_previous_sentence(experiment, seed):
    train_run(experiment, "han", seed, device="cpu")
    average_run(experiment, "han", seed)
    accuracies = scores(experiment, "han", seed)
    assert accuracies["pronouns_distance_1"] >= 85  # 100 with seven seeds, and without AVX2 with three
    assert at_chance(accuracies, "pronouns_distance_2", "pronouns_distance_3")
