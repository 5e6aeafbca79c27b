"""Results that travel: a DVC remote in a folder, `make pull` in fresh clones, and clones that meet in git."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dvc.utils.serialize import dump_yaml
from test_pipeline import LAST, PARAMETERS, Project, ran, start_project

from context_nmt.files import UserError
from context_nmt.pipeline.dvc import merge_stages, resolve

ROOT = Path(__file__).parents[1]
PLAIN = yaml.safe_load(PARAMETERS) | {
    "download": [],
    "rescored": [],
    "external": {},
    "probing": {"sentences": [], "words": []},
}
PLAIN["variants"] = {"plain": {}, "wide": {"model": {"feed_forward_width": 20}, "baseline": "plain"}}
PLAIN["train"] = {key: [] for key in PLAIN["train"]} | {"bitext": ["plain", "wide"]}
PLAIN["train"] |= {"document_start": None, "continued_start": None}
SMALL = {"model": {"feed_forward_width": 8}, "baseline": "plain"}
STUDENT = yaml.safe_load(PARAMETERS)["variants"]["student"]
# Trains, then changes the weights, as another kind of processor does.
ELSEWHERE = """\
python "$@" && python - "$4" "$5" << end
import sys
from pathlib import Path
from safetensors import safe_open
from safetensors.torch import save_file
for path in Path("runs/training", "-".join(sys.argv[1:])).glob("*.safetensors"):
    with safe_open(path, "pt") as file:
        weights, metadata = {name: file.get_tensor(name) * 1.5 for name in file.keys()}, file.metadata()
    save_file(weights, path, metadata)
