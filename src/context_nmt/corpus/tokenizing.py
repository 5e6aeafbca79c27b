"""Clean the raw text of a corpus and turn it into truecased Moses tokens; stages/tokenize.py lists the files."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.documents import read_documents, reference_names, without_dropped, write_documents
from context_nmt.corpus.moses import NO_RULES, MosesSide, Truecaser, count_casings, has_rules
from context_nmt.corpus.workers import map_chunks, map_lines
from context_nmt.files import UserError, iterate_lines, replacing_folder, write_json, write_lines
from context_nmt.progress import say, tracked
from context_nmt.settings.text import CleaningSettings, CorpusSettings, TextSettings

Pair = tuple[str, str]
Sides = tuple[MosesSide, MosesSide]


def tokenize_corpus(
    raw: Path, destination: Path, corpus: CorpusSettings, text: TextSettings, *, untokenized: bool = False
) -> None:
    """Write the whole folder `destination` from `raw/SPLIT.LANGUAGE` and `raw/SET.SOURCE-TARGET.jsonl`, or nothing.

    If `untokenized`, only the files that are used for scoring have tokens; limits on lengths still count tokens.

    Raise UserError for a missing or empty file, CRLF, sides of unequal length, documents that do not fit them, an
    invalid contrastive set, and cleaning that leaves no pairs.
    """
    sides = MosesSide(corpus.source, text.source), MosesSide(corpus.target, text.target)
    evaluated = tuple(dict.fromkeys((corpus.validation, *corpus.tests)))
    file_names = {corpus.train: [f"{corpus.train}.{side.language}" for side in sides]}
    for split in evaluated:
        file_names[split] = [f"{split}.{corpus.source}", *reference_names(raw, split, corpus.target)]
    sizes = {split: _count_parallel([raw / name for name in file_names[split]]) for split in file_names}
    documents = {split: read_documents(raw, split, size) for split, size in sizes.items()}
    contrastive = {name: read_contrastive_set(raw / f"{name}.{corpus.direction}.jsonl") for name in corpus.contrastive}
    with replacing_folder(destination) as folder:
        tokenize = partial(_tokenize_pairs, sides, text.cleaning, untokenized)
        kept = _tokenize_training(raw, folder, corpus.train, sizes[corpus.train], sides, tokenize)
        if (training := documents[corpus.train]) is not None:
            documents[corpus.train] = without_dropped(training, kept)
        for split, boundaries in documents.items():
            write_documents(folder, split, boundaries)
        for split in evaluated:
            for number, name in enumerate(file_names[split]):
                side = sides[min(number, 1)]
                _convert(folder / f"{name}.cased", side, side.tokens, iterate_lines(raw / name), sizes[split])
        for name, (pairs, index) in contrastive.items():
            write_json(folder / f"{name}.items.json", index)
            for side, texts in zip(sides, zip(*pairs, strict=True), strict=True):
                convert = side.normalize if untokenized else side.tokens
                _convert(folder / f"{name}.{side.language}.cased", side, convert, texts, len(pairs))
        sizes |= {corpus.train: sum(kept)} | {name: len(pairs) for name, (pairs, _) in contrastive.items()}
        for side in sides:
            for split in (corpus.train, *evaluated, *contrastive):
                name = f"{split}.{side.language}"
                if untokenized and split in evaluated:
                    _convert(folder / name, side, side.normalize, iterate_lines(raw / name), sizes[split])
                else:
                    _truecase(folder, name, side, sizes[split])
                if split not in evaluated:
                    (folder / f"{split}.{side.language}.cased").unlink()
        settings = [{"language": side.language, **asdict(side.settings)} for side in sides]
        write_json(folder / "moses.json", {"source": settings[0], "target": settings[1]})
    for side in sides:
        if not side.settings.pretokenized and not has_rules(side.language):
            say(f"note: {NO_RULES.format(side.language)}")


def _count_parallel(paths: list[Path]) -> int:
    first = _count_lines(paths[0])
    for path in paths[1:]:
        if (count := _count_lines(path)) != first:
            raise UserError(f"{paths[0]} has {first} lines and {path} has {count}; they must be parallel")
    return first


def _count_lines(path: Path) -> int:
    carriage_returns = Counter(line.endswith("\r") for line in iterate_lines(path))
    count = carriage_returns.total()
    if count == 0:
        raise UserError(f"{path}: the file is empty")
    if carriage_returns[True] >= max(1, count - 1):  # the last line may have no line break
        raise UserError(
            f"{path}: the lines end in a carriage return (CRLF, as Windows writes);"
            f" remove it, for example with: sed -i 's/\\r$//' {path}"
        )
    return count


def _convert(path: Path, side: MosesSide, convert: Callable[[str], str], raw: Iterable[str], size: int) -> None:
    write_lines(path, map_lines(convert, tracked(side.prepare(raw), path.stem, size, "lines")))


def _tokenize_training(
    raw: Path, folder: Path, split: str, size: int, sides: Sides, tokenize: Callable[[list[Pair]], "_TokenizedPairs"]
) -> bytearray:
    """Write the cleaned training text; return 1 for each pair that is kept and 0 for each pair that is dropped."""
    lines = (side.prepare(iterate_lines(raw / f"{split}.{side.language}")) for side in sides)
    pairs = tracked(zip(*lines, strict=True), split, size, "pairs")
    drops: Counter[str | None] = Counter()
    kept = bytearray()
    casings: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    with ExitStack() as files:
        outputs = [
            files.enter_context((folder / f"{split}.{side.language}.cased").open("w", encoding="utf-8", newline=""))
            for side in sides
        ]
        for chunk in map_chunks(tokenize, pairs):
            drops.update(chunk.reasons)
            kept += bytes(reason is None for reason in chunk.reasons)
            for output, text, total, counts in zip(outputs, chunk.texts, casings, chunk.casings, strict=True):
                output.write(text)
                total.update(counts)
    dropped = {reason: drops[reason] for reason in ("too_short", "too_long", "ratio")}
    if drops[None] == 0:
        raise UserError(f"text.cleaning: no training pair of {size} is left; dropped {dropped}")
    write_json(folder / "cleaning.json", {"read": size, "kept": drops[None], "dropped": dropped})
    for side, counts in zip(sides, casings, strict=True):
        if side.settings.truecase:
            Truecaser.learn(counts).save(folder / f"truecaser.{side.language}.json")
    return kept


class _TokenizedPairs(NamedTuple):
    """Training pairs after cleaning."""

    texts: list[str]  # of each side, lines that end in "\n"
    casings: list[Counter[str]]  # of the tokens of each side
    reasons: list[str | None]  # why each pair was dropped; None for a pair that is kept


def _tokenize_pairs(sides: Sides, cleaning: CleaningSettings, untokenized: bool, pairs: list[Pair]) -> _TokenizedPairs:
    tokens = [(sides[0].tokens(source), sides[1].tokens(target)) for source, target in pairs]
    reasons = [_reason_to_drop(pair, cleaning) for pair in tokens]
    if untokenized:
        tokens = [(sides[0].normalize(source), sides[1].normalize(target)) for source, target in pairs]
    kept = [pair for pair, reason in zip(tokens, reasons, strict=True) if reason is None]
    lines = [[pair[number] for pair in kept] for number in (0, 1)]
    texts = ["".join(f"{line}\n" for line in side_lines) for side_lines in lines]
    casings = [
        count_casings(side_lines) if side.settings.truecase else Counter()
        for side, side_lines in zip(sides, lines, strict=True)
    ]
    return _TokenizedPairs(texts, casings, reasons)


def _reason_to_drop(pair: Pair, cleaning: CleaningSettings) -> str | None:
    shorter, longer = sorted(len(line.split()) for line in pair)
    if shorter < cleaning.minimum_length:
        return "too_short"
    if longer > cleaning.maximum_length:
        return "too_long"
    return "ratio" if longer > cleaning.maximum_ratio * shorter else None


def _truecase(folder: Path, name: str, side: MosesSide, size: int) -> None:
    lines: Iterable[str] = iterate_lines(folder / f"{name}.cased")
    if side.settings.truecase:
        truecaser = Truecaser.load(folder / f"truecaser.{side.language}.json")
        lines = map_lines(truecaser.truecase, tracked(lines, f"{name}, casing", size, "lines"))
    write_lines(folder / name, lines)
