"""A corpus from raw text to truecased Moses tokens.

The folder that it writes holds

    SPLIT.LANGUAGE            tokens, truecased where the side asks for it
    SPLIT.LANGUAGE.cased      validation and test sets: tokens in their original case, the references of tokenised BLEU
    SPLIT.LANGUAGE.1.cased    the same of further references, see `corpus.references`
    truecaser.LANGUAGE.json   casing statistics of the cleaned training text
    moses.json                both sides' languages and settings: the chain can be replayed from here
    cleaning.json             training pairs read, kept and dropped, by reason
    SPLIT.documents           where documents start, for splits that say so; in the training text after cleaning
    SET.LANGUAGE              the distinct pairs of each contrastive set, as above
    SET.items.json            which of them are an item's right and wrong ones and its context, see `corpus.contrastive`
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from context_nmt.command_line import progress
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.documents import read_documents, without_dropped, write_documents
from context_nmt.corpus.moses import MosesSide, Truecaser, count_casings
from context_nmt.corpus.references import reference_names
from context_nmt.corpus.workers import map_chunks, map_lines
from context_nmt.files import UserError, iterate_lines, replacing_folder, write_json, write_lines
from context_nmt.settings.text import CleaningSettings, CorpusSettings, TextSettings

Pair = tuple[str, str]
Sides = tuple[MosesSide, MosesSide]


def tokenize_corpus(raw: Path, destination: Path, corpus: CorpusSettings, text: TextSettings) -> None:
    """Write the folder `destination` from `raw/SPLIT.LANGUAGE` and `raw/SET.SOURCE-TARGET.jsonl`, whole or not at all.

    Raises UserError for a missing or empty file, a byte order mark, CRLF, sides of unequal length, documents that do
    not fit them, a contrastive set that is wrong and a cleaning that leaves nothing.
    """
    sides = MosesSide(corpus.source, text.source), MosesSide(corpus.target, text.target)
    evaluated = tuple(dict.fromkeys((corpus.validation, *corpus.tests)))
    sizes = {split: _count_pairs(raw, split, sides) for split in (corpus.train, *evaluated)}
    documents = {split: read_documents(raw, split, size) for split, size in sizes.items()}
    contrastive = {name: read_contrastive_set(raw / f"{name}.{corpus.direction}.jsonl") for name in corpus.contrastive}
    with replacing_folder(destination) as folder:
        kept = _tokenize_training(raw, folder, corpus.train, sizes[corpus.train], sides, text.cleaning)
        if (training := documents[corpus.train]) is not None:
            documents[corpus.train] = without_dropped(training, kept)
        for split, boundaries in documents.items():
            write_documents(folder, split, boundaries)
        for split in evaluated:
            for side in sides:
                _tokenize(folder, split, side, _prepared(raw, split, side), sizes[split])
            _tokenize_references(raw, folder, split, sides[1], sizes[split])
        for name, (pairs, index) in contrastive.items():
            write_json(folder / f"{name}.items.json", index)
            for side, texts in zip(sides, zip(*pairs, strict=True), strict=True):
                _tokenize(folder, name, side, side.prepared(texts), len(pairs))
        for side in sides:
            for split in (corpus.train, *evaluated, *contrastive):
                _truecase(folder, split, side)
            for split in (corpus.train, *contrastive):
                (folder / f"{split}.{side.language}.cased").unlink()
        write_json(
            folder / "moses.json",
            {
                role: {"language": side.language, **asdict(side.settings)}
                for role, side in zip(("source", "target"), sides, strict=True)
            },
        )


def _count_pairs(raw: Path, split: str, sides: Sides) -> int:
    paths = [raw / f"{split}.{side.language}" for side in sides]
    counts = [_count_lines(path) for path in paths]
    if counts[0] != counts[1]:
        raise UserError(f"{paths[0]} has {counts[0]} lines and {paths[1]} has {counts[1]}; they must be parallel")
    return counts[0]


def _count_lines(path: Path) -> int:
    count = carriage_returns = 0
    for count, line in enumerate(iterate_lines(path), start=1):
        if count == 1 and line.startswith("\ufeff"):
            raise UserError(
                f"{path}: starts with a byte order mark (U+FEFF), which would be part of the first word; "
                f"remove it, for example with: sed -i '1s/^\\xEF\\xBB\\xBF//' {path}"
            )
        carriage_returns += line.endswith("\r")
    if count == 0:
        raise UserError(f"{path}: the file is empty")
    if carriage_returns >= max(1, count - 1):  # the last line may have no end
        raise UserError(
            f"{path}: the lines end in a carriage return (CRLF, as Windows writes); "
            f"remove it, for example with: sed -i 's/\\r$//' {path}"
        )
    return count


def _prepared(raw: Path, split: str, side: MosesSide) -> Iterable[str]:
    return side.prepared(iterate_lines(raw / f"{split}.{side.language}"))


def _tokenize(folder: Path, split: str, side: MosesSide, prepared: Iterable[str], size: int) -> None:
    name = f"{split}.{side.language}"
    write_lines(folder / f"{name}.cased", map_lines(side.tokens, progress(prepared, name, size)))


def _tokenize_references(raw: Path, folder: Path, split: str, side: MosesSide, size: int) -> None:
    """Write the tokens of a test set's further references; only scores read them."""
    for name in reference_names(raw, split, side.language)[1:]:
        if (lines := _count_lines(raw / name)) != size:
            raise UserError(f"{raw / name} has {lines} lines and {split} has {size}; they must be parallel")
        prepared = side.prepared(iterate_lines(raw / name))
        write_lines(folder / f"{name}.cased", map_lines(side.tokens, progress(prepared, name, size)))


