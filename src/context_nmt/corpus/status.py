"""Which corpora of data/params.yaml are on this machine, how large they are, and how to get the others."""

import textwrap
from pathlib import Path
from typing import Any

from rich.console import Console

from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue, read_entry
from context_nmt.corpus.fetching import MEGABYTE, downloaded
from context_nmt.corpus.folder import text_files
from context_nmt.files import UserError, iterate_lines

Status = dict[str, Any]
GENERATED = {"from": "generated", "licence": "this project's own", "homepage": "", "papers": [], "by_hand": {}}
NO_PAPER = "In no paper"
WIDTH = 26  # of the names of corpora


def find_corpora(parameters: Path, corpus: str | None = None, *, mirror: str | None) -> dict[str, Status]:
    """Return the status of every corpus of a project's data/params.yaml by its name, or of one; raise UserError.

    A status has the keys `folder`, `sentences` and `bytes`, which are null for a corpus that is not here; `from`:
    generated, download, mirror or by hand; `licence`, `homepage` and `papers`; `download`, what is still to be
    downloaded: `bytes`, and the number of files of `unknown` size, without sets of sacrebleu; and `by_hand`, the steps
    for each file that a person must fetch. A mirror with an address is not asked: it counts as having every file.
    """
    every = (name for entries in read_catalogue(parameters).values() for name in entries)
    root = parameters.parent.parent
    return {
        name: _source(root, name, read_entry(parameters, name), mirror) | _size(root, name)
        for name in ([corpus] if corpus else every)
    }


def _size(root: Path, name: str) -> Status:
    folders = [root / "data" / name, *sorted(root.glob(f"experiments/*/data/{name}"))]
    folder = next(filter(Path.is_dir, folders), None)
    if folder is None:
        return {"folder": None, "sentences": None, "bytes": None}
    lengths = [
        [sum(1 for _ in iterate_lines(path)) for path in sides.values()] for sides in text_files(folder).values()
    ]
    return {"folder": str(folder), "sentences": sum(map(max, lengths)), "bytes": _bytes(folder)}


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _source(root: Path, name: str, entry: Any, mirror: str | None) -> Status:
    if not isinstance(entry, CorpusEntry):
        return GENERATED | {"download": {"bytes": 0, "unknown": 0}}
    sets = [file for test_set in entry.sacrebleu for file in test_set.files]
    missing = [
        file
        for file in (*entry.files, *sets)
        if mirror is None or not ("://" in mirror or (Path(mirror) / name / file.name).is_file())
    ]
    steps = {file.name: " ".join(file.by_hand.split()) for file in missing if file.by_hand}
    sizes = [
        file.bytes
        for file in missing
        if not (file in sets or file.by_hand or downloaded(file, root / "data/.downloads").is_file())
    ]
    return {
        "from": "by hand" if steps else "download" if missing else "mirror",
        "download": {"bytes": sum(size or 0 for size in sizes), "unknown": sizes.count(None)},
        "by_hand": steps,
        "licence": entry.licence,
        "homepage": entry.homepage,
        "papers": list(entry.papers),
    }


def print_status(found: dict[str, Status], downloads: Path, papers: dict[str, str]) -> None:
    """Print for each paper which corpora of `find_corpora` are here, come by themselves or need a person, and how.

    `papers` are their titles by name; raise UserError for a corpus of another one.
    """
    for name, status in found.items():
        if unknown := set(status["papers"]) - set(papers):
            known = ", ".join(sorted(papers))
            raise UserError(f"data/params.yaml: corpora.{name}: papers: no paper {min(unknown)!r}; there are {known}")
    console = Console(highlight=False, markup=False)
    console.print("Corpora by paper, with what is still to be downloaded\n")
    for paper, title in (papers | {"": NO_PAPER}).items():
        corpora = {name: one for name, one in found.items() if paper in (one["papers"] or [""])}
        if not corpora:
            continue
        missing = [one["download"] for one in corpora.values() if not one["folder"]]
        total = {key: sum(amount[key] for amount in missing) for key in ("bytes", "unknown")}
        console.print(f"{title}: {_in_words(total)}" if any(total.values()) else title, style="bold", soft_wrap=True)
        printed: dict[str, str] = {}
        for name, status in corpora.items():
            _print_corpus(console, name, status, printed)
        console.print()
    if downloads.is_dir():
        console.print(f"Downloads, kept until you delete {downloads}: {_bytes(downloads) / MEGABYTE:,.0f} MB")


def _print_corpus(console: Console, name: str, status: Status, printed: dict[str, str]) -> None:
    """Print one corpus; `printed` has the steps that were printed for a paper, up to their command, and for what."""
    console.print(f"  {name:<{WIDTH}}{_where(status)}", soft_wrap=True)
    notes = [f"licence: {', '.join(filter(None, (status['licence'], status['homepage'])))}"]
    for file, steps in status["by_hand"].items() if not status["folder"] else ():
        start, colon, command = steps.rpartition(": ")
        if start in printed:
            steps = f"as {printed[start]}, but with the command{colon}{command}"
        elif colon:
            printed[start] = f"{name}/{file}"
        notes.append(f"by hand, as DATA_MIRROR/{name}/{file}: {steps}")
    for note in notes:
        lines = textwrap.wrap(
            note, console.width - 4, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        console.print(textwrap.indent("\n".join(lines), " " * 4), soft_wrap=True)


def _where(status: Status) -> str:
    if status["folder"]:
        return f"{status['folder']}: {status['sentences']:,} sentences, {status['bytes'] / MEGABYTE:,.1f} MB"
    if status["from"] in ("generated", "mirror"):
        return {"generated": "generated", "mirror": "from the mirror"}[status["from"]]
    amount, count = status["download"], len(status["by_hand"])
    parts = [f"by itself: {_in_words(amount)}"] if any(amount.values()) or not count else []
    return "; ".join([*parts, *([f"by hand: {count} file{'s' * (count > 1)}, size unknown"] if count else [])])


def _in_words(amount: dict[str, int]) -> str:
    """Return an amount of find_corpora."""
    known, unknown = f"{amount['bytes'] / MEGABYTE:,.0f} MB", amount["unknown"]
    files = f"{unknown} file{'s' * (unknown > 1)} of unknown size"
    return f"{known} and {files}" if amount["bytes"] and unknown else files if unknown else known
