"""Describes a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.corpora.description import describe_corpus
from context_nmt.evaluation.corpora.tables import print_description
from context_nmt.files import write_json


def main(
    corpus: Annotated[Path, typer.Argument(help="The corpus's folder, with SPLIT.LANGUAGE for each split and side.")],
    json: Annotated[Path | None, typer.Option(help="Write JSON to this file instead of printing tables.")] = None,
) -> None:
    """Show how large a corpus is, how much context it needs, and how far a system that sees one sentence can get.

    Sizes, lengths and what is also in training need the text alone. The miniature has more: rates of pronouns,
    ambiguous words and clauses from SPLIT.gold.jsonl, sizes of contrastive sets and probing tasks, and the scores of
    SPLIT.bound.LANGUAGE, translations whose only errors are words that nobody could choose without earlier sentences.

    Example: python -m stages.describe_corpus data/miniature
    """
    description = describe_corpus(corpus)
    if json is not None:
        write_json(json, description)
    else:
        print_description(description)


if __name__ == "__main__":
    run(main)
