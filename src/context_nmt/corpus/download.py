"""Fetches the corpora of data/params.yaml into folders of plain text, `CORPUS/SPLIT.LANGUAGE`.

Where it is known which document a sentence is of, `CORPUS/SPLIT.documents` says so, see `corpus.documents`.
"""

import re
import shutil
import tarfile
import zipfile
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from context_nmt.corpus.fetching import SACREBLEU, fetch
from context_nmt.corpus.formats.bcontrast import write_chats
from context_nmt.corpus.formats.contrawsd import write_senses
from context_nmt.corpus.formats.discourse_mt import write_discourse_set
from context_nmt.corpus.formats.text import unpack_texts
from context_nmt.corpus.formats.tvsub import write_subtitles
from context_nmt.files import FULL, UserError, iterate_lines, locked, replacing_folder
from context_nmt.parameters import check, read_yaml
from context_nmt.settings import Checked, require

BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)


@dataclass(frozen=True, kw_only=True)
class DownloadFile(Checked):
    """One file of the network."""

    url: str
    sha256: str | None  # of the file as it is downloaded; null: recorded at the first download
    to: str | None = None  # text: SPLIT.LANGUAGE; bcontrast: SPLIT; contrawsd and discourse_mt: the set's name
    members: dict[str, str] = field(default_factory=dict)  # text, of an archive: member -> SPLIT.LANGUAGE

    def __post_init__(self) -> None:
        for name in self.outputs:
            require(re.fullmatch(r"\w[\w-]*(\.\w[\w-]*)?", name) is not None, f"{name!r} is no SPLIT.LANGUAGE")
        require(bool(self.name), f"{self.url!r} does not end in the name of a file")

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.url).path).name

    @property
    def outputs(self) -> list[str]:
        return [*self.members.values(), *([] if self.to is None else [self.to])]


@dataclass(frozen=True, kw_only=True)
class SacrebleuSet(Checked):
    """A test set that the sacrebleu package downloads and unpacks."""

    name: str  # sacrebleu's name: wmt14/full
    pair: str  # source-target: en-de
    split: str

    def __post_init__(self) -> None:
        require(re.fullmatch(r"\w+-\w+", self.pair) is not None, f"pair is {self.pair!r}; it must be like en-de")
        require(re.fullmatch(r"\w[\w-]*", self.split) is not None, f"{self.split!r} is no name of a split")

    @property
    def files(self) -> list[DownloadFile]:
        """Source and reference under addresses that `fetch` knows; a mirror holds them as SPLIT.LANGUAGE."""
        addresses = {
            f"{self.split}.{language}": f"{SACREBLEU}{self.name}/{self.pair}" for language in self.pair.split("-")
        }
        return [DownloadFile(url=f"{address}/{name}", sha256=None, to=name) for name, address in addresses.items()]


@dataclass(frozen=True, kw_only=True)
class CorpusEntry(Checked):
    """Where one corpus comes from; texts that go into one file stand in it in the order of the entry.

    `text` is for texts, packed with gzip or not, and tar and zip archives of them; each other format is that of one
    corpus, see the file of its name in `corpus/formats`, which data/dvc.yaml reads it for, too.
    """

    format: Literal["text", "bcontrast", "contrawsd", "discourse_mt", "tvsub"]
    licence: str
    homepage: str
    files: tuple[DownloadFile, ...] = ()
    sacrebleu: tuple[SacrebleuSet, ...] = ()
    documents: int | None = None  # tvsub: only so many training documents, from the first on

    def __post_init__(self) -> None:
        for file in self.files:
            if self.format == "text":
                require(
                    (file.to is None) == bool(file.members),
                    f"{file.name}: give either to (a text) or members (an archive)",
                )
                for name in file.outputs:
                    require("." in name, f"{file.name}: {name!r} is no SPLIT.LANGUAGE")
            else:
                require(not file.members, f"{file.name}: format {self.format} has no members")
                needed = self.format != "tvsub"
                require(
                    (file.to is not None) == needed, f"{file.name}: {self.format} {'needs' if needed else 'has no'} to"
                )
                require("." not in (file.to or ""), f"{file.name}: to is {file.to!r}; it must be a name without a '.'")
        require(self.documents is None or self.format == "tvsub", f"format {self.format} has no documents")
        require(self.documents is None or self.documents >= 1, f"documents is {self.documents}; it must be at least 1")
        names = [file.name for file in self.files]
        require(bool(names or self.sacrebleu), "an entry needs files or sacrebleu")
        require(len(set(names)) == len(names), f"two files have one name: {sorted(names)}")


def read_entry(parameters: Path, corpus: str) -> CorpusEntry:
    """Read and check one entry of data/params.yaml; raises UserError."""
    entries = (read_yaml(parameters) or {}).get("corpora") or {}
    if corpus not in entries:
        raise UserError(f"{parameters}: no corpus {corpus!r} under corpora; there are {', '.join(entries)}")
    if re.fullmatch(r"\w[\w.-]*", corpus) is None:
        raise UserError(f"{parameters}: corpora.{corpus}: not the name of a folder")
    return check(CorpusEntry, entries[corpus], where=f"{parameters}: corpora.{corpus}")


def download_corpus(data: Path, corpus: str, *, mirror: str | None) -> None:
    """Make the folder `data/CORPUS` from its entry in `data/params.yaml`, whole or not at all.

    `mirror`, a folder or the start of a URL, is looked at first, for MIRROR/CORPUS/NAME-OF-THE-FILE. Files that were
    fetched, and the part of one that broke off, stay in `data/.downloads` until the corpus is complete.
    Raises UserError for what cannot be fetched or unpacked, for another checksum than expected, and for languages of a
    split that differ in their number of lines.
    """
    entry = read_entry(data / "params.yaml", corpus)
    downloads = data / ".downloads" / corpus
    checksums = data / "checksums.json"
    with locked(downloads / ".lock"), replacing_folder(data / corpus) as folder:
        for file in (*entry.files, *(file for test in entry.sacrebleu for file in test.files)):
            places = [f"{mirror.rstrip('/')}/{corpus}/{file.name}"] if mirror else []
            fetch([*places, file.url], downloads / file.name, file.sha256, checksums)
            _unpack(downloads / file.name, file, folder, entry)
        _check_parallel(folder, corpus)
        shutil.rmtree(downloads, ignore_errors=True)


def _unpack(path: Path, file: DownloadFile, folder: Path, entry: CorpusEntry) -> None:
    try:
        match entry.format:
            case "text":
                unpack_texts(path, folder, to=file.to, members=file.members)
            case "bcontrast":
                write_chats(path, folder, str(file.to))
            case "contrawsd":
                write_senses(path, folder, str(file.to))
            case "discourse_mt":
                write_discourse_set(path, folder, str(file.to))
            case "tvsub":
                write_subtitles(path, folder, entry.documents)
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
