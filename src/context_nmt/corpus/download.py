"""Make a corpus of data/params.yaml: a folder of plain text, `CORPUS/SPLIT.LANGUAGE`, and `CORPUS/SPLIT.documents`.

Formats and the generator are loaded by name, so that a change to one of them remakes only its own corpora.
"""

import importlib
import shutil
import tarfile
import zipfile
import zlib
from itertools import groupby
from pathlib import Path

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.fetching import fetch
from context_nmt.files import (
    FULL,
    UserError,
    decoded_lines,
    locked,
    read_json,
    replacing_folder,
    sha256,
    write_json,
)
from context_nmt.settings.checking import check
from context_nmt.settings.miniature import MiniatureSettings

BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
GENERATOR = "context_nmt.miniature.generation"


def code_of(entry: CorpusEntry | MiniatureSettings) -> list[str]:
    """Return the names of the modules that make a corpus."""
    if isinstance(entry, MiniatureSettings):
        return [GENERATOR]
    return sorted(map(_code_of_format, {entry.format, *(file.format for file in entry.files if file.format)}))


def _code_of_format(name: str) -> str:
    return f"context_nmt.corpus.formats.{name}"


def read_data_plan(path: Path) -> CorpusEntry | MiniatureSettings:
    """Read the plan of one corpus, which the plan stage wrote; raise UserError if there is none."""
    if not path.is_file():
        known = sorted(file.stem.removeprefix("data.") for file in path.parent.glob("data.*.json"))
        raise UserError(f"{path}: no such plan; params.yaml has under download: {', '.join(known) or 'nothing'}")
    entry = read_json(path)["entry"]
    if "format" in entry:
        return check(CorpusEntry, entry, where=str(path))
    return check(MiniatureSettings, entry, where=str(path))


def make_corpus(
    entry: CorpusEntry | MiniatureSettings, destination: Path, *, checksums: Path, mirror: str | None
) -> None:
    """Make the whole folder `destination` from its entry in data/params.yaml, or nothing.

    Each file is first looked for in `mirror`, a folder or the start of a URL, as MIRROR/CORPUS/FILENAME. Until the
    corpus is complete, full and partial downloads stay in `.downloads` next to the folder. Only then are checksums that
    the entry lacks recorded in `checksums`; if no corpus can be made of the files, those without one are removed. Raise
    UserError for a file that cannot be fetched or unpacked, a wrong checksum, text that is empty or not UTF-8, and
    languages of a split with unequal numbers of lines.
    """
    if isinstance(entry, MiniatureSettings):
        importlib.import_module(GENERATOR).generate(entry, destination)
        return
    corpus = destination.name
    downloads = destination.parent / ".downloads" / corpus
    test_sets = [file for test_set in entry.sacrebleu for file in test_set.files]
    files = [*entry.files, *test_sets]
    with locked(downloads / ".lock"), replacing_folder(destination) as folder:
        known = _recorded(checksums)
        expected = {file.name: None if file.derived else file.sha256 or known.get(file.url) for file in files}
        unknown = [file for file in files if expected[file.name] is None]
        places = {}
        for file in files:
            mirrored = f"{mirror.rstrip('/')}/{corpus}/{file.name}" if mirror else ""
            places[file.name] = fetch(file, downloads / file.name, mirrored=mirrored, expected=expected[file.name])
        try:
            for file in files:
                if file not in test_sets:
                    _unpack(downloads / file.name, file, folder, entry, places[file.name])
                elif not file.derived or downloads.joinpath(file.name).stat().st_size:  # empty if not known
                    shutil.copyfile(downloads / file.name, folder / file.name)
            _check_texts(folder, corpus, files, places)
        except UserError as error:
            for file in unknown:
                (downloads / file.name).unlink()
            reason = str(error).replace(f"{folder}/", "")  # it has a temporary name
            mend = "Put the right file into the folder of DATA_MIRROR, or correct" if unknown else "Correct"
            raise UserError(f"{reason}. {mend} the entry in data/params.yaml, and try again") from None
        new = {file.url: sha256(downloads / file.name) for file in unknown if not file.derived}
        shutil.rmtree(downloads, ignore_errors=True)
    if new:
        write_json(checksums, _recorded(checksums) | new)
    for address, checksum in new.items():
        print(f"{address}: sha256 {checksum} is recorded in {checksums}; later downloads must match it")


def _unpack(path: Path, file: DownloadFile, folder: Path, entry: CorpusEntry, place: str) -> None:
    form = file.format or entry.format
    try:
        importlib.import_module(_code_of_format(form)).unpack(path, folder, file, entry)
    except UserError as error:
        if isinstance(error.__context__, OSError):  # the disk is full
            raise error.__context__ from None
        reason = str(error).removeprefix(f"{path}: ")
    except KeyError as error:
        reason = error.args[0]
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        first_line = str(error).partition(":\n")[0]  # tarfile adds one for each kind of archive
        reason = f"cannot be unpacked ({first_line})"
    except (AttributeError, TypeError, ValueError) as error:
        reason = f"not of format {form} ({error})"
    else:
        return
    raise UserError(f"{place}: {reason}")


def _check_texts(folder: Path, corpus: str, files: list[DownloadFile], places: dict[str, str]) -> None:
    """Raise UserError for a file that is empty or not UTF-8, and for languages with unequal numbers of lines."""

    def source(*names: str) -> str:
        named = [places[file.name] for file in files if not set(names).isdisjoint(file.outputs)]
        return f"(from {', '.join(named or places.values())})"

    paths = sorted(path for path in folder.iterdir() if path.suffix != ".documents")
    if empty := [path.name for path in paths if path.stat().st_size == 0]:
        raise UserError(f"{corpus}: no text in {', '.join(empty)} {source(*empty)}")
    texts = [path for path in paths if path.suffix != ".jsonl"]
    for _, languages in groupby(texts, lambda path: path.name.partition(".")[0]):
        counts = {}
        for path in languages:
            with path.open("rb") as text:
                counts[path.name] = sum(1 for _ in decoded_lines(text, f"{corpus}: {path.name} {source(path.name)}"))
        if len(set(counts.values())) > 1:
            line_counts = ", ".join(f"{name} {count}" for name, count in counts.items())
            different = f"the languages of a split have different numbers of lines: {line_counts}"
            raise UserError(f"{corpus}: {different} {source(*counts)}")


def _recorded(checksums: Path) -> dict[str, str]:
    return read_json(checksums) if checksums.is_file() else {}
