"""Checks values of YAML and JSON against typed settings; an error names the key, what was given and what is allowed."""

import dataclasses
import difflib
import functools
import json
from pathlib import Path
from typing import Any, TypeVar

import pydantic
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from context_nmt.files import UserError, read_json

Settings = TypeVar("Settings")


def read_yaml(path: Path) -> Any:
    """Read one YAML file as DVC does; raises UserError for a missing or malformed one and for a duplicate key."""
    try:
        return YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: is a folder, not a file") from None
    except MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}: not YAML ({error.problem}{line})") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not YAML ({' '.join(str(error).split())})") from None


def read_plan(kind: type[Settings], path: Path) -> Settings:
    """Read settings from a JSON file of the plan stage; raises UserError."""
    return check(kind, read_json(path), where=str(path))


def check(kind: type[Settings], values: Any, *, where: str, key: str = "") -> Settings:
    """Build settings of a dataclass type from the plain values under `key` of a file.

    Raises UserError, one line: `where`, the path of the first wrong key, what was given and what is allowed.
    """
    try:
        return _adapter(kind).validate_json(json.dumps(values), strict=True)  # type: ignore[arg-type]
    except pydantic.ValidationError as failure:
        # a misspelt key comes before the one that is then missing
        error = min(failure.errors(), key=lambda error: error["type"] != "unexpected_keyword_argument")
        path = ".".join([*filter(None, [key]), *(str(part) for part in error["loc"] if part != "[key]")])
        raise UserError(": ".join(filter(None, [where, path, _explain(error, kind)]))) from None
    except (TypeError, ValueError) as error:  # YAML has dates, sets and circles of aliases, JSON does not
        raise UserError(": ".join(filter(None, [where, key, str(error)]))) from None


@functools.cache  # building one takes a millisecond, and a contrastive set has many lines
def _adapter(kind: Any) -> Any:
    return pydantic.TypeAdapter(kind)


def _explain(error: Any, kind: type) -> str:
    if error["type"] == "unexpected_keyword_argument":
        *parents, key = error["loc"]
        return unknown_key(key, _known_keys(kind, parents))
    if error["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return "this key is required"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{error['msg'][0].lower()}{error['msg'][1:]}, not {error['input']!r}"


def unknown_key(key: Any, known: list[str]) -> str:
    """Say that a key is unknown, with the most similar known one and all known ones."""
    nearest = difflib.get_close_matches(str(key), known, n=1)
    return "unknown key" + (f"; did you mean {nearest[0]!r}?" if nearest else "") + f" (known: {', '.join(known)})"


def _known_keys(kind: Any, path: list[Any]) -> list[str]:
    """Return the keys of the settings at `path` below `kind`; a path also goes through dicts and tuples."""
    for part in path:
        if dataclasses.is_dataclass(kind):
            kind = {field.name: field.type for field in dataclasses.fields(kind)}[part]
        else:
            kind = [argument for argument in kind.__args__ if argument is not ...][-1]
    return [field.name for field in dataclasses.fields(kind)]
