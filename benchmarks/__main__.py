"""Measure all parts in one run and keep their figures."""

from benchmarks import iterations, machine, report, variants
from benchmarks.decoding import decoding
from benchmarks.pictures import draw_searches
from benchmarks.report import ROUNDS, Rounds
from benchmarks.text import bpe, tokenize
from benchmarks.training import side_by_side, training
from context_nmt.command_line import run
from context_nmt.progress import say
from context_nmt.settings.parameters import Experiment


def main(rounds: Rounds = ROUNDS) -> None:
    """Measure training, decoding, text stages and runs side by side on this machine, which must have no other load.

    Reads the trained systems of the default experiment (`make repro`). Writes

        benchmarks/results/MACHINE.json   figures of this kind of machine; the files of others are kept
        benchmarks/README.md              tables with a column for each machine
        benchmarks/variants.json          the latest speeds of variants, for the tables of experiments
        benchmarks/results/MACHINE-iterations.svg   BLEU and speed of mask-predict
    """
    experiment, this_machine = Experiment(), machine.describe()
    iterations.searches(experiment)  # fails early if a system is missing, before half an hour of measurements
    measurements = (training, decoding, tokenize, bpe, side_by_side, variants.variants)
    for number, measurement in enumerate(measurements, start=1):
        say(f"part {number} of {len(measurements) + 1}: {measurement.__name__}")
        report.keep(part := measurement(rounds), this_machine)
    variants.write(part, this_machine)
    say(f"part {len(measurements) + 1} of {len(measurements) + 1}: iterations")
    report.keep(iterations.iterations(rounds, experiment), this_machine, draw=draw_searches)


if __name__ == "__main__":
    run(main, "python -m benchmarks")
