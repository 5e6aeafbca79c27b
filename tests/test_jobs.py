"""Stages as jobs, noted and followed; sbatch, squeue, scontrol and scancel are small scripts here."""

import os
import signal
import subprocess
import sys
import time
from itertools import count

import pytest
import yaml
from shell import environment
from test_repro import PARAMETERS, write_pipeline

from context_nmt.files import UserError
from context_nmt.pipeline import slurm as slurm_module
from context_nmt.pipeline.dvc import Stage
from context_nmt.pipeline.jobs import State, jobs_of, stages_of
from context_nmt.pipeline.processes import Display
from context_nmt.pipeline.slurm import Slurm, run_job
from context_nmt.settings.launch import JobSettings, LaunchSettings
from context_nmt.settings.parameters import Experiment

# The queue is a folder with a file for each job: its state and the reason.
PROGRAMS = {
    "sbatch": """
        n=$(($(cat number) + 1)); echo $n > number; printf '%s\\n' "$@" > given-$n
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
        test -e impossible && echo "not available now" >&2 && exit 1
        echo "$@" > controlled
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
    monkeypatch.setattr(slurm_module, "POLL", 0.01)
    monkeypatch.setattr(slurm_module, "BUSY", 0.1)
    return folder


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(PARAMETERS))
    return Experiment(tmp_path)


def divided(experiment, upstream, *, changed=None, made=(), allow_missing=False, at_once=True, serial=False, **launch):
    """The jobs of stages by what they depend on; each writes a file of its name, and `made` exist."""
    folder = experiment.folder
    path = {name: str(folder / name) for name in upstream}
    changed = upstream if changed is None else changed
    stages = {
        name: Stage(name, name in changed, False, tuple(map(path.get, others)), (path[name],), frozenset(others))
        for name, others in upstream.items()
    }
    for name in made:
        (folder / name).touch()
    return jobs_of(stages, LaunchSettings(**launch), allow_missing=allow_missing, at_once=at_once, serial=serial)


def shown(jobs):
    """The stages of each job, and the first stages of those that it comes after."""
    return [([*job.stages], sorted(job.after)) for job in jobs]


@pytest.mark.parametrize(
    ("only", "kept"),
    [
        ("han", {"train@han-1", "significance@han"}),
        ("han-1", {"train@han-1-1", "significance@han-1"}),  # not the run of the same name
        (
            "taught",
            {"train@han-1", "significance@han", "distill@han", "train_distilled@taught-1", "significance@taught"},
        ),
        ("compared", {"train@han-1", "significance@han", "train@compared-1", "significance@compared"}),
    ],
)
def test_only_the_stages_of_a_variant_are_kept(tmp_path, only, kept):
    variants = {"han": {}, "han-1": {}, "taught": {}, "compared": {"baseline": "han"}}
    train = {"bitext": ["han", "han-1", "compared"], "teachers": ["han"], "distilled": ["taught"]}
    values = PARAMETERS | {"variants": variants, "train": train, "focus": "han"}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(values))
    names = {f"train@{name}-1" for name in train["bitext"]} | {f"significance@{name}" for name in variants}
    names |= {"distill@han", "train_distilled@taught-1"}
    stages = {name: Stage(name, False, False, (), (), frozenset()) for name in (*names, "report", "download@mine")}
    assert set(stages_of([only], stages, Experiment(tmp_path).settings)) == kept | {"report", "download@mine"}


RUNS = {
    "text": [],
    **{f"train@{run}": ["text"] for run in "xy"},
    **{f"average@{run}": [f"train@{run}"] for run in "xy"},
    **{f"decode@{run}": [f"average@{run}"] for run in "xy"},
    "report": ["decode@x", "decode@y"],
}


WHOLE = [
    (["text"], []),
    (["train@x", "average@x", "decode@x"], ["text"]),
    (["train@y", "average@y", "decode@y"], ["text"]),
    (["report"], ["train@x", "train@y"]),
]
GPUS = {"train": JobSettings(gpus=4)}
OWN_JOBS = [(["train@x", "average@x"], ["text"]), (["decode@x"], ["train@x"])]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, WHOLE),
        ({"at_once": False}, WHOLE),
        ({"at_once": False, "serial": True}, [([*RUNS], [])]),
        (GPUS, [WHOLE[0], OWN_JOBS[0], (["train@y", "average@y"], ["text"]), OWN_JOBS[1]]),
        ({"changed": [], "made": RUNS}, []),
        ({"changed": ["average@x"], "made": RUNS}, [(["average@x", "decode@x"], []), (["report"], ["average@x"])]),
    ],
    ids=["a job for each run", "here", "one at a time", "other needs", "nothing changed", "what depends on a change"],
)
def test_stages_are_divided_into_jobs(experiment, options, expected):
    found = shown(divided(experiment, RUNS, **options))
    assert (found[:4] if options is GPUS else found) == expected


@pytest.mark.parametrize(
    ("changed", "lacking", "at_once", "expected"),
    [
        # The report must run if the decoding comes out differently, and then it needs the other decoding.
        (["decode@x"], ["decode@y"], True, {"decode@x": False, "decode@y": True, "report": False}),
        (["decode@x"], ["decode@y"], False, {"decode@x": False}),
        (["decode@x"], ["average@x", "train@x"], False, {"train@x": True, "decode@x": False, "report": False}),
        # If the text changes, the decoding must run; only the text is certain to change.
        (
            ["text"],
            ["train@x", "average@x"],
            True,
            dict.fromkeys(["text", "decode@x", "train@y", "report"], False) | {"train@x": True},
        ),
        (["text"], ["train@x", "average@x"], False, {"text": False, "train@x": False, "train@y": False}),
    ],
)
def test_what_a_clone_without_the_cache_lacks_is_made_where_it_is_needed(
    experiment, changed, lacking, at_once, expected
):
    """By the first stage of a job, whether it makes missing files again; not `at_once`, some are left for later."""
    made = set(RUNS) - {*lacking}
    jobs = divided(experiment, RUNS, changed=changed, made=made, allow_missing=True, at_once=at_once)
    assert {job.name: job.remake for job in jobs} == expected


def test_without_that_option_all_that_is_missing_is_made(experiment):
    jobs = divided(experiment, RUNS, changed=[], made=set(RUNS) - {"average@x"}, at_once=False)
    assert [(job.name, job.remake, job.is_certain) for job in jobs] == [
        ("average@x", True, True),
        ("decode@x", False, False),
        ("report", False, False),
    ]


def submitted(experiment, **launch):
    slurm = Slurm(experiment)
    slurm.submit(divided(experiment, RUNS), LaunchSettings(**launch))
    return slurm


def words(slurm):
    return {stage: state.word for stage, (_, state) in slurm.states().items()}


def test_slurm_is_given_what_a_stage_is_launched_with(experiment, cluster):
    settings = {"hours": 1.5, "nodes": 2, "partition": "long", "memory": "8G", "options": "--comment 'a b'"}
    submitted(experiment, train=JobSettings(**settings))
    text, train = ((cluster / f"given-{number}").read_text().splitlines() for number in (1, 2))
    assert {"--time=90", "--nodes=2", "--partition=long", "--mem=8G", "--comment", "a b"} <= set(train) - set(text)


def test_the_state_of_each_stage(experiment, cluster):
    slurm = submitted(experiment)
    assert (cluster / "controlled").read_text() == "release 1\n"
    assert set(words(slurm)) == set(RUNS)
    assert set(words(slurm).values()) == {"waiting"}
    with pytest.raises(UserError, match="cancel"):
        slurm.require_idle()
    (cluster / "queue/1").unlink()
    slurm.end("1", {"text": State("done")})
    (cluster / "queue/2").write_text("RUNNING|None")
    (experiment.scratch("jobs") / "train@x.log").write_text(
        "train@x | started\ntrain@x | done in 3 s\naverage@x | started\na line\n"
    )
    (cluster / "queue/3").write_text("PENDING|PartitionConfig")
    (cluster / "queue/4").unlink()
    expected = {"text": "done", "train@x": "done", "average@x": "running", "decode@x": "waiting", "report": "lost"}
    assert words(slurm) == expected | dict.fromkeys(["train@y", "average@y", "decode@y"], "queued")
    assert slurm.states()["train@y"][1].detail == "PartitionConfig"
    assert slurm.cancel() == 2
    assert words(slurm)["decode@x"] == words(slurm)["train@y"] == "cancelled"
    assert list((cluster / "queue").iterdir()) == []
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
    assert Slurm(experiment).states() == {}


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
        slurm.states()
    monkeypatch.setenv("PATH", str(experiment.folder))
    with pytest.raises(UserError, match="squeue"):
        slurm.states()


@pytest.mark.usefixtures("cluster")
def test_removed_notes_are_an_error(experiment, monkeypatch):
    """And neither a job that runs everything nor an experiment that is taken as up to date."""
    slurm = submitted(experiment)
    looks = count()

    def remove(_):
        assert next(looks) < 9
        slurm.note.unlink(missing_ok=True)

    monkeypatch.setattr(slurm_module.time, "sleep", remove)
    with Display() as display, pytest.raises(UserError, match="removed"):
        slurm.follow(display)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setattr(slurm_module, "SHOWN", 1)
    monkeypatch.setattr(slurm_module.time, "sleep", lambda _: None)
    with pytest.raises(UserError, match="job 1"):
        run_job([])


@pytest.mark.usefixtures("cluster")
def test_settings_that_changed_while_jobs_wait_are_shown(experiment):
    slurm = submitted(experiment)

    def lines():
        command = [sys.executable, "-m", "context_nmt", "status"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    submitted_at = slurm.note.stat().st_mtime
    os.utime("params.yaml", (submitted_at - 9, submitted_at - 9))
    before = lines()
    os.utime("params.yaml", (submitted_at + 9, submitted_at + 9))
    (new,) = set(lines()) - set(before)
    assert "params.yaml" in new


def job_of(experiment, stages):
    """The only job of a pipeline that has been submitted, and a function that starts it."""
    folder = experiment.folder
    write_pipeline(folder, stages)
    subprocess.run(["dvc", "init", "--no-scm", "--quiet"], env=environment(folder), check=True)
    command = [sys.executable, "-m", "context_nmt", "repro", "--on", "slurm"]
    subprocess.run(command, env=environment(folder), check=True)
    (number,) = Slurm(experiment).jobs
    command = [sys.executable, "-m", "context_nmt.pipeline.slurm"]
    return number, lambda: subprocess.Popen(command, env=environment(folder) | {"SLURM_JOB_ID": number})


def ended(experiment, number):
    """How the stages of a job have ended, and the details of those that failed."""
    states = Slurm(experiment).ended(number)
    return {stage: state.word for stage, state in states.items()}, "".join(state.detail for state in states.values())


PIPELINE = """
  first: {cmd: echo 1 > first, outs: [first]}
  second: {cmd: echo 2 > second; kill -KILL 0, deps: [first], outs: [second]}
  third: {cmd: echo 3 > third, deps: [second], outs: [third]}
  fourth: {cmd: echo 4 > fourth, deps: [first], outs: [fourth]}
"""
LONG_DECODING = """
  train: {matrix: {run: [x]}, cmd: echo 1 > trained, outs: [trained]}
  decode: {matrix: {run: [x]}, cmd: touch began; sleep 600; echo 1 > decoded, deps: [trained], outs: [decoded]}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_in_a_job_only_what_was_running_fails_when_dvc_is_killed(experiment):
    number, start = job_of(experiment, PIPELINE)
    assert start().wait() == 1
    words, details = ended(experiment, number)
    assert words == {"first": "done", "second": "failed", "third": "not run", "fourth": "done"}
    assert "signal 9" in details


@pytest.mark.slow
def test_only_a_start_of_a_job_in_which_a_training_ran_goes_back_into_the_queue_at_a_time_limit(experiment, cluster):
    """Else a decoding that takes longer than the limit would begin again for ever."""
    number, start = job_of(experiment, LONG_DECODING)
    began = experiment.folder / "began"

    def reach_the_limit():
        began.unlink(missing_ok=True)
        started = start()
        while not began.exists():
            assert started.poll() is None
            time.sleep(0.05)
        started.send_signal(signal.SIGUSR1)
        return started

    first = reach_the_limit()
    while "requeue" not in (cluster / "controlled").read_text():
        assert first.poll() is None
        time.sleep(0.05)
    first.terminate()  # as Slurm does then
    assert first.wait() != 0
    assert Slurm(experiment).ended(number) is None
    assert reach_the_limit().wait() == 1
    words, details = ended(experiment, number)
    assert words == {"train@x": "done", "decode@x": "failed"}
    assert "launch.train.hours" in details  # the key of the job's limit
