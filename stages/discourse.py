"""Scores the translated documents of one run."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.discourse.running import score_discourse
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="A seed of params.yaml.")],
) -> None:
    """Score what one run keeps of documents, on test sets with a file data/CORPUS/TEST.documents.

    Reads metrics/hypotheses/VARIANT-SEED/TEST.tokenized.txt, the training and test sets of runs/tokenized, and, for the
    tags of nouns, data/CORPUS/TEST.gold.jsonl where there is one. Writes

        metrics/discourse/VARIANT-SEED.json    {TEST: {METRIC: {"score": float, "signature": str}}}; {} without any
            apt_pronouns    the share of the reference's pronouns that the translation has at the word that they are
                            linked to through the source; of a target language of which there is a list (en, de)
            apt_nouns       the same of its nouns, with gold tags or, in English, those of NLTK's tagger if installed
            cohesion        the share of content words that take up an earlier one of their document: the same, or, in
                            English where WordNet is installed, a related one (Wong and Kit 2012)
            coherence       the cosine of adjacent sentences in a latent semantic space of the training text

    The first two have "counts", the others "reference", the human translation's score. Words are aligned by a model of
    the training text (Dyer et al. 2013), the same one for all runs.

    Example: python -m stages.discourse transformer 1
    """
    score_discourse(Experiment(), variant, seed)


if __name__ == "__main__":
    run(main)
