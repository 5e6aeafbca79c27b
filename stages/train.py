"""Train one variant with one seed."""

from typing import Annotated

import typer

from context_nmt.settings.run_layout import RunLayout
from context_nmt.training.trainer import train_run
from stages import Device, Variant


def main(
    variant: Variant,
    seed: Annotated[int, typer.Argument(help="Seed of initial weights, dropout and the order of batches.")],
    distilled: Annotated[
        bool, typer.Option(help="Learn from the teacher's translations in runs/distilled/SEED.")
    ] = False,
    start: Annotated[
        str | None, typer.Option(help="Start from the weights of this variant's run with the same seed.")
    ] = None,
    tensorboard: Annotated[bool, typer.Option(help="Also write the curve for TensorBoard.")] = False,
    device: Device = "auto",
) -> None:
    """Train one variant with one seed on the binarized corpus, or resume a training that was stopped.

    Reads metrics/plans/VARIANT/training.json and runs/binarized/training, with --distilled runs/distilled/SEED instead
    of the training target, and with --start also runs/models/START-SEED. Each validation saves a checkpoint; the last
    `training.keep_last` and the best `training.keep_best` are kept. Until they are averaged, a killed training resumes
    from runs/scratch/VARIANT-SEED and ends with the same bytes. The command `launch.train` in params.yaml starts it;
    processes of torchrun share the batches of an update (training.accumulation).

    Writes

        runs/training/VARIANT-SEED/checkpoint-UPDATE.safetensors
        runs/training/VARIANT-SEED/summary.json     updates, pairs that are too long and left out, best update
        metrics/curves/VARIANT-SEED.csv             the learning curve, for `dvc plots show`
        runs/tensorboard/VARIANT-SEED/              with --tensorboard, which launch.tensorboard adds

    Example: python stages train transformer 1
    """
    layout = RunLayout().with_plan_of(variant)
    train_run(layout, variant, seed, device=device, distilled=distilled, start=start, tensorboard=tensorboard)
