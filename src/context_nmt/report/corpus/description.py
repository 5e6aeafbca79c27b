"""Describe a corpus: its size, its need for context, and the best scores of a system that sees one sentence."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from context_nmt.files import UserError
from context_nmt.measures.bleu import Score, moses_tokens, score_raw_and_tokenized
from context_nmt.report.corpus.folder import CorpusFolder, Record, Text
from context_nmt.report.corpus.phenomena import count_phenomena
from context_nmt.settings.evaluation import tokenizer_of

TRAINING = "train"
BIN = 5  # tokens
SHORT = 4  # words; sentences up to this length are likely to recur

Description = dict[str, Any]


def describe_corpus(path: Path) -> Description:
    """Describe the corpus in a folder, omitting missing parts.

    {"splits": {SPLIT: {"sentences", "documents", "languages": {LANGUAGE: {"tokens", "types", "lengths"}}, "phenomena",
    "in_training", "bound": {LANGUAGE: SCORES}}}, "contrastive": {SET: …}, "probing": {TASK: {CLASS: {SPLIT: …}}}}
    """
    corpus = CorpusFolder(path)
    texts = {split: corpus.text(split) for split in corpus.languages}
    contrastive = {name: _describe_contrastive(path / f"{name}.jsonl", items) for name, items in corpus.contrastive()}
    return _without_empty(
        splits={split: _describe_split(corpus, split, text, texts.get(TRAINING)) for split, text in texts.items()},
        contrastive=contrastive,
        probing={name: _describe_probing(examples) for name, examples in corpus.probing()},
    )


def _without_empty(**values: Any) -> Description:
    return {key: value for key, value in values.items() if value}


def _describe_split(corpus: CorpusFolder, split: str, text: Text, training: Text | None) -> Description:
    sentences = _length(text)
    documents, gold = corpus.documents(split, sentences), corpus.gold(split, sentences)
    overlap: Description = {}
    if training and split != TRAINING:
        overlap = _overlap(text, training)
        if documents and (training_documents := corpus.documents(TRAINING, _length(training))):
            overlap["documents"] = _shared_documents(text, documents, training, training_documents)
    return {"sentences": sentences} | _without_empty(
        documents=len(documents or ()),
        languages={language: _describe_side(language, lines, gold) for language, lines in text.items()},
        phenomena=gold and count_phenomena(gold, where=corpus.path / f"{split}.gold.jsonl"),
        in_training=overlap,
        bound={
            language: _bound(corpus.path / f"{split}.bound.{language}", lines, text[language], language)
            for language, lines in corpus.bound(split).items()
        },
    )


def _length(text: Text) -> int:
    return len(next(iter(text.values())))


def _describe_side(language: str, lines: Sequence[str], gold: Sequence[Record] | None) -> Description:
    """Describe the size and lengths of one side, in gold tokens or, without them, Moses tokens."""
    if gold and all(language in record for record in gold):
        tokens = [record[language]["tokens"] for record in gold]
    else:
        tokens = [line.split() for line in moses_tokens(lines, language)]
    lengths = [len(line) for line in tokens]
    bins = Counter(max(length - 1, 0) // BIN for length in lengths)
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


def _overlap(text: Text, training: Text) -> Description:
    """Count the sentences that are also in training, on each side and as pairs."""
    languages = [language for language in text if language in training]
    seen = {language: set(training[language]) for language in languages}
    shared = {language: [line for line in text[language] if line in seen[language]] for language in languages}
    pairs = set(zip(*(training[language] for language in languages), strict=True))
    return {
        "sentences": {language: len(lines) for language, lines in shared.items()},
        "sentences_over_four_words": {
            language: sum(len(line.split()) > SHORT for line in lines) for language, lines in shared.items()
        },
        "pairs": sum(pair in pairs for pair in zip(*(text[language] for language in languages), strict=True)),
    }


def _shared_documents(
    text: Text, documents: Sequence[range], training: Text, earlier: Sequence[range]
) -> dict[str, int]:
    """Count the documents that are also in training, by language."""
    shared = {}
    for language in (language for language in text if language in training):
        seen = set(_whole(training[language], earlier))
        shared[language] = sum(document in seen for document in _whole(text[language], documents))
    return shared


def _whole(lines: Sequence[str], documents: Iterable[range]) -> list[tuple[str, ...]]:
    return [tuple(lines[document.start : document.stop]) for document in documents]


def _bound(path: Path, lines: Sequence[str], reference: Sequence[str], language: str) -> dict[str, Score]:
    if len(lines) != len(reference):
        raise UserError(f"{path} has {len(lines)} lines, its reference has {len(reference)}; they must be equal")
    return score_raw_and_tokenized(lines, [reference], language=language, tokenizer=tokenizer_of(language))


def _describe_contrastive(path: Path, items: Sequence[Record]) -> Description:
    """Count the items by category, and the pairs that mirror each other."""
    for number, item in enumerate(items, start=1):
        if not isinstance(item.get("categories"), list):
            raise UserError(f"{path}: line {number} has no list under 'categories'")
    categories = Counter(category for item in items for category in item["categories"])
    pairs = {frozenset((index, item["mirror"])) for index, item in enumerate(items) if item.get("mirror") is not None}
    return {"items": len(items), "mirrored_pairs": len(pairs), "categories": dict(sorted(categories.items()))}


def _describe_probing(examples: Sequence[tuple[str, str]]) -> Description:
    """Count the sentences of each class by split."""
    counts = Counter(examples)
    labels, splits = sorted({label for _, label in counts}), list(dict.fromkeys(split for split, _ in examples))
    return {label: {split: counts[split, label] for split in splits} for label in labels}
