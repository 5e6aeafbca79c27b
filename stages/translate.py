"""Translates text with a trained run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.decoding.running import translate_text


def main(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run: runs/models/VARIANT-SEED.")],
    beam: Annotated[
        int | None, typer.Option(help="Hypotheses per sentence, of a masked run lengths. Default: the run's.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """Translate UTF-8 text on standard input to standard output, one line per line; an empty line stays empty.

    The whole chain is in the run's folder, which can be copied elsewhere: normalisation, tokenization, truecasing and
    BPE as in training, the averaged model, its search settings, and the way back to plain text.

    Reads

        RUN/model.safetensors   weights
        RUN/decoding.json       search settings
        RUN/text/               truecasers, BPE codes, vocabularies

    \b
    Example: python -m stages.translate runs/models/transformer-1 < text.en > text.de
    """
    translate_text(folder, sys.stdin.buffer, sys.stdout.buffer, beam=beam, device=device)


if __name__ == "__main__":
    run(main)
