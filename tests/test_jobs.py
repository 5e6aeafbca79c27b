"""The stages that must run, and how they become jobs; sbatch, squeue, scontrol and scancel are small scripts here."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import count

import pytest
import yaml
from shell import environment
from test_repro import PARAMETERS

from context_nmt.files import UserError
from context_nmt.pipeline import slurm as slurm_module
from context_nmt.pipeline.dvc import Stage
from context_nmt.pipeline.jobs import DONE, Machine, StageState, run_stages, stages_of, stages_to_run
from context_nmt.pipeline.processes import Display, FinishedProcess, StageProcesses
from context_nmt.pipeline.slurm import Slurm
from context_nmt.settings.launch import JobSettings, LaunchSettings
from context_nmt.settings.parameters import Experiment

# The queue is a folder with a file for each job: its state and the reason.
PROGRAMS = {
    "sbatch": """
        n=$(($(cat number) + 1)); echo $n > number; printf '%s\\0' "$@" > given-$n
        test -e refused-$n && echo "sbatch: error: no such account" >&2 && exit 1
        echo "PENDING|Dependency" > queue/$n
        test -e interrupted-$n && kill -$(cat interrupted-$n) $PPID
        echo "$n;cluster"
    """,
    "squeue": """
        test -s busy && truncate -s -1 busy && echo "no controller" >&2 && exit 1
        case "$*" in *--all*) cd queue; for n in $(ls); do echo "$n|$(cat $n)"; done;; esac
    """,
    "scontrol": """
        test -e impossible && printf x >> asked && printf "not\\navailable now" >&2 && exit 1
        echo "$@" >> controlled
    """,
    "scancel": "cd queue; rm -f $*",
}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """The folder of what pretends to be Slurm."""
    folder = tmp_path / "cluster"
    (folder / "queue").mkdir(parents=True)
    (folder / "number").write_text("0")
    for name, lines in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\ncd {folder}\n{lines}")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(slurm_module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(slurm_module, "BUSY_SECONDS", 0.1)
    return folder


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMETERS))
    return Experiment(tmp_path)


@pytest.mark.parametrize(
    ("only", "kept"),
    [
        ("han", {"train@han-1", "significance@han"}),
        ("han-1", {"train@han-1-1", "significance@han-1"}),  # not the run of the same name
        (
            "taught",
            {"train@han-1", "significance@han", "distill@han-1", "train_distilled@taught-1", "significance@taught"},
        ),
        ("compared", {"train@han-1", "significance@han", "train@compared-1", "significance@compared"}),
        ("llm", {"train@han-1", "significance@han", "import_translations@llm-1", "significance_external@llm"}),
    ],
)
def test_only_the_stages_of_a_variant_are_kept(tmp_path, only, kept):
    variants = {"han": {}, "han-1": {}, "taught": {}, "compared": {"baseline": "han"}}
    train = {"bitext": ["han", "han-1", "compared"], "teachers": ["han"], "distilled": ["taught"]}
    external = {"llm": {"baseline": "han"}, "other": {}}
    values = PARAMETERS | {"variants": variants, "external": external, "train": train, "focus": "han"}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(values))
    names = {f"train@{name}-1" for name in train["bitext"]} | {f"significance@{name}" for name in variants}
    names |= {"distill@han-1", "train_distilled@taught-1"}
    names |= {f"significance_external@{name}" for name in external}
    names |= {f"import_translations@{name}-1" for name in external}
    stages = {name: Stage(name, False, False, (), (), frozenset()) for name in (*names, "report", "download@mine")}
    assert set(stages_of([only], stages, Experiment(tmp_path).settings)) == kept | {"report", "download@mine"}


def made_up(experiment, upstream, *, changed=None, lacking=None):
    """Stages by what they depend on; each writes a file of its name, and all are there but those that are `lacking`."""
    path = {name: str(experiment.folder / name) for name in upstream}
    changed = upstream if changed is None else changed
    for name in set(upstream) - set(upstream if lacking is None else lacking):
        (experiment.folder / name).touch()
    return {
        name: Stage(name, name in changed, False, tuple(map(path.get, others)), (path[name],), frozenset(others))
        for name, others in upstream.items()
    }


RUNS = {
    "text": [],
    **{f"train@{run}": ["text"] for run in "xy"},
    **{f"average@{run}": [f"train@{run}"] for run in "xy"},
    **{f"decode@{run}": [f"average@{run}"] for run in "xy"},
    "report": ["decode@x", "decode@y"],
}


@pytest.mark.parametrize(
    ("changed", "lacking", "at_once", "expected"),
    [
        ([], [], True, {}),
        (["average@x"], [], True, dict.fromkeys(["average@x", "decode@x", "report"], False)),
        # The report must run if the decoding comes out differently, and then it needs the other decoding.
        (["decode@x"], ["decode@y"], True, {"decode@x": False, "decode@y": True, "report": False}),
        (["decode@x"], ["decode@y"], False, {"decode@x": False}),
        (
            ["decode@x"],
            ["average@x", "train@x"],
            False,
            {"train@x": True, "average@x": True, "decode@x": False, "report": False},
        ),
        # If the text changes, the decoding must run; only the text is certain to change.
        (
            ["text"],
            ["train@x", "average@x"],
            True,
            dict.fromkeys(RUNS, False) | dict.fromkeys(["train@x", "average@x"], True),
        ),
        (
            ["text"],
            ["train@x", "average@x"],
            False,
            dict.fromkeys(["text", "train@x", "train@y", "average@y", "decode@y"], False),
        ),
    ],
)
def test_what_a_clone_without_the_cache_lacks_is_made_where_it_is_needed(
    experiment, changed, lacking, at_once, expected
):
    """The stages that run, and whether they make missing files; not `at_once`, some are left for a second look."""
    stages = made_up(experiment, RUNS, changed=changed, lacking=lacking)
    assert stages_to_run(stages, allow_missing=True, at_once=at_once) == expected


def test_without_that_option_all_that_is_missing_is_made(experiment):
    stages = made_up(experiment, RUNS, changed=[], lacking=["average@x"])
    chosen = stages_to_run(stages, allow_missing=False, at_once=False)
    assert chosen == {"average@x": True, "decode@x": False, "report": False}


class MadeUpProcesses:
    """Notes the stages and the GPUs of each process, and how many run beside it; with one that fails."""

    def __init__(self, failing):
        self.display, self.failing, self.started, self.running, self.gpus = Display(), failing, [], [], []

    def start(self, name, folder, *words, **variables):
        self.started.append([word for word in words if word not in ("repro", "--single-item", "--allow-missing")])
        self.gpus.append((name, variables.get("CUDA_VISIBLE_DEVICES"), len(self.running)))
        self.running.append(name)

    def wait(self):
        name, stages = self.running.pop(0), self.started[-1 - len(self.running)]
        return FinishedProcess(name, self.failing if self.failing in stages else None, "bad luck")


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        (None, [["text"], ["train@x", "average@x"], ["train@y", "average@y"], ["decode@x"], ["decode@y"], ["report"]]),
        ("train@x", [["text"], ["train@x", "average@x"], ["train@y", "average@y"], ["decode@y"]]),
    ],
)
def test_stages_of_a_run_share_a_process(experiment, failing, expected):
    stages = made_up(experiment, RUNS)
    chosen, processes = stages_to_run(stages, allow_missing=False, at_once=False), MadeUpProcesses(failing)
    states = run_stages(chosen, stages, experiment.folder, processes, Machine(LaunchSettings(), 1, 2))
    assert processes.started == expected
    words = {name: state.word for name, state in states.items()}
    lost = {"train@x": "failed"} | dict.fromkeys(["average@x", "decode@x", "report"], "not run") if failing else {}
    assert words == dict.fromkeys(RUNS, "done") | lost


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ("3", [("train@x", "3", 0), ("train@y", "3", 0), ("decode@x", "3", 0), ("decode@y", "3", 0)]),
        ("5,3", [("train@x", "5", 0), ("train@y", "3", 1), ("decode@x", "5", 1), ("decode@y", "3", 1)]),
    ],
)
def test_each_process_sees_its_own_gpus_which_are_free_again_when_it_ends(experiment, monkeypatch, visible, expected):
    """On one GPU, trainings and decodings take turns."""
    monkeypatch.setattr("context_nmt.pipeline.jobs.usable_cores", lambda: 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    stages, processes = made_up(experiment, RUNS), MadeUpProcesses(None)
    machine = Machine(LaunchSettings(train=JobSettings(cores=1), decode=JobSettings(cores=1)), 2, 2)
    run_stages(dict.fromkeys(stages, True), stages, experiment.folder, processes, machine)
    assert processes.gpus == [("text", "", 0), *expected, ("report", "", 0)]


def test_a_process_gets_its_variables_and_lines_of_its_own_are_shown_as_they_are(experiment, monkeypatch, capsys):
    own = ["failed: own words", "done in 3 s", "started"]
    python = experiment.folder / "python"  # in place of DVC
    says = "\n".join(["Running stage 'text':", "> own words", *own])
    python.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\necho $CUDA_VISIBLE_DEVICES\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr("context_nmt.pipeline.processes.signal.signal", lambda *_: None)
    with StageProcesses(environment(experiment.folder)) as processes:
        processes.start("text", experiment.folder, CUDA_VISIBLE_DEVICES="5,3")
        with processes.running["text"]:
            assert processes.wait() == FinishedProcess("text")
    assert capsys.readouterr().out.splitlines() == [
        f"text | {line}" for line in ("started", *own, "5,3", "done in 0 s")
    ]


def test_what_most_others_wait_for_starts_first(experiment):
    stages, processes = made_up(experiment, {"alone": [], "teacher": [], "student": ["teacher"]}), MadeUpProcesses(None)
    run_stages(dict.fromkeys(stages, True), stages, experiment.folder, processes, Machine(LaunchSettings(), 1, 1))
    assert processes.started == [["teacher"], ["alone"], ["student"]]


def submitted(experiment, upstream=RUNS, **launch):
    slurm, stages = Slurm(experiment), made_up(experiment, upstream)
    slurm.submit(dict.fromkeys(upstream, True), stages, LaunchSettings(**launch))
    return slurm


def states(slurm):
    return slurm.states(slurm.read_jobs())


def words(slurm):
    return {stage: state.word for stage, state in states(slurm).items()}


def said(slurm, stage):
    return [line.text for line in slurm.read_log(stage)[0]]


def given(cluster, number):
    return (cluster / f"given-{number}").read_text().split("\0")


def script(cluster, number):
    return given(cluster, number)[-2].removeprefix("--wrap=")


def test_slurm_is_given_what_a_stage_is_launched_with(experiment, cluster):
    settings = {"hours": 1.5, "nodes": 2, "partition": "long", "memory": "8G", "options": "--comment 'a b'"}
    submitted(experiment, train=JobSettings(**settings))
    text, train, last = (given(cluster, number) for number in (1, 2, 8))
    assert {"--time=90", "--nodes=2", "--partition=long", "--mem=8G", "--comment", "a b"} <= set(train) - set(text)
    assert {"--hold"} <= set(text) - set(train)
    assert {"--dependency=afterok:6:7", "--kill-on-invalid-dep=yes"} <= set(last) - set(text)
    assert (cluster / "controlled").read_text() == "release 1\n"


def test_the_state_of_each_stage(experiment, cluster):
    slurm = submitted(experiment)
    assert words(slurm) == dict.fromkeys(RUNS, "waiting")
    with pytest.raises(UserError, match=r"8 jobs are still .* the first is 1;.*cancel"):
        slurm.require_idle()

    def say(stage, *lines):
        with slurm.log(stage).open("a") as log:
            log.write("".join(f"{line}\n" for line in lines))

    for number in (1, 4, 5):
        (cluster / f"queue/{number}").unlink()
    own = ["failed: own words", "done in 3 s", "started", "ended with 0 after 3 s"]
    out_of_memory = "slurmstepd: error: Detected 1 oom_kill event in StepId=4.batch."
    say("text", "job 1 began on n1", "Running stage 'text':", "> echo text", *own, "job 1 ended with 0 after 12 s")
    say("average@x", "ERROR: failed to reproduce 'average@x': bad luck")
    say("average@x", "job 4 ended with 255 after 1 s", out_of_memory)
    (cluster / "queue/2").write_text("RUNNING|None")
    say("train@x", "ERROR: failed to reproduce 'train@x': stopped", "job 2 ended with 0 after 1 s")
    say("train@x", "job 2 began on n2", "ERROR: failed to reproduce 'train@x': stopped")  # a second start
    (cluster / "queue/3").write_text("PENDING|PartitionConfig")
    expected = {"text": "done", "train@x": "running", "train@y": "queued", "average@x": "failed", "average@y": "lost"}
    assert words(slurm) == expected | dict.fromkeys(["decode@x", "decode@y", "report"], "waiting")
    assert [states(slurm)[stage].detail for stage in ("train@y", "average@x")] == ["PartitionConfig", "bad luck"]
    assert slurm.read_log("text")[1] == DONE
    assert said(slurm, "text") == ["job 1 began on n1", "started", *own, "done in 12 s"]
    assert said(slurm, "average@x") == ["failed: bad luck", out_of_memory]
    assert said(slurm, "train@x") == ["job 2 ended with 0 after 1 s", "job 2 began on n2"]
    with pytest.raises(UserError, match=r"5 jobs are still .* the first is 2;"):
        slurm.require_idle()
    for number in (7, 8):  # as Slurm does with those that cannot start any more
        (cluster / f"queue/{number}").unlink()
    assert words(slurm) == expected | {"decode@x": "waiting", "decode@y": "not run", "report": "not run"}
    say("train@x", "job 2 began on n1", "job 2 ended with 7 after 1 s")  # this start gives no reason
    assert states(slurm)["train@x"].detail == "its job ended with exit status 7"
    assert slurm.cancel() == 2
    expected |= {"train@x": "failed", "train@y": "cancelled", "average@y": "not run", "decode@x": "cancelled"}
    assert words(slurm) == expected | dict.fromkeys(["decode@y", "report"], "not run")
    assert list((cluster / "queue").iterdir()) == [cluster / "queue/2"]
    slurm.require_idle()


@pytest.mark.parametrize(
    ("what", "content", "error"),
    [
        ("refused-1", "", UserError),
        ("refused-3", "", UserError),
        ("impossible", "", UserError),
        ("interrupted-2", "INT", KeyboardInterrupt),
        ("interrupted-2", "HUP", KeyboardInterrupt),
    ],
)
@pytest.mark.usefixtures("ctrl_c")
def test_all_jobs_are_cancelled_if_slurm_refuses_one_or_a_signal_comes_between_them(
    experiment, cluster, what, content, error
):
    (cluster / what).write_text(content)
    earlier = signal.signal(signal.SIGHUP, signal.default_int_handler)  # as context-nmt repro sets it
    try:
        with pytest.raises(error, match=None if content else r"account|available"):
            submitted(experiment)
    finally:
        signal.signal(signal.SIGHUP, earlier)
    assert not content or (cluster / "number").read_text().strip() == "2"
    assert list((cluster / "queue").iterdir()) == []
    assert Slurm(experiment).read_jobs() == {}


def test_jobs_that_cannot_be_cancelled_stay_known(experiment, cluster):
    (cluster / "refused-3").touch()
    (cluster / "scancel").write_text("#!/bin/sh\nexit 1")
    with pytest.raises(UserError, match="scancel"):
        submitted(experiment)
    assert set(words(Slurm(experiment)).values()) == {"waiting"}


def test_a_busy_controller_is_asked_again_but_not_for_ever_and_one_that_is_not_there_is_an_error(
    experiment, cluster, monkeypatch
):
    slurm = submitted(experiment)
    (cluster / "busy").write_text("xx")
    assert set(words(slurm).values()) == {"waiting"}
    (cluster / "busy").write_text("x" * 1000)
    with pytest.raises(UserError, match="no controller"):
        states(slurm)
    monkeypatch.setenv("PATH", str(experiment.folder))
    with pytest.raises(UserError, match="squeue"):
        states(slurm)


@pytest.mark.usefixtures("cluster")
def test_notes_of_another_form_are_left_alone(experiment):
    """Those of jobs with several stages."""
    slurm = Slurm(experiment)
    slurm.folder.mkdir(parents=True)
    (slurm.folder / "jobs.json").write_text('[["5", [["text", []]]]]')
    slurm.require_idle()
    assert slurm.cancel() == 0


def test_removed_notes_are_an_error(experiment, cluster, monkeypatch):
    """And the experiment is not taken as up to date; a job ends without running anything."""
    slurm = submitted(experiment)
    looks = count()

    def remove(_):
        assert next(looks) < 9
        slurm.record.unlink(missing_ok=True)

    monkeypatch.setattr(slurm_module.time, "sleep", remove)
    with Display() as display, pytest.raises(UserError, match="removed"):
        slurm.follow(display)
    shutil.rmtree(slurm.folder)
    job = subprocess.run(["sh", "-c", script(cluster, 2)], capture_output=True, text=True, check=False)
    assert (job.returncode != 0, job.stdout.strip()) == (True, "job  began on")


@pytest.mark.usefixtures("cluster")
def test_settings_that_changed_while_jobs_wait_are_shown(experiment):
    slurm = submitted(experiment)

    def lines():
        command = [sys.executable, "-m", "context_nmt", "status"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    submitted_at = slurm.record.stat().st_mtime
    os.utime("params.yaml", (submitted_at - 9, submitted_at - 9))
    before = lines()
    os.utime("params.yaml", (submitted_at + 9, submitted_at + 9))
    (new,) = set(lines()) - set(before)
    assert "params.yaml" in new


@pytest.fixture
def start(experiment, cluster, monkeypatch):
    """Start the script of a job whose stage runs a line of shell in place of DVC; return its process and its file."""
    python = cluster / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    slurm_variables = {"SLURM_JOB_ID": "5", "SLURMD_NODENAME": "n1", "SLURM_CPUS_ON_NODE": "6"}
    variables = environment(experiment.folder) | slurm_variables | {"SLURM_GPUS_ON_NODE": "2"}

    def started(slurm, stage, does):
        began = experiment.folder / f"began-{stage}"
        python.write_text(f"#!/bin/sh\necho $OMP_NUM_THREADS $CONTEXT_NMT_CHILD\ntouch '{began}'\n{does}\n")
        python.chmod(0o755)
        number, _ = slurm.read_jobs()[stage]
        with slurm.log(stage).open("a") as log:
            words = ["sh", "-c", script(cluster, number)]
            return subprocess.Popen(words, env=variables, stdout=log, stderr=log, start_new_session=True), began

    return started


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


SAVING = "trap 'touch saved; exit 75' TERM; sleep 60 & wait"
SCRIPTS = {  # by the stage: what the stage does, what happens to its job, and how it ends
    "train@x": ("printf unfinished", None, ["unfinished", "done in 0 s"]),
    "train@y": ("echo \"ERROR: failed to reproduce 'train@y': bad luck\"; exit 255", None, ["failed: bad luck"]),
    "decode@x": ("kill -KILL $$", None, ["failed: its job ended with exit status 137"]),
    "decode@y": ("sleep 60", signal.SIGUSR1, ["failed: over its time limit, launch.decode.hours"]),
    "train@z": (SAVING, signal.SIGUSR1, []),
}


@pytest.mark.slow
def test_how_a_job_ends_and_what_it_does_at_its_time_limit(experiment, cluster, start):
    """A training goes back into the queue; another stage would begin again for ever."""
    slurm = submitted(experiment, {stage: [] for stage in SCRIPTS})
    for stage, (does, happens, end) in SCRIPTS.items():
        job, began = start(slurm, stage, does)
        if happens:
            wait_until(began.exists)
            job.send_signal(happens)
        if stage == "train@z":
            wait_until(lambda: "requeue 5" in (cluster / "controlled").read_text())
            os.killpg(job.pid, signal.SIGTERM)  # as Slurm does then
        assert (job.wait(60) == 0) == (stage == "train@x")
        _, state = slurm.read_log(stage)
        lines = [re.sub(r"\d+ s$", "0 s", line) for line in said(slurm, stage)]
        assert lines[:2] == ["job 5 began on n1", "3 1"]
        assert (lines[2:][-len(end) :] if state else []) == end
        assert (experiment.folder / "saved").exists() == (stage == "train@z")


@pytest.mark.slow
@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_training_that_slurm_does_not_start_again_says_so_when_it_is_stopped(
    experiment, cluster, start, monkeypatch, is_stopped
):
    """If it ends in time, Slurm is not asked again; here, that would be ten thousand times."""
    monkeypatch.setattr(slurm_module, "GRACE_SECONDS", 0.1 if is_stopped else 200.0)
    slurm = submitted(experiment, {"train@x": []})
    (cluster / "impossible").touch()
    job, began = start(slurm, "train@x", SAVING if is_stopped else f"until test -s {cluster}/asked; do sleep 0.1; done")
    wait_until(began.exists)
    job.send_signal(signal.SIGUSR1)
    if is_stopped:
        wait_until(lambda: (cluster / "asked").is_file() and len((cluster / "asked").read_text()) == 5)
        time.sleep(0.2)
        assert len((cluster / "asked").read_text()) == 5
        assert (job.poll(), (experiment.folder / "saved").exists()) == (None, False)
        os.killpg(job.pid, signal.SIGTERM)
    assert (job.wait(60) == 0) != is_stopped
    reason = "over its time limit, launch.train.hours; scontrol requeue: not available now"
    assert slurm.read_log("train@x")[1] == (StageState("failed", reason) if is_stopped else DONE)


@pytest.mark.slow
def test_a_second_start_waits_for_the_first_one_and_then_for_the_training_that_it_has_left(experiment, start):
    slurm = submitted(experiment, {"train@x": []})
    checks = [f"flock -n {slurm.folder}/train@x.lock true", f"flock -n {experiment.training_lock('x')} true"]
    with (slurm.folder / "train@x.lock").open("a") as first, experiment.training_lock("x").open("a") as training:
        fcntl.flock(first, fcntl.LOCK_EX)
        job, began = start(slurm, "train@x", "; ".join(f"{check}; echo $?" for check in checks))
        wait_until(lambda: len(said(slurm, "train@x")) == 2)
        fcntl.flock(training, fcntl.LOCK_EX)  # DVC can still start it
        fcntl.flock(first, fcntl.LOCK_UN)
        wait_until(lambda: len(said(slurm, "train@x")) == 3)
        assert not began.exists()
        fcntl.flock(training, fcntl.LOCK_UN)
        assert job.wait(60) == 0
    waits = "waiting: an earlier start of this job still runs"
    assert said(slurm, "train@x")[1:-1] == [waits, waits, "3 1", "1", "0"]  # the training can take its own lock
