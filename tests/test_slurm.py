"""The stages of an experiment as jobs of a real Slurm, with two nodes on this machine."""

import os
import re
import signal
import subprocess
import sys

import pytest
import yaml
from loopback_slurm import LoopbackSlurm, missing
from shell import environment, processes
from test_pipeline import PARAMETERS as TOY_PARAMETERS
from test_pipeline import start_project
from test_repro import PARAMETERS

from context_nmt.progress import INTERVAL_VARIABLE

pytestmark = [pytest.mark.heavy, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

PIPELINE = """
stages:
  first: {cmd: echo 1 > first, outs: [first]}
  train:
    matrix: {variant: "${variants}"}
    cmd: sh train.sh ${item.variant}
    deps: [first]
    outs: ["trained-${item.variant}"]
  contrast:
    matrix: {variant: "${variants}"}
    cmd: test ! -e broken-${item.variant} && echo 1 > contrast-${item.variant}
    deps: ["trained-${item.variant}"]
    outs: ["contrast-${item.variant}"]
  decode:
    matrix: {variant: "${variants}"}
    cmd: cat trained-${item.variant} > decoded-${item.variant}
    deps: ["trained-${item.variant}"]
    outs: ["decoded-${item.variant}"]
  report: {cmd: cat decoded-one decoded-two > report, deps: [decoded-one, decoded-two], outs: [report]}
"""
# Each waits for the other one to have begun, on the other node.
TOGETHER = """
echo $SLURMD_NODENAME > began-$1
for i in $(seq 600); do test -e began-one && test -e began-two && break; sleep 0.1; done
test -e began-one && test -e began-two && echo $1 > trained-$1
"""
FAILING = "test $1 = two && echo bad luck && exit 3; echo $1 > trained-$1"
ENDLESS = "echo $1 > began-$1; sleep 987"
# The first one runs on two nodes until SIGTERM has reached both, and each has had time to save its part.
SAVING = """
test $1 = one && ! { test -e saved-n1 && test -e saved-n2; } && exec srun --ntasks-per-node 1 sh -c '
    trap "sleep 2; touch saved-$SLURMD_NODENAME; exit 75" TERM
    sleep 987 & wait'
echo $1 > trained-$1
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with LoopbackSlurm(tmp_path_factory.mktemp("slurm") / "made") as slurm:
        yield slurm


class Commands:
    """What a user types in an experiment's folder."""

    def __init__(self, folder, slurm, home):
        self.folder, self.slurm = folder, slurm
        self.environment = environment(home, slurm.environment, MARK=str(folder)) | {INTERVAL_VARIABLE: "1"}

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "context_nmt", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, *words):
        output, _ = (process := self.start(*words)).communicate(timeout=500)
        return process.returncode, output

    def succeed(self, *words):
        status, output = self.call(*words)
        assert status == 0, output
        return output

    def states(self):
        """Stage -> the state that `context-nmt status` shows."""
        states = {}
        for line in self.succeed("status").splitlines()[1:-1]:
            _, stage, word, *_ = re.split(r" {2,}", line)
            states[stage] = word.strip()
        return states

    def wait_for(self, *files):
        self.slurm.wait(lambda: all((self.folder / file).is_file() for file in files), f"{files} are there")

    def processes(self, *words):
        """The numbers of this project's processes that still run, of those that have these words in their command."""
        return [number for number, command in processes(self.folder).items() if {*words} <= {*command.split("\0")}]


@pytest.fixture
def project(tmp_path, slurm):
    """A pipeline of shell scripts."""
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    (folder / "params.yaml").write_text(yaml.safe_dump(PARAMETERS))
    (folder / "dvc.yaml").write_text(PIPELINE)
    commands = Commands(folder, slurm, home)
    subprocess.run(["dvc", "init", "--no-scm", "--quiet"], cwd=folder, env=commands.environment, check=True)
    yield commands
    commands.call("cancel")


def submit(project, train, *options):
    (project.folder / "train.sh").write_text(train)
    return project.call("repro", "--on", "slurm", *options)


def test_two_trainings_run_on_two_nodes_at_the_same_time(project):
    status, output = submit(project, TOGETHER, "--wait")
    assert status == 0, output
    nodes = {(project.folder / f"began-{name}").read_text().strip() for name in ("one", "two")}
    assert nodes == {"n1", "n2"}
    assert (project.folder / "report").read_text() == "one\ntwo\n"
    assert set(project.states().values()) == {"done"}
    assert project.processes() == []
    status, output = submit(project, TOGETHER)  # nothing has changed
    assert status == 0
    assert "up to date" in output


def test_nothing_has_to_stay_alive_and_a_second_start_is_refused(project):
    status, output = submit(project, ENDLESS)
    assert status == 0, output
    project.wait_for("began-one", "began-two")
    states = project.states()
    assert (states["first"], states["train@one"], states["train@two"]) == ("done", "running", "running")
    assert states["report"] == states["decode@one"] == "waiting"
    for options in ((), ("--on", "slurm")):
        status, output = project.call("repro", *options)
        assert status == 1
        assert "cancel" in output.splitlines()[-1]
    assert len(project.processes()) >= 6  # of each job the job itself, DVC and the stage
    assert "cancelled" in project.succeed("cancel")
    assert project.processes() == []
    assert project.states()["train@one"] == "cancelled"


