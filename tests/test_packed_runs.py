"""Runs that travel to a machine without DVC and back: `context-nmt pack`, run.py, `context-nmt unpack`.

The tests share two projects with the same text: in one, DVC runs all stages; the other gets them from an archive.
"""

import io
import json
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import yaml
from test_floors import BARE, REST
from test_pipeline import PARAMETERS, Project, start_project

from context_nmt.command_line import UNFINISHED_STATUS
from context_nmt.files import UserError, locked, sha256, write_json, write_lines
from context_nmt.pipeline import packed_runs, unpacking
from context_nmt.pipeline.dvc import Stage
from context_nmt.pipeline.packed_runs import PackedRuns, Step
from context_nmt.pipeline.packing import PACKAGES, choose
from context_nmt.pipeline.unpacking import unpack
from context_nmt.results.out_of_date import digest_of
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name

VALUES = yaml.safe_load(PARAMETERS) | {
    "download": [],
    "rescored": [],
    "external": {},
    "probing": {"sentences": [], "words": []},
}
VALUES["variants"] = {name: VALUES["variants"][name] for name in ("plain", "reader")}
VALUES["train"] |= {"bitext": ["plain"], "teachers": [], "distilled": []}
AFTER_TRAINING = ("average", "decode", "contrast", "analyse")
STAGES = [
    f"{stage}@{variant}-1"
    for variant, training in (("plain", "train"), ("reader", "train_document"))
    for stage in (training, *AFTER_TRAINING)
]
BLOCK = f"""
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
blocked = {sorted({*REST, *BARE} - {name.replace("-", "_") for name in PACKAGES})}
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in blocked else find_spec(name, *rest)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("packed")


@pytest.fixture(scope="module")
def project(folder, warm):
    """A project with text up to date, and one that is the same but for its name."""
    project = start_project(folder, yaml.safe_dump(VALUES, sort_keys=False), **warm)
    project.repro("bpe")
    project.commit("text")
    for name in ("reference", "other"):
        shutil.copytree(project.folder, folder / name, symlinks=True)
    return project


@pytest.fixture(scope="module")
def reference(project, folder):
    """A project in which DVC has run the stages."""
    reference = Project(folder / "reference", project.environment)
    reference.repro("analyse", "contrast")
    return reference


@pytest.fixture(scope="module")
def away(project, folder):
    """The archive's folder, unpacked; run.py has been stopped after its first step, and then run to its end."""
    printed = project.run(sys.executable, "-m", "context_nmt", "pack", ".", str(folder / "toy.tar.xz"))
    assert printed.splitlines() == STAGES
    subprocess.run([sys.executable, "-m", "tarfile", "-e", folder / "toy.tar.xz", folder], check=True)
    (folder / "blocking").mkdir()
    (folder / "blocking/sitecustomize.py").write_text(BLOCK)
    away = Project(folder / "toy", project.environment | {"PYTHONPATH": str(folder / "blocking")})
    record = away.folder / "records/train@plain-1.json"
    with subprocess.Popen([sys.executable, "run.py"], cwd=away.folder, env=away.environment) as process:
        while process.poll() is None and not record.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == UNFINISHED_STATUS
    written = record.stat().st_mtime_ns
    away.run(sys.executable, "run.py")
    assert record.stat().st_mtime_ns == written
    return away


@pytest.fixture(scope="module")
def results(away, folder):
    """All that the steps have made, in one file."""
    away.run(sys.executable, "run.py", "--pack-results", str(folder / "all.tar"), "--weights", "all")
    return folder / "all.tar"


def unpacked(project, *archives):
    """What `context-nmt unpack` has done with each stage."""
    lines = project.run(sys.executable, "-m", "context_nmt", "unpack", *map(str, archives)).splitlines()
    return {stage: re.split("[;,]", text)[0] for stage, _, text in (line.partition(": ") for line in lines)}


def copy_of(project, folder):
    shutil.copytree(project.folder, folder, symlinks=True)
    return Project(folder, project.environment)


