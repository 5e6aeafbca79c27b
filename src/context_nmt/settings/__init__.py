"""Every key of a params.yaml, with its default and allowed values, in one module for each group of stages.

`check` builds typed settings from YAML and JSON values; its errors name the key, the value and the allowed values.
"""

import dataclasses
import difflib
import functools
import json
import types
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import pydantic
from pydantic import Field

from context_nmt.files import UserError, read_json

Settings = TypeVar("Settings")
# Making an adapter takes a millisecond, and a contrastive set has many lines.
TYPE_ADAPTER: Any = functools.cache(pydantic.TypeAdapter)
# A message lists all names if there are at most MOST_LISTED, otherwise the MOST_SUGGESTED nearest ones.
MOST_LISTED, MOST_SUGGESTED = 8, 3

PositiveInteger = Annotated[int, Field(ge=1)]
NonNegativeInteger = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
PositiveNumber = Annotated[float, Field(gt=0)]
NonNegativeNumber = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
ShareBelowOne = Annotated[float, Field(ge=0, lt=1)]  # for dropout, for example


class Checked:
    """Base class of all settings: `check` refuses unknown keys, NaN and infinity."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message) unless the condition holds; `check` adds the path of the key."""
    if not condition:
        raise ValueError(message)


def require_distinct(key: str, values: Sequence[Any]) -> None:
    """Raise ValueError if `values` contains a value twice."""
    require(len(set(values)) == len(values), f"{key} is {list(values)}; each may be listed only once")


def read_plan(kind: type[Settings], path: Path) -> Settings:
    """Read settings from a JSON file of the plan stage; raise UserError for a wrong key or value."""
    values = read_json(path)
    try:
        return check(kind, values, where="")
    except UserError as error:
        raise UserError(f"{path}: {error}; run the plan stage again") from None


def check(kind: type[Settings], values: Any, *, where: str, key: str = "") -> Settings:
    """Build settings from the plain values under `key` of a file; raise UserError with the path of a wrong key."""
    try:
        return TYPE_ADAPTER(kind).validate_json(json.dumps(values), strict=True)
    except pydantic.ValidationError as failure:
        # report a misspelt key before the key that is missing because of it
        error = min(failure.errors(), key=lambda error: error["type"] != "unexpected_keyword_argument")
        path = ".".join([*filter(None, [key]), *(str(name) for name in error["loc"] if name != "[key]")])
        raise UserError(": ".join(filter(None, [where, path, _explain(error, kind)]))) from None
    except ValueError as error:  # YAML has circular aliases
        raise UserError(": ".join(filter(None, [where, key, str(error)]))) from None
    except TypeError:  # dates, sets and binary data, which JSON does not have
        raise UserError(f"{where}: {_not_json(values, [key] if key else [])}") from None


def _not_json(value: Any, path: list[str]) -> str | None:
    """Return a message about the first value that JSON does not have, with its key; None if there is none."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        messages = (_not_json(key, path) or _not_json(item, [*path, str(key)]) for key, item in inner)
        return next(filter(None, messages), None)
    if isinstance(value, str | int | float | None):
        return None
    return f"{'.'.join(path) or 'a key'}: is a {type(value).__name__}, {value}; if it is text, put it into quotes"


def _explain(error: Any, kind: type) -> str:
    if error["type"] == "unexpected_keyword_argument":
        *parents, key = error["loc"]
        return unknown_key(key, _known_keys(kind, parents))
    if error["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return "this key is required"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{error['msg'][0].lower()}{error['msg'][1:]}, not {error['input']!r}"


def some_names(name: Any, allowed: Collection[str]) -> str:
    """List allowed names for a message about a wrong name; if there are many, only the most similar ones."""
    if len(allowed) <= MOST_LISTED:
        return ", ".join(allowed)
    nearest = difflib.get_close_matches(str(name), allowed, n=MOST_SUGGESTED, cutoff=0.0)
    return f"{', '.join(nearest)} and {len(allowed) - MOST_SUGGESTED} others"


def unknown_key(key: Any, known_keys: list[str]) -> str:
    """Return the message about an unknown key, with the most similar known key and all known keys."""
    nearest = difflib.get_close_matches(str(key), known_keys, n=1)
    suggestion = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"unknown key{suggestion} (known: {', '.join(known_keys)})"


def _known_keys(kind: Any, path: list[Any]) -> list[str]:
    """Return the keys of the settings at `path` inside `kind`; the path may pass through dicts, tuples and unions."""
    for step in path:
        if dataclasses.is_dataclass(kind):
            kind = {field.name: field.type for field in dataclasses.fields(kind)}[step]
        else:
            kind = _last_argument(kind)
        if isinstance(kind, types.UnionType):
            kind = _last_argument(kind)
    return [field.name for field in dataclasses.fields(kind)]


def _last_argument(kind: Any) -> Any:
    return [argument for argument in kind.__args__ if argument not in (..., types.NoneType)][-1]
