"""Shows documents of a corpus."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.corpora.samples import draw_sample, print_sample, write_sample


def main(
    corpus: Annotated[Path, typer.Argument(help="The corpus's folder, with SPLIT.LANGUAGE for each split and side.")],
    split: Annotated[str, typer.Option(help="Which of its splits.")] = "test",
    documents: Annotated[int, typer.Option(help="How many documents; without boundaries, how many sentences.")] = 10,
    seed: Annotated[int, typer.Option(help="Fixes which documents.")] = 1,
    output: Annotated[Path | None, typer.Option(help="Write Markdown to this file instead of printing it.")] = None,
) -> None:
    """Show documents in both languages side by side, for a reader to judge.

    Where SPLIT.gold.jsonl says so, pronouns are marked with their antecedent and how many sentences lie between, and
    ambiguous words with their sense, their cue and the translation that is wrong.

    Example: python -m stages.sample_corpus data/miniature --documents 50 --output sample.md
    """
    sample = draw_sample(corpus, split=split, documents=documents, seed=seed)
    if output is not None:
        write_sample(sample, output)
    else:
        print_sample(sample)


if __name__ == "__main__":
    run(main)
