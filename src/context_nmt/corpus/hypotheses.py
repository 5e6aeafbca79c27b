"""The translations of a run's test sets: one small file in git, a zip of TEST.txt, whose lines are Moses tokens.

Raw text follows from tokens (`MosesSide.text`) and is made where it is scored.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from context_nmt.files import UserError, replacing

OLDEST = (1980, 1, 1, 0, 0, 0)  # that a zip can say; the same lines give the same file at any time


def write_hypotheses(path: Path, tests: Mapping[str, Iterable[str]]) -> None:
    """Write the lines of tokens of every test set."""
    with replacing(path) as temporary, ZipFile(temporary, "w") as archive:
        for test, lines in tests.items():
            member = ZipInfo(f"{test}.txt", OLDEST)
            text = "".join(f"{line}\n" for line in lines)
            archive.writestr(member, text.encode("utf-8"), ZIP_DEFLATED, compresslevel=9)


def read_hypotheses(path: Path, test: str) -> list[str]:
    """Read the lines of one test set; raises UserError for a missing or broken file, and one without this test set."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; the decode stage writes it")
    try:
        with ZipFile(path) as archive:
            text = archive.read(f"{test}.txt").decode("utf-8")
    except KeyError:
        raise UserError(f"{path}: has no translations of {test}; decode again") from None
    except (BadZipFile, UnicodeDecodeError, EOFError) as error:
        raise UserError(f"{path}: not a zip of UTF-8 text ({error})") from None
    return text.removesuffix("\n").split("\n") if text else []


def digests(path: Path) -> dict[str, str]:
    """The SHA-256 of every test set's text, which does not depend on how it was compressed."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; the decode stage writes it")
    with ZipFile(path) as archive:
        return {name: sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
