"""Which project code a module runs: the closure of its imports, hashed so that comments and layout do not count.

A stage depends on src/code/STAGE.json, which the code stage writes: every module that the stage can import, with the
packages above it, and the data files of these packages. What is loaded by name is in src/code/loaded_by_name.json, from
which plans take what they choose.
"""

import ast
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from context_nmt.files import UserError, read_json, replacing_folder, write_json

ROOT = Path(__file__).parents[2]  # of the project
LOADED_BY_NAME = (  # below src/context_nmt
    "mechanisms/*.py",
    "models/kinds/*.py",
    "corpus/formats/*.py",
    "miniature/generation.py",
    "decoding/validation.py",
)
NAMED = "loaded_by_name.json"

Digests = dict[str, str]  # path from the project's root -> digest of what it does


def write_code_files(root: Path) -> None:
    """Write src/code/STAGE.json for every file in stages/, and src/code/loaded_by_name.json."""
    package = root / "src/context_nmt"
    named = [path for pattern in LOADED_BY_NAME for path in sorted(package.glob(pattern)) if path.stem != "__init__"]
    with replacing_folder(root / "src/code") as folder:
        for stage in stages_with_code_file(root):
            write_json(folder / f"{stage}.json", stage_closure(root, stage))
        write_json(folder / NAMED, {module_name(root, path): digest(closure(root, path)) for path in named})


def check_code_file(root: Path, stage: str) -> None:
    """Raise UserError unless src/code/STAGE.json is that of the code as it is now."""
    written = read_json(root / "src/code" / f"{stage}.json")
    if written == stage_closure(root, stage):
        return
    raise UserError(
        f"src/code/{stage}.json is not of the present code, so DVC cannot know what has changed; run"
        f" `dvc repro src/dvc.yaml` in {root.resolve()}, or use `context-nmt repro`, which does"
    )


def named_digest(root: Path, module: str) -> str:
    """The digest of a module that is loaded by name; raises UserError for one that has none."""
    digests = read_json(root / "src/code" / NAMED)
    if module not in digests:
        raise UserError(f"src/code/{NAMED} does not have {module}; run `dvc repro src/dvc.yaml` in {root.resolve()}")
    found: str = digests[module]
    return found


def stages(root: Path) -> list[str]:
    """The names of the stages: the files of stages/."""
    return sorted(path.stem for path in (root / "stages").glob("*.py") if not path.stem.startswith("_"))


def stages_with_code_file(root: Path) -> list[str]:
    """All stages but the one that writes these files."""
    return [name for name in stages(root) if name != "code"]


def stage_closure(root: Path, stage: str) -> Digests:
    """What `python stages STAGE` runs."""
    return closure(root, root / "stages/__init__.py", root / "stages" / f"{stage}.py")


def closure(root: Path, *files: Path) -> Digests:
    """The digests of these files, of all that they import of the project, and of the data of their packages."""
    found: Digests = {}
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        name = str(path.relative_to(root))
        if name in found:
            continue
        found[name] = _digest_of_file(path)
        if path.suffix == ".py":
            waiting += _packages_above(root, path)
            waiting += _imported(root, path)
            waiting += _package_data(path) if path.name == "__init__.py" else []
    return dict(sorted(found.items()))


def digest(digests: Digests) -> str:
    """One digest of many."""
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]


def digest_of_module(name: str) -> str:
    """The digest of the closure of a module of this project, given its `__name__`."""
    return digest(closure(ROOT, ROOT / "src" / f"{name.replace('.', '/')}.py"))


def module_name(root: Path, path: Path) -> str:
    """src/context_nmt/files.py -> context_nmt.files."""
    return ".".join(path.relative_to(root / "src").with_suffix("").parts)


def _imported(root: Path, path: Path) -> Iterator[Path]:
    """The project's files that importing a file, or running its functions, can import."""
    for module in _imported_names(path):
        place = root / "src" / Path(*module.split("."))
        yield from (file for file in (place / "__init__.py", place.with_suffix(".py")) if file.is_file())


def _packages_above(root: Path, path: Path) -> Iterator[Path]:
    """The __init__.py of each package that a file of src/ is in: importing it runs them."""
    if path.is_relative_to(root / "src"):
        yield from (file for parent in path.parents if (file := parent / "__init__.py").is_file())


@cache
def _imported_names(path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                raise UserError(f"{path}: line {node.lineno}: a relative import; write the whole name")
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in names if name.split(".")[0] == "context_nmt")


def _package_data(init: Path) -> Iterator[Path]:
    """All other files of a package, down to the packages in it; a README is about it, and no part of it."""
    for path in sorted(init.parent.iterdir()):
        if path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from (file for file in sorted(path.rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
        elif path.is_file() and path.suffix != ".py" and path.name != "README.md" and not path.name.startswith("."):
            yield path


@cache
def _digest_of_file(path: Path) -> str:
    content = json.dumps(_canonical(_parsed(path))).encode() if path.suffix == ".py" else path.read_bytes()
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise UserError(f"{path}: line {error.lineno}: {error.msg}") from None


def _canonical(node: object) -> object:
    """A syntax tree as lists and strings, without docstrings and empty fields, which differ between Pythons."""
    if isinstance(node, list):
        return [_canonical(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    if isinstance(node, ast.Constant):
        fields = {"value": node.value}  # without the kind, which says u"" for ""
    elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _documented(node):
        fields["body"] = node.body[1:]
    return [type(node).__name__, {name: _canonical(value) for name, value in sorted(fields.items())}]


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None
