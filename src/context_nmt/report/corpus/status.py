"""Which corpora of data/params.yaml are on this machine, how large they are, and how to get the others."""

from collections import Counter
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.corpus.catalogue import CorpusEntry, read_catalogue, read_entry
from context_nmt.files import iterate_lines

Status = dict[str, Any]
OWN = "this project's own"  # licence of generated corpora


def find_corpora(root: Path, mirror: str | None) -> dict[str, Status]:
    """Return the status of every corpus of a project by its name; raise UserError for a wrong entry.

    A status has the keys `folder`, `sentences` and `bytes`, which are null for a corpus that is not here; `from`:
    generated, download, mirror or by hand; `licence`; and `by_hand`, the steps for each file that a person must fetch.
    A mirror with an address is not asked: it counts as having every file.
    """
    parameters = root / "data" / "params.yaml"
    return {
        name: _size(root, name) | _source(name, read_entry(parameters, name), mirror)
        for entries in read_catalogue(parameters).values()
        for name in entries
    }


def _size(root: Path, name: str) -> Status:
    folders = [root / "data" / name, *sorted(root.glob(f"experiments/*/data/{name}"))]
    folder = next(filter(Path.is_dir, folders), None)
    if folder is None:
        return {"folder": None, "sentences": None, "bytes": None}
    lines: Counter[str] = Counter()  # by split, of the language or annotation that has most
    for path in folder.iterdir():
        if path.is_file() and path.suffix != ".documents":
            split = path.name.partition(".")[0]
            lines[split] = max(lines[split], sum(1 for _ in iterate_lines(path)))
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


def print_status(found: dict[str, Status]) -> None:
    """Print a table of `find_corpora` and the steps of those that a person must fetch."""
    console, table = Console(), Table("corpus", "here, or how", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("sentences", "MB"):
        table.add_column(column, justify="right")
    table.add_column("licence", overflow="fold")
    for name, status in found.items():
        sizes = [f"{status['sentences']:,}", f"{status['bytes'] / 1e6:,.1f}"] if status["folder"] else ["", ""]
        table.add_row(name, status["folder"] or status["from"], *sizes, status["licence"])
    console.print(table)
    for name, status in found.items():
        for file, steps in ({} if status["folder"] else status["by_hand"]).items():
            text = (
                f"{name}: {file} must be fetched by hand, and is then looked for as DATA_MIRROR/{name}/{file}: {steps}"
            )
            console.print(text, markup=False, highlight=False, soft_wrap=True)
