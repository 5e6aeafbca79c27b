"""Every key of a params.yaml, with its default and its allowed values; a module for each group of stages."""

from typing import Any, ClassVar


def require(condition: bool, message: str) -> None:
    """Raise ValueError(message) unless the condition holds; the reader of params.yaml adds the key's path."""
    if not condition:
        raise ValueError(message)


class Checked:
    """Base of all settings: unknown keys are refused, see `checking.check`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}
