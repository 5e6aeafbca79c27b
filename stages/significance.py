"""Score one system and test whether it differs from its baseline by more than chance."""

from typing import Annotated

import typer

from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.results.evaluation import evaluate_variant


def main(
    system: Annotated[
        str, typer.Argument(help="A variant or external system of params.yaml; all its seeds are scored and tested.")
    ],
) -> None:
    """Score all runs of a system, and compare each with its baseline's run of the same seed.

    Sentences are scored, and also documents if a test set has them. The tests are the paired bootstrap by compare-mt
    (Koehn 2004) and by sacrebleu, the sign test of Collins et al. (2005), and approximate randomization (Riezler and
    Maxwell 2005); their p-values mean different things, as context_nmt/results/significance.py explains. `significance`
    in params.yaml has the metric, the number and size of resamples and the seed; a system's `test` is the test that
    tables use. `context-nmt score` and `context-nmt compare` do the same for any files.

    Accuracies on contrastive sets are compared by McNemar's exact test over the items.

    Reads metrics/plans/significance.json and text.json, runs/pairs/SYSTEM.json, metrics/hypotheses/ and the outcomes
    in metrics/contrastive/ of both systems, the raw references data/CORPUS/TEST.LANGUAGE and their tokens in
    runs/tokenized; further references, TEST.LANGUAGE.1 and so on, count in every score. If there is a
    data/CORPUS/TEST.bound.LANGUAGE, the translation of an oracle without context, its score is added, and the
    percentage of it that the run reaches. Nouns are taken from the tags in data/CORPUS/TEST.gold.jsonl, if it exists.
    Words are aligned by a model of the training text (Dyer et al. 2013), the same for all runs. Writes

        metrics/scores/SYSTEM/SEED.csv     rows (run, test_set, metric, layer, tag, value, signature)
            sacrebleu, chrf, …      see `context-nmt score --help`
            d_bleu                  sacrebleu of documents, where the test set has them
            sacrebleu_of_bound      percentage; the run `bound` has the score of the oracle without context
            p_TEST                  of each test, if the system has a baseline; the tag is the metric
            p_mcnemar               of accuracy on contrastive sets, by category, and p_mcnemar_normalized
            apt_pronouns    the share of the reference's pronouns that the translation has at the word linked to them
                            through the source; for target languages with a list of pronouns (en, de)
            apt_nouns       the same for its nouns, by gold tags or, in English, by NLTK's tagger if installed
            cohesion        the share of content words that repeat an earlier one of their document or, in English
                            where WordNet is installed, are related to it (Wong and Kit 2012)
            coherence       the cosine between adjacent sentences in a latent semantic space of the training text
            sentences_of_text, documents_of_text, words_of_text     sizes of the training, validation and test sets,
                            in the first file of a system without a baseline
    apt_pronouns_words and apt_nouns_words count the outcomes of these words, by tag. The run `human` is the reference;
    the run `text` has measures that are not of a translation.

    Example: python stages significance dual_context_encoder
    """
    evaluate_variant(EvaluationFolder(), system)
