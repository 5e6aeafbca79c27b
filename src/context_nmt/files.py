"""Write files and folders atomically, read lines that end only at "\\n", and hash content."""

import codecs
import errno
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
    """An input error that the user can fix; command lines print it on one line and exit with status 1."""


DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
DVC_CACHE_FILE = re.compile(r".*/[0-9a-f]{2}/[0-9a-f]{30}")  # a file in DVC's cache, which is named by its content


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` if the block succeeds and is removed if it fails.

    A link to a file is followed, but a link into DVC's cache is replaced, because the cache must not change. Leftovers
    of killed processes are removed. Raise UserError if the disk is full, or for a link into a folder that is missing.
    """
    target = Path(os.path.realpath(path))
    if path.is_symlink() and not DVC_CACHE_FILE.fullmatch(str(target)):
        if target.is_symlink() or not target.parent.is_dir():
            raise UserError(f"{path}: {_dangling(path)}")
        path = target
    if path.exists() and not path.is_file():
        raise UserError(
            f"{path}: is {'a folder' if path.is_dir() else 'not a regular file'}; choose the name of a file"
        )
    with _partial(path) as temporary:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # some libraries make files readable only by their owner
        temporary.replace(path)


def refuse_inputs(output: Path, inputs: Iterable[Path | None]) -> None:
    """Raise UserError if `output` is one of the input files, even under another path or through a link."""
    for path in inputs:
        if path is not None and path.exists() and output.exists() and path.samefile(output):
            raise UserError(f"--output is {output}, which is also an input; choose another file")


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` if the block succeeds; otherwise like `replacing`."""
    with _partial(path) as temporary:
        temporary.mkdir()
        yield temporary
        earlier = temporary.with_suffix(".earlier")
        try:
            if os.path.lexists(path):
                path.replace(earlier)  # atomic; removing it in place would leave a partial folder for a while
            temporary.replace(path)
        finally:
            if earlier.exists() and not path.exists():
                earlier.replace(path)
            _remove(earlier)


@contextmanager
def _partial(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and remove its file or folder after the block."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path}: {path.parent} is not a folder, and cannot be created") from None
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS:
            raise
        shown_path = re.sub(r"\.([^/]+)\.\d+\.partial\b", r"\1", str(path))  # the folder may itself be partial
        raise UserError(f"{shown_path}: cannot be written ({error.strerror}); free some space and try again") from None
    finally:
        _remove(temporary)


def _remove_leftovers(path: Path) -> None:
    """Remove leftovers of killed processes on this machine, or restore the file or folder that they were replacing."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        match = re.fullmatch(r"\.(\d+)\.(partial|earlier)", leftover.name.removeprefix(f".{path.name}"))
        if match is None or (int(match[1]) != os.getpid() and _is_alive(int(match[1]))):
            continue
        if match[2] == "earlier" and not path.exists():
            with suppress(FileNotFoundError):  # another process restored it
                leftover.replace(path)
        else:
            _remove(leftover)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def decoded_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Decode lines of UTF-8, without "\\n" and byte order mark; raise UserError with name and line for other bytes."""
    for number, line in enumerate(lines, start=1):
        content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            yield content.removesuffix(b"\n").decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{name}: line {number} is not UTF-8 ({error.reason} at byte {error.start})") from None


def iterate_lines(path: Path) -> Iterator[str]:
    """Yield the `decoded_lines` of a file or pipe, split only at "\\n"; raise UserError also for a missing file."""
    if not path.exists() or path.is_dir():
        raise unreadable(path)
    with path.open("rb") as file:
        yield from decoded_lines(file, str(path))


def unreadable(path: Path) -> UserError:
    """Return the error for a path that is no file: a folder, nothing, or a link to nothing."""
    if path.is_dir():
        return UserError(f"{path}: is a folder, not a file")
    return UserError(f"{path}: {_dangling(path) if path.is_symlink() else 'no such file'}")


def _dangling(link: Path) -> str:
    return f"is a link to {os.readlink(link)}, which does not exist"


def read_lines(path: Path) -> list[str]:
    """Read all lines of a UTF-8 file; see `iterate_lines`."""
    return list(iterate_lines(path))


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write all lines, each ended by "\\n", or none; return their number; raise UserError for a line that has "\\n"."""
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        for count, line in enumerate(lines, start=1):
            if "\n" in line:
                raise UserError(f"{path}: line {count} contains a line break: {line!r}")
            file.write(line + "\n")
    return count


def read_json(path: Path) -> Any:
    """Read one JSON value; raise UserError for a missing or malformed file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise unreadable(path) from None
    except ValueError as error:
        raise UserError(f"{path}: not JSON ({error})") from None


def read_yaml(path: Path, reader: Any = None) -> Any:
    """Read a YAML file as DVC does, or with a `ruamel.yaml.YAML`; raise UserError if it is missing or invalid."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return (reader or YAML(typ="safe")).load(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise unreadable(path) from None
    except MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}: not YAML ({error.problem}{line})") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not YAML ({' '.join(str(error).split())})") from None


def write_json(path: Path, value: Any) -> None:
    """Write the `json_text` of a value, completely or not at all."""
    write_lines(path, json_text(value).split("\n")[:-1])


def json_text(value: Any) -> str:
    """Return a value as indented JSON with sorted keys, ending with a line break."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock during the block, or until the process dies; raise UserError if another process holds it."""
    import fcntl  # not on Windows

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise UserError(f"{path}: in use by process {file.read() or '?'}; wait for it or stop it") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a JSON object per line; raise UserError with the number of a line that is not one."""
    records = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UserError(f"{path}: line {number} is not JSON ({error})") from None
        if not isinstance(record, dict):
            raise UserError(f"{path}: line {number} is not a JSON object")
        records.append(record)
    return records


def read_parallel(*paths: Path) -> list[list[str]]:
    """Read files of equal length; raise UserError if one is missing or empty, or if their lengths differ."""
    texts = [read_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        if not lines:
            raise UserError(f"{path}: the file is empty")
        if len(lines) != len(texts[0]):
            raise UserError(f"{path} has {len(lines)} lines, {paths[0]} has {len(texts[0])}; they must be equal")
    return texts
