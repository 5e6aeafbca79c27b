"""Whether the results of another experiment are those of the present code and settings."""

import pytest
import yaml
from dvc_data.hashfile.hash import file_md5
from dvc_data.hashfile.hash_info import HashInfo
from dvc_data.hashfile.tree import Tree
from made_up_experiment import PARAMETERS, REFERENCE, make_experiment, write_output

from context_nmt.files import UserError
from context_nmt.measures.pairs import write_pairs
from context_nmt.report.writing import write_report
from context_nmt.results.out_of_date import variants_out_of_date
from context_nmt.results.reading import read_results
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name

# per stage of a run: a plan that it reads, what it reads of the stages before, what it writes
STAGES = {
    "train": ("VARIANT/training", "runs/binarized", "runs/training/RUN"),
    "average": ("VARIANT", "runs/training/RUN", "runs/models/RUN"),
    "decode": ("VARIANT/decoding", "runs/models/RUN", "metrics/hypotheses/RUN.zip"),
    "contrast": ("VARIANT/training", "runs/models/RUN/model.safetensors", "metrics/contrastive/RUN.csv"),
    "analyse": ("text", "metrics/hypotheses/RUN.zip", "metrics/analyses/RUN.csv"),
}


@pytest.fixture
def experiment(tmp_path):
    """An experiment that has run, with the dvc.lock that DVC would write."""
    experiment = make_experiment(tmp_path)
    write_pairs(experiment)
    stages = {
        "plan": {"params": {"params.yaml": {key: PARAMETERS[key] for key in PARAMETERS.keys() - {"seeds", "focus"}}}},
        "tokenize": entry(experiment, "text", "data/own", "runs/tokenized"),
        "bpe": entry(experiment, "units", "runs/tokenized", "runs/binarized/training"),
        "pair": entry(experiment, "text", "metrics/hypotheses", "runs/pairs"),
    }
    for variant in experiment.settings.variants:
        pairs, scores = f"runs/pairs/{variant}.json", f"metrics/scores/{variant}"
        stages[f"significance@{variant}"] = entry(experiment, "text", pairs, scores)
        for run in (run_name(variant, seed) for seed in experiment.settings.seeds):
            for stage, names in STAGES.items():
                parts = (name.replace("VARIANT", variant).replace("RUN", run) for name in names)
                command = f"python ./stages {stage} {variant} {run.rpartition('-')[2]}"
                stages[f"{stage}@{run}"] = entry(experiment, *parts) | {"cmd": command}
    write_lock(experiment, stages)
    return experiment


def entry(experiment, plan, dependency, output):
    path = experiment.metrics / "plans" / plan
    path = path if path.is_dir() else path.with_suffix(".json")
    pairs = experiment.folder / dependency
    digests = {path: recorded(path), pairs: recorded(pairs) if pairs.match("pairs/*.json") else "same"}
    deps = [{"path": str(file.relative_to(experiment.folder)), "md5": digest} for file, digest in digests.items()]
    return {"deps": deps, "outs": [{"path": output, "md5": "same"}]}


def recorded(path):
    """The hash of a file or folder, by DVC itself."""
    if path.is_file():
        return file_md5(str(path))
    tree = Tree()
    for file in (file for file in path.rglob("*") if file.is_file()):
        tree.add(file.relative_to(path).parts, None, HashInfo("md5", file_md5(str(file))))
    tree.digest()
    return tree.hash_info.value


def write_lock(experiment, stages):
    text = yaml.safe_dump({"schema": "2.0", "stages": stages})
    (experiment.folder / "dvc.lock").write_text(text, encoding="utf-8")


def read_lock(experiment):
    return yaml.safe_load((experiment.folder / "dvc.lock").read_text(encoding="utf-8"))["stages"]


@pytest.mark.parametrize("plan", ["gauss/training", "gauss/averaging", "gauss/decoding", "units", "text"])
def test_another_plan_concerns_the_systems_that_read_it(experiment, plan):
    path = experiment.stage_plan(plan)
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert variants_out_of_date(experiment) == (["gauss"] if "gauss" in plan else list(experiment.settings.variants))


@pytest.mark.parametrize(("key", "value"), [("significance", {"metric": "bleu_tokenized"}), ("seeds", [2, 1])])
def test_settings_that_no_plan_has_yet_concern_all_systems(experiment, key, value):
    experiment.parameters.write_text(yaml.safe_dump(PARAMETERS | {key: value}), encoding="utf-8")
    edited = Experiment(experiment.folder)
    expected = [] if key == "seeds" else list(edited.settings.variants)  # the order of seeds does not matter
    assert variants_out_of_date(edited) == expected


def test_changed_text_of_the_user_concerns_all_systems(experiment):
    text = experiment.folder / "data/own"
    for name in ("train.en", "a/x", "a-b/x"):
        (text / name).parent.mkdir(parents=True, exist_ok=True)
        (text / name).write_text(name)
    stages = read_lock(experiment)
    stages["tokenize"]["deps"] = [{"path": "data/own", "md5": recorded(text)}]
    write_lock(experiment, stages)
    (text / ".train.de.partial").touch()  # DVC ignores it
    assert variants_out_of_date(experiment) == []
    (text / "train.en").write_text("other")
    assert variants_out_of_date(experiment) == list(experiment.settings.variants)


