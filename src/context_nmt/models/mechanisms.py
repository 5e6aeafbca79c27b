"""Find mechanisms: one file each in `mechanisms/`, loaded by its name."""

import importlib
from pathlib import Path
from typing import Any, Protocol, cast

from torch import nn

import context_nmt.mechanisms
from context_nmt.files import UserError
from context_nmt.transformer.attention import Place

PLAIN = "multi_head_attention"  # fills every slot of a layer that a variant does not name
FOLDER = Path(context_nmt.mechanisms.__path__[0])


class Mechanism(Protocol):
    """The contents of every file in `mechanisms/`."""

    SLOTS: tuple[str, ...]
    Settings: type[Any]

    def build(self, settings: Any, place: Place) -> nn.Module: ...


def names() -> list[str]:
    """Return the names of all mechanisms on disk, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def load(name: str) -> Mechanism:
    """Load one mechanism; raise UserError for an unknown name, listing those on disk."""
    if name not in names():
        raise UserError(f"no mechanism {name!r}; there are {', '.join(names())}")
    return cast(Mechanism, importlib.import_module(module(name)))


def module(name: str) -> str:
    """Return the full name of a mechanism's module."""
    return f"{context_nmt.mechanisms.__name__}.{name}"
