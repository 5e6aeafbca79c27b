"""Compare the text stages with other programs: tokenizing with one process of sacremoses, BPE with subword-nmt."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from sacremoses import MosesPunctNormalizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE

from benchmarks.report import Part, part_command
from benchmarks.rounds import Contender, Work, measure, ratio, speeds_and_memory
from benchmarks.setting import EXPERIMENT, prepare, text_files
from context_nmt.corpus.subwords import Segmenter
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import iterate_lines, read_lines, sha256, write_lines
from context_nmt.settings.text import CleaningSettings, SideSettings, TextSettings

SACREMOSES, TOKENIZE = "sacremoses, one process", "context-nmt, a process per core"
SUBWORD_NMT, BYTE_PAIRS = "subword-nmt", "context-nmt"
SIDE = SideSettings(truecase=False)
ALL_PAIRS = CleaningSettings(maximum_length=10_000, maximum_ratio=10_000.0)
LINES, TEXT_TO_SEGMENT = 500_000, EXPERIMENT.folder / "half_a_million"


def tokenize(rounds: int) -> Part:
    """Compare normalizing and tokenizing all of Multi30k."""
    prepare()
    note = (
        f"{_count():,} lines in two languages. Both programs normalize punctuation and tokenize, without truecasing;"
        " ours also counts and cleans, as the stage does."
    )
    return _compared("tokenize", {SACREMOSES: _sacremoses, TOKENIZE: _our_tokenizer}, rounds, note)


@cache
def _count() -> int:
    return sum(len(read_lines(EXPERIMENT.corpus / name)) for name in text_files())


def bpe(rounds: int) -> Part:
    """Compare segmenting half a million lines with the same merges."""
    prepare()
    lines = (line for name in text_files() for line in read_lines(EXPERIMENT.tokenized / name))
    write_lines(TEXT_TO_SEGMENT, islice(cycle(lines), LINES))
    note = f"{LINES:,} lines: Multi30k in both languages, repeated, from file to file."
    return _compared("bpe", {SUBWORD_NMT: _subword_nmt, BYTE_PAIRS: _our_segmenter}, rounds, note)


def _compared(stage: str, works: dict[str, Callable[[Path], tuple[float, Any]]], rounds: int, note: str) -> Part:
    """Compare another program and ours, in this order; both return the checksums of their output."""
    contenders = [Contender(name, "lines", _in_a_folder, (work,)) for name, work in works.items()]
    measured = measure(stage, contenders, rounds)
    theirs, ours = works
    same = measured[theirs].output == measured[ours].output
    return Part(
        f"Text: {stage}",
        speeds_and_memory(measured) | {"ratio": {f"{ours} / {theirs}": ratio(measured, ours, theirs)}},
        [note, "All write the same bytes." if same else "They write different lines!"],
    )


@contextmanager
def _in_a_folder(work: Callable[[Path], tuple[float, Any]]) -> Iterator[Work]:
    """Yield work that writes into a temporary folder."""
    _count()  # not within the first round
    with tempfile.TemporaryDirectory() as folder:
        yield partial(work, Path(folder))


def _sacremoses(folder: Path) -> tuple[float, list[str]]:
    for name in text_files():
        language = name.rpartition(".")[2]
        normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
        raw, tokens = EXPERIMENT.corpus / name, folder / name
        with raw.open(encoding="utf-8", newline="\n") as lines, tokens.open("w", encoding="utf-8") as output:
            for line in lines:
                normalized = normalizer.normalize(line.rstrip("\n"))
                output.write(" ".join(tokenizer.tokenize(normalized, escape=False)) + "\n")
    return _count(), [sha256(folder / name) for name in text_files()]


def _our_tokenizer(folder: Path) -> tuple[float, list[str]]:
    text_settings = TextSettings(source=SIDE, target=SIDE, cleaning=ALL_PAIRS)
    tokenize_corpus(EXPERIMENT.corpus, folder / "tokens", EXPERIMENT.settings.corpus, text_settings)
    return _count(), [sha256(folder / "tokens" / name) for name in text_files()]


def _subword_nmt(folder: Path) -> tuple[float, str]:
    with (EXPERIMENT.subwords / "codes.joint").open(encoding="utf-8") as codes:
        segmenter = BPE(codes)
    units = folder / "units"
    with TEXT_TO_SEGMENT.open(encoding="utf-8", newline="\n") as lines, units.open("w", encoding="utf-8") as output:
        for line in lines:
            output.write(segmenter.process_line(line))
    return LINES, sha256(units)


def _our_segmenter(folder: Path) -> tuple[float, str]:
    segmenter = Segmenter(EXPERIMENT.subwords, EXPERIMENT.settings.corpus.source)
    write_lines(folder / "units", map(segmenter.units, iterate_lines(TEXT_TO_SEGMENT)))
    return LINES, sha256(folder / "units")


if __name__ == "__main__":
    part_command("python -m benchmarks.text", tokenize, bpe)
