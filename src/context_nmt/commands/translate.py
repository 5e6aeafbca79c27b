"""Translate plain text."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def translate(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run: runs/models/VARIANT-SEED.")],
    beam: Annotated[
        int | None,
        typer.Option(help="Hypotheses per sentence; for a masked model, lengths per sentence. Default: the run's."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU if there is one.")] = "auto",
) -> None:
    """Translate plain text with a trained model.

    The run's folder has all that is needed and can be copied elsewhere: normalization, tokenization, truecasing and
    units as in training, the averaged model, its search settings, and the way back to plain text. For a document model,
    empty lines separate documents.

    Reads

        standard input          UTF-8 text, one sentence per line
        RUN/model.safetensors   weights
        RUN/decoding.json       search settings
        RUN/text/               truecasers, BPE codes or sentencepiece models, vocabularies

    Writes

        standard output         translations; an empty line stays empty, and one that is too long
                                for the model becomes empty, which is an error at the end

    For example

        context-nmt translate runs/models/transformer-1 < text.en > text.de
    """
    from context_nmt.decoding.decoding_run import translate_text
    from context_nmt.files import UserError

    if sys.stdin is None:
        raise UserError("standard input is closed; give the text by < FILE")
    translate_text(folder, sys.stdin.buffer, sys.stdout.buffer, beam=beam, device=device)
