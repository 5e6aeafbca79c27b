"""Show where a document model looks."""

from pathlib import Path
from typing import Annotated

import typer


def show(
    variant: Annotated[
        str, typer.Argument(metavar="VARIANT", help="A variant with hierarchical attention after encoder or decoder.")
    ],
    seed: Annotated[int, typer.Argument(metavar="SEED", help="The seed of the run.")],
    output: Annotated[Path, typer.Option(help="The page to write, or FILE.svg for a picture of one word.")],
    test: Annotated[str, typer.Option(help="A test set with documents.")] = "test",
    document: Annotated[int, typer.Option(help="The number of the document, from 1.")] = 1,
    sentences: Annotated[
        int, typer.Option(min=1, help="Maximum number of sentences, from the first; each takes about 50 KB.")
    ] = 50,
    word: Annotated[
        str | None,
        typer.Option(help="For a picture: a word of the last of these sentences. Default: its first pronoun."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU if there is one.")] = "auto",
) -> None:
    """Draw where a document model looks.

    This translates one document of a test set and writes a page. For each word, it shows which previous sentences, and
    which words in them, the model looked at, with source and reference; pronouns are expanded. Run it in the
    experiment's folder.

    Reads

        metrics/plans/VARIANT/decoding.json    search settings
        runs/models/VARIANT-SEED/              the trained model
        runs/binarized/                        the document

    Writes

        --output                               one HTML or SVG file that needs no other file

    For example

        context-nmt show han_encoder 1 --document 22 --sentences 4 --output picture.svg
    """
    from context_nmt.report.attention_page import show_document
    from context_nmt.settings.layout import Layout

    show_document(
        Layout().with_plan_of(variant),
        variant,
        seed,
        test=test,
        document=document,
        most=sentences,
        word=word,
        output=output,
        device=device,
    )
