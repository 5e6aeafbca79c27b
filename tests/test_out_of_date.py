"""Whether the results of another experiment are those of the present code and settings."""

from hashlib import md5

import pytest
import yaml
from made_up_experiment import make_experiment

from context_nmt.report.writing import write_report
from context_nmt.results.out_of_date import out_of_date
from context_nmt.settings.layout import run_name

STAGES = {"train": "training", "average": "averaging", "decode": "decoding", "contrast": "training", "analyse": "text"}


@pytest.fixture
def experiment(tmp_path):
    """An experiment that has run, as DVC would note it; `gauss` is a student."""
    experiment = make_experiment(tmp_path)
    stages = {}
    for variant in experiment.settings.variants:
        stages[f"significance@{variant}"] = entry(experiment, "metrics/plans/text.json")
        for seed in experiment.settings.seeds:
            for stage, part in STAGES.items():
                name = "train_distilled" if (stage, variant) == ("train", "gauss") else stage
                plan = "metrics/plans/text.json" if part == "text" else f"metrics/plans/{variant}/{part}.json"
                stages[f"{name}@{run_name(variant, seed)}"] = entry(experiment, plan)
    write_lock(experiment, stages)
    return experiment


def entry(experiment, *paths):
    files = {path: md5((experiment.folder / path).read_bytes(), usedforsecurity=False).hexdigest() for path in paths}
    absent = {"path": "runs/models/lost", "md5": "0"}
    return {"deps": [*({"path": path, "md5": digest} for path, digest in files.items()), absent]}


def write_lock(experiment, stages):
    text = yaml.safe_dump({"schema": "2.0", "stages": stages})
    (experiment.folder / "dvc.lock").write_text(text, encoding="utf-8")


def read_lock(experiment):
    return yaml.safe_load((experiment.folder / "dvc.lock").read_text(encoding="utf-8"))["stages"]


def test_what_dvc_has_noted_of_present_files_is_up_to_date(experiment):
    assert out_of_date(experiment) == []


def test_another_plan_concerns_its_variant_and_one_of_the_text_all(experiment):
    plan = experiment.plan("gauss", "decoding")
    plan.write_text(plan.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert out_of_date(experiment) == ["gauss"]
    plan = experiment.stage_plan("text")
    plan.write_text(plan.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert out_of_date(experiment) == list(experiment.settings.variants)


@pytest.mark.parametrize("stage", ["train_distilled@gauss-2", "analyse@gauss-1", "significance@gauss"])
def test_a_stage_that_dvc_has_not_noted_is_out_of_date(experiment, stage):
    stages = read_lock(experiment)
    del stages[stage]
    write_lock(experiment, stages)
    assert out_of_date(experiment) == ["gauss"]


def test_without_a_lock_everything_is(experiment):
    (experiment.folder / "dvc.lock").unlink()
    assert out_of_date(experiment) == list(experiment.settings.variants)


@pytest.mark.slow
def test_the_report_of_another_experiment_says_so(tmp_path):
    (tmp_path / "experiments/old").mkdir(parents=True)
    make_experiment(tmp_path / "experiments/old", root="../..")
    root = make_experiment(tmp_path)
    write_report(root)
    page = (root.reports / "report.md").read_text(encoding="utf-8")
    assert "Out of date" in page
    assert "old (4 of its systems)" in page
    assert "birds en-de (old), seeds 1, 2, out of date" in page
