"""Measure how time and memory of the text stages grow with the corpus, on generated text with a large vocabulary."""

import itertools
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
import yaml

from benchmarks import machine, report
from benchmarks.pictures import draw_growth
from benchmarks.report import Part
from benchmarks.rounds import Tables, watched
from context_nmt.command_line import run
from context_nmt.files import UserError, iterate_lines, write_lines
from context_nmt.progress import say, tracked

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "runs" / "growth"  # an experiment, removed after each measurement
PAIRS = (500_000, 1_000_000, 2_000_000, 5_000_000)
VALIDATION_PAIRS = 1000  # also the test set
MERGES = 32_000  # joint
TEXT_STAGES = ("tokenize", "bpe")  # bpe learns merges, segments and numbers the units

TITLE = "Growth of the text stages"
SECONDS, CPU, PER_PAIR = "seconds", "CPU s", "CPU s / pair"
MEMORY, WORDS = "memory of all processes, GB", "distinct words"
NOTES = [
    "The stages of an experiment, as `python stages` runs them, on generated sentences; distinct words of one language,"
    " with punctuation. `bpe` learns merges, segments and numbers the units.",
    "CPU time and memory are those of all processes of a stage; pages that processes share count once. Seconds also"
    " count waiting for other programs' work on the machine, CPU seconds do not. CPU s / pair is relative to the"
    " smallest corpus.",
]

# Words follow Zipf's law with a steeper tail: N words of text have about N^(1 / TAIL) distinct words (Heaps).
RANKS, COMMON_RANKS, TAIL = 4_000_000, 10_000, 1.8
LENGTH_SHAPE, LENGTH_SCALE, LENGTH_RATIO = 2.5, 8.0, 0.15  # words: a gamma distribution; spread of log(target / source)
BLOCK_PAIRS = 20_000  # generated at a time
SYLLABLES = {
    language: ["".join(parts) for parts in itertools.product(onsets, vowels)]
    for language, onsets, vowels in (
        ("en", ["b", "c", "d", "f", "g", "l", "m", "n", "r", "s", "t", "th"], ["a", "e", "i", "o", "u"]),
        ("de", ["b", "ch", "d", "f", "g", "k", "l", "n", "r", "sch", "st", "t"], ["a", "e", "i", "ö", "ü"]),
    )
}


