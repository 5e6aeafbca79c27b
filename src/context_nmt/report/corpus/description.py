"""Describes a corpus: its size, how much context it needs, and what a system that sees one sentence can reach."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from context_nmt.files import UserError
from context_nmt.measures.bleu import Score, moses_tokens, score_raw_and_tokenized
from context_nmt.report.corpus.folder import CorpusFolder, Record, Text
from context_nmt.report.corpus.phenomena import count_phenomena

TRAINING = "train"
BIN = 5  # tokens
SHORT = 4  # words: shorter sentences may well occur again

Description = dict[str, Any]


def describe_corpus(path: Path) -> Description:
    """Describe the corpus in a folder; what it does not have is left out.

    {"splits": {SPLIT: {"sentences", "documents", "languages": {LANGUAGE: {"tokens", "types", "lengths"}}, "phenomena",
    "in_training", "bound": {LANGUAGE: SCORES}}}, "contrastive": {SET: …}, "probing": {TASK: {CLASS: {SPLIT: …}}}}
    """
    corpus = CorpusFolder(path)
    texts = {split: corpus.text(split) for split in corpus.splits}
    training = texts.get(TRAINING)
    splits = {split: _describe_split(corpus, split, text, training) for split, text in texts.items()}
    contrastive = {name: _describe_contrastive(path / f"{name}.jsonl", items) for name, items in corpus.contrastive()}
    probing = {name: _describe_probing(examples) for name, examples in corpus.probing()}
    return {"splits": splits} | _without_empty({"contrastive": contrastive, "probing": probing})


def _without_empty(values: Description) -> Description:
    return {key: value for key, value in values.items() if value}


def _describe_split(corpus: CorpusFolder, split: str, text: Text, training: Text | None) -> Description:
    sentences = len(next(iter(text.values())))
    documents, gold = corpus.documents(split, sentences), corpus.gold(split, sentences)
    described: Description = {"sentences": sentences}
    if documents:
        described["documents"] = len(documents)
    described["languages"] = {language: _describe_side(language, lines, gold) for language, lines in text.items()}
    if gold:
        described["phenomena"] = count_phenomena(gold, where=corpus.path / f"{split}.gold.jsonl")
    if training and split != TRAINING:
        described["in_training"] = _overlap(text, training)
        if documents and (earlier := corpus.documents(TRAINING, len(next(iter(training.values()))))):
            described["in_training"]["documents"] = _shared_documents(text, documents, training, earlier)
    bound = {
        language: _bound(corpus.path / f"{split}.bound.{language}", lines, text[language], language)
        for language, lines in corpus.bound(split).items()
    }
    return described | _without_empty({"bound": bound})


def _describe_side(language: str, lines: Sequence[str], gold: Sequence[Record] | None) -> Description:
    """Size and lengths of one side, in the gold tokens or else those of Moses."""
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
    """How many sentences occur in training: on each side, as pairs, and as pairs whose sides have over four words."""
    languages = [language for language in text if language in training]
    seen = {language: set(training[language]) for language in languages}
    pairs = set(zip(*(training[language] for language in languages), strict=True))
    shared = [pair for pair in zip(*(text[language] for language in languages), strict=True) if pair in pairs]
    long = {
        language: sum(line in seen[language] and len(line.split()) > SHORT for line in text[language])
        for language in languages
    }
    return {
        "sentences": {language: sum(line in seen[language] for line in text[language]) for language in languages},
        "sentences_over_four_words": long,
        "pairs": len(shared),
    }


def _shared_documents(
    text: Text, documents: Sequence[range], training: Text, earlier: Sequence[range]
) -> dict[str, int]:
    """How many documents occur in training, by language."""
    shared = {}
    for language in text:
        if language in training:
            seen = {tuple(training[language][place] for place in document) for document in earlier}
            shared[language] = sum(tuple(text[language][place] for place in document) in seen for document in documents)
    return shared


def _bound(path: Path, lines: Sequence[str], reference: Sequence[str], language: str) -> dict[str, Score]:
    if len(lines) != len(reference):
        raise UserError(f"{path} has {len(lines)} lines, its reference has {len(reference)}; they must be equal")
    return score_raw_and_tokenized(lines, [reference], language=language)


def _describe_contrastive(path: Path, items: Sequence[Record]) -> Description:
    """Items by category, and how many pairs mirror each other."""
    for number, item in enumerate(items, start=1):
        if not isinstance(item.get("categories"), list):
            raise UserError(f"{path}: line {number} has no list under 'categories'")
    categories = Counter(category for item in items for category in item["categories"])
    mirrored = {
        frozenset((place, item["mirror"])) for place, item in enumerate(items) if item.get("mirror") is not None
    }
    return {"items": len(items), "mirrored_pairs": len(mirrored), "categories": dict(sorted(categories.items()))}


def _describe_probing(examples: Sequence[tuple[str, str]]) -> Description:
    """Sentences of each class by split."""
    counts = Counter(examples)
    labels, splits = sorted({label for _, label in counts}), list(dict.fromkeys(split for split, _ in examples))
    return {label: {split: counts[split, label] for split in splits} for label in labels}
