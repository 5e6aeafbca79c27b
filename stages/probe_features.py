"""Encodes the sentences of probing tasks with one run."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.probing.features import write_features
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """Encode the sentences of the probing tasks with one run, the mean of the top encoder layer over each.

    Reads data/TASKS/TASK.txt, where params.yaml has TASKS under probing.tasks, and runs/models/VARIANT-SEED; the text
    goes through the run's own tokenizer, truecaser and units. Writes

        runs/probing/VARIANT-SEED/TASK.safetensors    of the training, validation and test split
            SPLIT.features    [sentences, width]
            SPLIT.labels      [sentences], numbers of classes; their names are in the metadata

    Example: python -m stages.probe_features transformer 1
    """
    write_features(Experiment().with_plan_of(variant), variant, seed, device=device)


if __name__ == "__main__":
    run(main)
