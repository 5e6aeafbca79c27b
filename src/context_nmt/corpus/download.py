"""Makes a corpus of data/params.yaml: a folder of plain text, `CORPUS/SPLIT.LANGUAGE`.

Where it is known which document a sentence is of, `CORPUS/SPLIT.documents` says so, see `corpus.documents`. Formats and
the generator are loaded by name, so that a change of one makes only its own corpora again.
"""

import importlib
import shutil
import tarfile
import zipfile
import zlib
from collections import defaultdict
from pathlib import Path

from context_nmt.corpus.catalogue import CorpusEntry, DownloadFile
from context_nmt.corpus.fetching import fetch
from context_nmt.files import FULL, UserError, iterate_lines, locked, read_json, replacing_folder
from context_nmt.settings.checking import check
from context_nmt.settings.miniature import MiniatureSettings

BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
GENERATOR = "context_nmt.miniature.generation"


def code_of(entry: CorpusEntry | MiniatureSettings) -> str:
    """The module that is loaded by name for an entry."""
    return GENERATOR if isinstance(entry, MiniatureSettings) else f"context_nmt.corpus.formats.{entry.format}"


def read_data_plan(path: Path) -> CorpusEntry | MiniatureSettings:
    """Read what the plan stage says of one corpus; raises UserError for a corpus without a plan."""
    if not path.is_file():
        known = sorted(found.stem.removeprefix("data.") for found in path.parent.glob("data.*.json"))
        raise UserError(f"{path}: no such plan; params.yaml has under download: {', '.join(known) or 'nothing'}")
    entry = read_json(path)["entry"]
    if "format" in entry:
        return check(CorpusEntry, entry, where=str(path))
    return check(MiniatureSettings, entry, where=str(path))


def make_corpus(
    entry: CorpusEntry | MiniatureSettings, destination: Path, *, checksums: Path, mirror: str | None
) -> None:
    """Make the folder `destination` from its entry in data/params.yaml, whole or not at all.

    `mirror`, a folder or the start of a URL, is looked at first, for MIRROR/CORPUS/NAME-OF-THE-FILE. Files that were
    fetched, and the part of one that broke off, stay in `.downloads` next to the folder until the corpus is complete.
    Raises UserError for what cannot be fetched or unpacked, for another checksum than expected, and for languages of a
    split that differ in their number of lines.
    """
    if isinstance(entry, MiniatureSettings):
        importlib.import_module(GENERATOR).generate(entry, destination)
        return
    corpus = destination.name
    downloads = destination.parent / ".downloads" / corpus
    with locked(downloads / ".lock"), replacing_folder(destination) as folder:
        for file in (*entry.files, *(file for test in entry.sacrebleu for file in test.files)):
            places = [f"{mirror.rstrip('/')}/{corpus}/{file.name}"] if mirror else []
            fetch([*places, file.url], downloads / file.name, file.sha256, checksums)
            _unpack(downloads / file.name, file, folder, entry)
        _check_parallel(folder, corpus)
        shutil.rmtree(downloads, ignore_errors=True)


def _unpack(path: Path, file: DownloadFile, folder: Path, entry: CorpusEntry) -> None:
    try:
        importlib.import_module(code_of(entry)).unpack(path, folder, file, entry)
    except KeyError as error:
        raise UserError(f"{file.url}: {error.args[0]}") from None
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise UserError(f"{file.url}: cannot be unpacked ({error})") from None
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{file.url}: is not of format {entry.format} ({error})") from None


def _check_parallel(folder: Path, corpus: str) -> None:
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".documents", ".jsonl"):
            counts[path.name.partition(".")[0]][path.name] = sum(1 for _ in iterate_lines(path))
    for files in counts.values():
        if len(set(files.values())) > 1:
            listed = ", ".join(f"{name} {count}" for name, count in files.items())
            raise UserError(f"{corpus}: the languages of a split differ in their number of lines: {listed}")
