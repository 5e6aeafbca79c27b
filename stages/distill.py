"""Translate the training text with a teacher."""

from typing import Annotated

import typer

from context_nmt.decoding.distilling import distill_run
from context_nmt.settings.run_layout import RunLayout
from stages import Device


def main(
    teacher: Annotated[str, typer.Argument(help="A variant of params.yaml that is trained on the bitext.")],
    seed: Annotated[int, typer.Argument(help="The seed of the teacher's run, and of the runs that learn from it.")],
    device: Device = "auto",
) -> None:
    """Translate the training source with a teacher; runs under train.distilled with the same seed learn from it.

    Reads metrics/plans/TEACHER/decoding.json, runs/models/TEACHER-SEED and runs/binarized/training. A stopped
    distillation resumes after the finished shards. Writes

        runs/distilled/SEED/TRAIN.LANGUAGE               the translations in units, a line for each line of the source
        runs/distilled/SEED/TRAIN.LANGUAGE.tokens.npy    the same as ids, see `python stages bpe --help`
        runs/distilled/SEED/TRAIN.LANGUAGE.offsets.npy
        runs/distilled/SEED/distilled.json               the teacher's run and the number of sentences

    Example: python stages distill transformer 1
    """
    distill_run(RunLayout().with_plan_of(teacher), teacher, seed, device=device)
