"""Turn Moses tokens, or raw text, into subword units and their ids."""

from context_nmt.corpus.binarized import binarize
from context_nmt.corpus.subwords import segment_corpus
from context_nmt.settings import read_plan
from context_nmt.settings.run_layout import RunLayout
from context_nmt.settings.text import UnitPlan


def main() -> None:
    """Learn byte pair encoding from the training text with subword-nmt, segment all splits, and number the units.

    Reads metrics/plans/units.json and runs/tokenized. Both sides share one set of merges, or each has its own
    (units.joint). Units that are rarer on their side than units.vocabulary_threshold are split further. With units.kind
    words the text is not changed, and the vocabulary has the most frequent words. With units.kind sentencepiece, that
    library learns pieces of the raw text; the vocabulary has all of them, with the same ids.

    Writes

        runs/subwords/SPLIT.LANGUAGE                   units; "@@" ends a unit that is not the last of its word, and
                                                       U+2581 stands for a space with sentencepiece
        runs/subwords/SPLIT.documents                  where documents start, if runs/tokenized has it
        runs/subwords/codes.joint or codes.LANGUAGE    the merges
        runs/subwords/sentencepiece.joint.model or sentencepiece.LANGUAGE.model
        runs/subwords/vocabulary.LANGUAGE              units of the training text with their counts, or all pieces
        runs/subwords/units.json                       the settings
        runs/binarized/training/                       the input of trainings; a new test set does not change it
            corpus.json                                the names of languages and splits
            vocabulary.LANGUAGE.txt                    one unit per line; its id is the line's number, from 0
            SPLIT.LANGUAGE.tokens.npy, .offsets.npy    all ids, sentence after sentence; where each starts
            SPLIT.documents                            where documents start
        runs/binarized/tests/                          the same for test and contrastive sets

    Example: python stages bpe
    """
    layout = RunLayout()
    plan = read_plan(UnitPlan, layout.stage_plan("units"))
    segment_corpus(layout.tokenized, layout.subwords, plan.corpus, plan.units)
    binarize(layout.subwords, layout.binarized, plan.corpus, plan.units)
