"""Show which source words a target word looks at most."""

from typing import Annotated

import typer


def attention(
    runs: Annotated[list[str], typer.Argument(metavar="VARIANT-SEED", help="The runs to compare, such as cmlm-1.")],
    word: Annotated[str, typer.Option(help="A word of the translation; case does not count.")],
    test: Annotated[str, typer.Option(help="A test set.")] = "test",
    sentence: Annotated[
        int | None,
        typer.Option(help="The number of the sentence, from 1. Default: the first whose reference has the word."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU if there is one.")] = "auto",
) -> None:
    """List the source words that a word of the translation looks at most.

    The table has a row per run, with the largest weights of the cross-attention (Ding et al. 2020, table 1): means over
    heads and layers. An autoregressive model reads the reference; a masked model translates, and the weights are those
    of its last iteration. A translation without the word has dashes; translations that differ from the reference are
    below the table. A model that joins sentences reads this one alone. Words are Moses tokens; those of sentencepiece
    end at spaces and punctuation. Run it in the experiment's folder, after `make repro`.

    Reads

        metrics/plans/VARIANT/decoding.json    search settings
        runs/models/VARIANT-SEED/              the trained models
        runs/binarized/                        the sentence

    Writes

        standard output                        the table, source, reference and translations

    For example

        context-nmt attention transformer-1 cmlm-1 ccan-1 --word sie
    """
    from context_nmt.report.attended_words import print_attended_words
    from context_nmt.settings.layout import Layout

    print_attended_words(Layout(), runs, test=test, word=word, sentence=sentence, device=device)
