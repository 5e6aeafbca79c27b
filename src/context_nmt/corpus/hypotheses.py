"""The translations of a run's test sets: one small file in git, a zip of files TEST.txt with Moses tokens.

Scoring detokenizes them; see `MosesSide.text`. With sentencepiece, the files have raw text, which scoring tokenizes.
The files of an external system are TEST.raw: raw text whose tokens scoring makes as it makes those of the references.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from context_nmt.files import UserError, replacing

FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # so that the same lines always give the same zip


def write_hypotheses(path: Path, tests: Mapping[str, Iterable[str]]) -> None:
    """Write the translations of every test set by a run of a variant, as TEST.txt."""
    _write_archive(path, {f"{test}.txt": lines for test, lines in tests.items()})


def write_external_hypotheses(path: Path, tests: Mapping[str, Iterable[str]]) -> None:
    """Write the raw translations of every test set by an external system, as TEST.raw."""
    _write_archive(path, {f"{test}.raw": lines for test, lines in tests.items()})


def _write_archive(path: Path, files: Mapping[str, Iterable[str]]) -> None:
    with replacing(path) as temporary, ZipFile(temporary, "w") as archive:
        for name, lines in files.items():
            text = "".join(f"{line}\n" for line in lines)
            archive.writestr(ZipInfo(name, FIXED_DATE), text.encode(), ZIP_DEFLATED, compresslevel=9)


@contextmanager
def _open_archive(path: Path) -> Iterator[ZipFile]:
    if not path.is_file():
        raise UserError(f"{path}: no such file; the stage decode or import_translations writes it")
    try:
        with ZipFile(path) as archive:
            yield archive
    except (BadZipFile, UnicodeDecodeError, EOFError) as error:
        raise UserError(f"{path}: not a zip of UTF-8 text ({error})") from None


def are_external(path: Path) -> bool:
    """Return whether translations are the raw text of an external system; raise UserError for a broken file."""
    with _open_archive(path) as archive:
        return all(name.endswith(".raw") for name in archive.namelist())


def read_hypotheses(path: Path, test: str) -> list[str]:
    """Read the lines of one test set; raise UserError if the file is missing or broken, or lacks the test set."""
    with _open_archive(path) as archive:
        name = next((name for name in archive.namelist() if name in (f"{test}.txt", f"{test}.raw")), None)
        if name is None:
            raise UserError(f"{path}: has no translations of {test}; run decode or import_translations again")
        text = archive.read(name).decode()
    return text.removesuffix("\n").split("\n") if text else []


def digests(path: Path) -> dict[str, str]:
    """Return the SHA-256 of every test set's text, which does not depend on the compression."""
    with _open_archive(path) as archive:
        return {name: sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
