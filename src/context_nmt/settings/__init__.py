"""Every key of a params.yaml, with its default and its allowed values, in a module for each group of stages."""

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_type_hints

from context_nmt.files import UserError, read_json

Settings = TypeVar("Settings", bound="Checked")
SYMBOLS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


class Checked:
    """Base of all settings: unknown keys are refused, see `checking.check`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}


class Bounds:
    """Limits of a number (ge, gt, le, lt), checked by pydantic in params.yaml and by `within_bounds` in plans."""

    def __init__(self, **limits: float) -> None:
        self.limits = limits

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError for a number outside the limits; None is allowed."""
        for limit, bound in self.limits.items():
            if value is not None and not getattr(operator, limit)(value, bound):
                raise ValueError(f"{name} is {value}; it must be {SYMBOLS[limit]} {bound}")

    def __get_pydantic_core_schema__(self, kind: Any, handler: Any) -> Any:
        return handler(kind) | self.limits


PositiveInteger = Annotated[int, Bounds(ge=1)]
NonNegativeInteger = Annotated[int, Bounds(ge=0)]
Seed = Annotated[int, Bounds(ge=0, lt=2**32)]
PositiveNumber = Annotated[float, Bounds(gt=0)]
NonNegativeNumber = Annotated[float, Bounds(ge=0)]
Share = Annotated[float, Bounds(ge=0, le=1)]
ShareBelowOne = Annotated[float, Bounds(ge=0, lt=1)]  # for dropout, for example


def within_bounds(values: Checked) -> None:
    """Raise ValueError for a number outside its bounds, in settings that are read without pydantic."""
    for name, hint in get_type_hints(type(values), include_extras=True).items():
        for annotation in (hint, *get_args(hint)):
            for bounds in (
                metadata for metadata in getattr(annotation, "__metadata__", ()) if isinstance(metadata, Bounds)
            ):
                bounds.check(name, getattr(values, name))


def read_settings(kind: type[Settings], path: Path) -> Settings:
    """Read flat settings from a plan without pydantic, which not all machines have; raise UserError for wrong ones."""
    try:
        settings = kind(**read_json(path))
        within_bounds(settings)
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: not {kind.__name__} ({error}); run the plan stage again") from None
    return settings


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message) unless the condition holds; `checking.check` adds the path of the key."""
    if not condition:
        raise ValueError(message)


def require_distinct(key: str, values: Sequence[Any]) -> None:
    """Raise ValueError if a list contains a value twice."""
    require(len(set(values)) == len(values), f"{key} is {list(values)}; each may be listed only once")
