"""Find out which corpora of data/params.yaml are on this machine, how large they are, and how to get the others."""

from pathlib import Path
from typing import Any

from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue, read_entry
from context_nmt.corpus.fetching import MEGABYTE, download_path
from context_nmt.corpus.folder import text_files
from context_nmt.files import iterate_lines

Status = dict[str, Any]
GENERATED = {"from": "generated", "licence": "this project's own", "homepage": "", "by_hand": {}}
NAME_WIDTH = 26  # characters


def find_corpora(parameters: Path, corpus: str | None = None, *, mirror: str | None) -> dict[str, Status]:
    """Return the status of every corpus of a project's data/params.yaml by its name, or only of `corpus`.

    A status has the keys `folder`, `sentences` and `bytes`, which are null for a corpus that is not here; `from`:
    generated, download, mirror or by hand; `licence` and `homepage`; `download`, what is still to be downloaded:
    `bytes`, and the number of files of `unknown` size, without sets of sacrebleu; and `by_hand`, the steps for each
    file that a person must fetch. A mirror with an address is not queried: it counts as having every
    file. Raise UserError for an unknown corpus and for an invalid entry.
    """
    names = (name for entries in read_catalogue(parameters).values() for name in entries)
    root = parameters.parent.parent
    return {
        name: _origin(root, name, read_entry(parameters, name), mirror) | _size(root, name)
        for name in ([corpus] if corpus else names)
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


def _origin(root: Path, name: str, entry: Any, mirror: str | None) -> Status:
    if not isinstance(entry, CorpusEntry):
        return GENERATED | {"download": {"bytes": 0, "unknown": 0}}
    test_files = [file for test_set in entry.sacrebleu for file in test_set.files]
    missing = [
        file
        for file in (*entry.files, *test_files)
        if mirror is None or not ("://" in mirror or (Path(mirror) / name / file.name).is_file())
    ]
    steps = {file.name: " ".join(file.by_hand.split()) for file in missing if file.by_hand}
    sizes = [
        file.bytes
        for file in missing
        if not (file in test_files or file.by_hand or download_path(file, root / "data/.downloads").is_file())
    ]
    return {
        "from": "by hand" if steps else "download" if missing else "mirror",
        "download": {"bytes": sum(size or 0 for size in sizes), "unknown": sizes.count(None)},
        "by_hand": steps,
        "licence": entry.licence,
        "homepage": entry.homepage,
    }


def print_status(statuses: dict[str, Status], downloads: Path, *, steps: bool) -> None:
    """Print a line for each corpus of `find_corpora`; with `steps`, also how a person gets files by hand."""
    for name, status in statuses.items():
        licence = ", ".join(filter(None, (status["licence"], status["homepage"])))
        print(f"{name:<{NAME_WIDTH}}{_location(status)}; licence: {licence}")
        for file, text in status["by_hand"].items() if steps and not status["folder"] else ():
            print(f"  by hand, as DATA_MIRROR/{name}/{file}: {text}")
    if downloads.is_dir():
        print(f"Downloads, kept until you delete {downloads}: {_bytes(downloads) / MEGABYTE:,.0f} MB")


def _location(status: Status) -> str:
    if status["folder"]:
        return f"{status['folder']}: {status['sentences']:,} sentences, {status['bytes'] / MEGABYTE:,.1f} MB"
    if status["from"] in ("generated", "mirror"):
        return {"generated": "generated", "mirror": "from the mirror"}[status["from"]]
    amount = status["download"]
    counts = ((amount["unknown"], "of unknown size"), (len(status["by_hand"]), "by hand"))
    parts = [f"{count} file{'s' * (count > 1)} {kind}" for count, kind in counts if count]
    download = f"download of {amount['bytes'] / MEGABYTE:,.0f} MB"
    return ", ".join([download, *parts] if amount["bytes"] or not parts else parts)
