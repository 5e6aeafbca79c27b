"""Write a trained model for another program."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run: runs/models/VARIANT-SEED.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write, which must not exist.")],
) -> None:
    """Write a plain Transformer for CTranslate2, with the same weights in float32.

    Input and output of the exported model are units, as in runs/subwords; CTranslate2 can then quantize it or run it on
    a GPU. A model with a mechanism other than the plain attention, or a masked one, is refused. Needs the package
    ctranslate2.

    Reads

        RUN/model.safetensors    weights
        RUN/text/                truecasers, BPE codes or sentencepiece models, vocabularies

    Writes

        FOLDER/                  a model that ctranslate2.Translator loads
        FOLDER/text/             a copy of RUN/text

    For example

        context-nmt export runs/models/transformer-1 exported
    """
    from context_nmt.models.exporting import export as export_run

    export_run(run, folder)