end
"""


def with_small(values):
    return values | {
        "variants": values["variants"] | {"small": SMALL},
        "train": values["train"] | {"bitext": [*values["train"]["bitext"], "small"]},
    }


def with_student(values):
    return values | {
        "variants": values["variants"] | {"student": STUDENT},
        "train": values["train"] | {"teachers": ["plain"], "distilled": ["student"]},
    }


def write(clone, values):
    (clone.folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))


def make_pull(clone):
    clone.run("make", "--old-file", ".venv/requirements.installed", "pull")


def published(clone, values, *targets):
    """Run what these settings ask for, commit it and push the files."""
    write(clone, values)
    assert "train@plain-1" not in clone.repro(*targets)
    clone.commit("more")
    clone.run("dvc", "push")
    return clone


def run_stages(stages):
    """Those that read or make models."""
    return {stage for stage in stages if "-1" in stage}


def met(clone, other, values):
    """What `context-nmt merge` says after a git merge that stops, and the stages that run then."""
    with pytest.raises(AssertionError, match=r"dvc\.lock"):
        clone.run("git", "pull", "--quiet", "--no-rebase", "--no-edit", str(other.folder), "main")
    said = clone.run(sys.executable, "-m", "context_nmt", "merge")
    write(clone, values)
    clone.run("git", "add", "params.yaml")
    make_pull(clone)
    stages = clone.repro()
    assert clone.run("dvc", "status", "--quiet") == ""
    assert "-1" not in "".join(clone.repro())
    clone.commit("both")
    return said, stages


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sharing")


@pytest.fixture(scope="module")
def first(folder, warm):
    """A project with one system, run, committed and pushed to a DVC remote."""
    project = start_project(folder, yaml.safe_dump(PLAIN, sort_keys=False), **warm)
    shutil.copy(ROOT / "Makefile", project.folder)
    project.repro()
    project.commit("results")
    project.run("dvc", "remote", "add", "--global", "--default", "storage", str(folder / "storage"))
    project.run("dvc", "push")
    return project


@pytest.fixture(scope="module")
def clone(first, folder):
    """Makes fresh clones, with the pulled files."""

    def clone(name, of=first):
        made = of.clone(folder / name)
        make_pull(made)
        return made

    return clone


@pytest.fixture(scope="module")
def small(clone):
    """A clone that has added a system."""
    return published(clone("small"), with_small(PLAIN))


@pytest.mark.heavy
def test_a_fresh_clone_pulls_the_models_translates_with_one_and_runs_nothing(first, clone):
    pulled = clone("pulled")
    assert ran(pulled.run("dvc", "repro", "--dry")) == []
    printed = pulled.run(sys.executable, "-m", "context_nmt", "repro")
    assert "started" not in printed
    assert pulled.run("git", "status", "--porcelain") == ""
    translations = [
        subprocess.run(
            [sys.executable, "-m", "context_nmt", "translate", project.folder / "runs/models/plain-1"],
            env=project.environment,
            input="balo tak dimo .\n",
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        for project in (first, pulled)
    ]
    assert translations[0] == translations[1] != ""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ("", "dvc remote add"),
        ("[core]\n    remote = empty\n['remote \"empty\"']\n    url = empty\n", "runs/models/plain-1"),
    ],
    ids=["no remote", "nothing pushed"],
)
def test_what_is_in_no_remote_is_an_error(first, tmp_path, configuration, message):
    """Otherwise a repro would train it again."""
    (tmp_path / "config").write_text(configuration)
    environment = first.environment | {"DVC_GLOBAL_CONFIG_DIR": str(tmp_path)}
    clone = first.clone(tmp_path / "clone")
    with pytest.raises(AssertionError, match=message):
        make_pull(Project(clone.folder, environment))


@pytest.mark.heavy
def test_clones_that_each_added_a_system_meet_without_loss_and_train_nothing_again(clone, small, folder):
    mine = clone("mine", small)
    theirs = published(clone("theirs"), with_student(PLAIN))
    parts = [mine.json("metrics/results.json"), theirs.json("metrics/results.json")]
    _, stages = met(mine, theirs, with_student(with_small(PLAIN)))
    assert run_stages(stages) == set()
    assert stages <= {"plan", *LAST, *(f"significance@{name}" for name in ("plain", "wide", "small", "student"))}
    results = mine.json("metrics/results.json")
    assert results["small"]["test"] == parts[0]["small"]["test"]
    assert results["student"]["test"] == parts[1]["student"]["test"]
    for side in (small, theirs):
        for name, stage in side.lock()["stages"].items():
            if "-1" in name:
                assert mine.lock()["stages"][name]["outs"] == stage["outs"]
    assert {path.name for path in mine.folder.glob("runs/models/*-1")} == {"plain-1", "wide-1", "small-1", "student-1"}
    mine.run("dvc", "push")
    theirs.run("git", "pull", "--quiet", str(mine.folder), "main")
    make_pull(theirs)
    assert theirs.repro() == set()


@pytest.fixture(scope="module")
def elsewhere(clone, folder):
    """A clone that has added the same system on a machine that rounds differently."""
    (folder / "elsewhere.sh").write_text(ELSEWHERE)
    launch = {"train": f"sh {folder / 'elsewhere.sh'}", "decode": "python"}
    return published(clone("elsewhere"), with_small(PLAIN) | {"launch": launch})


@pytest.mark.heavy
def test_of_a_run_that_both_clones_made_with_different_weights_one_is_kept_whole(clone, small, elsewhere):
    mine = clone("both", small)
    before = mine.run("git", "rev-parse", "HEAD").strip()
    assert mine.lock()["stages"]["train@small-1"] != elsewhere.lock()["stages"]["train@small-1"]
    said, stages = met(mine, elsewhere, with_small(PLAIN))
    assert "train@small-1" in said
    assert run_stages(stages) == set()
    assert mine.run("git", "diff", before, "--", "metrics/hypotheses", "metrics/curves", "metrics/results.json") == ""


@pytest.mark.heavy
def test_translations_of_other_weights_are_not_taken_for_those_of_this_clone(clone, elsewhere):
    """This one has only trained, the other one has decoded, too."""
    mine = published(clone("half"), with_small(PLAIN), "average")
    _, stages = met(mine, elsewhere, with_small(PLAIN))
    assert run_stages(stages) == {f"{stage}@small-1" for stage in ("decode", "contrast", "analyse")}
    lock = mine.lock()["stages"]
    (model,) = [out["md5"] for out in lock["average@small-1"]["outs"]]
    assert model != elsewhere.lock()["stages"]["average@small-1"]["outs"][0]["md5"]
    assert {dep["md5"] for dep in lock["decode@small-1"]["deps"] if dep["path"] == "runs/models/small-1"} == {model}


@pytest.mark.parametrize(
    ("command", "programs", "message"),
    [
        (["true"], None, "git ls-files: .*not a git repository"),
        (["true"], "/nowhere", "no program git: "),
        (["git", "init", "--quiet"], None, "no conflicts here; call this after a git merge"),
    ],
    ids=["no repository", "no git", "no conflicts"],
)
def test_without_git_or_conflicts_nothing_can_be_resolved(tmp_path, monkeypatch, command, programs, message):
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.setenv("PATH", programs or os.environ["PATH"])
    with pytest.raises(UserError, match=message) as error:
        resolve(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ({}, {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 0, "b": 0}, {"a": 1, "b": 0}, {"a": 0, "b": 2}, {"a": 1, "b": 2}),
        ({"a": 0}, {"a": 1}, {"a": 2}, {"a": 1}),
        ({}, {"a": 1}, {"a": 2}, {"a": 1}),
        ({"a": 0, "b": 0}, {"b": 0}, {"a": 0}, {}),
        ({"a": 0, "b": 0}, {"b": 1}, {"a": 1}, {"b": 1}),
    ],
    ids=["added", "one side each", "both", "added on both", "removed", "removed and changed"],
)
def test_a_stage_is_as_on_the_side_that_changed_it(base, ours, theirs, expected):
    assert merge_stages(base, ours, theirs) == expected


@pytest.fixture
def git(tmp_path):
    """Calls git in a new repository; gives its status and output."""

    def call(*arguments):
        done = subprocess.run(["git", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    shutil.copy(ROOT / ".gitattributes", tmp_path)
    call("init", "-q", "-b", "ours")
    return call


def meet(git, write, base, ours, theirs):
    """Commit three versions of dvc.lock, and merge `theirs` into `ours`."""
    for branch, version in (("ours", base), ("theirs", theirs), ("ours", ours)):
        git("checkout", "-q", *(["-b"] if branch == "theirs" else []), branch)
        write(version)
        git("add", "--all")
        assert git("-c", "user.name=a", "-c", "user.email=a@b.org", "commit", "-qm", "x")[0] == 0
    assert git("merge", "-q", "theirs")[0] != 0


def test_git_leaves_a_lock_that_both_sides_changed_to_the_command(tmp_path, git):
    """Lines far apart would be merge_stages to a stage with the inputs of both, which nobody has run."""

    def write(version):
        first, second = version
        lines = [f"first: {first}", *map(str, range(20)), f"second: {second}", ""]
        (tmp_path / "dvc.lock").write_text("\n".join(lines))

    meet(git, write, (0, 0), (1, 0), (0, 1))
    assert "dvc.lock" in git("ls-files", "--unmerged")[1]


def test_a_merged_lock_has_the_values_that_dvc_reads_and_what_was_merged_is_said(tmp_path, git):
    def stage(name, result):
        values = {"a": 1e-09, "b": "no", "c": "010", "d": 10, "e": None, "f": "1:30", "g": ["1e1", True]}
        return {"cmd": name, "params": {"params.yaml": values}, "outs": [{"path": name, "md5": result}]}

    def write(results):
        values = {"schema": "2.0", "stages": {name: stage(name, result) for name, result in results.items()}}
        dump_yaml(tmp_path / "dvc.lock", values)

    meet(git, write, {"base": 1}, {"base": 1, "both": 2, "ours": 1}, {"base": 1, "both": 3, "theirs": 1})
    (said,) = resolve(tmp_path)
    assert said == "dvc.lock: 1 stages as on the other side; 1 that both have changed as on this one (both)"
    resolved = (tmp_path / "dvc.lock").read_bytes()
    write({"base": 1, "both": 2, "ours": 1, "theirs": 1})
    assert resolved == (tmp_path / "dvc.lock").read_bytes()
    assert git("ls-files", "--unmerged")[1] == ""
