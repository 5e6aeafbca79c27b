"""Turns a run's translations into Moses tokens and raw text."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.corpus.text_chain import write_hypotheses
from context_nmt.experiment import Experiment, run_name


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
) -> None:
    """Undo subword units, truecasing and tokenization of a run's translations of every test set.

    Run in an experiment's folder. Reads runs/decoded/VARIANT-SEED, the text models in runs/models/VARIANT-SEED/text,
    and runs/binarized for the number of sentences.

    Writes

        metrics/hypotheses/VARIANT-SEED/TEST.tokenized.txt     Moses tokens in their original case
        metrics/hypotheses/VARIANT-SEED/TEST.detokenized.txt   raw text

    Example: python -m stages.detokenize transformer 1
    """
    experiment, name = Experiment(), run_name(variant, seed)
    text, decoded = experiment.model(name) / "text", experiment.decoded(name)
    write_hypotheses(text, experiment.binarized, decoded, experiment.hypotheses(name))


if __name__ == "__main__":
    run(main)
