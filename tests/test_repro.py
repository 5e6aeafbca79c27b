"""Independent stages run side by side, also when another fails; Ctrl-C ends them all. The stages are shell scripts."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
import yaml
from dvc.utils.serialize import dump_yaml, modify_yaml
from made_up_experiment import SPEEDS
from measured import write_flat
from shell import ROOT, environment, processes
from terminal import Terminal

from context_nmt.command_line import UNFINISHED_STATUS
from context_nmt.corpus.workers import usable_cores
from context_nmt.files import UserError, write_json
from context_nmt.pipeline.dvc import modify_quickly
from context_nmt.pipeline.jobs import Machine
from context_nmt.pipeline.processes import Display, Line
from context_nmt.progress import INTERVAL_VARIABLE, read_line
from context_nmt.settings.launch import JobSettings, LaunchSettings

pytestmark = pytest.mark.slow

PARAMETERS = {
    "root": ".",
    "corpus": {"name": "none", "source": "xx", "target": "yy", "tests": ["test"]},
    "variants": {"one": {}, "two": {}},
    "train": {"bitext": ["one", "two"]},
    "seeds": [1],
    "focus": "one",
}
PIPELINE = """
  first: {cmd: echo first >> log && echo 1 > first, outs: [first]}
  train:
    matrix: {variant: "${variants}"}
    cmd: sh train ${item.variant}
    deps: [first, train]
    outs: ["${item.variant}"]
  last: {cmd: echo last >> log && cat one two > last, deps: [one, two], outs: [last]}
"""
# Each waits for the other one to have begun.
TOGETHER = """
touch began-$1
for i in $(seq 300); do test -e began-one && test -e began-two && break; sleep 0.1; done
test -e began-one && test -e began-two && echo $1 >> log && echo "$1 has $OMP_NUM_THREADS" && echo $1 > $1
"""
FAILING = """
touch began-$1
if test $1 = one && ! test -e mended; then
  while ! test -e began-two; do sleep 0.1; done
  sleep 987 &
  echo bad luck >&2
  exit 3
fi
echo $1 >> log
echo $1 > $1
"""
ENDLESS = "echo ready; sleep 987"
# Stops half-way until there is a file `go`.
COUNTING = """
python -c "
import os, time
from context_nmt.progress import say, tracked
for number in tracked(range(4), 'counting', 4, 'things'):
    while number == 2 and not os.path.exists('go'):
        time.sleep(0.05)
