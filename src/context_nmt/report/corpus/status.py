"""Which corpora of data/params.yaml are on this machine, how large they are, and how to get the others."""

from collections import Counter
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue, read_entry
from context_nmt.files import iterate_lines
from context_nmt.report.corpus.folder import BOUND, TEXT_FILE

Status = dict[str, Any]
OWN = "this project's own"  # licence of generated corpora


def find_corpora(parameters: Path, corpus: str | None = None, *, mirror: str | None) -> dict[str, Status]:
    """Return the status of every corpus of a project's data/params.yaml by its name, or of one; raise UserError.

    A status has the keys `folder`, `sentences` and `bytes`, which are null for a corpus that is not here; `from`:
    generated, download, mirror or by hand; `licence`; and `by_hand`, the steps for each file that a person must fetch.
    A mirror with an address is not asked: it counts as having every file.
    """
    every = (name for entries in read_catalogue(parameters).values() for name in entries)
    root = parameters.parent.parent
    return {
        name: _source(name, read_entry(parameters, name), mirror) | _size(root, name)
        for name in ([corpus] if corpus else every)
    }


def _size(root: Path, name: str) -> Status:
    folders = [root / "data" / name, *sorted(root.glob(f"experiments/*/data/{name}"))]
    folder = next(filter(Path.is_dir, folders), None)
    if folder is None:
        return {"folder": None, "sentences": None, "bytes": None}
    lines: Counter[str] = Counter()  # by split, of the language that has most
    for path in folder.iterdir():
        text = TEXT_FILE.fullmatch(path.name)
        if text and not text["split"].endswith(BOUND):
            lines[text["split"]] = max(lines[text["split"]], sum(1 for _ in iterate_lines(path)))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"folder": str(folder), "sentences": lines.total(), "bytes": size}


def _source(name: str, entry: Any, mirror: str | None) -> Status:
    if not isinstance(entry, CorpusEntry):
        return {"from": "generated", "licence": OWN, "by_hand": {}}
    files = [*entry.files, *(file for test_set in entry.sacrebleu for file in test_set.files)]
    missing = [file for file in files if not _is_mirrored(mirror, name, file.name)]
    steps = {file.name: " ".join(file.by_hand.split()) for file in missing if file.by_hand}
    source = "by hand" if steps else "download" if missing else "mirror"
    return {"from": source, "licence": entry.licence, "by_hand": steps}


def _is_mirrored(mirror: str | None, name: str, file: str) -> bool:
    return mirror is not None and ("://" in mirror or (Path(mirror) / name / file).is_file())


def print_status(found: dict[str, Status], *, with_steps: bool) -> None:
    """Print a table of `find_corpora`, and what a person must do, or the command that says so."""
    console, table = Console(), Table("corpus", "here, or how", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("sentences", "MB"):
        table.add_column(column, justify="right")
    table.add_column("licence", overflow="fold")
    for name, status in found.items():
        sizes = [f"{status['sentences']:,}", f"{status['bytes'] / 1e6:,.1f}"] if status["folder"] else ["", ""]
        table.add_row(name, status["folder"] or status["from"], *sizes, status["licence"])
    console.print(table)
    steps = {
        f"{name}/{file}": text
        for name, status in found.items()
        if not status["folder"]
        for file, text in status["by_hand"].items()
    }
    if steps and not with_steps:
        steps = {"By hand": "context-nmt corpus status NAME shows the steps"}
    elif steps:
        console.print("By hand, into the folder that the environment variable DATA_MIRROR names:", soft_wrap=True)
    for file, text in steps.items():
        console.print(f"{file}: {text}", markup=False, highlight=False, soft_wrap=True)
