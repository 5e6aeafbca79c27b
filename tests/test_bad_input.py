"""Input errors on the command line: a one-line message, status 1, and no output.

Wrong text files are in test_text_bad_input.py, wrong downloads in test_download.py.
"""

import hashlib
import importlib
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from project_root import make_root

from context_nmt import command_line
from context_nmt.__main__ import main
from context_nmt.models import checkpoints

ROOT = Path(__file__).parents[1]

TOY = """\
root: .
launch: {train: python, decode: python}
corpus: {name: toy, source: xx, target: yy, train: train, validation: valid, tests: [valid]}
text: {}
units: {kind: bpe, joint: true, merges: 20}
model: {width: 32, feed_forward_width: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.1}
training: {batch_tokens: 512, maximum_updates: 4, schedule: {kind: cosine, warmup: 2}, validate_every: 2, keep_last: 2}
averaging: {count: 2}
decoding: {beam: 2}
significance: {resamples: 20, minimum_ceiling: 0}
variants: {plain: {}, other: {baseline: plain}}
train: {bitext: [plain, other]}
seeds: [1]
focus: plain
"""
RUN_STAGES = ("train", "average", "decode", "analyse")
VARIANT_STAGES = ("significance",)
VARIANTS = ("plain", "other")
SCORE = ("--hypothesis", "runs/decoded/plain-1/valid.subwords.txt", "--reference", "data/toy/valid.yy")
COMPARE = ("--system", "data/toy/valid.xx", "--baseline", "data/toy/valid.yy", "--reference", "data/toy/valid.yy")
STAGES = [  # all, in order
    *(("plan",), ("tokenize",), ("bpe",)),
    *((name, variant, "1") for name in RUN_STAGES for variant in VARIANTS),
    *(("pair",), *((name, variant) for name in VARIANT_STAGES for variant in VARIANTS)),
    *(("describe",), ("report",), ("focus",)),
    ("score", *SCORE, "--output", "scores.json"),
    ("compare", *COMPARE, "--resamples", "20", "--output", "comparison.json"),
]
COMMANDS = ("score", "compare", "translate", "new")  # of `context-nmt`; all others are stages
RUN = "runs/models/plain-1"
CHECKPOINT = "runs/training/plain-1/checkpoint-00000004.safetensors"


def call(name, *arguments):
    is_command = name in COMMANDS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [*(["context-nmt"] if is_command else []), name, *arguments])
        if is_command:
            main()
        else:
            command_line.run(importlib.import_module(f"stages.{name}").main)


@pytest.fixture
def stage(monkeypatch, capsys):
    """Runs a stage or a command of `context-nmt` in a folder; returns its status and its lines on standard error."""

    def run(folder, name, *arguments):
        capsys.readouterr()
        monkeypatch.chdir(folder)
        with pytest.raises(SystemExit) as system_exit:
            call(name, *arguments)
        return system_exit.value.code, capsys.readouterr().err.splitlines()

    return run


@pytest.fixture
def type_in(monkeypatch):
    """Puts bytes on standard input."""
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A toy project after all its stages; tests work in copies."""
    folder = tmp_path_factory.mktemp("finished")
    make_root(folder)
    (folder / "data/toy").mkdir()
    (folder / "params.yaml").write_text(TOY)
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks/variants.json").write_text('{"hardware": "none", "size": "none", "variants": {}}')
    for split, count in (("train", 200), ("valid", 20)):
        lines = [f"balo {number % 7} tak fenu {number % 5} ." for number in range(count)]
        (folder / f"data/toy/{split}.xx").write_text("\n".join(lines) + "\n")
        (folder / f"data/toy/{split}.yy").write_text("\n".join(line[::-1] for line in lines) + "\n")
    (folder / "data/toy/valid.documents").write_text("0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, *arguments in STAGES:
            with pytest.raises(SystemExit) as system_exit:
                call(name, *arguments)
            assert system_exit.value.code == 0, name
    return folder


@pytest.fixture
def project(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "project"))


def contents(folder):
    """All files, also hidden ones, with their hashes; the state from which a training resumes may change."""
    paths = [path for path in folder.rglob("*") if path.is_file() and "scratch" not in path.parts]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture
def refuses(stage):
    """Checks that a stage ends with status 1 and one line that contains the message, and does not change any file."""

    def check(folder, message, name, *arguments):
        before = contents(folder)
        status, lines = stage(folder, name, *arguments)
        assert (status, len(lines)) == (1, 1), lines
        assert lines[0].startswith("error: ")
        assert message in lines[0]
        assert len(lines[0]) < 300
        assert contents(folder) == before

    return check


OWN_MECHANISM = """\
from dataclasses import dataclass
from context_nmt.settings import Checked
from context_nmt.transformer.attention import MultiHeadAttention
SLOTS = ("cross_attention",)
@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    scale: float = 1.0
class Scaled(MultiHeadAttention):
    def forward(self, queries, context):
        return self.scale * super().forward(queries, context)
