"""Translate the test sets with one run."""

from context_nmt.decoding.decoding_run import decode_run
from context_nmt.settings.run_layout import RunLayout
from stages import Device, Seed, Variant


def main(
    variant: Variant,
    seed: Seed,
    device: Device = "auto",
) -> None:
    """Translate every test set with one run, by greedy or beam search or mask-predict, and write it as text.

    Reads metrics/plans/VARIANT/decoding.json, runs/models/VARIANT-SEED and runs/binarized. Writes

        runs/decoded/VARIANT-SEED/
            TEST.subwords.txt       the best translations in units, a line for each line of the source
            TEST.nbest.jsonl        if decoding.n_best > 1: line and rank (from 1), units, log_probability, score
        metrics/hypotheses/VARIANT-SEED.zip
            TEST.txt                Moses tokens in their original case; with sentencepiece, raw text

    Example: python stages decode transformer 1
    """
    decode_run(RunLayout().with_plan_of(variant), variant, seed, device=device)