def _tokenize_training(
    raw: Path, folder: Path, split: str, size: int, sides: Sides, cleaning: CleaningSettings
) -> bytearray:
    """Write the training text that cleaning leaves, and give a 1 for each pair that it keeps, a 0 for each other."""
    pairs = progress(zip(*(_prepared(raw, split, side) for side in sides), strict=True), split, size)
    drops: Counter[str] = Counter()
    kept = bytearray()
    casings: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    with ExitStack() as files:
        outputs = [
            files.enter_context((folder / f"{split}.{side.language}.cased").open("w", encoding="utf-8", newline=""))
            for side in sides
        ]
        for chunk in map_chunks(partial(_tokenize_pairs, sides, cleaning), pairs):
            drops.update(chunk.drops)
            kept += chunk.kept
            for output, text, total, counts in zip(outputs, chunk.texts, casings, chunk.casings, strict=True):
                output.write(text)
                total.update(counts)
    dropped = {reason: drops[reason] for reason in ("too_short", "too_long", "ratio")}
    if drops["kept"] == 0:
        raise UserError(f"text.cleaning: none of the {size} training pairs is left; dropped {dropped}")
    write_json(folder / "cleaning.json", {"read": size, "kept": drops["kept"], "dropped": dropped})
    for side, counts in zip(sides, casings, strict=True):
        if side.settings.truecase:
            Truecaser.learn(counts).save(folder / f"truecaser.{side.language}.json")
    return kept


class _Tokenized(NamedTuple):
    """Training pairs after cleaning: both sides' lines of tokens, each ended by "\\n", and their casings."""

    texts: list[str]
    casings: list[Counter[str]]
    drops: Counter[str]  # by reason; "kept" is one
    kept: bytes  # of each pair that was read, 1 or 0


def _tokenize_pairs(sides: Sides, cleaning: CleaningSettings, pairs: list[Pair]) -> _Tokenized:
    tokens = [(sides[0].tokens(source), sides[1].tokens(target)) for source, target in pairs]
    reasons = [reason_to_drop(pair, cleaning) for pair in tokens]
    kept = [pair for pair, reason in zip(tokens, reasons, strict=True) if reason is None]
    texts = ["".join(pair[number] + "\n" for pair in kept) for number in (0, 1)]
    casings = [
        count_casings(pair[number] for pair in kept) if side.settings.truecase else Counter()
        for number, side in enumerate(sides)
    ]
    drops = Counter(reason or "kept" for reason in reasons)
    return _Tokenized(texts, casings, drops, bytes(reason is None for reason in reasons))


def reason_to_drop(pair: Pair, cleaning: CleaningSettings) -> str | None:
    """Name what is wrong with a training pair of token lines, if anything."""
    shorter, longer = sorted(len(line.split()) for line in pair)
    if shorter < cleaning.minimum_length:
        return "too_short"
    if longer > cleaning.maximum_length:
        return "too_long"
    return "ratio" if longer > cleaning.maximum_ratio * shorter else None


def _truecase(folder: Path, split: str, side: MosesSide) -> None:
    name = f"{split}.{side.language}"
    lines: Iterable[str] = iterate_lines(folder / f"{name}.cased")
    if side.settings.truecase:
        truecaser = Truecaser.load(folder / f"truecaser.{side.language}.json")
        lines = map_lines(truecaser.truecase, progress(lines, f"{name}, casing"))
    write_lines(folder / name, lines)
