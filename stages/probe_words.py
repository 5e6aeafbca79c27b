"""Probes what the layers of one run know of words."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.evaluation.probing.layers import probe_words
from context_nmt.experiment import Experiment


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """See how well each layer's states tell which unit stands at their position, and how near they are to embeddings.

    Reads runs/models/VARIANT-SEED, runs/binarized, gold tags of data/CORPUS where there are some, and
    probing.word_classifier of params.yaml. Writes

        metrics/analyses/words/VARIANT-SEED.json    for each test set; layer 0 are the embeddings
            lexical_STACK_LAYER                 per cent of all units that the layer's classifier finds
            lexical_STACK_frequency_BIN_LAYER   the same of units by the frequency of their type, 1 (rarest) to 10
            lexical_STACK_tag_TAG_LAYER         the same by the tag of the unit's word
            cosine_STACK_tokens_LAYER           mean cosine of the layer's states and the embeddings
            cosine_STACK_sentences_LAYER        the same with a sentence's states as one vector

    Example: python -m stages.probe_words transformer 1
    """
    probe_words(Experiment().with_plan_of(variant), variant, seed, device=device)


if __name__ == "__main__":
    run(main)
