"""Every key of a params.yaml, with its default and its allowed values, in a module for each group of stages.

`check` compares YAML and JSON values with typed settings; its errors name the key, the value and the allowed values.
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
ADAPTER: Any = functools.cache(pydantic.TypeAdapter)  # one takes a millisecond, and a contrastive set has many lines
FEW, NEAREST = 8, 3  # names that a message lists: all of a few, of more the nearest

PositiveInteger = Annotated[int, Field(ge=1)]
NonNegativeInteger = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
PositiveNumber = Annotated[float, Field(gt=0)]
NonNegativeNumber = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
ShareBelowOne = Annotated[float, Field(ge=0, lt=1)]  # for dropout, for example


class Checked:
    """Base of all settings: unknown keys, NaN and infinity are refused, see `check`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message) unless the condition holds; `check` adds the path of the key."""
    if not condition:
        raise ValueError(message)


def require_distinct(key: str, values: Sequence[Any]) -> None:
    """Raise ValueError if a list contains a value twice."""
    require(len(set(values)) == len(values), f"{key} is {list(values)}; each may be listed only once")


def read_plan(kind: type[Settings], path: Path) -> Settings:
    """Read settings from a JSON file of the plan stage; raise UserError for wrong ones."""
    values = read_json(path)
    try:
        return check(kind, values, where="")
    except UserError as error:
        raise UserError(f"{path}: {error}; run the plan stage again") from None


def check(kind: type[Settings], values: Any, *, where: str, key: str = "") -> Settings:
    """Build settings from the plain values under `key` of a file; raise UserError with the path of a wrong key."""
    try:
        return ADAPTER(kind).validate_json(json.dumps(values), strict=True)
    except pydantic.ValidationError as failure:
        # a misspelt key comes before the one that is then missing
        error = min(failure.errors(), key=lambda error: error["type"] != "unexpected_keyword_argument")
        path = ".".join([*filter(None, [key]), *(str(name) for name in error["loc"] if name != "[key]")])
        raise UserError(": ".join(filter(None, [where, path, _explain(error, kind)]))) from None
    except ValueError as error:  # YAML has circular aliases
        raise UserError(": ".join(filter(None, [where, key, str(error)]))) from None
    except TypeError:  # and dates, sets and binary data, which JSON has not
        raise UserError(f"{where}: {_not_json(values, [key] if key else [])}") from None


def _not_json(value: Any, path: list[str]) -> str | None:
    """Return what is wrong with the first value that JSON does not have, and its key."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        found = (_not_json(name, path) or _not_json(one, [*path, str(name)]) for name, one in inner)
        return next(filter(None, found), None)
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


def some_names(given: Any, known: Collection[str]) -> str:
    """List the allowed names for a message; of many, those most similar to the given one."""
    if len(known) <= FEW:
        return ", ".join(known)
    nearest = difflib.get_close_matches(str(given), known, n=NEAREST, cutoff=0.0)
    return f"{', '.join(nearest)} and {len(known) - NEAREST} others"


def unknown_key(key: Any, known: list[str]) -> str:
    """Return the message for an unknown key, with the most similar known key and all known keys."""
    nearest = difflib.get_close_matches(str(key), known, n=1)
    return "unknown key" + (f"; did you mean {nearest[0]!r}?" if nearest else "") + f" (known: {', '.join(known)})"


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
