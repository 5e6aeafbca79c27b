"""Measures byte pair encoding: this project's stage beside subword-nmt's own loop."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

from subword_nmt.apply_bpe import BPE

from benchmarks.command_line import part_command
from benchmarks.report import Part, same_bytes
from benchmarks.rounds import Contender, Work, measure, ratio
from benchmarks.setting import EXPERIMENT, prepared, text_files
from context_nmt.corpus.subwords import Segmenter
from context_nmt.files import iterate_lines, read_lines, sha256, write_lines

SUBWORD_NMT, OURS = "subword-nmt", "context-nmt"
LINES = 500_000


def bpe(rounds: int) -> Part:
    """Compare segmenting half a million lines with the same merges."""
    prepared()
    contenders = [
        Contender(name=SUBWORD_NMT, prepare=_subword_nmt, unit="lines"),
        Contender(name=OURS, prepare=_ours, unit="lines"),
    ]
    measured = measure("bpe", contenders, rounds)
    notes = [f"{LINES:,} lines: Multi30k in both languages, over and over, from file to file.", same_bytes(measured)]
    return Part("Text: bpe", measured, [ratio(measured, OURS, SUBWORD_NMT, wanted=3.0)], notes)


@contextmanager
def _subword_nmt() -> Iterator[Work]:
    with _half_a_million() as text:
        units = text.with_name("units")

        def work() -> tuple[float, str]:
            with (EXPERIMENT.subwords / "codes.joint").open(encoding="utf-8") as codes:
                segmenter = BPE(codes)
            with text.open(encoding="utf-8", newline="\n") as lines, units.open("w", encoding="utf-8") as output:
                for line in lines:
                    output.write(segmenter.process_line(line))
            return LINES, sha256(units)

        yield work


@contextmanager
def _ours() -> Iterator[Work]:
    with _half_a_million() as text:
        units = text.with_name("units")

        def work() -> tuple[float, str]:
            segmenter = Segmenter(EXPERIMENT.subwords, EXPERIMENT.settings.corpus.source)
            write_lines(units, map(segmenter.units, iterate_lines(text)))
            return LINES, sha256(units)

        yield work


@contextmanager
def _half_a_million() -> Iterator[Path]:
    lines = [line for name in text_files() for line in read_lines(EXPERIMENT.tokenized / name)]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "tokens"
        write_lines(text, islice(cycle(lines), LINES))
        yield text


if __name__ == "__main__":
    part_command(bpe)
