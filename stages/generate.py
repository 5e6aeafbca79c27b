"""Generates one corpus."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.corpus.miniature.generation import generate_entry


def main(corpus: Annotated[str, typer.Argument(help="An entry under generated in data/params.yaml.")]) -> None:
    """Generate a miniature of English and German with gold knowledge: no download, the same bytes from the same seed.

    Run in the folder data. Reads params.yaml there (generated.CORPUS: seed, sizes, and how often what occurs). Writes

        CORPUS/
            SPLIT.en SPLIT.de         train, valid, test: raw text in document order
            SPLIT.documents           the line, from 0, at which each document begins
            SPLIT.gold.jsonl          per sentence: tree, tags, alignment, antecedents, senses with their cues, synonyms
            SPLIT.bound.LANGUAGE      valid, test: the best that a system can do that sees one sentence at a time
            pronouns.SOURCE-TARGET.jsonl  senses.SOURCE-TARGET.jsonl      contrastive sets, both directions
            probing/TASK.txt          ten probing tasks in SentEval's format

    Example: PYTHONPATH=../src:.. python -m stages.generate miniature
    """
    generate_entry(Path("params.yaml"), corpus)


if __name__ == "__main__":
    run(main)
