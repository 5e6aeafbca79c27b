"""Load mechanisms by name; each is a file in `mechanisms/`."""

import importlib
from dataclasses import is_dataclass
from pathlib import Path
from traceback import FrameSummary, extract_tb
from typing import Any, Protocol, cast

from torch import nn

import context_nmt.mechanisms
from context_nmt.files import UserError
from context_nmt.settings import some_names
from context_nmt.transformer.attention import Place
from context_nmt.transformer.facts import Facts

PLAIN = "multi_head_attention"
FOLDER = Path(context_nmt.mechanisms.__path__[0])


class Mechanism(Protocol):
    """The interface of every file in `mechanisms/`."""

    SLOTS: tuple[str, ...]
    Settings: type[Any]

    def build(self, settings: Any, place: Place) -> nn.Module: ...


def plain(slot: str) -> str:
    """Return the name of the mechanism that fills a slot by default."""
    return "layer_norm" if slot == "norm" else "feed_forward" if slot.endswith("feed_forward") else PLAIN


def names() -> list[str]:
    """Return the sorted names of the files in `mechanisms/`."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def load(name: str) -> Mechanism:
    """Load a file of `mechanisms/`, or a module with the name PACKAGE.MODULE.

    Raise UserError if it does not exist, cannot be imported, or is not a mechanism.
    """
    if not all(part.isidentifier() for part in name.split(".")) or ("." not in name and name not in names()):
        raise UserError(
            f"no mechanism {name!r}; there are {some_names(name, names())}, or PACKAGE.MODULE for a module of your own"
        )
    try:
        mechanism = importlib.import_module(module(name))
    except Exception as error:  # whatever the user's file raises
        if isinstance(error, ModuleNotFoundError) and f"{module(name)}.".startswith(f"{error.name}."):
            raise UserError(f"no module {name}; it must be installed, or in the project's folder") from None
        line = next((frame.lineno for frame in reversed(extract_tb(error.__traceback__)) if _is_of(frame, name)), None)
        place = f", line {line}" if line else ""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"the module {name} cannot be imported{place} ({reason})") from error
    if missing := [attribute for attribute in ("SLOTS", "Settings", "build") if not hasattr(mechanism, attribute)]:
        raise UserError(f"the module {name} is not a mechanism; it has no {', '.join(missing)}")
    if isinstance(mechanism.SLOTS, str) or not is_dataclass(mechanism.Settings):
        raise UserError(f"the module {name} is not a mechanism; SLOTS must be a tuple of slots, Settings a dataclass")
    return cast(Mechanism, mechanism)


def _is_of(frame: FrameSummary, name: str) -> bool:
    return Path(frame.filename).with_suffix("").parts[-2:] == tuple(module(name).split("."))[-2:]


def facts_of(name: str) -> Facts:
    """Return the FACTS of a mechanism, or the defaults if it has none."""
    return getattr(load(name), "FACTS", Facts())


def module(name: str) -> str:
    """Return the full name of a mechanism's module."""
    return name if "." in name else f"{context_nmt.mechanisms.__name__}.{name}"
