"""Scores the translations of one variant."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.measures.discourse.running import score_discourse
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.scores import score_variant


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml; all its seeds are scored.")],
) -> None:
    """Score all runs of a variant, by sentence and, where a test set has documents, by document.

    Reads metrics/plans/text.json, metrics/hypotheses/VARIANT-SEED, the raw references data/CORPUS/TEST.LANGUAGE and
    their tokens in runs/tokenized; of further references, which count in every score, TEST.LANGUAGE.1 and so on. Where
    there is a data/CORPUS/TEST.bound.LANGUAGE, the best that a system can do that sees one sentence at a time, its
    score is added, with the share of it that the run reaches. The tags of nouns are those of
    data/CORPUS/TEST.gold.jsonl where there is one. Words are aligned by a model of the training text (Dyer et al.
    2013), the same one for all runs. Writes

        metrics/scores/VARIANT/SEED.csv       rows (run, test_set, metric, layer, tag, value, signature)
        metrics/discourse/VARIANT/SEED.csv    rows of documents, if the test sets have any
            apt_pronouns    the share of the reference's pronouns that the translation has at the word that they are
                            linked to through the source; of a target language of which there is a list (en, de)
            apt_nouns       the same of its nouns, with gold tags or, in English, those of NLTK's tagger if installed
            cohesion        the share of content words that take up an earlier one of their document: the same, or, in
                            English where WordNet is installed, a related one (Wong and Kit 2012)
            coherence       the cosine of adjacent sentences in a latent semantic space of the training text
    apt_pronouns_words and apt_nouns_words count how the words came out, by tag. cohesion and coherence are also those
    of the run `human`, the reference; the sacrebleu of the run `bound` is the best score that a system can have that
    sees one sentence at a time.

    Example: python stages evaluate transformer
    """
    score_variant(Evaluated(), variant)
    score_discourse(Evaluated(), variant)


if __name__ == "__main__":
    run(main)
