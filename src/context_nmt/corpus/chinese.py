"""Segment raw Chinese text into words with jieba, by its default dictionary and its HMM for unknown words."""

import sys
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

from context_nmt.command_line import run
from context_nmt.corpus.workers import map_lines
from context_nmt.files import decoded_lines


@cache
def _jieba() -> Any:
    import jieba

    jieba.setLogLevel("WARNING")
    tokenizer = jieba.Tokenizer()
    with TemporaryDirectory() as folder:  # the default is a folder that anyone can write to
        tokenizer.tmp_dir = folder
        tokenizer.initialize()
    return tokenizer


def segment(line: str) -> str:
    """Separate the words of a line by single spaces."""
    return " ".join(" ".join(_jieba().cut(line)).split())


def main() -> None:
    """Put spaces between the words of Chinese text with jieba.

    Use it as the script of a side, which is applied to raw lines first; in params.yaml:

        text: {source: {script: python -m context_nmt.corpus.chinese, pretokenized: true}}

    Reads UTF-8 text on standard input and writes it to standard output, one line per line.

    For example

        python -m context_nmt.corpus.chinese < text.zh > words.zh
    """
    for line in map_lines(segment, decoded_lines(sys.stdin.buffer, "standard input")):
        sys.stdout.buffer.write(line.encode() + b"\n")


if __name__ == "__main__":
    run(main, "python -m context_nmt.corpus.chinese")