def build(settings, place):
    attention = Scaled(width=place.width, heads=place.heads, bias=place.bias, dropout=0.0)
    attention.scale = settings.scale
    return attention
"""


@pytest.fixture
def own_mechanism(project, monkeypatch):
    """Writes the module `ideas.own` of a project, in which the variant `own` uses it."""
    slots = "{cross_attention: {mechanism: ideas.own, scale: 0.5}}"
    variants = TOY.replace("other: {baseline: plain}", f"other: {{baseline: plain}}, own: {{slots: {slots}}}")
    (project / "params.yaml").write_text(variants.replace("[plain, other]", "[plain, other, own]"))
    (project / "ideas").mkdir()
    monkeypatch.syspath_prepend(project)

    def write(text):
        for name in ("ideas.own", "ideas"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        (project / "ideas/own.py").write_text(text)
        return project

    return write


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the module ideas.own is not a mechanism; it has no SLOTS, Settings, build"),
        (OWN_MECHANISM.replace("def build", "def make"), "ideas.own is not a mechanism; it has no build"),
        (OWN_MECHANISM.replace('("cross_attention",)', '("cross_attention")'), "SLOTS must be a tuple of slots"),
        (OWN_MECHANISM.replace("@dataclass", "# @dataclass").replace("(Checked)", ""), "Settings a dataclass"),
        (OWN_MECHANISM.replace("cross_", "encoder_self_"), "ideas.own does not fit this slot; it accepts encoder_s"),
        (OWN_MECHANISM.replace("scale:", "scales:"), "own.slots.cross_attention.scale: unknown key; did you mean 'sc"),
        (OWN_MECHANISM + "1 / 0\n", "the module ideas.own cannot be imported, line 15 (ZeroDivisionError: division"),
        (OWN_MECHANISM + "import nowhere\n", "imported, line 15 (ModuleNotFoundError: No module named 'nowhere')"),
        (
            OWN_MECHANISM + "def",
            "ideas.own cannot be imported (SyntaxError: invalid syntax (own.py, line 15",
        ),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_a_module_that_is_no_mechanism(own_mechanism, stage, text, message):
    project = own_mechanism(text)
    status, lines = stage(project, "plan")
    assert (status, len(lines)) == (1, 1), lines
    assert lines[0].startswith("error: params.yaml: variants.own.slots.cross_attention.")
    assert message in lines[0]


def test_a_vocabulary_of_another_size(project, refuses, type_in):
    for folder in ("runs/binarized/training", f"{RUN}/text"):
        for language in ("xx", "yy"):
            with (project / folder / f"vocabulary.{language}.txt").open("a") as vocabulary:
                vocabulary.write("more\n")
    message = "was trained with vocabularies of "
    refuses(project, f"{RUN}/model.safetensors: {message}", "decode", "plain", "1")
    refuses(project, f"runs/training/plain-1: {message}", "average", "plain", "1")
    type_in(b"balo\n")
    refuses(project, f"{RUN}/model.safetensors: {message}", "translate", RUN)


def test_a_vocabulary_of_the_same_size(project, refuses):
    name = "runs/binarized/training/vocabulary.xx.txt"
    lines = (project / name).read_text().split("\n")
    (project / name).write_text("\n".join([*lines[:5], "other", *lines[6:]]))
    message = f"{name}: differs from the vocabulary that the model was trained with"
    refuses(project, message, "decode", "plain", "1")


def header_size(content):
    return 8 + int.from_bytes(content[:8], "little")


def saved_by_torch():
    written = io.BytesIO()
    torch.save({"weight": torch.zeros(2)}, written)
    return written.getvalue()


BROKEN = {
    "empty": lambda content: b"",
    "cut in the header": lambda content: content[: header_size(content) // 2],
    "cut in the weights": lambda content: content[: (header_size(content) + len(content)) // 2],
    "one byte long": lambda content: content + b"x",
    "text": lambda content: b"not a checkpoint\n" * 100,
    "zip of torch": lambda content: saved_by_torch(),
}


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_checkpoint(project, refuses, type_in, way):
    path = project / RUN / "model.safetensors"
    path.write_bytes(BROKEN[way](path.read_bytes()))
    message = f"{RUN}/model.safetensors: not a checkpoint of this program, or truncated ("
    refuses(project, message, "decode", "plain", "1")
    type_in(b"balo\n")
    refuses(project, message, "translate", RUN)
    (project / CHECKPOINT).write_bytes(BROKEN[way]((project / CHECKPOINT).read_bytes()))
    refuses(project, f"{CHECKPOINT}: not a checkpoint of this program, or truncated (", "average", "plain", "1")


@pytest.mark.parametrize(
    ("name", "command", "another", "keys", "incomplete"),
    [
        (
            f"{RUN}/model.safetensors",
            "decode",
            "weights of another model; ",
            ["plan"],
            "not the model of a run (",
        ),
        (
            CHECKPOINT,
            "average",
            "its model differs from the model in ",
            ["plan", "vocabulary"],
            "not a checkpoint of a",
        ),
    ],
)
def test_a_checkpoint_is_not_a_model_and_another_model_is_named(
    project, refuses, name, command, another, keys, incomplete
):
    weights, metadata = checkpoints.load(project / name)
    checkpoints.save(project / name, {f"other.{key}": value for key, value in weights.items()}, metadata)
    refuses(project, f"{name}: {another}", command, "plain", "1")
    checkpoints.save(project / name, weights, {key: metadata[key] for key in keys})
    refuses(project, f"{name}: {incomplete}", command, "plain", "1")


@contextmanager
def files_of_at_most(size):
    """Limit all files to `size` bytes, which has the effect of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    sys.dont_write_bytecode = True  # otherwise, a module that is imported now would get a broken .pyc file
    try:
        yield
    finally:
        sys.dont_write_bytecode = False
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "command", [command for command in STAGES if command[1:2] != ("plain",)], ids=lambda command: command[0]
)
def test_a_full_disk(project, stage, command):
    before = contents(project)
    with files_of_at_most(40):
        status, lines = stage(project, *command)
    assert status == 1
    assert lines[-1].startswith("error: ")
    assert "cannot be written (" in lines[-1]
    assert "File too large" in lines[-1]
    if command[0] not in ("train", "decode"):  # these report progress
        assert all(line.startswith("note: ") for line in lines[:-1])
    after = contents(project)
    if command[0] == "train":  # it first removes the checkpoints of an earlier training
        assert after.items() <= before.items()
    else:
        assert after == before


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_a_disk_that_is_full_within_a_checkpoint(project, stage, size):
    with files_of_at_most(size):
        status, lines = stage(project, "train", "plain", "1")
    assert (status, lines[-1].startswith("error: ")) == (1, True)
    assert "File too large" in lines[-1]
    assert not list(project.rglob(".*.partial"))
    for path in (project / "runs").rglob("*.safetensors"):
        assert path.stat().st_size > size


