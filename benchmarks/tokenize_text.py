"""Measures tokenizing: this project's stage beside one process of sacremoses."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from benchmarks.command_line import part_command
from benchmarks.report import Part, same_bytes
from benchmarks.rounds import CORES, Contender, Work, measure, ratio
from benchmarks.setting import EXPERIMENT, prepared, text_files
from context_nmt.corpus.tokenizing import tokenize_corpus
from context_nmt.files import read_lines, sha256
from context_nmt.settings.text import CleaningSettings, SideSettings, TextSettings

SACREMOSES, OURS = "sacremoses, one process", f"context-nmt, {CORES} processes"
SIDE = SideSettings(truecase=False)
ALL_PAIRS = CleaningSettings(maximum_length=10_000, maximum_ratio=10_000.0)


def tokenize(rounds: int) -> Part:
    """Compare normalising and tokenizing all of Multi30k."""
    prepared()
    contenders = [
        Contender(name=SACREMOSES, prepare=_sacremoses, unit="lines"),
        Contender(name=OURS, prepare=_ours, unit="lines"),
    ]
    measured = measure("tokenize", contenders, rounds)
    notes = [
        f"{_count():,} lines in two languages. Both programs normalise punctuation and tokenize, without truecasing;"
        " ours also counts and cleans, as the stage does.",
        same_bytes(measured),
    ]
    return Part("Text: tokenize", measured, [ratio(measured, OURS, SACREMOSES, wanted=1.7)], notes)


def _count() -> int:
    return sum(len(read_lines(EXPERIMENT.corpus / name)) for name in text_files())


@contextmanager
def _sacremoses() -> Iterator[Work]:
    count = _count()
    with tempfile.TemporaryDirectory() as folder:

        def work() -> tuple[float, list[str]]:
            for name in text_files():
                language = name.rpartition(".")[2]
                normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
                raw, tokens = EXPERIMENT.corpus / name, Path(folder) / name
                with raw.open(encoding="utf-8", newline="\n") as lines, tokens.open("w", encoding="utf-8") as output:
                    for line in lines:
                        normalized = normalizer.normalize(line.rstrip("\n"))
                        output.write(" ".join(tokenizer.tokenize(normalized, escape=False)) + "\n")
            return count, [sha256(Path(folder) / name) for name in text_files()]

        yield work


@contextmanager
def _ours() -> Iterator[Work]:
    count, settings = _count(), EXPERIMENT.settings.corpus
    text = TextSettings(source=SIDE, target=SIDE, cleaning=ALL_PAIRS)
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder) / "tokens"

        def work() -> tuple[float, list[str]]:
            tokenize_corpus(EXPERIMENT.corpus, tokens, settings, text)
            return count, [sha256(tokens / name) for name in text_files()]

        yield work


if __name__ == "__main__":
    part_command(tokenize)
