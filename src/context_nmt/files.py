"""Files that appear whole or not at all, lines that end at "\\n" only, and content hashes."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class UserError(Exception):
    """Something that the user gave and can mend; stages print it on one line and exit with 1."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block succeeds and vanishes when it does not."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; a file is to be written there")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_file_mode_mask())  # some libraries write files that only their owner may read
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _file_mode_mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` when the block succeeds and vanishes when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary, earlier = (path.with_name(f".{path.name}.{os.getpid()}.{kind}") for kind in ("partial", "earlier"))
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            path.replace(earlier)  # at once; removing it in place would leave half a folder for a while
        temporary.replace(path)
    finally:
        if earlier.exists() and not path.exists():
            earlier.replace(path)
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(earlier, ignore_errors=True)


def iterate_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, split at "\\n" only and without it.

    Raises UserError for a missing file and, with the line's number, for bytes that are not UTF-8.
    """
    if not path.is_file():
        raise UserError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'no such file'}")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.removesuffix(b"\n").decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(f"{path}: line {number} is not UTF-8 ({error.reason} at byte {error.start})") from None


def read_lines(path: Path) -> list[str]:
    """Read all lines of a UTF-8 file; see `iterate_lines`."""
    return list(iterate_lines(path))


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write lines, each ended by "\\n", whole or not at all, and return their number.

    Raises UserError for a line that itself holds "\\n": it would shift all lines behind it.
    """
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        for count, line in enumerate(lines, start=1):
            if "\n" in line:
                raise UserError(f"{path}: line {count} would hold a line break: {line!r}")
            file.write(line + "\n")
    return count


def read_json(path: Path) -> Any:
    """Read one JSON value; raises UserError for a missing or malformed file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except ValueError as error:
        raise UserError(f"{path}: not JSON ({error})") from None


def write_json(path: Path, value: Any) -> None:
    """Write one JSON value with sorted keys, whole or not at all."""
    with replacing(path) as temporary:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
