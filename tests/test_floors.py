"""A package imports only from lower floors, and training needs little more than PyTorch."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "src/context_nmt"
FLOORS = [  # from the lowest
    {"files", "command_line", "progress", "code_closure"},
    *({name} for name in ("settings", "corpus", "miniature", "transformer", "mechanisms", "models", "decoding")),
    *({name} for name in ("training", "measures", "results", "report", "explorer", "pipeline")),
    {"commands", "stages"},
    {"__main__"},
]
FLOOR = {package: number for number, packages in enumerate(FLOORS) for package in packages}

# Training and decoding run on a machine that has these, and not the rest.
BARE = {"torch", "numpy", "pydantic", "ruamel", "typer", "rich", "safetensors"}
REST = [
    *("compare_mt", "dvc", "jieba", "jinja2", "matplotlib", "nltk", "requests", "sacrebleu"),
    *("sacremoses", "scipy", "sentencepiece", "sklearn", "stop_words", "subword_nmt", "yaml"),
]
ON_A_BARE_MACHINE = [
    *("corpus/text_chain.py", "mechanisms/*.py", "models/kinds/*.py", "training/*.py", "decoding/*.py"),
    *("measures/contrastive.py", "measures/given_translations.py", "pipeline/entry.py"),
]
STAGES_ON_A_BARE_MACHINE = [f"stages.{name}" for name in ("train", "average", "decode", "contrast")]
STAGES_WITHOUT_TORCH = [
    f"stages.{name}" for name in ("tokenize", "bpe", "download", "pair", "significance", "report", "focus", "code")
]
COMMANDS_WITHOUT_TORCH = {  # by module
    "systems": ["score", "compare"],
    "corpus": ["describe", "sample", "download", "status"],
    "experiments": ["new", "repro"],
}

FILES = {path: path.relative_to(LIBRARY) for path in sorted(LIBRARY.rglob("*.py")) if path != LIBRARY / "__init__.py"}
FILES |= {path: path.relative_to(ROOT) for path in sorted((ROOT / "stages").glob("*.py"))}


def imports(path):
    """The modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def packages(path):
    """The packages of this project that a file imports."""
    for module in imports(path):
        first, *rest = module.split(".")
        if first == "stages" or (first == "context_nmt" and rest):
            yield rest[0] if first == "context_nmt" else first


def package_of(name):
    return name.parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=[str(name) for name in FILES.values()])
def test_a_file_imports_from_lower_floors_only(path):
    own = package_of(FILES[path])
    assert own in FLOOR, f"{own} has no floor in tests/test_floors.py"
    for package in packages(path):
        same = package == own or FLOOR[package] == FLOOR[own] == 0
        assert same or FLOOR[package] < FLOOR[own], f"{own} imports {package}"


def test_a_stage_calls_the_library_and_no_other_stage():
    paths = [path for path, name in FILES.items() if package_of(name) == "stages"]
    modules = {f"stages.{path.stem}" for path in paths if path.stem != "__init__"}
    assert len(modules) > 10
    assert not modules & {module for path in paths for module in imports(path)}


def test_no_two_modules_import_each_other():
    """Inside packages, too, whatever the way round; packages themselves are empty."""
    paths = sorted(LIBRARY.rglob("*.py"))
    modules = {name: path for path in paths for name in modules_of(str(path.relative_to(LIBRARY)))}
    graph = {name: {module for module in imports(path) if module in modules} for name, path in modules.items()}
    assert set(TopologicalSorter(graph).static_order()) == set(modules)  # raises CycleError


@pytest.mark.parametrize("path", [path for path, name in FILES.items() if package_of(name) == "mechanisms"])
def test_mechanisms_do_not_import_each_other(path):
    """A mechanism is one file: a change of another one changes no plan that does not name it."""
    assert "mechanisms" not in set(packages(path))


@pytest.mark.parametrize("path", [path for path, name in FILES.items() if package_of(name) in ("commands", "stages")])
def test_command_lines_import_the_library_and_typer(path):
    assert {name.split(".")[0] for name in imports(path)} <= {
        *sys.stdlib_module_names,
        "context_nmt",
        "stages",
        "typer",
    }


def modules_of(*patterns):
    """The names of modules."""
    paths = [path for pattern in patterns for path in sorted(LIBRARY.glob(pattern)) if path.stem != "__init__"]
    return [".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts) for path in paths]


def import_without(blocked, modules):
    """Import modules in a process of its own, where others cannot be found."""
    program = f"""
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(blocked)!r}:
            raise ModuleNotFoundError(f"no {{name}} on this machine")

sys.meta_path.insert(0, Blocked())
for module in {modules!r}:
    importlib.import_module(module)
"""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("blocked", "modules"),
    [
        (REST, [*modules_of(*ON_A_BARE_MACHINE), *STAGES_ON_A_BARE_MACHINE]),
        (["torch", "safetensors"], [*modules_of("corpus/**/*.py"), *STAGES_WITHOUT_TORCH]),
        ([*REST, *BARE - {"typer"}], ["context_nmt.commands"]),
    ],
    ids=["bare machine", "without torch", "typer alone"],
)
def test_stages_and_commands_start_with_few_libraries(blocked, modules):
    done = import_without(blocked, modules)
    assert done.returncode == 0, done.stderr


def test_commands_that_need_no_model_run_without_torch():
    """What they import when they are called."""
    found = set()
    for name, commands in COMMANDS_WITHOUT_TORCH.items():
        parts = ast.parse((LIBRARY / f"commands/{name}.py").read_text(encoding="utf-8")).body
        functions = [part for part in parts if isinstance(part, ast.FunctionDef) and part.name in commands]
        assert len(functions) == len(commands)
        found |= {one.module for function in functions for one in ast.walk(function) if isinstance(one, ast.ImportFrom)}
    assert len(found) > len(COMMANDS_WITHOUT_TORCH)
    done = import_without(["torch"], sorted(found))
    assert done.returncode == 0, done.stderr


def test_what_is_blocked_is_missed():
    """The tests above would see an import."""
    done = import_without(["typer"], ["context_nmt.commands"])
    assert "no typer on this machine" in done.stderr


def test_features_are_shown_by_tests_that_exist():
    """features.yaml lists what the product does; a feature that goes, or a test, is taken out of it on purpose."""
    areas = yaml.safe_load((ROOT / "tests/features.yaml").read_text(encoding="utf-8"))
    named = {test for rows in areas.values() for row in rows for test in row.get("shown_by", [])}
    tests = {
        f"tests/{path.name}::{node.name}"
        for path in (ROOT / "tests").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert len(named) > 500
    assert {test for test in named if "::" in test} <= tests
