"""Translate the test sets with one run."""

from typing import Annotated

import typer

from context_nmt.decoding.decoding_run import decode_run, write_text
from context_nmt.settings.run_layout import RunLayout
from stages import Device, Seed, Variant


def main(
    variant: Variant,
    seed: Seed,
    device: Device = "auto",
    search: Annotated[bool, typer.Option(help="Search; without it, only turn runs/decoded into text.")] = True,
) -> None:
    """Translate every test set with one run, by greedy or beam search or mask-predict, and write it as text.

    Reads metrics/plans/VARIANT/decoding.json, runs/models/VARIANT-SEED and runs/binarized. On a machine without the
    text tools, it stops after runs/decoded; run it with `--no-search` elsewhere to finish. Writes

        runs/decoded/VARIANT-SEED/
            TEST.subwords.txt       the best translations in units, one line per line of the source
            TEST.nbest.jsonl        with decoding.n_best > 1: line and rank (from 1), units, log_probability, score
        metrics/hypotheses/VARIANT-SEED.zip
            TEST.txt                Moses tokens in their original case; with sentencepiece, raw text

    Example: python stages decode transformer 1
    """
    layout = RunLayout().with_plan_of(variant)
    if not search or decode_run(layout, variant, seed, device=device):
        write_text(layout, variant, seed)
