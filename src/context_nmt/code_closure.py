"""The project code that a module runs: the closure of its imports, hashed without comments and layout.

A stage depends on src/code/STAGE.json, which the code stage writes: the digests of all modules that the stage can
import, of the packages above them, and of the data files of these packages. The digests of modules that are loaded by
name are in src/code/loaded_by_name.json; a plan copies the ones that it needs. Code that only informs users is left
out, because no result depends on it: UNHASHED_MODULES, messages of `UserError` and `say`, and `help` of options.
"""

import ast
import hashlib
import importlib.util
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from context_nmt.files import UserError, read_json, replacing_folder, write_json

ROOT = Path(__file__).parents[2]  # the project's folder
LOADED_BY_NAME = (  # in src/context_nmt
    "corpus/chinese.py",
    "mechanisms/*.py",
    "models/kinds/*.py",
    "corpus/formats/*.py",
    "miniature/generation.py",
    "decoding/validation.py",
    "training/capturing.py",
)
# In src/context_nmt; tests/test_code_closure.py checks that they return nothing that results depend on.
UNHASHED_MODULES = (
    "code_closure.py",
    "command_line.py",
    "progress.py",
    "training/reporting.py",
)
LOADED_BY_NAME_FILE = "loaded_by_name.json"
DATA_SUFFIXES = (".yaml", ".csv", ".css", ".j2")

OUTDATED_MESSAGE = (
    "src/code/ is not up to date ({files}), so DVC cannot know what has changed; run"
    " `dvc repro src/dvc.yaml` in {root}, then the plan stage of the experiment, or use `make repro`, which does both"
)
Digests = dict[str, str]  # path from the project's root -> digest of its content


def write_code_files(root: Path) -> None:
    """Write src/code/STAGE.json for every file in stages/, and src/code/loaded_by_name.json."""
    with replacing_folder(root / "src/code") as folder:
        for name, digests in _code_files(root).items():
            write_json(folder / name, digests)


def outdated_code_files(root: Path) -> list[str]:
    """Return the files of src/code/ that are not up to date."""
    return [name for name, digests in _code_files(root).items() if read_json(root / "src/code" / name) != digests]


def _code_files(root: Path) -> dict[str, Digests]:
    """Return the expected content of src/code/; the code stage itself has no file."""
    files = {f"{stage}.json": stage_closure(root, stage) for stage in stages(root) if stage != "code"}
    package = root / "src/context_nmt"
    paths = [path for pattern in LOADED_BY_NAME for path in sorted(package.glob(pattern)) if path.stem != "__init__"]
    modules = (".".join(path.relative_to(root / "src").with_suffix("").parts) for path in paths)
    return files | {LOADED_BY_NAME_FILE: {module: digest_of_module(module, root) for module in modules}}


def check_code(root: Path, stage: str, by_name: Digests) -> None:
    """Raise UserError unless src/code/STAGE.json and a plan's digests match the current code."""
    outdated = [] if read_json(root / "src/code" / f"{stage}.json") == stage_closure(root, stage) else [f"{stage}.json"]
    outdated += [
        module for module, planned_digest in by_name.items() if planned_digest != digest_of_module(module, root)
    ]
    if outdated:
        raise UserError(OUTDATED_MESSAGE.format(files=", ".join(outdated), root=root.resolve()))


def named_digest(root: Path, module: str) -> str:
    """Return the digest of a module that is loaded by name; raise UserError if src/code/ does not list it."""
    digests = read_json(root / "src/code" / LOADED_BY_NAME_FILE)
    if not module.startswith("context_nmt."):
        return digest_of_module(module, root)
    if module not in digests:
        raise UserError(
            f"src/code/{LOADED_BY_NAME_FILE} does not have {module}; run `dvc repro src/dvc.yaml` in {root.resolve()}."
            " Other modules that are loaded by name must be listed in LOADED_BY_NAME of context_nmt/code_closure.py"
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
    digests = {f"src/context_nmt/{name}": "" for name in UNHASHED_MODULES}
    paths_to_visit = list(files)
    while paths_to_visit:
        path = paths_to_visit.pop()
        name = str(path.relative_to(root) if path.is_relative_to(root) else path.name)
        if name not in digests:
            digests[name] = _digest_of_file(path)
            paths_to_visit += _needed_by(root, path) if path.suffix == ".py" else ()
    return {name: digest for name, digest in sorted(digests.items()) if digest}


def digest_of_module(name: str, root: Path = ROOT) -> str:
    """Return a single digest of a module, given its `__name__`, and its imports."""
    digests = closure(root, module_file(name, root))
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]


def module_file(module: str, root: Path) -> Path:
    """Return the file of a module in src/, in the project's folder, or in an installed package."""
    path = f"{module.replace('.', '/')}.py"
    for folder in (root / "src", root):
        if (folder / path).is_file():
            return folder / path
    with suppress(ModuleNotFoundError):  # of a package that the module is in
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None:
            return Path(spec.origin)
    raise UserError(f"no module {module}; it must be installed, or in the project's folder")


@cache
def _needed_by(root: Path, path: Path) -> tuple[Path, ...]:
    """Return the project files that a file imports, also inside functions, the packages around it, and their data.

    A package's data are its own files and the files of its subfolders that are not packages.
    """
    bases = [folder / Path(*module.split(".")) for module in _imported_names(path) for folder in (root / "src", root)]
    modules = [file for base in bases for file in (base / "__init__.py", base.with_suffix(".py"))]
    if path.is_relative_to(root / "src"):
        modules += [parent / "__init__.py" for parent in path.parents]
    data = list[Path]()
    if path.name == "__init__.py":
        folders = [path for path in path.parent.iterdir() if path.is_dir() and not (path / "__init__.py").exists()]
        files = [*path.parent.iterdir(), *(file for folder in folders for file in folder.rglob("*"))]
        data = [file for file in files if file.suffix in DATA_SUFFIXES]
    return (*filter(Path.is_file, modules), *data)


@cache
def _imported_names(path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                raise UserError(f"{path}: line {node.lineno}: a relative import; write the full name")
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
    """Turn a syntax tree into lists and strings, without docstrings, messages and empty fields."""
    if isinstance(node, list):
        return [_canonical(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    match node:
        case ast.Constant():  # without its kind, which tells u"" from ""
            fields = {"value": node.value}
        case (
            ast.Raise(exc=ast.Call(func=ast.Name("UserError")))
            | ast.Expr(value=ast.Call(func=ast.Name("say")))
            | ast.keyword(arg="help")  # of an argument of a command line
        ):
            fields = {}
        case ast.JoinedStr(values=values):  # Python 3.12.1 has empty parts in some
            parts = [part for part in values if not (isinstance(part, ast.Constant) and part.value == "")]
            fields = {"values": parts} if parts else {}
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            if ast.get_docstring(node, clean=False) is not None:
                fields["body"] = node.body[1:]
    return [type(node).__name__, {name: _canonical(value) for name, value in sorted(fields.items())}]
