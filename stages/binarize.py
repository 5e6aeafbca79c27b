"""Turns subword text into arrays of ids."""

from context_nmt.command_line import run
from context_nmt.corpus.binarized import binarize
from context_nmt.experiment import Experiment


def main() -> None:
    """Turn subword text into memory-mapped arrays of ids, with a vocabulary per side (equal ones if units.joint).

    Run in an experiment's folder; it reads params.yaml (corpus, units) and runs/subwords, and writes

        runs/binarized/corpus.json                  the names of languages and splits
        runs/binarized/vocabulary.LANGUAGE.txt      one unit a line; its id is the line's number, from 0
        runs/binarized/SPLIT.LANGUAGE.tokens.npy    all ids, one sentence behind the other
        runs/binarized/SPLIT.LANGUAGE.offsets.npy   where each sentence starts
        runs/binarized/SPLIT.documents              where documents start, for splits that say so

    Example: python -m stages.binarize
    """
    experiment = Experiment()
    binarize(experiment.subwords, experiment.binarized, experiment.settings.corpus, experiment.settings.units)


if __name__ == "__main__":
    run(main)
