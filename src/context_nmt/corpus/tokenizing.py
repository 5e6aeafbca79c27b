"""A corpus from raw text to truecased Moses tokens.

The folder that it writes holds

    SPLIT.LANGUAGE            tokens, truecased where the side asks for it
    SPLIT.LANGUAGE.cased      validation and test sets: tokens in their original case, the references of tokenised BLEU
    truecaser.LANGUAGE.json   casing statistics of the cleaned training text
    moses.json                both sides' languages and settings: the chain can be replayed from here
    cleaning.json             training pairs read, kept and dropped, by reason
"""

from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from context_nmt.command_line import progress
from context_nmt.corpus.moses import MosesSide, Truecaser
from context_nmt.files import UserError, iterate_lines, replacing_folder, write_json, write_lines
from context_nmt.settings import CleaningSettings, CorpusSettings, TextSettings

Pair = tuple[str, str]


def tokenize_corpus(raw: Path, destination: Path, corpus: CorpusSettings, text: TextSettings) -> None:
    """Write the folder `destination` from the files `raw/SPLIT.LANGUAGE`, whole or not at all.

    Raises UserError for a missing or empty file, for sides of unequal length and for a cleaning that leaves nothing.
    """
    sides = MosesSide(corpus.source, text.source), MosesSide(corpus.target, text.target)
    evaluated = tuple(dict.fromkeys((corpus.validation, *corpus.tests)))
    sizes = {split: _count_pairs(raw, split, sides) for split in (corpus.train, *evaluated)}
    with replacing_folder(destination) as folder:
        _tokenize_training(raw, folder, corpus.train, sizes[corpus.train], sides, text.cleaning)
        for split in evaluated:
            for side in sides:
                lines = progress(
                    iterate_lines(raw / f"{split}.{side.language}"), f"{split}.{side.language}", sizes[split]
                )
                write_lines(folder / f"{split}.{side.language}.cased", side.tokens(lines))
        for side in sides:
            for split in (corpus.train, *evaluated):
                _truecase(folder, split, side)
            (folder / f"{corpus.train}.{side.language}.cased").unlink()
        write_json(
            folder / "moses.json",
            {
                role: {"language": side.language, **asdict(side.settings)}
                for role, side in zip(("source", "target"), sides, strict=True)
            },
        )


def _count_pairs(raw: Path, split: str, sides: tuple[MosesSide, MosesSide]) -> int:
    paths = [raw / f"{split}.{side.language}" for side in sides]
    counts = [sum(1 for _ in iterate_lines(path)) for path in paths]
    for path, count in zip(paths, counts, strict=True):
        if count == 0:
            raise UserError(f"{path}: the file is empty")
    if counts[0] != counts[1]:
        raise UserError(f"{paths[0]} has {counts[0]} lines and {paths[1]} has {counts[1]}; they must be parallel")
    return counts[0]


def _tokenize_training(
    raw: Path, folder: Path, split: str, size: int, sides: tuple[MosesSide, MosesSide], cleaning: CleaningSettings
) -> None:
    source, target = (side.tokens(iterate_lines(raw / f"{split}.{side.language}")) for side in sides)
    drops: Counter[str] = Counter()
    truecasers = Truecaser(), Truecaser()
    with ExitStack() as files:
        outputs = [
            files.enter_context((folder / f"{split}.{side.language}.cased").open("w", encoding="utf-8", newline=""))
            for side in sides
        ]
        for pair in progress(zip(source, target, strict=True), split, size):
            reason = reason_to_drop(pair, cleaning)
            drops[reason or "kept"] += 1
            if reason is None:
                for line, truecaser, output in zip(pair, truecasers, outputs, strict=True):
                    truecaser.observe(line)
                    output.write(line + "\n")
    dropped = {reason: drops[reason] for reason in ("too_short", "too_long", "ratio")}
    if drops["kept"] == 0:
        raise UserError(f"text.cleaning: none of the {size} training pairs is left; dropped {dropped}")
    write_json(folder / "cleaning.json", {"read": size, "kept": drops["kept"], "dropped": dropped})
    for side, truecaser in zip(sides, truecasers, strict=True):
        if side.settings.truecase:
            truecaser.save(folder / f"truecaser.{side.language}.json")


def reason_to_drop(pair: Pair, cleaning: CleaningSettings) -> str | None:
    """Name what is wrong with a training pair of token lines, if anything."""
    shorter, longer = sorted(len(line.split()) for line in pair)
    if shorter < cleaning.minimum_length:
        return "too_short"
    if longer > cleaning.maximum_length:
        return "too_long"
    return "ratio" if longer > cleaning.maximum_ratio * shorter else None


def _truecase(folder: Path, split: str, side: MosesSide) -> None:
    lines = iterate_lines(folder / f"{split}.{side.language}.cased")
    if side.settings.truecase:
        lines = map(Truecaser.load(folder / f"truecaser.{side.language}.json").truecase, lines)
    write_lines(folder / f"{split}.{side.language}", lines)
