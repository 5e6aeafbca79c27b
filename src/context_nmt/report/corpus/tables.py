"""Print the description of a corpus."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.measures.files import format_scores
from context_nmt.report.corpus.description import BIN, Description

WIDTH = 14  # characters of the longest bar
LABELS = 9  # classes of a probing task that are listed


def print_description(description: Description) -> None:
    """Print tables, histograms and scores to standard output."""
    console, splits = Console(), description["splits"]
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
    for split, values in splits.items():
        for language, scores in values.get("bound", {}).items():
            for line in (f"Oracle without context (majority choice): {split}.{language}", format_scores(scores)):
                console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], justify: Literal["left", "right"] = "right"
) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, justify=justify)
    for row in rows:
        table.add_row(*row)
    return table


def _sizes(splits: Description) -> Table:
    rows = []
    for split, values in splits.items():
        for language, side in values["languages"].items():
            documents, lengths = values.get("documents"), side["lengths"]
            counts = [f"{count:,}" for count in (values["sentences"], side["tokens"], side["types"])]
            sizes = [f"{documents:,}" if documents else "-", *counts, f"{lengths['mean']:g}", f"{lengths['longest']:g}"]
            rows.append([f"{split}.{language}", *sizes])
    columns = ("text", "documents", "sentences", "tokens", "types", "mean", "longest")
    return _table("Size (Moses tokens)", columns, rows)


def _histogram(split: str, values: Description) -> Table:
    histograms = {language: side["lengths"]["histogram"] for language, side in values["languages"].items()}
    largest = max(count for histogram in histograms.values() for count in histogram)
    rows = []
    for bin_number, counts in enumerate(zip_longest(*histograms.values(), fillvalue=0)):
        bars = ["█" * round(WIDTH * count / largest) + f" {count:,}" for count in counts]
        rows.append([f"{bin_number * BIN + 1}-{(bin_number + 1) * BIN}", *bars])
    return _table(f"Lengths: {split}", ["tokens", *histograms], rows, justify="left")


def _phenomena(phenomena: Description) -> Table:
    names = dict.fromkeys(name for rates in phenomena.values() for name in rates)
    rows = [[name, *(f"{rates.get(name, 0):.2f}" for rates in phenomena.values())] for name in names]
    return _table("Per 100 sentences", ["phenomenon", *phenomena], rows)


def _overlap(overlap: Description) -> Table:
    counts: dict[str, dict[str, int]] = {}
    for split, values in overlap.items():
        for name in ("sentences", "sentences_over_four_words", "documents"):
            for language, count in values.get(name, {}).items():
                counts.setdefault(f"{name.replace('_', ' ')}, {language}", {})[split] = count
        counts.setdefault("sentence pairs", {})[split] = values["pairs"]
    rows = [
        [name, *(f"{by_split[split]:,}" if split in by_split else "-" for split in overlap)]
        for name, by_split in counts.items()
    ]
    return _table("Also in training", ["count", *overlap], rows)


def _contrastive(sets: Description) -> Table:
    rows = []
    for name, values in sets.items():
        categories = "\n".join(f"{category} {count:,}" for category, count in values["categories"].items())
        rows.append([name, f"{values['items']:,}", f"{values['mirrored_pairs']:,}", categories])
    return _table("Contrastive sets", ("set", "items", "mirrored pairs", "categories"), rows)


def _probing(tasks: Description) -> Table:
    splits = list(dict.fromkeys(split for classes in tasks.values() for counts in classes.values() for split in counts))
    rows = []
    for name, classes in tasks.items():
        sizes = dict.fromkeys("/".join(str(counts.get(split, 0)) for split in splits) for counts in classes.values())
        labels = [*classes][:LABELS] + ["…"] * (len(classes) > LABELS)
        rows.append([name, str(len(classes)), ", ".join(sizes), " ".join(labels)])
    return _table("Probing tasks", ("task", "classes", f"each {'/'.join(splits)}", "labels"), rows, justify="left")
