"""Segments Chinese text into words."""

import sys

from context_nmt.command_line import run
from context_nmt.corpus.chinese import segment_stream


def main() -> None:
    """Put spaces between the words of UTF-8 text on standard input with jieba, and write it to standard output.

    No stage of dvc.yaml: a side's script, which maps raw lines before all else, as text.source of a params.yaml has it:
    {script: python -m stages.segment_chinese, pretokenized: true}.

    \b
    Example: python -m stages.segment_chinese < text.zh > words.zh
    """
    segment_stream(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    run(main)
