"""Shows where a run looks in the sentences before, as a page."""

from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.looks.running import show_document
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant with hierarchical attention behind encoder or decoder.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
    output: Annotated[Path, typer.Option(help="The page that is written.")],
    test: Annotated[str, typer.Option(help="A test set that has documents.")] = "test",
    document: Annotated[int, typer.Option(help="Which of its documents, from 1.")] = 1,
    sentences: Annotated[
        int, typer.Option(min=1, help="At most so many, the first ones; each takes about 50 KB.")
    ] = 50,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """Translate one document and show which previous sentences each word looked at, and which words there.

    Reads metrics/plans/VARIANT/decoding.json, runs/models/VARIANT-SEED and runs/binarized; params.yaml is not read.
    It is no part of the pipeline: which document is worth a look is a reader's choice. Writes

        OUTPUT    one HTML file that needs no other: source, translation, reference and weights; pronouns are open

    Example: python -m stages.show_document han_encoder 1 --document 3 --output document.html
    """
    show_document(
        Experiment().with_plan_of(variant),
        variant,
        seed,
        test=test,
        document=document,
        most=sentences,
        output=output,
        device=device,
    )


if __name__ == "__main__":
    run(main)