say('a line')
"
echo 1 > $1
"""
NOTHING_TO_DO = ["dvc.yaml: everything is up to date", "metrics/results.json: no results yet"]


def write_pipeline(folder, stages):
    (folder / "dvc.yaml").write_text(f"stages:\n{stages}")


def make_project(folder, pipeline):
    (folder / "params.yaml").write_text(yaml.safe_dump(PARAMETERS))
    write_pipeline(folder, pipeline)
    (folder / ".dvc").mkdir()
    (folder / ".dvc/config").write_text("[core]\n    no_scm = True\n")
    return folder


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path, PIPELINE)


def start(project, train, *options, **variables):
    (project / "train").write_text(train)
    return subprocess.Popen(
        [sys.executable, "-m", "context_nmt", "repro", *options],
        cwd=project,
        env=environment(project, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process):
    output, _ = process.communicate(timeout=120)
    return process.returncode, output.splitlines()


@pytest.fixture(scope="module")
def run(warm):
    """Runs `context-nmt repro` to its end; returns its status and lines. `processes` does not find what it starts."""
    path = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}:{warm['PYTHONPATH']}"}
    return lambda project, train, *options: finish(start(project, train, *options, **warm | path))


def test_in_a_log_a_stage_says_how_far_it_is(run, project, monkeypatch):
    monkeypatch.setenv(INTERVAL_VARIABLE, "0")
    (project / "go").touch()
    status, lines = run(project, COUNTING, "--jobs", "2")
    assert status == 0, lines
    for stage in ("train@one", "train@two"):
        said = [line.removeprefix(f"{stage} | ") for line in lines if line.startswith(stage)]
        assert [told.percent for told in map(read_line, said) if told] == [25, 50, 75, 100]
        assert "a line" in said
    assert not any("\x1b" in line or "\r" in line for line in lines)


def test_on_a_terminal_lines_of_stages_are_above_their_progress(project):
    (project / "train").write_text(COUNTING)
    command = [sys.executable, "-m", "context_nmt", "repro", "--jobs", "2"]
    shown = environment(project) | {INTERVAL_VARIABLE: "0", "TERM": "xterm", "COLUMNS": "120"}
    terminal = Terminal(command, cwd=project, env=shown)
    terminal.wait_for("train@one", "train@two", "50% 2/4 things", "1/4")
    (project / "go").touch()
    assert terminal.finish() == 0, terminal.seen
    assert all(f"train@{name} | a line" in terminal.seen for name in ("one", "two"))
    assert "| counting" not in terminal.seen  # in place, not as a line
    assert "\r\n".join(NOTHING_TO_DO) in terminal.seen
    assert processes(project) == {}


def log(project):
    return (project / "log").read_text().split()


def test_stages_run_side_by_side_in_dvcs_order_and_once(run, project):
    status, lines = run(project, TOGETHER, "--jobs", "2")
    assert status == 0, lines
    ran = log(project)
    assert (ran[0], sorted(ran[1:3]), ran[3:]) == ("first", ["one", "two"], ["last"])
    share = max(1, usable_cores() // 2)
    assert {f"train@one | one has {share}", f"train@two | two has {share}"} <= set(lines)
    assert (project / "last").read_text() == "one\ntwo\n"
    assert run(project, TOGETHER, "--jobs", "2") == (0, NOTHING_TO_DO)
    assert log(project) == ran


class SlowStream(io.StringIO):
    """Other threads run before each write."""

    def write(self, text):
        time.sleep(0.001)
        return super().write(text)


def test_lines_that_stages_print_at_once_stay_whole(monkeypatch):
    stream = SlowStream()
    monkeypatch.setattr(sys, "stdout", stream)
    display = Display()

    def print_lines(stage):
        for number in range(10):
            display.say(Line(stage, f"line {number}"))

    threads = [threading.Thread(target=print_lines, args=(stage,)) for stage in ("train@one", "train@two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [f"{stage} | line {number}" for stage in ("train@one", "train@two") for number in range(10)]
    assert sorted(stream.getvalue().splitlines()) == expected


KILLED = "test $1 = one && ! test -e mended && kill -KILL 0; echo $1 >> log; echo $1 > $1"  # as without memory
END = "; 1 stages that depend on it were not run; the output is above"


@pytest.mark.parametrize(
    ("train", "said", "reason"),
    [
        (FAILING, "bad luck", ".*exited with 3"),
        (KILLED, "failed: DVC was killed by signal 9", "DVC was killed by signal 9"),
    ],
    ids=["a stage fails", "DVC is killed"],
)
def test_a_failure_stops_what_depends_on_it_and_nothing_else(project, train, said, reason):
    (project / "began-two").touch()
    status, lines = finish(start(project, train, "--jobs", "2"))
    assert status == 1
    assert f"train@one | {said}" in lines
    assert re.fullmatch(f"error: train@one: {reason}{END}", lines[-1])
    assert processes(project) == {}
    assert log(project) == ["first", "two"]
    (project / "mended").touch()
    assert finish(start(project, train, "--jobs", "2"))[0] == 0
    assert log(project) == ["first", "two", "one", "last"]


@pytest.mark.parametrize("options", [("--wait",), ("--on", "slurm", "--jobs", "2")])
def test_options_that_would_do_nothing_are_refused(run, project, options):
    status, lines = run(project, "", *options)
    assert (status, len(lines)) == (1, 1)
    assert options[-1] in lines[0]
    assert not (project / "log").exists()


def room(machine, *names):
    """Threads and GPUs of each stage that starts, and None where there is no room."""
    taken = [machine.allocate(name) for name in names]
    return [one and (int(one["OMP_NUM_THREADS"]), one.get("CUDA_VISIBLE_DEVICES")) for one in taken]


def test_cores_and_gpus_of_launch_are_counted_and_no_two_trainings_share_one(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("context_nmt.pipeline.jobs.usable_cores", lambda: 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    machine = Machine(LaunchSettings(train=JobSettings(cores=6)), jobs=4, runs=9)
    assert room(machine, "train@one", "train@two", "tokenize", "report") == [(6, None), None, (2, None), None]
    more_than_cores = Machine(LaunchSettings(), jobs=9, runs=9)
    assert room(more_than_cores, *(f"report@{number}" for number in range(10))) == [(1, None)] * 9 + [None]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    stages = ("train@one", "tokenize", "train_document@two", "decode@one")
    machine = Machine(LaunchSettings(), jobs=None, runs=9)
    assert (machine.jobs, room(machine, *stages)) == (2, [(4, "0"), (4, ""), None, None])
    machine = Machine(LaunchSettings(train=JobSettings(gpus=2)), jobs=4, runs=9)
    assert room(machine, *stages) == [(1, "0,3"), (2, ""), None, None]
    machine = Machine(LaunchSettings(train=JobSettings(gpus=1), text=JobSettings(cores=1)), jobs=4, runs=9)
    assert room(machine, *stages) == [(2, "0"), (1, ""), (2, "3"), None]
    with pytest.raises(UserError, match=r"^launch\.train\.gpus is 3, but this machine has 2; launch\.yaml"):
        Machine(LaunchSettings(train=JobSettings(gpus=3)), jobs=4, runs=9)


SAVING = """
trap 'kill $!; sleep 0.5; echo saved > state-$1; exit 75' TERM
echo ready
sleep 987 &
wait
"""


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(
    ("train", "number", "expected"),
    [(ENDLESS, signal.SIGINT, 130), (SAVING, signal.SIGTERM, UNFINISHED_STATUS)],
    ids=["Ctrl-C", "SIGTERM lets stages save their state"],
)
def test_a_signal_stops_all(project, train, number, expected):
    process = start(project, train, "--jobs", "2")
    ready = 0
    while ready < 2:
        line = process.stdout.readline()
        assert line
        ready += line.endswith("| ready\n")
    assert len(processes(project)) >= 5  # the command itself, two of dvc, two stages
    process.send_signal(number)
    status, lines = finish(process)
    assert (status, len(lines)) == (expected, 1), lines
    assert "the same command continues" in lines[0]
    assert processes(project) == {}
    assert all((project / f"state-{name}").is_file() == (train is SAVING) for name in ("one", "two"))


def test_sigterm_to_dvc_alone_ends_it(project):
    """Without `context-nmt repro`, nobody else ends it, and the stages that follow must not run."""
    (project / "train").write_text(ENDLESS)
    process = subprocess.Popen(
        [sys.executable, "-m", "context_nmt.pipeline.dvc", "repro"],
        cwd=project,
        env=environment(project),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while "ready" not in process.stdout.readline():
            assert process.poll() is None
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # also the stage, which plain DVC leaves running, too
        process.stdout.close()


CHAINED = """
  text: {cmd: echo text >> log; cat words > text, deps: [words], outs: [text]}
  train:
    matrix: {variant: "${variants}"}
    cmd: echo train-${item.variant} | tee -a log | cat text - > train-${item.variant}
    deps: [text, train.py]
    outs: ["train-${item.variant}"]
  decode:
    matrix: {variant: "${variants}"}
    cmd: echo decode-${item.variant} | tee -a log | cat train-${item.variant} - > decode-${item.variant}
    deps: ["train-${item.variant}", decode.py]
    outs: ["decode-${item.variant}"]
