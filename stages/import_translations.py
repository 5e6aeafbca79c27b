"""Take the translations of an external system from its files."""

from typing import Annotated

import typer

from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.external import import_translations
from stages import Seed


def main(
    system: Annotated[str, typer.Argument(help="A system under external in params.yaml.")],
    seed: Seed,
) -> None:
    """Take the translations of an external system, which is not trained here, from its files.

    The files are UTF-8, with a line of raw text per sentence of the test set. All seeds have the same translations.
    Reads metrics/plans/text.json, data/CORPUS/TEST.LANGUAGE of the source, and external/SYSTEM/TEST.txt. Writes

        metrics/hypotheses/SYSTEM-SEED.zip
            TEST.raw                the text as it is; scores on tokens tokenize it like the references

    Example: python stages import_translations llm 1
    """
    import_translations(EvaluationFolder(), system, seed)
