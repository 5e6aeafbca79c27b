"""`python stages NAME`: which stages there are, and the command under `launch` that starts one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = sorted(path.stem for path in (ROOT / "stages").glob("*.py") if not path.stem.startswith("_"))


@pytest.fixture(scope="module")
def stages(warm):
    """Calls it as dvc.yaml does but for DVC's own variables; returns status, standard output and standard error."""

    def call(folder, *arguments, **environment):
        done = subprocess.run(
            ["python", str(ROOT / "stages"), *arguments],
            cwd=folder,
            env={"PATH": f"{Path(sys.executable).parent}:{os.defpath}"} | warm | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_all_stages_are_listed_with_what_they_do(stages, tmp_path, arguments):
    status, output, errors = stages(tmp_path, *arguments)
    assert (status, errors) == (0, "")
    listed = [line.split(maxsplit=1) for line in output.splitlines() if line.startswith("  ")]
    assert [name for name, _ in listed] == NAMES
    assert all(summary.endswith(".") for _, summary in listed)


def test_an_unknown_stage_is_told_the_nearest_one_and_all(stages, tmp_path):
    message = f"there are {', '.join(NAMES)}\n"
    assert stages(tmp_path, "tokenise") == (1, "", f"error: no stage 'tokenise'; did you mean tokenize? {message}")
    assert stages(tmp_path, "xyz") == (1, "", f"error: no stage 'xyz'; {message}")


def test_a_stage_runs_in_the_current_folder_and_knows_its_name(stages, tmp_path):
    assert stages(tmp_path, "tokenize") == (1, "", "error: metrics/plans/text.json: no such file\n")
    status, output, _ = stages(tmp_path, "tokenize", "--help")
    assert (status, output.split("\n")[0]) == (0, "Usage: python stages tokenize [OPTIONS]")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *(("train", "one"), ("decode", "two"), ("distill", "two"), ("rescore", "two")),
        *(("contrast", "two"), ("analyse", "two")),
    ],
)
def test_what_computes_is_started_by_the_command_that_params_yaml_has_for_it(stages, tmp_path, name, words):
    (tmp_path / "params.yaml").write_text("launch: {train: echo one python, decode: echo 'two' python}")
    assert stages(tmp_path, name, "plain", "1") == (0, f"{words} {sys.executable} -m stages._run {name} plain 1\n", "")


@pytest.mark.parametrize(
    ("plan", "arguments"),
    [
        ("teacher/training", ("distill", "teacher", "1")),
        ("teacher/training", ("rescore", "plain", "1", "teacher-1")),
        ("data.mine", ("download", "mine", "../../data/checksums.json")),
        ("text", ("tokenize",)),
    ],
)
def test_under_dvc_the_code_of_what_a_stage_reads_must_be_that_of_its_plan(stages, tmp_path, plan, arguments):
    path = tmp_path / f"metrics/plans/{plan}.json"
    path.parent.mkdir(parents=True)
    module = "context_nmt.mechanisms.multi_head_attention"
    path.write_text(json.dumps({"code": {module: "of another time"}}))
    status, _, errors = stages(tmp_path, *arguments, DVC_STAGE="any")
    assert status == 1
    assert module in errors


def test_tensorboard_is_an_option_of_the_training(stages, tmp_path):
    (tmp_path / "params.yaml").write_text("launch: {train: echo python, decode: echo python, tensorboard: true}")
    assert (
        stages(tmp_path, "train", "plain", "1")[1] == f"{sys.executable} -m stages._run train plain 1 --tensorboard\n"
    )
    assert stages(tmp_path, "decode", "plain", "1")[1] == f"{sys.executable} -m stages._run decode plain 1\n"


@pytest.mark.parametrize("parameters", [None, "root: .", "launch:", "launch: {decode: echo}"])
def test_without_a_command_it_is_python(stages, tmp_path, parameters):
    if parameters is not None:
        (tmp_path / "params.yaml").write_text(parameters)
    message = "error: metrics/plans/plain/training.json: no such file\n"
    assert stages(tmp_path, "train", "plain", "1") == (1, "", message)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ("{train: torchrum --nproc-per-node 2}", "launch: torchrum: no such command"),
        ("{train: }", "launch.train: "),
        (
            '{train: "env \'x python"}',
            'launch.train: command is "env \'x python"; it must be a command (No closing quotation)',
        ),
        ("{train: 3}", "launch.train: "),
        ("{", "not YAML ("),
    ],
)
def test_what_is_no_command_is_one_line(stages, tmp_path, launch, message):
    (tmp_path / "params.yaml").write_text(f"launch: {launch}")
    status, output, errors = stages(tmp_path, "train", "plain", "1")
    assert (status, output, errors.count("\n")) == (1, "", 1)
    assert errors.startswith(f"error: params.yaml: {message}")
    assert stages(tmp_path, "train", "--help")[0] == 0