def lexicon(language: str) -> list[str]:
    """Return distinct words, the most frequent first: of one syllable, then of two and so on; some capitalized."""
    syllables = SYLLABLES[language]
    words: list[str] = []
    for length in itertools.count(1):
        possible = len(syllables) ** length
        mixed = np.arange(min(possible, RANKS - len(words)), dtype=np.int64) * 7_368_787 % possible  # coprime: distinct
        digits = [(mixed // len(syllables) ** position % len(syllables)).tolist() for position in range(length)]
        words += ["".join(map(syllables.__getitem__, word)) for word in zip(*digits, strict=True)]
        if len(words) == RANKS:
            return [word.capitalize() if rank % 10 == 7 else word for rank, word in enumerate(words)]
    raise AssertionError


def sentences(language: str, pairs: int, seed: int) -> Iterator[str]:
    """Yield the first `pairs` sentences of one side of an endless parallel text, whose sides have similar lengths."""
    words = np.array(lexicon(language), dtype=object)
    ranks = np.arange(1, RANKS + 1)
    weights = np.where(ranks < COMMON_RANKS, 1 / (ranks + 2.7), COMMON_RANKS ** (TAIL - 1) / ranks**TAIL).cumsum()
    limits = weights / weights[-1]
    for block in range(-(-pairs // BLOCK_PAIRS)):
        of_pair = np.random.default_rng([seed, block])
        of_side = np.random.default_rng([seed, block, *language.encode()])
        lengths = of_pair.gamma(LENGTH_SHAPE, LENGTH_SCALE, BLOCK_PAIRS) * of_side.lognormal(
            0, LENGTH_RATIO, BLOCK_PAIRS
        )
        ends = (lengths.astype(int) + 2).cumsum().tolist()
        drawn = words[np.searchsorted(limits, of_side.random(ends[-1]))].tolist()
        for start, end in itertools.islice(itertools.pairwise([0, *ends]), pairs - block * BLOCK_PAIRS):
            comma = (start + end) // 2
            line = f"{' '.join(drawn[start:comma])}, {' '.join(drawn[comma:end])}."
            yield line[0].upper() + line[1:]


def prepare(folder: Path, pairs: int) -> None:
    """Create an experiment with this number of generated training pairs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    parameters = {
        "root": str(ROOT),
        "corpus": {"name": "generated", "source": "en", "target": "de", "tests": ["valid"]},
        "units": {"kind": "bpe", "joint": True, "merges": MERGES},
        "variants": {"transformer": {}},
        "train": {"bitext": ["transformer"]},
        "seeds": [1],
        "focus": "transformer",
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(parameters), encoding="utf-8")
    for split, count, seed in (("train", pairs, 1), ("valid", VALIDATION_PAIRS, 2)):
        for language in SYLLABLES:
            name = f"{split}.{language}"
            write_lines(
                folder / "data/generated" / name,
                tracked(sentences(language, count, seed), f"generating {name}", count, "lines"),
            )
    _stage("plan", folder)


def _stage(name: str, folder: Path) -> tuple[float, float, float]:
    """Run a stage; return its seconds, and the CPU seconds and the peak memory in MB of all its processes.

    Raise UserError if it fails.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen([sys.executable, ROOT / "stages", name], cwd=folder)
    with watched(process.pid) as memory:
        if process.wait() != 0:
            raise UserError(f"stage {name}: failed, see above")
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, max(memory)


def growth(pairs: int, folder: Path) -> Part:
    """Measure every text stage on a corpus of this size, in a folder that is removed afterwards."""
    tables: Tables = {SECONDS: {}, CPU: {}, PER_PAIR: {}, MEMORY: {}, WORDS: {}}
    try:
        prepare(folder, pairs)
        for name in TEXT_STAGES:
            say(f"growth: {pairs:,} pairs, {name}")
            seconds, cpu, memory = _stage(name, folder)
            row = f"{name}, {pairs:,} pairs"
            tables[SECONDS][row], tables[CPU][row], tables[MEMORY][row] = (
                round(seconds, 1),
                round(cpu, 1),
                memory / 1000,
            )
        lines = iterate_lines(folder / "data/generated/train.en")
        tables[WORDS][f"{pairs:,} pairs"] = len({word for line in lines for word in line.split(" ")})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Part(TITLE, tables, NOTES, picture="growth")


def by_size(part: Part) -> Part:
    """Return a part with its rows in the order of sizes, and with CPU seconds relative to the smallest corpus."""
    tables = {title: {row: rows[row] for row in sorted(rows, key=_order)} for title, rows in part.tables.items()}
    tables[PER_PAIR], smallest = {}, dict[str, float]()  # CPU seconds per pair by stage
    for row, seconds in tables[CPU].items():
        stage, pairs = row.removesuffix(" pairs").split(", ")
        per_pair = seconds / int(pairs.replace(",", ""))
        tables[PER_PAIR][row] = round(per_pair / smallest.setdefault(stage, per_pair), 4)
    return replace(part, tables=tables)


def _order(row: str) -> tuple[bool, int, str]:
    return not row.startswith(TEXT_STAGES[0]), len(row), row


def main(
    pairs: Annotated[
        list[int] | None, typer.Option(min=1, help="Pairs of a corpus; can be repeated. Default: four sizes.")
    ] = None,
) -> None:
    """Measure time and memory of the text stages on generated corpora of several sizes.

    The stages of an experiment are run by `python stages`; five million pairs take about 35 minutes on two cores. Their
    files are in runs/growth, which is removed afterwards. Writes

        benchmarks/results/MACHINE.json   figures of this kind of machine; other sizes of the same commit are kept
        benchmarks/results/MACHINE-growth.svg
        benchmarks/README.md              their table

    Example: python -m benchmarks.growth --pairs 500000 --pairs 1000000
    """
    this_machine = machine.describe()
    for count in pairs or PAIRS:
        part = by_size(report.with_earlier(growth(count, FOLDER), this_machine))
        report.keep(part, this_machine, draw=partial(draw_growth, titles=(CPU, MEMORY)))


if __name__ == "__main__":
    run(main, "python -m benchmarks.growth")
