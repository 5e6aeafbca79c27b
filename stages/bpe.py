"""Turns Moses tokens into subword units."""

from context_nmt.command_line import run
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.experiment import Experiment


def main() -> None:
    """Learn byte pair encoding from the training text with subword-nmt and segment all splits.

    Run in an experiment's folder. Reads params.yaml (corpus, units) and runs/tokenized. One set of merges serves both
    sides, or each has its own (units.joint). Units that are rarer on their side than units.vocabulary_threshold are
    split further. With units.kind words the text stays as it is: the vocabulary will hold the most frequent words.

    Writes

        runs/subwords/SPLIT.LANGUAGE                   units; one that a word goes on behind ends in "@@"
        runs/subwords/SPLIT.documents                  where documents start, for splits that say so
        runs/subwords/codes.joint or codes.LANGUAGE    the merges
        runs/subwords/vocabulary.LANGUAGE              units of the training text with their counts
        runs/subwords/units.json                       the settings

    Example: python -m stages.bpe
    """
    experiment = Experiment()
    segment_corpus(experiment.tokenized, experiment.subwords, experiment.settings.corpus, experiment.settings.units)


if __name__ == "__main__":
    run(main)