"""


@pytest.fixture(scope="module")
def finished_chain(run, tmp_path_factory):
    project = make_project(tmp_path_factory.mktemp("chained"), CHAINED)
    for name in ("words", "train.py", "decode.py"):
        (project / name).write_text("1")
    assert run(project, "", "--jobs", "2")[0] == 0
    (project / "log").unlink()
    return project


@pytest.fixture
def chained(finished_chain, tmp_path):
    """Two runs of two stages, finished."""
    return shutil.copytree(finished_chain, tmp_path / "chained")


def rerun(run, project, *options):
    status, lines = run(project, "", "--jobs", "2", *options)
    assert status == 0, lines
    return sorted(log(project)) if (project / "log").exists() else []


def lose_outputs(project):
    shutil.rmtree(project / ".dvc/cache")
    for name in ("text", "train-one", "train-two", "decode-one", "decode-two"):
        (project / name).unlink()


def add_a_variant(project):
    parameters = yaml.safe_load((project / "params.yaml").read_text())
    parameters["variants"]["three"] = {}
    parameters["train"]["bitext"].append("three")
    (project / "params.yaml").write_text(yaml.safe_dump(parameters))


def edit(name):
    return lambda project: (project / name).write_text("2")


ALL = ["decode-one", "decode-two", "text", "train-one", "train-two"]
ON_DEMAND = "--allow-missing"


@pytest.mark.parametrize(
    ("changes", "options", "expected"),
    [
        ([edit("train.py")], [], ["train-one", "train-two"]),  # which come out as before
        ([lose_outputs], [], ALL),
        ([lose_outputs], [ON_DEMAND], []),
        ([lose_outputs, add_a_variant], [ON_DEMAND], ["decode-three", "text", "train-three"]),
        ([lose_outputs, edit("train.py")], [ON_DEMAND], ["text", "train-one", "train-two"]),
        ([lose_outputs, edit("words")], [ON_DEMAND], ALL),
    ],
)
def test_what_has_changed_runs_and_what_is_needed_for_that(run, chained, changes, options, expected):
    for change in changes:
        change(chained)
    assert rerun(run, chained, *options) == expected
    if expected == ALL:
        words = (chained / "words").read_text()
        assert (chained / "decode-two").read_text() == f"{words}train-two\ndecode-two\n"


FRAGILE = """
  text: {cmd: cat words > text, deps: [words], outs: [text]}
  units: {cmd: "! grep bad text && mkdir -p units/made && cp text units/made", deps: [text], outs: [units/made]}
  train:
    matrix: {variant: "${variants}"}
    cmd: cat units/made/text > ${item.variant}
    deps: [text, units]
    outs: ["${item.variant}"]
