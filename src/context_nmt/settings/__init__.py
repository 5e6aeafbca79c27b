"""Every key of a params.yaml, with its default and its allowed values; a module for each group of stages."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar


class Checked:
    """Base of all settings: unknown keys are refused, see `checking.check`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}


class Bounds:
    """Limits of a number (ge, gt, le, lt), for `checking.check` alone: training runs without pydantic."""

    def __init__(self, **limits: float) -> None:
        self.limits = limits

    def __get_pydantic_core_schema__(self, kind: Any, handler: Any) -> Any:
        return handler(kind) | self.limits


PositiveInteger = Annotated[int, Bounds(ge=1)]
NonNegativeInteger = Annotated[int, Bounds(ge=0)]
Seed = Annotated[int, Bounds(ge=0, lt=2**32)]
PositiveNumber = Annotated[float, Bounds(gt=0)]
NonNegativeNumber = Annotated[float, Bounds(ge=0)]
Share = Annotated[float, Bounds(ge=0, le=1)]
ShareBelowOne = Annotated[float, Bounds(ge=0, lt=1)]  # of dropout, say


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message) unless the condition holds; `checking.check` adds the path of the key."""
    if not condition:
        raise ValueError(message)


def require_distinct(key: str, values: Sequence[Any]) -> None:
    """Raise ValueError if a list holds a value twice."""
    require(len(set(values)) == len(values), f"{key} is {list(values)}; each may be listed only once")
