"""The project code that a module runs: the closure of its imports, hashed without comments and layout.

A stage depends on src/code/STAGE.json, which the code stage writes: the digests of all modules that the stage can
import, of the packages above them, and of the data files of these packages. The digests of modules that are loaded by
name are in src/code/loaded_by_name.json; a plan copies those that it needs. What only tells users something is left
out, since no result depends on it: the modules of PRESENTING, messages of `UserError` and `say`, and `help` of options.
"""

import ast
import hashlib
import importlib.util
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from context_nmt.files import UserError, read_json, replacing_folder, write_json

ROOT = Path(__file__).parents[2]  # of the project
LOADED_BY_NAME = (  # below src/context_nmt
    "corpus/chinese.py",
    "mechanisms/*.py",
    "models/kinds/*.py",
    "corpus/formats/*.py",
    "miniature/generation.py",
    "decoding/validation.py",
)
# Below src/context_nmt; tests/test_code_closure.py checks that they return nothing that results depend on.
PRESENTING = (
    "code_closure.py",
    "command_line.py",
    "progress.py",
    "training/reporting.py",
)
NAMED = "loaded_by_name.json"
DATA = (".yaml", ".css", ".j2")  # suffixes of package data

OLD = (
    "src/code/ is not up to date ({files}), so DVC cannot know what has changed; run"
    " `dvc repro src/dvc.yaml` in {root}, then the plan stage of the experiment, or use `make repro`, which does both"
)
Digests = dict[str, str]  # path from the project's root -> digest of its content


def write_code_files(root: Path) -> None:
    """Write src/code/STAGE.json for every file in stages/, and src/code/loaded_by_name.json."""
    with replacing_folder(root / "src/code") as folder:
        for name, digests in _code_files(root).items():
            write_json(folder / name, digests)


def old_code_files(root: Path) -> list[str]:
    """Return the files of src/code/ that are not up to date."""
    return [name for name, digests in _code_files(root).items() if read_json(root / "src/code" / name) != digests]


def _code_files(root: Path) -> dict[str, Digests]:
    """Return the expected files of src/code/; the stage that writes them has none."""
    files = {f"{stage}.json": stage_closure(root, stage) for stage in stages(root) if stage != "code"}
    package = root / "src/context_nmt"
    paths = [path for pattern in LOADED_BY_NAME for path in sorted(package.glob(pattern)) if path.stem != "__init__"]
    modules = (".".join(path.relative_to(root / "src").with_suffix("").parts) for path in paths)
    return files | {NAMED: {module: digest_of_module(module, root) for module in modules}}


def check_code(root: Path, stage: str, by_name: Digests) -> None:
    """Raise UserError unless src/code/STAGE.json and the digests of a plan match the current code."""
    old = [] if read_json(root / "src/code" / f"{stage}.json") == stage_closure(root, stage) else [f"{stage}.json"]
    old += [module for module, planned_digest in by_name.items() if planned_digest != digest_of_module(module, root)]
    if old:
        raise UserError(OLD.format(files=", ".join(old), root=root.resolve()))


def named_digest(root: Path, module: str) -> str:
    """Return the digest of a module that is loaded by name; raise UserError if it has none."""
    digests = read_json(root / "src/code" / NAMED)
    if not module.startswith("context_nmt."):
        return digest_of_module(module, root)
    if module not in digests:
        raise UserError(
            f"src/code/{NAMED} does not have {module}; run `dvc repro src/dvc.yaml` in {root.resolve()}. Other modules"
            " that are loaded by name have to be in LOADED_BY_NAME of context_nmt/code_closure.py"
        )
    digest: str = digests[module]
    return digest


def stages(root: Path) -> list[str]:
    """Return the names of the stages: the files of stages/."""
    return sorted(path.stem for path in (root / "stages").glob("*.py") if not path.stem.startswith("_"))


def stage_closure(root: Path, stage: str) -> Digests:
    """Return the closure of `python stages STAGE`."""
    return closure(root, root / "stages/__init__.py", root / "stages" / f"{stage}.py")


def closure(root: Path, *files: Path) -> Digests:
    """Return the digests of files, of all project modules that they import, and of the data of their packages."""
    digests = {f"src/context_nmt/{name}": "" for name in PRESENTING}
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        name = str(path.relative_to(root) if path.is_relative_to(root) else path.name)
        if name not in digests:
            digests[name] = _digest_of_file(path)
            waiting += _needed_by(root, path) if path.suffix == ".py" else ()
    return {name: digest for name, digest in sorted(digests.items()) if digest}


def digest_of_module(name: str, root: Path = ROOT) -> str:
    """Return a single digest of a module, given its `__name__`, and its imports."""
    digests = closure(root, _file_of(name, root))
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]


def _file_of(module: str, root: Path) -> Path:
    """Return the file of a module of the project, or of one in its folder or installed."""
    path = f"{module.replace('.', '/')}.py"
    for folder in (root / "src", root):
        if (folder / path).is_file():
            return folder / path
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise UserError(f"no module {module}; it must be installed, or in the project's folder")
    return Path(spec.origin)


def _needed_by(root: Path, path: Path) -> Iterator[Path]:
    """Yield the project files that a file imports, also inside functions, the packages around it, and their data.

    The data of a package are its files and those in its subfolders that are no packages.
    """
    for module in _imported_names(path):
        for folder in (root / "src", root):
            base = folder / Path(*module.split("."))
            yield from (file for file in (base / "__init__.py", base.with_suffix(".py")) if file.is_file())
    if path.is_relative_to(root / "src"):
        yield from (file for parent in path.parents if (file := parent / "__init__.py").is_file())
    if path.name == "__init__.py":
        folders = [one for one in path.parent.iterdir() if one.is_dir() and not (one / "__init__.py").exists()]
        files = [*path.parent.iterdir(), *(file for folder in folders for file in folder.rglob("*"))]
        yield from (file for file in files if file.suffix in DATA)


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
    return tuple(names)


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
    """Turn a syntax tree into lists and strings, without docstrings, messages and fields that are empty."""
    if isinstance(node, list):
        return [_canonical(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    match node:
        case ast.Constant():  # without the kind, which distinguishes u"" from ""
            fields = {"value": node.value}
        case (
            ast.Raise(exc=ast.Call(func=ast.Name("UserError")))
            | ast.Expr(value=ast.Call(func=ast.Name("say")))
            | ast.keyword(arg="help")  # of an argument of a command line
        ):
            fields = {}
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            if ast.get_docstring(node, clean=False) is not None:
                fields["body"] = node.body[1:]
    return [type(node).__name__, {name: _canonical(value) for name, value in sorted(fields.items())}]
