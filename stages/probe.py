"""Probes what the states of one run tell of sentences and of words."""

from enum import StrEnum
from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.probes.layers import probe_words
from context_nmt.measures.probes.sentences import probe_sentences


class Probe(StrEnum):
    """What states are asked about."""

    SENTENCES = "sentences"
    WORDS = "words"


def main(
    probe: Annotated[Probe, typer.Argument(help="What the states are asked about.")],
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """Train classifiers on the states of one run, and see what they tell.

    sentences: the ten tasks of Conneau et al. (2018), on the mean of the top encoder layer. Reads
    metrics/plans/probe_sentences.json, data/TASKS/TASK.txt and runs/models/VARIANT-SEED; the text goes through the
    run's own tokenizer, truecaser and units. Writes

        metrics/analyses/sentences/VARIANT-SEED.json    {TASK: …}, and surface, syntactic, semantic: means of tasks
            accuracies    in per cent, of a classifier per seed
            accuracy      their mean, and with several seeds "deviation", their sample standard deviation
            chance        the share of the most frequent class in the test set

    words: which unit is at a position, by layer (Emelin et al. 2019). Reads metrics/plans/probe_words.json and
    text.json, runs/models/VARIANT-SEED, runs/binarized and gold tags of data/CORPUS where there are some. Writes

        metrics/analyses/words/VARIANT-SEED.json    for each test set; layer 0 is the embeddings
            lexical_STACK_LAYER                 per cent of all units that the layer's classifier finds
            lexical_STACK_frequency_BIN_LAYER   the same of units by the frequency of their type, 1 (rarest) to 10
            lexical_STACK_tag_TAG_LAYER         the same by the tag of the unit's word
            cosine_STACK_tokens_LAYER           mean cosine of the layer's states and the embeddings
            cosine_STACK_sentences_LAYER        the same with a sentence's states as one vector

    Example: python stages probe words transformer 1
    """
    experiment = Evaluated().with_plan_of(variant)
    if probe is Probe.SENTENCES:
        probe_sentences(experiment, variant, seed, device=device)
    else:
        probe_words(experiment, variant, seed, device=device)


if __name__ == "__main__":
    run(main)