"""


def test_one_rerun_is_enough_after_a_failure_whose_cause_is_taken_back(run, project):
    """The stage upstream then gives what it gave before, so the failed one is unchanged, without its outputs."""
    write_pipeline(project, FRAGILE)
    for words, expected in {"good": 0, "bad": 1, "good ": 0}.items():
        (project / "words").write_text(words.strip())
        status, lines = run(project, "", "--jobs", "1")
        assert status == expected, lines
    assert (project / "units/made/text").read_text() == "good"


SEPARATE = """
  text: {cmd: cat words > text, deps: [words], outs: [text]}
  train: {cmd: cat recipe > trained, deps: [recipe], outs: [trained]}
  decode: {cmd: cat text trained > decoded, deps: [text, trained], outs: [decoded]}
  other: {cmd: "! grep bad luck && cat luck > other", deps: [luck], outs: [other]}
"""


def test_a_failure_stops_nothing_of_the_second_look_that_does_not_depend_on_it(run, project):
    """Only when the text has been made again is it clear that the lost model is needed."""
    write_pipeline(project, SEPARATE)
    for name in ("words", "recipe", "luck"):
        (project / name).write_text("good\n")
    assert run(project, "")[0] == 0
    for name in ("text", "trained", "decoded", "other"):
        (project / name).unlink()
    (project / "words").write_text("better\n")
    (project / "luck").write_text("bad\n")
    status, lines = run(project, "", "--allow-missing")
    assert status == 1
    assert "other" in lines[-1]
    assert (project / "decoded").read_text() == "better\ngood\n"


OF_ALL = """
  train:
    matrix: {variant: "${variants}", seed: "${seeds}"}
    cmd: mkdir -p made && echo ${item.variant} | tee -a log > made/${item.variant}-${item.seed}
    outs: ["made/${item.variant}-${item.seed}"]
  report: {cmd: echo report >> log && ls made > report, deps: [made], outs: [report]}