def test_a_stage_that_fails_stops_what_depends_on_it_and_nothing_else(project):
    (project.folder / "broken-one").touch()
    status, output = submit(project, FAILING, "--wait")
    assert status == 1
    assert "train@two | bad luck" in output
    assert all(f"{stage}: " in output.splitlines()[-1] for stage in ("train@two", "contrast@one"))
    expected = {"first": "done", "train@one": "done", "decode@one": "done", "contrast@one": "failed"}
    expected |= {"train@two": "failed", "decode@two": "not run", "contrast@two": "not run", "report": "not run"}
    assert project.states() == expected
    (project.folder / "broken-one").unlink()
    status, output = submit(project, TOGETHER.replace("began-one", "decoded-one"), "--wait")
    assert status == 0, output
    assert not (project.folder / "began-one").exists()  # only what had not run


def test_a_training_goes_on_in_its_job_when_it_is_out_of_time_and_has_saved_on_all_nodes(project):
    (project.folder / "launch.yaml").write_text("launch: {train: {nodes: 2, hours: 0.01}}")  # Slurm counts in minutes
    status, output = submit(project, SAVING, "--wait")
    assert status == 0, output
    assert (project.folder / "report").read_text() == "one\ntwo\n"


def test_a_training_that_may_not_be_requeued_saves_on_all_nodes_and_says_why_it_has_stopped(project):
    launch = "launch: {train: {nodes: 2, hours: 0.01, options: --no-requeue}}"
    (project.folder / "launch.yaml").write_text(launch)
    status, output = submit(project, SAVING, "--wait")
    assert status == 1, output
    assert "train@one: over its time limit, launch.train.hours; scontrol requeue: " in output.splitlines()[-1]
    assert all((project.folder / f"saved-{node}").is_file() for node in ("n1", "n2"))
    assert project.states()["decode@one"] == "not run"


TOY = yaml.safe_load(TOY_PARAMETERS)
TOY["variants"] = {name: TOY["variants"][name] for name in ("plain", "small")}
TOY["train"] |= {"teachers": [], "distilled": [], "document": []}
TOY["training"] |= {"accumulation": 2, "maximum_updates": 240, "validate_every": 20}
TOY |= {"download": [], "rescored": [], "external": {}}
TOY["probing"] |= {"sentences": [], "words": []}
STAGES = ("plan", "tokenize", "bpe", "train", "average", "decode")
# As docs/guides has it, with the nodes noted.
ON_TWO_NODES = """\
launch:
  train:
    nodes: 2
    command: >-
      srun --ntasks-per-node 1 bash -c 'touch node-$SLURMD_NODENAME; exec torchrun --nnodes $SLURM_NNODES
      --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint localhost:$((29500 + SLURM_JOB_ID % 1000)) "$@"' torchrun
"""


@pytest.fixture
def toy(tmp_path_factory, slurm):
    """Make a project with the real stages, from text to translations, and a toy language."""

    def make(*variants):
        folder = tmp_path_factory.mktemp("toy")
        kept = {name: TOY["variants"][name] for name in variants}
        parameters = TOY | {"variants": kept, "train": TOY["train"] | {"bitext": [*kept]}}
        made = start_project(folder, yaml.safe_dump(parameters))
        pipeline = made.folder / "dvc.yaml"
        stages = yaml.safe_load(pipeline.read_text())["stages"]
        pipeline.write_text(yaml.safe_dump({"stages": {name: stages[name] for name in STAGES}}, sort_keys=False))
        commands = Commands(made.folder, slurm, folder / "home")
        commands.environment |= {"OMP_NUM_THREADS": "1", "DVC_SITE_CACHE_DIR": str(folder / "site")}
        commands.environment["PYTHONPATH"] = ""
        return commands

    return make


def outputs(project):
    """The hash of what each stage has written, but for the curves, which name speeds."""
    stages = yaml.safe_load((project.folder / "dvc.lock").read_text())["stages"]
    files = {out["path"]: out["md5"] for stage in stages.values() for out in stage["outs"]}
    return {path: digest for path, digest in files.items() if not path.startswith(("metrics/curves", "reports"))}


def job_of(slurm, stage):
    return slurm.call("squeue", "-h", "-o", "%i", "-n", stage).strip()


def test_a_requeued_training_and_one_whose_node_dies_end_with_the_same_bytes(toy, slurm):
    undisturbed, project = toy("plain", "small"), toy("plain", "small")
    undisturbed.succeed("repro")
    process = project.start("repro", "--on", "slurm", "--wait")
    jobs = project.folder / "runs/scratch/jobs"

    def trains(stage):
        log = jobs / f"{stage}.log"
        return log.is_file() and "update      40" in log.read_text()

    slurm.wait(lambda: trains("train@plain-1"), "the first training has begun")
    slurm.call("scontrol", "requeue", job_of(slurm, "train@plain-1"))
    slurm.wait(lambda: trains("train@small-1"), "the second training has begun")
    (training,) = project.processes("stages._run", "train", "small")
    os.kill(training, signal.SIGSTOP)  # until Slurm has lost the node and started the job again
    node = slurm.call("squeue", "-h", "-o", "%N", "-n", "train@small-1").strip()
    slurm.kill_node(node)
    slurm.wait(lambda: "waiting: an earlier start" in (jobs / "train@small-1.log").read_text(), "a second start")
    os.kill(training, signal.SIGCONT)
    output, _ = process.communicate(timeout=500)
    slurm.start_node(node)
    assert process.returncode == 0, output
    assert (jobs / "train@plain-1.log").read_text().count("Running stage") == 2
    assert outputs(project) == outputs(undisturbed)
    assert project.processes() == []


def test_two_nodes_train_one_run(toy):
    project = toy("plain")
    (project.folder / "launch.yaml").write_text(ON_TWO_NODES)
    output = project.succeed("repro", "--on", "slurm", "--wait")
    assert {path.name for path in project.folder.glob("node-*")} == {"node-n1", "node-n2"}, output
    assert "up to date" in output
