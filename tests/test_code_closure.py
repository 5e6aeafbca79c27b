"""The code of a stage: all modules that it can import, except for code on which no result depends."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from context_nmt.code_closure import (
    UNHASHED_MODULES,
    check_code,
    closure,
    named_digest,
    outdated_code_files,
    stage_closure,
    write_code_files,
)
from context_nmt.files import UserError

ROOT = Path(__file__).parents[1]
TOP = '''"""Top."""
from context_nmt.part import inner


def run(x):
    import context_nmt.late
'''
SAME = '''"""Other words."""
# why
from context_nmt.part import (
    inner
)
def run(x):
  """Run."""
  import context_nmt.late'''
FILES = {
    "src/context_nmt/__init__.py": "",
    "src/context_nmt/top.py": TOP,
    "src/context_nmt/late.py": "import os\n",
    "src/context_nmt/apart.py": "",
    "src/context_nmt/part/__init__.py": "",
    "src/context_nmt/part/inner.py": "VALUE = 1\n",
    "src/context_nmt/part/data.yaml": "a: 1\n",
    "src/context_nmt/part/README.md": "words\n",
    "src/context_nmt/part/pages/page.css": "<p>\n",
    "src/context_nmt/part/pages/rows.csv": "a\n",
    "src/context_nmt/part/deeper/__init__.py": "",
    "src/context_nmt/part/deeper/other.txt": "x\n",
    "stages/__init__.py": "",
    "stages/first.py": "from context_nmt.top import run\n",
    "stages/second.py": "import context_nmt.apart\n",
}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def noted(root):
    """The code files, as another process writes them."""
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"import pathlib, context_nmt.code_closure as c; c.write_code_files(pathlib.Path({str(root)!r}))",
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    return {path.stem: path.read_bytes() for path in (root / "src/code").iterdir()}


def test_a_closure_has_imports_of_functions_parents_and_data_of_packages(project):
    digests = closure(project, project / "stages/first.py")
    assert set(digests) == {
        "stages/first.py",
        *(
            f"src/context_nmt/{name}"
            for name in (
                *("__init__.py", "top.py", "late.py", "part/__init__.py", "part/inner.py"),
                *("part/data.yaml", "part/pages/page.css", "part/pages/rows.csv"),
            )
        ),
    }


@pytest.mark.parametrize(
    ("name", "text", "concerned"),
    [
        ("top.py", SAME, set()),
        ("part/README.md", "other words\n", set()),
        ("part/deeper/other.txt", "y\n", set()),
        ("late.py", "import sys\n", {"first"}),
        ("part/inner.py", "VALUE = 1.0\n", {"first"}),
        ("part/inner.py", 'VALUE = "1"\n', {"first"}),
        ("part/data.yaml", "a: 2\n", {"first"}),
        ("part/pages/page.css", "b {}\n", {"first"}),
        ("part/pages/rows.csv", "b\n", {"first"}),
        ("__init__.py", "x = 1\n", {"first", "second"}),
    ],
)
def test_a_change_is_noted_for_the_stages_whose_results_it_can_change(project, name, text, concerned):
    before = noted(project)
    (project / "src/context_nmt" / name).write_text(text)
    after = noted(project)
    assert {stage for stage in before if before[stage] != after[stage]} == concerned


COMPUTING = ("tokenize", "bpe", "train", "average", "decode", "distill")


@pytest.mark.parametrize(
    ("name", "old", "new", "concerned"),
    [
        ("src/context_nmt/progress.py", "so far", "until now", set()),
        ("src/context_nmt/training/reporting.py", "train loss", "loss", set()),
        ("src/context_nmt/command_line.py", "interrupted", "stopped", set()),
        ("src/context_nmt/models/averaging.py", "no checkpoints to average", "there are none", set()),
        ("stages/train.py", "Also write the curve for TensorBoard.", "Write a curve.", set()),
        ("stages/train.py", "device=device, distilled", 'device="cpu", distilled', {"train"}),
        ("src/context_nmt/training/trainer.py", "fp32 would be faster here", "slow", set()),
        ("src/context_nmt/models/averaging.py", "len(chosen)).to", "len(chosen) + 0).to", {"average"}),
        ("src/context_nmt/training/updating.py", "progress**-0.5)", "progress**-0.25)", {"train"}),
    ],
)
def test_messages_for_users_do_not_affect_computing_stages(tmp_path, name, old, new, concerned):
    path = ROOT / name
    changed = tmp_path / name
    changed.parent.mkdir(parents=True)
    assert old in path.read_text()
    changed.write_text(path.read_text().replace(old, new))
    is_other = closure(tmp_path, changed).get(name) != closure(ROOT, path).get(name)
    assert {stage for stage in COMPUTING if is_other and name in stage_closure(ROOT, stage)} == concerned


# What other modules import from UNHASHED_MODULES, and the types that they get from it.
PRESENTED = {
    "say": {"None"},
    "run": {"None"},
    "tracked": {"Iterator[Item]"},  # the items themselves
    "Progress": {"None", "Self"},
    "Reporter": {"None"},
    "Unfinished": set(),  # an error
    "capture_signals": {"Iterator[list[int]]"},  # signals
    "digest_of_module": {"str"},  # names a scratch folder
}


def test_nothing_that_computes_can_hide_among_the_modules_that_present():
    """They import only the standard library, rich, typer and files, and return no values that results depend on."""
    parsed = {name: ast.parse((ROOT / "src/context_nmt" / name).read_text()) for name in UNHASHED_MODULES}
    modules = {f"context_nmt.{name.removesuffix('.py').replace('/', '.')}": name for name in UNHASHED_MODULES}
    defined, taken = {}, set()
    for tree in parsed.values():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            allowed = {*sys.stdlib_module_names, "rich", "typer"}
            project_modules = {*modules, "context_nmt.files", "torch.utils.tensorboard"}
            assert all(name.split(".")[0] in allowed or name in project_modules for name in names)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                functions = [node] if isinstance(node, ast.FunctionDef) else node.body
                defined[node.name] = {
                    ast.unparse(function.returns)
                    for function in functions
                    if isinstance(function, ast.FunctionDef) and (function is node or not function.name.startswith("_"))
                }
    for path in {path for stage in COMPUTING for path in stage_closure(ROOT, stage) if path.endswith(".py")}:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in modules:
                taken |= {alias.name for alias in node.names}
    assert taken <= PRESENTED.keys()
    assert all(defined[name] <= PRESENTED[name] | {"None", "Self"} for name in taken)


def test_paths_of_results_do_not_affect_computing_stages():
    for stage in COMPUTING:
        assert "src/context_nmt/settings/layout.py" not in closure(ROOT, ROOT / f"stages/{stage}.py")


def test_outdated_code_files_and_plans_are_refused(project):
    mechanism, name = project / "src/context_nmt/mechanisms/one.py", "context_nmt.mechanisms.one"
    mechanism.parent.mkdir()
    mechanism.write_text("SLOTS = ()\n")
    write_code_files(project)
    check_code(project, "first", {name: named_digest(project, name)})
    with pytest.raises(UserError, match=r"context_nmt\.mechanisms\.one"):
        check_code(project, "first", {name: "of another code"})
    with pytest.raises(UserError, match=r"context_nmt\.top"):
        named_digest(project, "context_nmt.top")
    assert outdated_code_files(project) == []
    for file in ("first.json", "loaded_by_name.json"):
        (project / "src/code" / file).write_text("{}\n")
    assert outdated_code_files(project) == ["first.json", "loaded_by_name.json"]
    with pytest.raises(UserError, match=r"first\.json.*dvc repro src/dvc\.yaml"):
        check_code(project, "first", {})


def test_a_relative_import_is_refused(project):
    (project / "src/context_nmt/part/inner.py").write_text("from . import other\n")
    with pytest.raises(UserError, match=r"inner\.py: line 1: a relative import"):
        closure(project, project / "stages/first.py")


def test_the_committed_code_files_are_of_the_present_code():
    assert outdated_code_files(ROOT) == []


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_digests_are_the_same_on_every_python(version, tmp_path):
    """A lock file that one Python writes is up to date for another."""
    program = (
        "import json, pathlib, context_nmt.code_closure as c;"
        f"root = pathlib.Path({str(ROOT)!r});"
        "print(json.dumps({stage: c.stage_closure(root, stage) for stage in c.stages(root)}))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYENV_VERSION": "", "PYTHONDONTWRITEBYTECODE": "1"}
    outputs = {}
    for python in (f"python{version}", sys.executable):
        try:
            done = subprocess.run([python, "-c", program], env=environment, capture_output=True, text=True, check=True)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            if python == sys.executable or "No module named" in str(getattr(error, "stderr", "")):
                raise
            pytest.skip(f"no {python} here")
        outputs[python] = done.stdout
    assert len(set(outputs.values())) == 1
