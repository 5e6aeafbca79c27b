"""Measure all parts in one run and keep the figures."""

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
    """Measure training, decoding, text stages and runs side by side on this machine; other load spoils the figures.

    Reads the trained systems of the default experiment (`make repro`). Writes

        benchmarks/results/MACHINE.json   this kind of machine's figures; those of others stay
        benchmarks/README.md              tables with a column for each machine
        benchmarks/variants.json          what the tables of experiments print of speeds: those measured last
        benchmarks/results/MACHINE-iterations.svg   BLEU and speed of mask-predict
    """
    experiment, here = Experiment(), machine.describe()
    iterations.searches(experiment)  # before half an hour of measurements, since its systems may be missing
    measurements = (training, decoding, tokenize, bpe, side_by_side, variants.variants)
    for number, measurement in enumerate(measurements, start=1):
        say(f"part {number} of {len(measurements) + 1}: {measurement.__name__}")
        report.keep(part := measurement(rounds), here)
    variants.write(part, here)
    say(f"part {len(measurements) + 1} of {len(measurements) + 1}: iterations")
    report.keep(iterations.iterations(rounds, experiment), here, draw=draw_searches)


if __name__ == "__main__":
    run(main, "python -m benchmarks")