def last_line(folder, *words, **options):
    """The status of a new process and its last line on standard error."""
    result = subprocess.run(
        [sys.executable, *words], cwd=folder, stderr=subprocess.PIPE, text=True, check=False, **options
    )
    return result.returncode, result.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output(project, unbuffered):
    variables = environment() | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        options = {"env": variables, "input": "balo\n", "stdout": full}
        result = last_line(project, "-m", "context_nmt", "translate", RUN, **options)
    assert result == (1, "error: output: No space left on device")


def environment():
    return os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}


LONG_STAGES = {  # a stage, the inputs that are enlarged, and a file that exists while it works
    ("tokenize",): ("data/toy/train.xx", "data/toy/train.yy", "runs/.tokenized.*.partial/*"),
    ("bpe",): ("runs/tokenized/train.xx", "runs/tokenized/train.yy", "runs/.subwords.*.partial/*"),
    ("train", "plain", "1"): (None, None, "metrics/curves/plain-1.csv"),
}


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("command", LONG_STAGES, ids=lambda command: command[0])
def test_ctrl_c(project, command):
    *inputs, sign = LONG_STAGES[command]
    for name in filter(None, inputs):
        path = project / name
        lines = path.read_text().split("\n")[:-1] * 500
        path.write_text("".join(f"{line} {number}\n" for number, line in enumerate(lines)))
    (project / "metrics/curves/plain-1.csv").unlink()
    plan = project / "metrics/plans/plain/training.json"
    plan.write_text(plan.read_text().replace('"maximum_updates": 4', '"maximum_updates": 100000'))
    before = contents(project)
    with subprocess.Popen(
        [sys.executable, "-m", "stages._run", *command],
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while not list(project.glob(sign)):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # like a terminal, to all processes of the group
        lines = process.communicate(timeout=60)[1].splitlines()
    assert (process.returncode, lines[-1]) == (130, "interrupted")
    assert not [line for line in lines if "Traceback" in line or line.startswith("  File")]
    assert not list(project.rglob(".*.partial"))
    if command[0] != "train":
        assert (lines, contents(project)) == (["interrupted"], before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_a_stage_is_loaded(tmp_path):
    (tmp_path / "pydantic.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    variables = environment() | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "stages._run", "describe"]
    result = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (130, "interrupted\n")


TOOLS = [
    (
        ("score", *SCORE, "--language", "jp", "--output", "x"),
        "--language: 'jp' is the code of a country; write ja, that of its language",
    ),
    (("score", *SCORE[:2], "--reference", "data/toy/train.yy", "--output", "x"), "200 lines"),
    (("translate", "runs/models/none"), "runs/models/none: no trained run (model.safetensors); runs are named"),
    (("translate", "runs/models"), "(model.safetensors); name one of those in it: other-1, plain-1"),
    (("decode", "plain", "7"), "VARIANT-SEED, such as plain-1"),
    (("significance", "none"), "no system 'none' in runs/pairs; there are other, plain. The pair stage writes them"),
]


@pytest.mark.parametrize(("arguments", "message"), TOOLS, ids=lambda value: str(value)[:40])
def test_wrong_arguments(project, refuses, arguments, message):
    refuses(project, message, *arguments)


def test_score_notes_likely_mistakes(project, stage):
    (project / "out").write_text("A b c .\n" * 150)
    score = ("score", "--hypothesis", "out", "--reference", "out", "--output", "x")
    hint = "note: out: 150 of 150 lines end in ' .'; if it is tokenized, use --tokenized"
    assert stage(project, *score) == (0, [hint])
    assert stage(project, *score, "--tokenized") == (0, [])
    unknown = "note: Moses has no rules for the language 'qq'; English ones are used"
    assert stage(project, *score, "--language", "qq") == (0, [unknown, hint])


def test_translate_notes_a_long_line(project, stage, type_in):
    type_in(b"balo\n" + b"balo " * 1200 + b"\n")
    plan = project / "metrics/plans/plain/decoding.json"
    (project / RUN / "decoding.json").write_text(
        plan.read_text().replace('"maximum_length_ratio": 1.5', '"maximum_length_ratio": 0.001')
    )
    status, lines = stage(project, "translate", RUN)
    assert status == 0
    assert lines[0].startswith("note: line 2 has ")