def append(path):
    """Add a line to a file, which may be a link into DVC's cache."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content + b"x\n")


def files_of(project):
    """The outputs of the packed stages, by their paths."""
    outputs = [out["path"] for stage in STAGES for out in project.lock()["stages"][stage]["outs"]]
    paths = [path for output in outputs for path in (project.folder / output, *(project.folder / output).rglob("*"))]
    return {path.relative_to(project.folder): sha256(path) for path in paths if path.is_file()}


@pytest.mark.heavy
def test_results_are_those_of_dvc_repro_in_every_byte_and_up_to_date(project, reference, away, results):
    assert unpacked(project, results) == dict.fromkeys(STAGES, "taken")
    assert files_of(project) == files_of(reference)
    assert project.lock() == reference.lock()
    assert project.repro("analyse", "contrast") == set()
    ids = sorted(path.relative_to(project.folder) for path in project.folder.glob("runs/binarized/*/*"))
    assert ids
    assert all((away.folder / path).read_bytes() == (project.folder / path).read_bytes() for path in ids)
    (curve,) = project.rows("metrics/curves/plain-1.csv")[-1:]
    machines = project.json("metrics/machines/plain-1.json")
    assert set(machines) == {"train", *AFTER_TRAINING}
    assert machines["train"]["processor"] == curve["processor"]
    assert machines["decode"]["commit"] == project.run("git", "rev-parse", "HEAD").strip()


@pytest.mark.heavy
def test_other_outputs_are_kept_until_their_stage_or_one_before_it_is_out_of_date(reference, results, tmp_path):
    clone = copy_of(reference, tmp_path / "clone")
    append(clone.folder / "runs/decoded/plain-1/test.subwords.txt")
    clone.run("dvc", "commit", "--force", "decode@plain-1")
    assert unpacked(clone, results) == dict.fromkeys(STAGES, "taken") | dict.fromkeys(
        ("decode@plain-1", "analyse@plain-1"), "kept as it is here"
    )
    lock = clone.folder / "dvc.lock"
    lock.write_text(lock.read_text().replace(digest_of(clone.folder / "src/code/train.json"), "f" * 32))
    assert unpacked(clone, results) == dict.fromkeys(STAGES, "taken")
    assert files_of(clone) == files_of(reference)


@pytest.mark.heavy
def test_parts_without_weights_leave_the_stages_up_to_date_but_for_missing_files(away, project, folder):
    other = Project(folder / "other", project.environment)
    away.run(sys.executable, "run.py", "--pack-results", str(folder / "parts"), "--weights", "none", "--part-size", "1")
    parts = sorted(folder.glob("parts.[0-9]*"))
    assert max(part.stat().st_size for part in parts) <= 2**20
    assert unpacked(other, *parts) == dict.fromkeys(STAGES, "taken")
    assert other.repro("--allow-missing", "analyse", "contrast") == set()
    assert not (other.folder / "runs/models/plain-1").exists()
    assert (other.folder / "metrics/hypotheses/plain-1.zip").is_file()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda members: members.update({"runs/decoded/plain-1/test.subwords.txt": b"x\n"}),
            "is not as its step wrote it",
        ),
        (lambda members: members.update({"../outside": b"x"}), "'../outside' is not a file of its steps"),
        (lambda members: members.update({"runs/models/plain-1/more": b"x"}), "more' is not a file of its steps"),
        (lambda members: members.pop("metrics/curves/plain-1.csv"), "lacks metrics/curves/plain-1.csv"),
        (lambda members: members.pop("manifest.json"), "not a file of `run.py --pack-results`"),
    ],
    ids=["changed", "outside", "more", "missing", "no manifest"],
)
def test_an_archive_that_was_changed_is_refused_and_nothing_is_unpacked(results, folder, tmp_path, change, message):
    with tarfile.open(results) as archive:
        members = {member.name: archive.extractfile(member).read() for member in archive}
    change(members)
    check_refusal(folder / "other", members, tmp_path, message)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda records: records[0]["outputs"].update({"runs/training/plain-1/../../../outside": ["0", 1]}),
            "outside' is not an output of train@plain-1",
        ),
        (lambda records: records[2]["outputs"].clear(), "decode@plain-1 has no files of runs/decoded/plain-1"),
        (lambda records: records[2]["step"]["dependencies"].clear(), "ran with another metrics/plans/plain/"),
        (lambda records: records[2]["step"]["after"].clear(), "ran with another runs/models/plain-1"),
        (lambda records: records.pop(1), "decode@plain-1 ran after average@plain-1, which must be in the archive"),
    ],
    ids=["outside", "no outputs", "no dependencies", "nothing before", "without a step"],
)
def test_a_manifest_that_is_not_of_ended_steps_is_refused(results, folder, tmp_path, change, message):
    with tarfile.open(results) as archive:
        members = {member.name: archive.extractfile(member).read() for member in archive}
    manifest = json.loads(members["manifest.json"])
    assert [record["step"]["stage"] for record in manifest["records"]] == STAGES
    change(manifest["records"])
    members["manifest.json"] = json.dumps(manifest).encode()
    check_refusal(folder / "other", members, tmp_path, message)


@pytest.mark.heavy
def test_nothing_is_compared_while_stages_run(results, folder, monkeypatch):
    monkeypatch.setattr(unpacking, "read_declarations", None)
    lock = Experiment(folder / "other").scratch("repro.lock")
    with locked(lock), pytest.raises(UserError, match=r"repro\.lock: in use by process"):
        list(unpack(folder / "other", [results]))


@pytest.mark.heavy
def test_results_of_other_code_are_refused(results, project, folder, tmp_path):
    clone = copy_of(Project(folder / "other", project.environment), tmp_path / "clone")
    clone.change("models/averaging.py")
    clone.run("dvc", "repro", "src/dvc.yaml")
    with pytest.raises(UserError, match=r"ran with another src/code/average\.json") as error:
        list(unpack(clone.folder, [results]))
    assert "\n" not in str(error.value)


@pytest.mark.heavy
def test_a_changed_file_of_the_archive_does_not_run(away, tmp_path):
    shutil.copytree(away.folder, tmp_path / "toy")
    (tmp_path / "toy/src/context_nmt/training/losses.py").write_text("")
    with pytest.raises(AssertionError, match=r"losses\.py: not as it was packed"):
        Project(tmp_path / "toy", away.environment).run(sys.executable, "run.py")


@pytest.mark.heavy
def test_packages_that_are_missing_are_named(away):
    """With -S, Python sees no installed package."""
    with pytest.raises(AssertionError, match=r"not installed: torch==.*, pydantic=="):
        away.run(sys.executable, "-S", "run.py")


@pytest.mark.heavy
def test_a_system_starts_from_packed_weights_in_the_folder_of_an_earlier_archive(reference, away, tmp_path):
    clone, later = copy_of(reference, tmp_path / "clone"), copy_of(away, tmp_path / "toy")
    clone.edit("sentences: 1", "sentences: 2")
    clone.repro("plan")
    printed = clone.run(sys.executable, "-m", "context_nmt", "pack", ".", str(tmp_path / "toy.tar.xz"))
    assert printed.splitlines() == STAGES[5:]
    with tarfile.open(tmp_path / "toy.tar.xz") as archive:
        assert "toy/runs/models/plain-1/model.safetensors" in archive.getnames()
        archive.extractall(tmp_path, filter="data")
    later.run(sys.executable, "run.py")
    later.run(sys.executable, "run.py", "--pack-results", str(tmp_path / "results.tar"), "--weights", "all")
    assert unpacked(clone, tmp_path / "results.tar") == dict.fromkeys(STAGES[5:], "taken")
    assert clone.repro("analyse", "contrast") == set()


STEPS = [
    Step(
        stage=f"{stage}@{variant}-1",
        command=f"python stages {stage.partition('_')[0]} {variant} 1",
        dependencies={"src/code": "0"},
        outputs=[output],
        after=after,
    )
    for stage, variant, output, after in (
        ("train", "a", "runs/training/a-1", []),
        ("average", "a", "runs/models/a-1", ["train@a-1"]),
        ("train_document", "b", "runs/training/b-1", ["average@a-1"]),
    )
]


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """The folder of an archive whose steps have ended; training and averaging write a file each."""

    def train_run(layout, variant, seed, **_):
        write_lines(layout.checkpoints(run_name(variant, seed)) / "file", ["checkpoint"])

    def average_run(layout, variant, seed):
        write_lines(layout.model(run_name(variant, seed)) / "file", ["weights"])

    monkeypatch.setattr("context_nmt.training.trainer.train_run", train_run)
    monkeypatch.setattr("context_nmt.models.averaging.average_run", average_run)
    packed = archive_of(STEPS, tmp_path)
    for step in STEPS:
        packed.run_step(step.stage, "cpu")
    return tmp_path


def archive_of(steps, folder, **values):
    manifest = {"experiment": ".", "commit": None, "packages": {}, "files": {}}
    manifest |= {"steps": [asdict(step) for step in steps], **values}
    write_json(folder / "manifest.json", manifest)
    return PackedRuns(folder)


def ended_steps(packed):
    return [stage for stage, step in packed.steps.items() if packed.has_ended(step)]


def test_no_step_has_ended_if_a_step_before_it_is_of_an_earlier_archive(ended):
    assert ended_steps(PackedRuns(ended)) == [step.stage for step in STEPS]
    packed = archive_of([replace(STEPS[0], dependencies={"src/code": "1"}), *STEPS[1:]], ended)
    assert ended_steps(packed) == []
    with pytest.raises(UserError, match="no step has ended yet"):
        packed.pack_results(ended / "results.tar", "all", None)
    packed.run_step("train@a-1", "cpu")
    assert ended_steps(packed) == ["train@a-1"]


@pytest.mark.parametrize("change", [append, Path.unlink], ids=["edited", "removed"])
def test_a_changed_output_is_neither_packed_nor_read_by_the_next_step(ended, change):
    packed = PackedRuns(ended)
    packed.pack_results(ended / "results.tar", "all", None)
    (ended / "results.tar").unlink()
    change(ended / "runs/models/a-1/file")
    with pytest.raises(UserError, match="runs/models/a-1/file: not as its step wrote it"):
        packed.pack_results(ended / "results.tar", "all", None)
    assert not (ended / "results.tar").exists()
    with pytest.raises(UserError, match="runs/models/a-1/file: not as its step wrote it"):
        packed.run_step("train_document@b-1", "cpu")


def test_missing_packages_are_named_before_the_first_step(tmp_path, monkeypatch, capsys):
    archive_of(STEPS, tmp_path, packages={"torch": "1.0", "no-such-package": "3.4"})
    monkeypatch.setattr(sys, "argv", ["run.py", "--device", "cpu"])
    with pytest.raises(SystemExit):
        packed_runs.main(tmp_path)
    errors = capsys.readouterr().err
    assert "no-such-package==3.4" in errors
    assert "torch" not in errors
    assert not (tmp_path / packed_runs.RECORDS).exists()


def check_refusal(project, members, folder, message):
    with tarfile.open(folder / "changed.tar", "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    before = visible(project)
    with pytest.raises(UserError, match=message) as error:
        list(unpack(project, [folder / "changed.tar"]))
    assert "\n" not in str(error.value)
    assert visible(project) == before


def visible(project):
    """The files of a project except DVC's own."""
    return sorted(path for path in project.rglob("*") if ".dvc" not in path.parts)


