"""Make a corpus of data/params.yaml: a folder of plain text, `CORPUS/SPLIT.LANGUAGE`, and `CORPUS/SPLIT.documents`.

Formats and the generator are loaded by name, so that a change to one of them rebuilds only its own corpora.
"""

import importlib
import shutil
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Container, Sequence
from itertools import groupby
from pathlib import Path

from context_nmt.corpus.catalogue import SACREBLEU, CorpusEntry, DownloadFile, read_formats
from context_nmt.corpus.documents import read_documents, without_dropped, write_documents
from context_nmt.corpus.fetching import (
    LARGE_DOWNLOAD,
    MEGABYTE,
    Checksum,
    download_path,
    fetch,
    file_size,
    wait_for_lock,
)
from context_nmt.corpus.formats import AppendedText, skipping
from context_nmt.files import DISK_FULL_ERRORS, UserError, read_json, replacing, replacing_folder, sha256, write_json
from context_nmt.progress import say
from context_nmt.settings import check
from context_nmt.settings.miniature import MiniatureSettings

BROKEN_FILE_ERRORS = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
WRONG_FORMAT_ERRORS = (AttributeError, KeyError, SyntaxError, TypeError, ValueError)  # SyntaxError: not XML
GENERATOR = "context_nmt.miniature.generation"

FetchedFiles = dict[str, tuple[Path, str]]  # by file name: the path, and the source (see `fetching`)


def corpus_modules(entry: CorpusEntry | MiniatureSettings) -> list[str]:
    """Return the names of the modules that make a corpus."""
    if isinstance(entry, MiniatureSettings):
        return [GENERATOR]
    return sorted({read_formats()[name].module for name in entry.formats})


def read_data_plan(path: Path) -> tuple[CorpusEntry | MiniatureSettings, list[str]]:
    """Read the plan of one corpus, which the plan stage wrote: its entry, and the modules that make it.

    Raise UserError if there is no plan.
    """
    if not path.is_file():
        corpora = sorted(file.stem.removeprefix("data.") for file in path.parent.glob("data.*.json"))
        raise UserError(f"{path}: no such plan; params.yaml has under download: {', '.join(corpora) or 'nothing'}")
    plan = read_json(path)
    entry, modules = plan["entry"], list(plan["code"])
    if "format" in entry:
        return check(CorpusEntry, entry, where=str(path)), modules
    return check(MiniatureSettings, entry, where=str(path)), modules


def make_corpus(
    entry: CorpusEntry | MiniatureSettings,
    destination: Path,
    *,
    checksums: Path,
    mirror: str | None,
    modules: Sequence[str] = (),
) -> None:
    """Make the whole folder `destination` from its entry in data/params.yaml, or nothing.

    Look for each file first in `mirror`, a folder or the start of a URL, as MIRROR/CORPUS/FILE. Downloads stay in
    `.downloads` next to `checksums`; all corpora that name the same address share them. When the corpus is complete,
    record checksums that the entry lacks in `checksums`. `modules` are the `corpus_modules`, if they are known. Raise
    UserError for a file that cannot be fetched or unpacked, a wrong checksum, empty text, too many bad lines, and
    languages with unequal numbers of lines.
    """
    if isinstance(entry, MiniatureSettings):
        importlib.import_module(GENERATOR).generate(entry, destination)
        return
    corpus, downloads, recorded = destination.name, checksums.parent / ".downloads", _read_checksums(checksums)
    test_files = [file for test_set in entry.sacrebleu for file in test_set.files]
    files = [*entry.files, *test_files]
    expected = {file.name: file.checksum for file in files}
    for file in files:
        if expected[file.name] is None and file.url in recorded and not file.is_derived:
            expected[file.name] = ("sha256", recorded[file.url])
    unverified = [file for file in files if expected[file.name] is None]
    fetched = _fetch_files(files, expected, downloads, corpus=corpus, mirror=mirror)
    with (
        wait_for_lock(destination.with_name(f".{corpus}"), f"{corpus}: waiting for another process that makes it"),
        replacing_folder(destination) as folder,
    ):
        texts: list[AppendedText] = []
        try:
            for file in files:
                if file not in test_files:
                    texts += _unpack(file, fetched, folder, entry, modules or corpus_modules(entry))
                elif not file.is_derived or file_size(fetched[file.name][0]):  # an empty one has no documents
                    shutil.copyfile(fetched[file.name][0], folder / file.name)
            _check_appended_texts(texts, corpus)
            _check_texts(folder, corpus, files, fetched)
        except UserError as error:
            reason = str(error).replace(f"{folder}/", "")  # it has a temporary name
            paths = [fetched[file.name][0] for file in unverified if not file.url.startswith(SACREBLEU)]
            suspects = ", ".join(str(path) for path in paths if path.parent == downloads)
            delete = f"delete the wrong downloads ({suspects}), " if suspects else ""
            remedy = f"{delete}put the right file into the folder of DATA_MIRROR, or correct the entry"
            raise UserError(f"{reason}; {remedy} in data/params.yaml, and try again") from None
    new = {file.url: sha256(fetched[file.name][0]) for file in unverified if not file.is_derived}
    if new:
        with wait_for_lock(checksums, f"{checksums}: waiting for another process that writes it"):
            write_json(checksums, _read_checksums(checksums) | new)
    for address, checksum in new.items():
        print(f"{address}: sha256 {checksum} is recorded in {checksums}; later downloads must match it")
    stored = sum(file_size(path) for path, _ in fetched.values() if path.parent == downloads)
    if stored >= LARGE_DOWNLOAD:
        say(f"{corpus}: its downloads, {stored / MEGABYTE:,.0f} MB, stay in {downloads} until you delete them")


def _read_checksums(path: Path) -> dict[str, str]:
    return read_json(path) if path.is_file() else {}


