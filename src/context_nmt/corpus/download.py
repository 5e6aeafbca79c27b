"""Make a corpus of data/params.yaml: a folder of plain text, `CORPUS/SPLIT.LANGUAGE`, and `CORPUS/SPLIT.documents`.

Formats and the generator are loaded by name, so that a change to one of them remakes only its own corpora.
"""

import importlib
import shutil
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Container
from itertools import groupby
from pathlib import Path

from context_nmt.corpus.catalogue import FORMATS, SACREBLEU, CorpusEntry, DownloadFile
from context_nmt.corpus.documents import read_documents, without_dropped, write_documents
from context_nmt.corpus.fetching import MEGABYTE, WORTH_SAYING, Checksum, alone, downloaded, fetch, size
from context_nmt.corpus.formats import skipping
from context_nmt.files import DISK_FULL_ERRORS, UserError, read_json, replacing, replacing_folder, sha256, write_json
from context_nmt.progress import say
from context_nmt.settings import check
from context_nmt.settings.miniature import MiniatureSettings

BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
OF_ANOTHER_FORMAT = (AttributeError, KeyError, SyntaxError, TypeError, ValueError)  # SyntaxError: no XML
GENERATOR = "context_nmt.miniature.generation"

Fetched = dict[str, tuple[Path, str]]  # by the name of a file: its path, and the place that it is from
Piece = tuple[str, str, int]  # SPLIT.LANGUAGE, the place of a text that was appended to it, and its number of lines


def code_of(entry: CorpusEntry | MiniatureSettings) -> list[str]:
    """Return the names of the modules that make a corpus."""
    if isinstance(entry, MiniatureSettings):
        return [GENERATOR]
    formats = {entry.format, *(file.format for file in entry.files if file.format)}
    return sorted({_code_of_format(name) for name in formats})


