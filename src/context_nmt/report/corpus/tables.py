"""Prints the description of a corpus."""

from collections.abc import Iterator
from typing import Literal

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from context_nmt.measures.files import format_scores
from context_nmt.report.corpus.description import BIN, Description

WIDTH = 14  # characters of the longest bar
LABELS = 9  # classes of a probing task that are named


def print_description(description: Description) -> None:
    """Print tables, histograms and scores to standard output."""
    console = Console()
    splits = description["splits"]
    console.print(_sizes(splits))
    for split, values in splits.items():
        console.print(_histogram(split, values))
    phenomena = {split: values["phenomena"] for split, values in splits.items() if "phenomena" in values}
    if phenomena:
        console.print(_phenomena(phenomena))
    overlap = {split: values["in_training"] for split, values in splits.items() if "in_training" in values}
    if overlap:
        console.print(_overlap(overlap))
    if "contrastive" in description:
        console.print(_contrastive(description["contrastive"]))
    if "probing" in description:
        console.print(_probing(description["probing"]))
    for line in _bounds(splits):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(title: str, first: str, *columns: str, justify: Literal["left", "right"] = "right") -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify=justify)
    return table


def _sizes(splits: Description) -> RenderableType:
    numbers = ("documents", "sentences", "tokens", "types", "mean", "longest")
    table = _table("Size (Moses tokens)", "text", *numbers)
    for split, values in splits.items():
        for language, side in values["languages"].items():
            lengths, documents = side["lengths"], values.get("documents")
            counts = [values["sentences"], side["tokens"], side["types"]]
            table.add_row(
                f"{split}.{language}",
                f"{documents:,}" if documents else "-",
                *(f"{count:,}" for count in counts),
                *(f"{lengths[name]:g}" for name in ("mean", "longest")),
            )
    return table


def _histogram(split: str, values: Description) -> RenderableType:
    histograms = {language: side["lengths"]["histogram"] for language, side in values["languages"].items()}
    table = _table(f"Lengths: {split}", "tokens", *histograms, justify="left")
    most = max(count for histogram in histograms.values() for count in histogram)
    for number in range(max(map(len, histograms.values()))):
        counts = [histogram[number] if number < len(histogram) else 0 for histogram in histograms.values()]
        bars = ["█" * round(WIDTH * count / most) + f" {count:,}" for count in counts]
        table.add_row(f"{number * BIN + 1}-{(number + 1) * BIN}", *bars)
    return table


def _phenomena(phenomena: Description) -> RenderableType:
    table = _table("Per 100 sentences", "phenomenon", *phenomena)
    for name in dict.fromkeys(name for rates in phenomena.values() for name in rates):
        table.add_row(name, *(f"{rates.get(name, 0):.2f}" for rates in phenomena.values()))
    return table


def _overlap(overlap: Description) -> RenderableType:
    table = _table("Also in training", "what", *overlap)
    rows: dict[str, dict[str, int]] = {}
    for split, values in overlap.items():
        for name in ("sentences", "sentences_over_four_words", "documents"):
            for language, count in values.get(name, {}).items():
                rows.setdefault(f"{name.replace('_', ' ')}, {language}", {})[split] = count
        rows.setdefault("sentence pairs", {})[split] = values["pairs"]
    for name, counts in rows.items():
        table.add_row(name, *(f"{counts[split]:,}" if split in counts else "-" for split in overlap))
    return table


def _contrastive(sets: Description) -> RenderableType:
    table = _table("Contrastive sets", "set", "items", "mirrored pairs", "categories")
    for name, values in sets.items():
        categories = "\n".join(f"{category} {count:,}" for category, count in values["categories"].items())
        table.add_row(name, f"{values['items']:,}", f"{values['mirrored_pairs']:,}", categories)
    return table


def _probing(tasks: Description) -> RenderableType:
    splits = list(dict.fromkeys(split for classes in tasks.values() for counts in classes.values() for split in counts))
    table = _table("Probing tasks", "task", "classes", f"each {'/'.join(splits)}", "labels", justify="left")
    for name, classes in tasks.items():
        sizes = dict.fromkeys("/".join(str(counts.get(split, 0)) for split in splits) for counts in classes.values())
        labels = [*classes][:LABELS] + ["…"] * (len(classes) > LABELS)
        table.add_row(name, str(len(classes)), ", ".join(sizes), " ".join(labels))
    return table


def _bounds(splits: Description) -> Iterator[str]:
    for split, values in splits.items():
        for language, scores in values.get("bound", {}).items():
            yield f"Bound for a system that sees one sentence: {split}.{language}"
            yield format_scores(scores)
