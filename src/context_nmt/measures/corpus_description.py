"""Describe a corpus: its size, how often it needs context, and the scores of an oracle that sees one sentence."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table

from context_nmt.corpus.folder import BOUND_SUFFIX, LANGUAGE, TRAINING_SPLIT, Record, Split, parallel_files, read_split
from context_nmt.files import UserError, iterate_lines, read_json_lines, read_lines
from context_nmt.measures.bleu import Score, moses_tokens, score_raw_and_tokenized
from context_nmt.measures.file_scores import format_scores
from context_nmt.settings.evaluation import tokenizer_of

BIN_WIDTH = 5  # tokens
LONGEST_SHORT_SENTENCE = 4  # words; sentences up to this length are likely to recur
CONTRASTIVE_FILE = re.compile(rf".+\.{LANGUAGE}-{LANGUAGE}\.jsonl")
SYNTAX = {  # what is counted in the brackets of a gold tree
    "relative_clauses": r"\(SBAR \(WHNP ",
    "subordinate_clauses": r"\(SBAR (?!\(WHNP )",
    "coordinated_clauses": r"\) \(CC [^()]+\) \(S ",
    "coordinated_phrases": r"\) \(CC [^()]+\) (?!\(S )",
    "questions": r"\((SQ|SBARQ) ",
    "direct_speech": r"\(`` ",
    "negations": r"\(RB (not|n't|'t)\)",
    "modals": r"\(MD ",
}
LONGEST_BAR = 14  # characters of the longest bar of a histogram
LISTED_LABELS = 9  # classes of a probing task that are listed

Description = dict[str, Any]


def describe_corpus(path: Path) -> Description:
    """Describe the corpus in a folder, omitting missing parts.

    {"splits": {SPLIT: {"sentences", "documents", "languages": {LANGUAGE: {"tokens", "types", "lengths"}}, "phenomena",
    "in_training", "bound": {LANGUAGE: SCORES}}}, "contrastive": {SET: …}, "probing": {TASK: {CLASS: {SPLIT: …}}}}
    """
    splits = {name: read_split(path, name, files) for name, files in parallel_files(path).items()}
    training = splits.get(TRAINING_SPLIT)
    sets = [file for file in sorted(path.glob("*.jsonl")) if CONTRASTIVE_FILE.fullmatch(file.name)]
    return _without_empty(
        splits={
            name: _describe_split(path, name, split, None if name == TRAINING_SPLIT else training)
            for name, split in splits.items()
        },
        contrastive={file.stem: _describe_contrastive(file) for file in sets},
        probing={file.stem: _describe_probing(file) for file in sorted(path.glob("probing/*.txt"))},
    )


def _without_empty(**values: Any) -> Description:
    return {key: value for key, value in values.items() if value}


def _describe_split(folder: Path, name: str, split: Split, training: Split | None) -> Description:
    bound = {language: folder / f"{name}{BOUND_SUFFIX}.{language}" for language in split.text}
    return {"sentences": len(split)} | _without_empty(
        documents=len(split.documents or ()),
        languages={language: _describe_side(language, lines, split.gold) for language, lines in split.text.items()},
        phenomena=split.gold and count_phenomena(split.gold, where=folder / f"{name}.gold.jsonl"),
        in_training=training and _overlap(split, training),
        bound={
            language: _score_bound(path, split.text[language], language)
            for language, path in bound.items()
            if path.exists()
        },
    )


def _describe_side(language: str, lines: Sequence[str], gold: Sequence[Record] | None) -> Description:
    """Describe the size and lengths of one side, in gold tokens if there are any, else in Moses tokens."""
    if gold and all(language in record for record in gold):
        tokens = [record[language]["tokens"] for record in gold]
    else:
        tokens = [line.split() for line in moses_tokens(lines, language)]
    lengths = [len(line) for line in tokens]
    bins = Counter(max(length - 1, 0) // BIN_WIDTH for length in lengths)
    return {
        "tokens": sum(lengths),
        "types": len({token for line in tokens for token in line}),
        "lengths": {
            "mean": round(fmean(lengths), 2),
            "median": median(lengths),
            "longest": max(lengths),
            "histogram": [bins[number] for number in range(max(bins) + 1)],  # 1 to 5 tokens, 6 to 10, …
        },
    }


def _overlap(split: Split, training: Split) -> Description:
    """Count the sentences and documents of each side, and the sentence pairs, that the training text also has."""
    languages = [language for language in split.text if language in training.text]
    overlap: Description = {"sentences": {}, "sentences_over_four_words": {}}
    documents = {}
    for language in languages:
        seen = set(training.text[language])
        shared = [line for line in split.text[language] if line in seen]
        overlap["sentences"][language] = len(shared)
        overlap["sentences_over_four_words"][language] = sum(
            len(line.split()) > LONGEST_SHORT_SENTENCE for line in shared
        )
        if split.documents and training.documents:
            seen_documents = {tuple(training.text[language][line] for line in span) for span in training.documents}
            documents_of_split = (tuple(split.text[language][line] for line in span) for span in split.documents)
            documents[language] = sum(document in seen_documents for document in documents_of_split)
    training_pairs, split_pairs = (
        zip(*(text_split.text[language] for language in languages), strict=True) for text_split in (training, split)
    )
    pairs = set(training_pairs)
    return overlap | {"pairs": sum(pair in pairs for pair in split_pairs)} | _without_empty(documents=documents)


def _score_bound(path: Path, reference: Sequence[str], language: str) -> dict[str, Score]:
    lines = read_lines(path)
    if len(lines) != len(reference):
        raise UserError(f"{path} has {len(lines)} lines, its reference has {len(reference)}; they must be equal")
    return score_raw_and_tokenized(lines, [reference], language=language, tokenizer=tokenizer_of(language))


def _describe_contrastive(path: Path) -> Description:
    """Count the items by category, and the pairs that mirror each other."""
    items = read_json_lines(path)
    for number, item in enumerate(items, start=1):
        if not isinstance(item.get("categories"), list):
            raise UserError(f"{path}: line {number} has no list under 'categories'")
    categories = Counter(category for item in items for category in item["categories"])
    pairs = {frozenset((index, item["mirror"])) for index, item in enumerate(items) if item.get("mirror") is not None}
    return {"items": len(items), "mirrored_pairs": len(pairs), "categories": dict(sorted(categories.items()))}


def _describe_probing(path: Path) -> Description:
    """Count the sentences of each class by split."""
    counts: Counter[tuple[str, str]] = Counter()  # by split and label
    for number, line in enumerate(iterate_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 3:
            raise UserError(f"{path}: line {number} has {len(fields)} fields, not split, label and sentence")
        counts[fields[0], fields[1]] += 1
    splits, labels = dict.fromkeys(split for split, _ in counts), sorted({label for _, label in counts})
    return {label: {split: counts[split, label] for split in splits} for label in labels}


def count_phenomena(records: Iterable[Record], *, where: Path) -> dict[str, float]:
    """Return the occurrences of each phenomenon per 100 sentences; raise UserError for a record without its keys."""
    counts: Counter[str] = Counter()
    sentences = 0
    for sentences, record in enumerate(records, start=1):
        try:
            counts.update(_context_phenomena(record))
            counts.update({name: len(re.findall(pattern, record["tree"])) for name, pattern in SYNTAX.items()})
        except (KeyError, TypeError) as error:
            raise UserError(f"{where}: line {sentences} is not gold data ({type(error).__name__}: {error})") from None
    names = [*sorted(name for name in counts if name not in SYNTAX), *SYNTAX]
    return {name: round(100 * counts[name] / sentences, 2) for name in names}


def _context_phenomena(record: Record) -> Iterator[str]:
    for pronoun in record["pronouns"]:
        category = "it" if record["en"]["tokens"][pronoun["en"]].lower() == "it" else "other_pronouns"
        yield f"{category}_within" if pronoun["within"] else f"{category}_distance_{pronoun['distance']}"
    for sense in record["senses"]:
        yield f"senses_{sense['side']}_{sense['cue']}"
    for synonym in record["synonyms"]:
        yield f"synonyms_{synonym['side']}_{'first' if synonym['distance'] is None else 'again'}"


def print_description(description: Description) -> None:
    """Print tables, histograms and scores to standard output."""
    console, splits = Console(), description["splits"]
    for table in _tables(description):
        console.print(table)
    for split, values in splits.items():
        for language, scores in values.get("bound", {}).items():
            for line in (f"Oracle without context (majority choice): {split}.{language}", format_scores(scores)):
                console.print(line, markup=False, highlight=False, soft_wrap=True)


def _tables(description: Description) -> Iterator[Table]:
    splits: Description = description["splits"]
    rows: list[list[str]] = []
    for split, values in splits.items():
        for language, side in values["languages"].items():
            counts = [f"{count:,}" for count in (values["sentences"], side["tokens"], side["types"])]
            documents = f"{values['documents']:,}" if "documents" in values else "-"
            means = [f"{side['lengths'][name]:g}" for name in ("mean", "longest")]
            rows.append([f"{split}.{language}", documents, *counts, *means])
    yield _make_table(
        "Size (Moses tokens)", ["text", "documents", "sentences", "tokens", "types", "mean", "longest"], rows
    )
    for split, values in splits.items():
        histograms = {language: side["lengths"]["histogram"] for language, side in values["languages"].items()}
        largest = max(count for histogram in histograms.values() for count in histogram)
        rows = []
        for number, side_by_side in enumerate(zip_longest(*histograms.values(), fillvalue=0)):
            bars = ["█" * round(LONGEST_BAR * count / largest) + f" {count:,}" for count in side_by_side]
            rows.append([f"{number * BIN_WIDTH + 1}-{(number + 1) * BIN_WIDTH}", *bars])
        yield _make_table(f"Lengths: {split}", ["tokens", *histograms], rows, justify="left")
    for title, column, key, absent in (
        ("Per 100 sentences", "phenomenon", "phenomena", "0.00"),
        ("Also in training", "count", "in_training", "-"),
    ):
        by_split = {split: _flatten_counts(values[key]) for split, values in splits.items() if key in values}
        names = dict.fromkeys(name for numbers in by_split.values() for name in numbers)
        rows = [[name, *(numbers.get(name, absent) for numbers in by_split.values())] for name in names]
        if rows:
            yield _make_table(title, [column, *by_split], rows)
    rows = []
    for name, values in description.get("contrastive", {}).items():
        categories = "\n".join(f"{category} {count:,}" for category, count in values["categories"].items())
        rows.append([name, f"{values['items']:,}", f"{values['mirrored_pairs']:,}", categories])
    if rows:
        yield _make_table("Contrastive sets", ("set", "items", "mirrored pairs", "categories"), rows)
    if tasks := description.get("probing"):
        names = dict.fromkeys(split for classes in tasks.values() for sizes in classes.values() for split in sizes)
        rows = []
        for name, classes in tasks.items():
            sizes = dict.fromkeys(
                "/".join(str(class_sizes.get(split, 0)) for split in names) for class_sizes in classes.values()
            )
            labels = [*classes][:LISTED_LABELS] + ["…"] * (len(classes) > LISTED_LABELS)
            rows.append([name, str(len(classes)), ", ".join(sizes), " ".join(labels)])
        yield _make_table(
            "Probing tasks", ("task", "classes", f"each {'/'.join(names)}", "labels"), rows, justify="left"
        )


def _flatten_counts(values: Description) -> dict[str, str]:
    """Format all numbers by key; numbers of a language are under `KEY, LANGUAGE`, and the number of pairs is last."""
    numbers: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            numbers |= {f"{name.replace('_', ' ')}, {language}": f"{count:,}" for language, count in value.items()}
        elif name != "pairs":
            numbers[name] = f"{value:.2f}"
    return numbers | ({"sentence pairs": f"{values['pairs']:,}"} if "pairs" in values else {})


def _make_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], justify: Literal["left", "right"] = "right"
) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify=justify if number else "left", no_wrap=not number)
    for row in rows:
        table.add_row(*row)
    return table