def stage(name, inputs, *upstream, changed=False):
    return Stage(name, changed, False, inputs, (f"/nowhere/{name}",), frozenset(upstream))


GRAPH = {
    one.name: one
    for one in (
        stage("bpe", ()),
        stage("train@a-1", ("/nowhere/bpe",), "bpe"),
        stage("average@a-1", ("/nowhere/train@a-1",), "train@a-1"),
        stage("distill@a-1", ("/nowhere/average@a-1",), "average@a-1"),
        stage("train_distilled@b-1", ("/nowhere/distill@a-1",), "distill@a-1"),
    )
}


@pytest.mark.parametrize(
    ("changed", "wanted", "message"),
    [
        ("bpe", "average@a-1", "bpe is not up to date here.* run `dvc repro bpe` first"),
        ("train@a-1", "train_distilled@b-1", "a student needs its teacher's translations"),
    ],
    ids=["text", "student"],
)
def test_what_cannot_be_packed_is_an_error(changed, wanted, message):
    graph = GRAPH | {name: replace(GRAPH[name], changed=True) for name in (changed, wanted)}
    with pytest.raises(UserError, match=message):
        choose([wanted], graph, "dvc repro")


def test_a_signal_while_a_step_starts_ends_it(tmp_path, monkeypatch):
    ended = []

    class Process:
        def __init__(self, command):
            signal.raise_signal(signal.SIGTERM)

        def terminate(self):
            ended.append(self)

        def wait(self):
            assert ended, "it would run to its end"
            return 0

    step = Step(stage="train@a-1", command="python stages train a 1", dependencies={}, outputs=[], after=[])
    write_json(tmp_path / "manifest.json", {"steps": [asdict(step)]})
    monkeypatch.setattr(subprocess, "Popen", Process)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(packed_runs.Unfinished):
            PackedRuns(tmp_path).run("cpu", ())
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_follows_a_change_runs_there_too_and_is_no_input(tmp_path):
    before = {
        "tokenize": None,
        "bpe": "tokenize",
        "train@a-1": "bpe",
        "average@a-1": "train@a-1",
        "train_document@b-1": "average@a-1",
        "train_document@c-1": "train@a-1",
    }
    for name in before:
        (tmp_path / name).touch()

    def choice(wanted, *changed):
        graph = {
            name: Stage(
                name,
                changed=name in changed,
                is_new=False,
                dependencies=(str(tmp_path / earlier),) if earlier else (),
                outputs=(str(tmp_path / name),),
                upstream=frozenset([earlier] if earlier else []),
            )
            for name, earlier in before.items()
        }
        return choose(wanted, graph, "dvc repro")

    train, average, b, c = [*before][2:]
    assert choice([b], b) == ([b], {tmp_path / average})
    assert choice([b], train) == ([train, average, b], set())
    with pytest.raises(UserError, match="bpe is not up to date here"):
        choice([b], "tokenize")
    (tmp_path / train).unlink()
    assert choice([b, c, average], b, c) == ([train, average, b, c], set())


def test_a_system_has_translated_before_the_next_one_trains():
    before = {
        "train@a-1": None,
        "train@c-1": None,
        "average@a-1": "train@a-1",
        "average@c-1": "train@c-1",
        "train_document@b-1": "average@a-1",
        "decode@a-1": "average@a-1",
        "average@b-1": "train_document@b-1",
        "decode@c-1": "average@c-1",
        "decode@b-1": "average@b-1",
    }
    graph = {
        name: stage(name, (f"/nowhere/{earlier}",), earlier, changed=True) if earlier else stage(name, (), changed=True)
        for name, earlier in before.items()
    }
    of_a, of_c = ([f"{kind}@{variant}-1" for kind in ("train", "average", "decode")] for variant in ("a", "c"))
    of_b = [f"{kind}@b-1" for kind in ("train_document", "average", "decode")]
    assert choose([*of_a, *of_c, *of_b], graph, "dvc repro")[0] == [*of_a, *of_c, *of_b]
    assert choose([*of_b, *of_c, *of_a], graph, "dvc repro")[0] == [*of_a[:2], *of_b, *of_c, of_a[2]]