def _code_of_format(name: str) -> str:
    return f"context_nmt.corpus.formats.{FORMATS[name].module}"


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

    Each file is first looked for in `mirror`, a folder or the start of a URL, as MIRROR/CORPUS/FILENAME. Downloads stay
    in `.downloads` next to `checksums`, for all corpora that name the same address. Only when the corpus is complete
    are checksums that the entry lacks recorded in `checksums`. Raise UserError for a file that cannot be fetched or
    unpacked, a wrong checksum, empty text, too many bad lines, and languages with unequal numbers of lines.
    """
    if isinstance(entry, MiniatureSettings):
        importlib.import_module(GENERATOR).generate(entry, destination)
        return
    corpus, downloads, known = destination.name, checksums.parent / ".downloads", _recorded(checksums)
    test_sets = [file for test_set in entry.sacrebleu for file in test_set.files]
    files = [*entry.files, *test_sets]
    recorded = {file.name: ("sha256", known[file.url]) for file in files if file.url in known and not file.derived}
    expected = {file.name: file.checksum or recorded.get(file.name) for file in files}
    unknown = [file for file in files if expected[file.name] is None]
    fetched = _fetched(files, expected, downloads, corpus=corpus, mirror=mirror)
    place = destination.with_name(f".{corpus}")
    with (
        alone(place, f"{corpus}: waiting for another process, which makes it"),
        replacing_folder(destination) as folder,
    ):
        pieces: list[Piece] = []
        try:
            for file in files:
                if file not in test_sets:
                    pieces += _unpack(file, fetched, folder, entry)
                elif not file.derived or size(fetched[file.name][0]):  # empty if not known
                    shutil.copyfile(fetched[file.name][0], folder / file.name)
            _check_pieces(pieces, corpus)
            _check_texts(folder, corpus, files, fetched)
        except UserError as error:
            reason = str(error).replace(f"{folder}/", "")  # it has a temporary name
            kept = [fetched[file.name][0] for file in unknown if not file.url.startswith(SACREBLEU)]
            wrong = ", ".join(str(path) for path in kept if path.parent == downloads)
            delete = f"delete what is no right download ({wrong}), " if wrong else ""
            mend = f"{delete}put the right file into the folder of DATA_MIRROR, or correct the entry"
            raise UserError(f"{reason}; {mend} in data/params.yaml, and try again") from None
    new = {file.url: sha256(fetched[file.name][0]) for file in unknown if not file.derived}
    if new:
        with alone(checksums, f"{checksums}: waiting for another process, which writes it"):
            write_json(checksums, _recorded(checksums) | new)
    for address, checksum in new.items():
        print(f"{address}: sha256 {checksum} is recorded in {checksums}; later downloads must match it")
    if (stored := sum(size(path) for path, _ in fetched.values() if path.parent == downloads)) >= WORTH_SAYING:
        say(f"{corpus}: its downloads, {stored / MEGABYTE:,.0f} MB, stay in {downloads} until you delete them")


def _recorded(checksums: Path) -> dict[str, str]:
    return read_json(checksums) if checksums.is_file() else {}


def _fetched(
    files: list[DownloadFile], expected: dict[str, Checksum | None], downloads: Path, *, corpus: str, mirror: str | None
) -> Fetched:
    """Fetch all files, those that a person must fetch before all others."""
    mirrored = {file.name: f"{mirror.rstrip('/')}/{corpus}/{file.name}" if mirror else "" for file in files}
    fetched: Fetched = {}

    def add(file: DownloadFile) -> None:
        place, checksum = mirrored[file.name], expected[file.name]
        fetched[file.name] = fetch(file, downloads, corpus=corpus, mirrored=place, expected=checksum)

    missing: dict[str, UserError] = {}
    for file in files:
        if file.by_hand is not None:
            try:
                add(file)
            except UserError as error:
                missing[file.name] = error
    if missing:
        first, *others = missing
        also = f". By hand, too: {', '.join(others)}; see `context-nmt corpus status {corpus}`" if others else ""
        raise UserError(f"{missing[first]}{also}")
    by_programs = [file for file in files if file.by_hand is None]
    to_download = sum(
        file.bytes or 0
        for file in by_programs
        if not (Path(mirrored[file.name]).is_file() or downloaded(file, downloads).is_file())
    )
    if to_download >= WORTH_SAYING:
        say(f"{corpus}: {to_download / MEGABYTE:,.0f} MB or more to download")
    for file in by_programs:
        add(file)
    return fetched


def _unpack(file: DownloadFile, fetched: Fetched, folder: Path, entry: CorpusEntry) -> list[Piece]:
    """Unpack one file, and return its texts, if it is of format text."""
    form = file.format or entry.format
    paths, place = {name: path for name, (path, _) in fetched.items()}, fetched[file.name][1]
    unpack = getattr(importlib.import_module(_code_of_format(form)), f"unpack_{form}")
    try:
        texts = unpack(paths, folder, file, entry) or []
    except (UserError, *BROKEN, *OF_ANOTHER_FORMAT) as error:
        cause = error.__context__ if isinstance(error, UserError) else error
        if isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRORS:
            raise cause from None
        reason = str(error).removeprefix(f"{paths[file.name]}: ").partition(":\n")[0]  # tarfile adds a line per format
        raise UserError(f"{place}: cannot be read as {form} ({reason})") from None
    return [(name, f"{member} of {place}" if file.members else place, count) for name, member, count in texts]


def _check_pieces(pieces: list[Piece], corpus: str) -> None:
    """Raise UserError if languages of a split have equally many texts, and those at one place differ in length."""
    by_split: dict[str, dict[str, list[Piece]]] = defaultdict(lambda: defaultdict(list))
    for piece in pieces:
        by_split[piece[0].partition(".")[0]][piece[0]].append(piece)
    for first, *others in (list(texts.values()) for texts in by_split.values()):
        for other in (other for other in others if len(other) == len(first) > 1):
            for one, two in zip(first, other, strict=True):
                if one[2] != two[2]:
                    counts = ", ".join(f"{name} {count} (from {place})" for name, place, count in (one, two))
                    raise UserError(f"{corpus}: texts that belong together have different numbers of lines: {counts}")


def _check_texts(folder: Path, corpus: str, files: list[DownloadFile], fetched: Fetched) -> None:
    """Leave out lines that are not UTF-8 in all languages of a split.

    Raise UserError for too many of them, a file that is empty, and languages with unequal numbers of lines.
    """

    def source(*names: str) -> str:
        named = [fetched[file.name][1] for file in files if not set(names).isdisjoint(file.outputs)]
        return f"(from {', '.join(named or [place for _, place in fetched.values()])})"

    paths = sorted(path for path in folder.iterdir() if path.suffix != ".documents")
    if empty := [path.name for path in paths if path.stat().st_size == 0]:
        raise UserError(f"{corpus}: no text in {', '.join(empty)} {source(*empty)}")
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
            different = f"the languages of a split have different numbers of lines: {line_counts}"
            raise UserError(f"{corpus}: {different} {source(*counts)}")
        with skipping(f"{corpus}: {split} {source(*counts)}", "lines") as lines:
            lines.total = counts[languages[0].name]
            for number in sorted(bad):
                lines.skip(bad[number], "not UTF-8")
        if bad:
            _leave_out(bad, languages, split, lines.total)


def _leave_out(bad: Container[int], languages: list[Path], split: str, count: int) -> None:
    """Remove lines from all languages of a split, given their numbers from 0, and from its documents."""
    for path in languages:
        with replacing(path) as temporary, path.open("rb") as text, temporary.open("wb") as kept:
            kept.writelines(line for number, line in enumerate(text) if number not in bad)
    folder = languages[0].parent
    if documents := read_documents(folder, split, count):
        write_documents(folder, split, without_dropped(documents, (number not in bad for number in range(count))))
