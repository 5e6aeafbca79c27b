"""Files that appear whole or not at all, lines that end at "\\n" only, and content hashes."""

import errno
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class UserError(Exception):
    """Something that the user gave and can mend; command lines print it on one line and exit with 1."""


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block succeeds and vanishes when it does not.

    What a killed process has left of the same file is removed first. Raises UserError when the disk is full.
    """
    if path.is_dir():
        raise UserError(f"{path}: is a folder; a file is to be written there")
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with _full_disk_named(path):
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_file_mode_mask())  # some libraries write files that only their owner may read
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _full_disk_named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        named = re.sub(r"\.([^/]+)\.\d+\.partial\b", r"\1", str(path))
        raise UserError(f"{named}: cannot be written ({error.strerror}); make room and run this again") from None


def _remove_leftovers(path: Path) -> None:
    """Remove what processes of this machine that were killed have left of a file or folder, or put it back."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        found = re.fullmatch(r"\.(\d+)\.(partial|earlier)", left.name.removeprefix(f".{path.name}"))
        if found is None or _is_another_process(int(found[1])):
            continue
        with suppress(FileNotFoundError):  # another process does the same
            if found[2] == "earlier" and not path.exists():
                left.replace(path)
            elif left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


def _is_another_process(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return number != os.getpid()


def _file_mode_mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` when the block succeeds and vanishes when it does not.

    What a killed process has left of the same folder is removed first. Raises UserError when the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary, earlier = (path.with_name(f".{path.name}.{os.getpid()}.{kind}") for kind in ("partial", "earlier"))
    temporary.mkdir()
    try:
        with _full_disk_named(path):
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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however it ends; raises UserError if another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise UserError(f"{path}: process {file.read() or '?'} is at work here; wait for it or stop it") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read one JSON object per line; raises UserError with the line's number."""
    for number, line in enumerate(iterate_lines(path), start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UserError(f"{path}: line {number} is not JSON ({error})") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}: line {number} is no JSON object")
        yield record


def read_parallel(*paths: Path) -> list[list[str]]:
    """Read files of equal length; raises UserError for a missing or empty one and for lengths that differ."""
    texts = [read_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        if not lines:
            raise UserError(f"{path}: the file is empty")
        if len(lines) != len(texts[0]):
            raise UserError(f"{path} has {len(lines)} lines, {paths[0]} has {len(texts[0])}; they must be equal")
    return texts
