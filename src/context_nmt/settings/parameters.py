"""Reads a whole params.yaml."""

import difflib
from pathlib import Path
from typing import Any

from context_nmt.files import UserError
from context_nmt.settings.checking import check, read_yaml
from context_nmt.settings.experiment import ExperimentSettings


def read_parameters(path: Path) -> ExperimentSettings:
    """Read and check a whole params.yaml, with every variant's `like` resolved; raises UserError."""
    values = read_yaml(path)
    if isinstance(values, dict) and isinstance(values.get("variants"), dict):
        given = values["variants"]
        values = values | {"variants": {name: _like(given, name, (), str(path)) for name in given}}
    return check(ExperimentSettings, values, where=str(path))


def _like(variants: dict[Any, Any], name: Any, above: tuple[Any, ...], where: str) -> Any:
    """A variant with what it takes from the one that it is like."""
    own = variants[name]
    other = own.get("like") if isinstance(own, dict) else None
    if not isinstance(other, str):  # none, or no name, which is refused later
        return own
    key, path = f"{where}: variants.{name}.like", (*above, name)
    if other in path:
        raise UserError(f"{key}: {' is like '.join(map(str, [*path, other]))}: a circle")
    if other not in variants:
        nearest = difflib.get_close_matches(str(other), map(str, variants), n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        raise UserError(f"{key}: no variant {other!r}{hint} (there are {', '.join(map(str, variants))})")
    base = _like(variants, other, path, where)
    return (
        _merged({key: value for key, value in base.items() if key != "label"}, own) if isinstance(base, dict) else own
    )


def _merged(base: dict[Any, Any], changes: dict[Any, Any]) -> dict[Any, Any]:
    """The base with what is said anew; a slot that names a mechanism starts afresh."""
    merged = base | changes
    for key in base.keys() & changes.keys():
        if isinstance(base[key], dict) and isinstance(changes[key], dict) and "mechanism" not in changes[key]:
            merged[key] = _merged(base[key], changes[key])
    return merged