"""


def test_one_variant_runs_with_those_it_starts_from_and_is_compared_with(run, project):
    write_pipeline(project, OF_ALL)
    variants = {"base": {}, "one": {"baseline": "base"}, "two": {}, "reader": {"baseline": "two"}}
    train = {"bitext": ["base", "one", "two"], "document": ["reader"], "document_start": "one"}
    (project / "params.yaml").write_text(yaml.safe_dump(PARAMETERS | {"variants": variants, "train": train}))
    status, lines = run(project, "", "--only", "none")
    assert status == 1
    assert all(name in lines[0] for name in variants)
    assert run(project, "", "--only", "one", "--only", "")[0] == 1
    assert not (project / "log").exists()
    assert rerun(run, project, "--only", "one") == ["base", "one", "report"]
    assert (project / "report").read_text() == "base-1\none-1\n"
    assert rerun(run, project, "--only", "one") == ["base", "one", "report"]  # nothing more
    write_json(project / "benchmarks/variants.json", SPEEDS)
    sizes = {"kind": "autoregressive", "parameters": 1, "flops_per_target_token": 1, "slots": {}}
    write_json(project / "metrics/models.json", dict.fromkeys(variants, sizes))
    write_flat(project / "metrics/scores/two/1.csv", {"test": {"sacrebleu": 30.0}})  # by no stage in dvc.lock
    _, lines = run(project, "", "--only", "one")
    assert [line.split()[1] for line in lines if "(out of date)" in line] == ["two"]  # the reader has not run
    for path in ("metrics/results.md", "reports/report.md", "reports/pages/discourse.md"):
        assert "out of date" in (project / path).read_text(), path
    ran = rerun(run, project, "--only", "one", "--only", "reader")
    assert ran == ["base", "one", "reader", "report", "report", "two"]


@pytest.mark.parametrize("link", [False, True], ids=["gone", "a link to nowhere"])
def test_a_corpus_that_went_away_is_named_before_anything_runs(run, project, link):
    for name in ("data/params.yaml", "src/dvc.yaml"):
        (project / name).parent.mkdir()
        (project / name).touch()
    if link:
        (project / "data/none").symlink_to(project / "unmounted")
    status, lines = run(project, ENDLESS)
    assert (status, lines[0].startswith("error: params.yaml: corpus.name: no folder data/none; ")) == (1, True), lines


@pytest.mark.parametrize("link", [False, True], ids=["gone", "a link to nowhere"])
def test_an_input_that_went_away_is_named(run, chained, link):
    (chained / "words").unlink()
    if link:
        (chained / "words").symlink_to(chained / "unmounted")
    status, lines = run(chained, "", *([ON_DEMAND] if link else []))
    assert status == 1
    assert any("words" in line for line in lines), lines
    assert not link or lines == [f"error: {chained / 'words'}: no such file or folder; is its disk mounted?"]


@pytest.mark.parametrize("job", [None, "1"], ids=["here", "in a job"])
def test_only_in_a_job_a_process_with_the_number_of_one_that_holds_a_lock_is_no_hindrance(project, job):
    """The lock can be that of a process on another node."""
    locks = {"write": {str(project / "first"): {"pid": os.getpid(), "cmd": "dvc repro"}}, "read": {}}
    write_json(project / ".dvc/tmp/rwlock", locks)
    command = [sys.executable, "-m", "context_nmt.pipeline.dvc", "repro", "--single-item", "first"]
    variables = environment(project) | {"CONTEXT_NMT_CHILD": "1"} | ({"SLURM_JOB_ID": job} if job else {})
    done = subprocess.run(command, cwd=project, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode == 0, (project / "first").exists()) == (job is not None, job is not None)
    assert job or "busy" in done.stderr


def test_a_lock_is_written_as_dvc_itself_writes_it(tmp_path):
    values = {
        "schema": "2.0",
        "stages": {
            "a@x": {
                "cmd": "python ../../stages train lexical_shortcuts_fusion 1",
                "params": {"p": {"no": None, "ü": 1e-05}},
            }
        },
    }
    values["stages"]["a@x"]["deps"] = [{"path": "x", "md5": "0123", "size": 7}, {"path": "y", "md5": "1e10"}, {}, []]
    written = []
    for modify in (modify_yaml, modify_quickly):
        path = tmp_path / modify.__name__ / "dvc.lock"
        path.parent.mkdir()
        dump_yaml(path, values)
        with modify(path) as found:
            found["stages"].update({"b": {"cmd": "true"}})
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert b"b:" in written[0]
