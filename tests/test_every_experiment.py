"""Every experiment from downloads to scores, with the stages of dvc.yaml, made-up text and tiny models."""

import csv
import importlib
import json
from pathlib import Path

import pytest
from made_up_mirror import write_catalogue, write_mirror
from project_root import ROOT, make_root

from context_nmt.files import read_json, read_yaml, write_json
from context_nmt.measures.pairs import system_pairs
from context_nmt.models.plans import TrainingPlan
from context_nmt.settings.parameters import Experiment, training_of, with_lineage
from context_nmt.settings.run_layout import run_name

pytestmark = pytest.mark.heavy

EXPERIMENTS = [ROOT, *sorted(path.parent for path in ROOT.glob("experiments/*/params.yaml"))]
UPDATES = 2
SMALLER_UNITS = {"bpe": {"merges": 60, "vocabulary_threshold": 0}, "words": {}, "sentencepiece": {"pieces": 400}}
SMALLER = {  # for an experiment, and for variants that have the key
    "model": {"width": 32, "feed_forward_width": 16},
    "training": {
        "batch_tokens": 2000,
        "accumulation": 1,
        "maximum_updates": UPDATES,
        "maximum_epochs": None,
        "validate_every": 1,
        "schedule": {"warmup": 1},
    },
    "decoding": {"beam": 2, "iterations": 2, "length_beam": 2, "maximum_length_ratio": 0, "maximum_length_offset": 8},
    "significance": {"resamples": 20},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The folder of a project with small corpora and a mirror of their files."""
    folder = tmp_path_factory.mktemp("project")
    make_root(folder)
    write_catalogue(ROOT / "data/params.yaml", folder / "data/params.yaml")
    write_mirror(folder / "mirror", folder / "data/params.yaml")
    return folder


def merge(values, changes, *, add):
    """Change the values of nested keys; with `add`, also add keys that are missing."""
    for key, change in changes.items():
        if isinstance(change, dict):
            if add or key in values:
                values[key] = merge(values.get(key) or {}, change, add=add)
        elif add or key in values:
            values[key] = change
    return values


def make_smaller(original, folder):
    parameters = merge(read_yaml(original / "params.yaml"), SMALLER, add=True)
    parameters["units"] |= SMALLER_UNITS[parameters["units"].get("kind", "bpe")]
    for variant in parameters["variants"].values():
        merge(variant, SMALLER, add=False)
    parameters["seeds"] = parameters["seeds"][:1]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.yaml").write_text(json.dumps(parameters))
    return Experiment(folder)


def options_of(settings, variant):
    """The options of the train stage for a variant."""
    start = training_of(settings.train, variant).start
    return {"start": start} if start else {"distilled": True} if variant in settings.train.distilled else {}


def representative_variants(experiment):
    """The first variant of each kind of model in each list of `train`."""
    variants = {}
    for training_list in ("bitext", "distilled", "document", "continued"):
        for variant in getattr(experiment.settings.train, training_list):
            plan = TrainingPlan.read(experiment.plan(variant, "training")).model
            variants.setdefault((training_list, plan.kind_module, plan.model.kind), variant)
    return variants.values()


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run(stage, *arguments, **options):
    importlib.import_module(f"stages.{stage}").main(*arguments, **options)


@pytest.mark.parametrize("original", EXPERIMENTS, ids=lambda path: path.name if path != ROOT else "default")
def test_an_experiment_runs_from_its_downloads_to_its_scores(original, project, monkeypatch):
    folder = project / original.relative_to(ROOT)
    experiment = make_smaller(original, folder)
    settings, seed = experiment.settings, experiment.settings.seeds[0]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DATA_MIRROR", str(project / "mirror"))
    run("plan")
    for corpus in settings.download:
        run("download", corpus, Path(f"checksums.{corpus}.json"))  # corpora share addresses, but not made-up files
    run("tokenize")
    run("bpe")
    plans = read_json(experiment.stage_plan("models"))
    assert set(plans) == set(settings.variants)

    needed = with_lineage(settings, representative_variants(experiment))
    trained = {name: options_of(settings, name) for name in settings.train.everything if name in needed}
    write_json(experiment.stage_plan("models"), {name: plans[name] for name in trained})
    run("describe")
    assert set(read_json(experiment.models)) == set(trained)
    for variant, options in trained.items():
        if "distilled" in options and not experiment.distilled(str(seed)).exists():
            run("distill", *settings.train.teachers, seed, device="cpu")
        run("train", variant, seed, device="cpu", **options)
        run("average", variant, seed)
        run("decode", variant, seed, device="cpu")
        run("contrast", variant, seed, device="cpu")
        name = run_name(variant, seed)
        assert [row["update"] for row in rows(experiment.curve(name))] == [str(number + 1) for number in range(UPDATES)]
    for variant in trained:
        write_json(experiment.pairs(variant), system_pairs(experiment, variant))
        run("significance", variant)
        scored = {(row["test_set"], row["metric"]) for row in rows(experiment.scores(run_name(variant, seed)))}
        assert scored >= {(test, "sacrebleu") for test in settings.corpus.tests}
        with_documents = {test for test in settings.corpus.tests if (experiment.corpus / f"{test}.documents").exists()}
        assert {test for test in settings.corpus.tests if (test, "d_bleu") in scored} == with_documents
        accuracies = rows(experiment.contrastive(run_name(variant, seed)))
        contrastive_sets = {row["test_set"] for row in accuracies if row["metric"] == "accuracy"}
        assert contrastive_sets == set(settings.corpus.contrastive)
