"""Show what systems looked at when they translated."""

from pathlib import Path
from typing import Annotated

import typer

Runs = Annotated[list[str], typer.Argument(metavar="VARIANT-SEED", help="The runs to compare, such as cmlm-1.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU if there is one.")]


def show(
    runs: Runs,
    output: Annotated[Path, typer.Option(help="The page to write, FILE.html, or FILE.svg for a picture of one word.")],
    test: Annotated[str, typer.Option(help="A test set or a contrastive set.")] = "test",
    document: Annotated[
        int | None, typer.Option(help="The number of a document or of a contrastive item, from 1. Default: 1.")
    ] = None,
    sentence: Annotated[
        int | None,
        typer.Option(help="The number of a sentence, from 1; shown with those before it if a system looks at them."),
    ] = None,
    word: Annotated[
        str | None,
        typer.Option(
            help="The word to select; case does not count. Without a number: in the first sentence whose reference (or"
            " source) has it."
        ),
    ] = None,
    sentences: Annotated[
        int,
        typer.Option(
            min=1,
            help="Maximum number of sentences: the first of a document, the last up to a sentence. A contrastive item"
            " with more is refused.",
        ),
    ] = 50,
    device: Device = "auto",
) -> None:
    """Show what systems looked at when they translated.

    This translates a document or a sentence and writes a page: for each word and system, the attention of every layer
    and head, gates, windows, the earlier sentences and words that it used, and the iterations of a masked model. It
    shows what the mechanisms declare in `shows`. A page of a contrastive item has each system's scores of the
    candidates. A picture is of one word of the last sentence, by default its first pronoun, and of one system with
    hierarchical attention. Run it in the experiment's folder.

    Reads

        params.yaml                            the systems' labels
        metrics/plans/VARIANT/decoding.json    search settings
        runs/models/VARIANT-SEED/              the trained models
        runs/binarized/                        the text
        runs/tokenized/SET.items.json          the items of a contrastive set

    Writes

        --output                               one HTML or SVG file that needs no other file

    For example

        context-nmt show transformer-1 han_encoder-1 --document 22 --output page.html
    """
    from context_nmt.explorer.documents import Wanted
    from context_nmt.explorer.documents import show as show_runs
    from context_nmt.settings.folder import Experiment

    wanted = Wanted(test=test, document=document, sentence=sentence, word=word, most=sentences)
    show_runs(Experiment(), runs, wanted, output=output, device=device)
