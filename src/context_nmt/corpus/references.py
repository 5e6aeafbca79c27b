"""The references of a test set: `SPLIT.LANGUAGE`, and further ones `SPLIT.LANGUAGE.1`, `SPLIT.LANGUAGE.2`, …."""

from glob import escape
from pathlib import Path

from context_nmt.files import UserError


def reference_names(folder: Path, split: str, language: str) -> list[str]:
    """Return the names of a test set's references in order; raise UserError for a gap in the numbers."""
    first = f"{split}.{language}"
    endings = [path.name.removeprefix(f"{first}.") for path in folder.glob(f"{escape(first)}.*")]
    numbers = sorted(int(ending) for ending in endings if ending.isdecimal())
    if numbers != [*range(1, len(numbers) + 1)]:
        raise UserError(f"{folder / first}: further references must be {first}.1, {first}.2, …; found {numbers}")
    return [first, *(f"{first}.{number}" for number in numbers)]