def _fetch_files(
    files: list[DownloadFile], expected: dict[str, Checksum | None], downloads: Path, *, corpus: str, mirror: str | None
) -> FetchedFiles:
    """Fetch all files, but first those that only a person can download: if one is missing, nothing is downloaded."""
    in_mirror = {file.name: f"{mirror.rstrip('/')}/{corpus}/{file.name}" if mirror else "" for file in files}
    fetched: FetchedFiles = {}

    def add(file: DownloadFile) -> None:
        fetched[file.name] = fetch(
            file, downloads, corpus=corpus, in_mirror=in_mirror[file.name], expected=expected[file.name]
        )

    missing: dict[str, UserError] = {}
    for file in files:
        if file.by_hand is not None:
            try:
                add(file)
            except UserError as error:
                missing[file.name] = error
    if missing:
        first, *others = missing
        also = f". Also by hand: {', '.join(others)}; see `context-nmt corpus status {corpus}`" if others else ""
        raise UserError(f"{missing[first]}{also}")
    automatic = [file for file in files if file.by_hand is None]
    to_download = sum(
        file.bytes or 0
        for file in automatic
        if not (Path(in_mirror[file.name]).is_file() or download_path(file, downloads).is_file())
    )
    if to_download >= LARGE_DOWNLOAD:
        say(f"{corpus}: {to_download / MEGABYTE:,.0f} MB or more to download")
    for file in automatic:
        add(file)
    return fetched


def _unpack(
    file: DownloadFile, fetched: FetchedFiles, folder: Path, entry: CorpusEntry, modules: Sequence[str]
) -> list[AppendedText]:
    """Unpack one file; return the texts that it consists of if its format is text."""
    format_name = file.format or entry.format
    paths, source = {name: path for name, (path, _) in fetched.items()}, fetched[file.name][1]
    candidates = map(importlib.import_module, modules)
    unpack = next(getattr(module, f"unpack_{format_name}") for module in candidates if format_name in module.FORMATS)
    try:
        texts: list[AppendedText] = unpack(paths, folder, file, entry) or []
    except (UserError, *BROKEN_FILE_ERRORS, *WRONG_FORMAT_ERRORS) as error:
        cause = error.__context__ if isinstance(error, UserError) else error
        if isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRORS:
            raise cause from None
        reason = str(error).removeprefix(f"{paths[file.name]}: ").partition(":\n")[0]  # tarfile adds a line per format
        raise UserError(f"{source}: cannot be read as {format_name} ({reason})") from None
    return [text._replace(source=f"{text.source} of {source}" if file.members else source) for text in texts]


def _check_appended_texts(texts: list[AppendedText], corpus: str) -> None:
    """If languages of a split have equally many texts, raise UserError unless corresponding texts are equally long."""
    by_split: dict[str, dict[str, list[AppendedText]]] = defaultdict(lambda: defaultdict(list))
    for text in texts:
        by_split[text.name.partition(".")[0]][text.name].append(text)
    for first, *others in (list(languages.values()) for languages in by_split.values()):
        for other in (other for other in others if len(other) == len(first) > 1):
            for pair in zip(first, other, strict=True):
                if pair[0].lines != pair[1].lines:
                    counts = ", ".join(f"{text.name} {text.lines} (from {text.source})" for text in pair)
                    raise UserError(f"{corpus}: texts that belong together have different numbers of lines: {counts}")


def _check_texts(folder: Path, corpus: str, files: list[DownloadFile], fetched: FetchedFiles) -> None:
    """Remove lines that are not UTF-8 from all languages of their split.

    Raise UserError for too many of them, an empty file, and languages with unequal numbers of lines.
    """

    def from_sources(*names: str) -> str:
        sources = [fetched[file.name][1] for file in files if not set(names).isdisjoint(file.outputs)]
        return f"(from {', '.join(sources or [source for _, source in fetched.values()])})"

    paths = sorted(path for path in folder.iterdir() if path.suffix != ".documents")
    if empty := [path.name for path in paths if path.stat().st_size == 0]:
        raise UserError(f"{corpus}: no text in {', '.join(empty)} {from_sources(*empty)}")
    texts = [path for path in paths if path.suffix != ".jsonl"]
    for split, group in groupby(texts, lambda path: path.name.partition(".")[0]):
        languages, counts, bad = list(group), dict[str, int](), dict[int, str]()
        for path in languages:
            counts[path.name] = 0
            with path.open("rb") as text:
                for line in text:
                    try:
                        line.decode()
                    except UnicodeDecodeError:
                        bad.setdefault(counts[path.name], f"{path.name}, line {counts[path.name] + 1}")
                    counts[path.name] += 1
        if len(set(counts.values())) > 1:
            line_counts = ", ".join(f"{name} {count}" for name, count in counts.items())
            problem = f"the languages of a split have different numbers of lines: {line_counts}"
            raise UserError(f"{corpus}: {problem} {from_sources(*counts)}")
        with skipping(f"{corpus}: {split} {from_sources(*counts)}", "lines") as lines:
            lines.total = counts[languages[0].name]
            for number in sorted(bad):
                lines.skip(bad[number], "not UTF-8")
        if bad:
            _remove_lines(bad, languages, split, lines.total)


def _remove_lines(bad: Container[int], languages: list[Path], split: str, count: int) -> None:
    """Remove the lines with these numbers, from 0, from all languages of a split and from its documents."""
    for path in languages:
        with replacing(path) as temporary, path.open("rb") as text, temporary.open("wb") as kept:
            kept.writelines(line for number, line in enumerate(text) if number not in bad)
    folder = languages[0].parent
    if documents := read_documents(folder, split, count):
        write_documents(folder, split, without_dropped(documents, (number not in bad for number in range(count))))