def test_rescored_translations_concern_their_variant(experiment):
    object.__setattr__(experiment.settings, "rescored", ("gauss",))
    assert variants_out_of_date(experiment) == ["gauss"]
    stages = read_lock(experiment)
    for seed in experiment.settings.seeds:
        rescored = entry(experiment, "gauss/decoding", f"runs/models/gauss-{seed}", "")
        outputs = f"metrics/hypotheses/gauss.rescored-{seed}.zip", f"metrics/scores/gauss.rescored/{seed}.csv"
        rescored["outs"] = [{"path": path, "md5": "same"} for path in outputs]
        stages[f"rescore@gauss-{seed}-transformer"] = rescored
    write_lock(experiment, stages)
    assert variants_out_of_date(experiment) == []
    stages["rescore@gauss-2-transformer"]["deps"][0]["md5"] = "other"
    write_lock(experiment, stages)
    assert variants_out_of_date(experiment) == ["gauss"]


@pytest.mark.parametrize("stage", ["train@gauss-2", "average@gauss-1", "decode@gauss-1"])
@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_stage_that_has_run_again_or_was_not_recorded_makes_what_comes_after_out_of_date(
    experiment, stage, is_recorded
):
    stages = read_lock(experiment)
    for name in ("analyse@gauss-1", "significance@gauss") if not is_recorded else ():
        write_lock(experiment, {other: entry for other, entry in stages.items() if other != name})
        assert variants_out_of_date(experiment) == ["gauss"]
    stages[stage]["outs"][0]["md5"] = "other"
    write_lock(experiment, {name: entry for name, entry in stages.items() if is_recorded or name != stage})
    assert variants_out_of_date(experiment) == ["gauss"]


@pytest.mark.parametrize(
    ("stage", "option", "train"),
    [
        ("train_distilled", "--distilled", {"teachers": ["transformer"], "distilled": ["gauss"]}),
        ("train_document", "--start transformer", {"document": ["gauss"], "document_start": "transformer"}),
    ],
)
def test_a_system_that_is_to_be_trained_in_another_way_is_out_of_date_until_it_was(experiment, stage, option, train):
    stages = read_lock(experiment)

    def out_of_date_with(train):
        settings = PARAMETERS | {"train": train}
        experiment.parameters.write_text(yaml.safe_dump(settings), encoding="utf-8")
        stages["plan"]["params"]["params.yaml"] = settings
        write_lock(experiment, stages)
        return variants_out_of_date(Experiment(experiment.folder))

    train = {"bitext": ["transformer", "again", "alone"]} | train
    assert out_of_date_with(train) == ["gauss"]
    for seed in (1, 2):  # DVC keeps the entries of the earlier trainings
        command = {"cmd": f"python ./stages train gauss {seed} {option}"}
        stages[f"{stage}@gauss-{seed}"] = stages[f"train@gauss-{seed}"] | command
    assert out_of_date_with(train) == []
    assert out_of_date_with(PARAMETERS["train"]) == []
    if "document" in train:
        assert out_of_date_with(train | {"document_start": "again"}) == ["gauss"]


def test_other_translations_than_were_compared_are_out_of_date(experiment):
    """For their own system, and for those whose baseline it is."""
    write_output(experiment, "gauss-1", REFERENCE)
    assert variants_out_of_date(experiment) == ["gauss"]
    write_output(experiment, "transformer-1", REFERENCE)
    assert variants_out_of_date(experiment) == ["transformer", "gauss", "again"]
    experiment.hypotheses("alone-1").unlink()
    assert variants_out_of_date(experiment) == list(experiment.settings.variants)


def test_a_broken_lock_is_named_and_without_one_everything_is_out_of_date(experiment):
    lock = experiment.folder / "dvc.lock"
    assert variants_out_of_date(experiment) == []
    for content in ("stages: []", "stages: {analyse: {outs: [{path: a}]}}", "stages: {a: 1}", "{"):
        lock.write_text(content, encoding="utf-8")
        with pytest.raises(UserError, match=r"dvc\.lock"):
            variants_out_of_date(experiment)
    lock.unlink()
    assert variants_out_of_date(experiment) == list(experiment.settings.variants)


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


def test_results_of_earlier_code_are_shown_and_marked_while_their_settings_are_those_of_then(
    experiment, tmp_path, monkeypatch
):
    path, folder = tmp_path / "earlier.yaml", experiment.parameters.resolve().parent.name
    monkeypatch.setattr("context_nmt.results.out_of_date.EARLIER_CODE", path)
    parameters, variants = recorded(experiment.parameters), list(experiment.settings.variants)

    def read(then, now):
        entry = {"parameters": parameters, "out_of_date": then}
        path.write_text(yaml.safe_dump({"commit": "abc", "experiments": {folder: entry}}), encoding="utf-8")
        results = read_results(Experiment(experiment.folder), out_of_date=now)
        return results.out_of_date, results.earlier_code, results.title.rpartition(", ")[2]

    up_to_date = read([], now=[])
    assert up_to_date[:2] == ((), "")
    assert read([], now=variants) == ((), "abc", "code of abc")
    assert read(["gauss"], now=variants) == (("gauss",), "abc", "out of date")
    with experiment.parameters.open("a", encoding="utf-8") as file:
        file.write("\n")
    assert read([], now=["gauss"]) == (("gauss",), "", "out of date")
