"""Probe the states of one run for properties of sentences and for words."""

from enum import StrEnum
from typing import Annotated

import typer

from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.sentence_probes import probe_sentences
from context_nmt.measures.word_probes import probe_words
from stages import Device, Seed, Variant


class Probe(StrEnum):
    """The properties that states are probed for."""

    SENTENCES = "sentences"
    WORDS = "words"


def main(
    probe: Annotated[Probe, typer.Argument(help="What the states are probed for.")],
    variant: Variant,
    seed: Seed,
    device: Device = "auto",
) -> None:
    """Train classifiers on the states of one run and measure their accuracy.

    sentences: the ten tasks of Conneau et al. (2018), on the mean of the top encoder layer. Reads
    metrics/plans/probe_sentences.json, data/TASKS/TASK.txt and runs/models/VARIANT-SEED; the text goes through the
    run's own tokenizer, truecaser and units. Writes

        metrics/analyses/sentences/VARIANT-SEED.csv    rows, a tag per task, and surface, syntactic, semantic
            probe              percentage of the test sentences that are classified correctly, mean over classifiers;
                               for the run `chance`, the share of the most frequent class
            probe_deviation    sample standard deviation over the classifiers, if there are several

    words: the unit at each position, by layer (Emelin et al. 2019). Reads metrics/plans/probe_words.json and
    text.json, runs/models/VARIANT-SEED, runs/binarized and the gold tags of data/CORPUS, if it has any. Writes

        metrics/analyses/words/VARIANT-SEED.csv    rows for each test set by layer; layer 0 is the embeddings
            lexical_STACK                 percentage of all units that the layer's classifier predicts
            lexical_STACK_by_frequency    the same by the frequency of the unit's type, tags 1 (rarest) to 10
            lexical_STACK_by_tag          the same by the tag of the unit's word
            lexical_STACK_by_word_class   percentage of words (NOUN, VERB, ADJ/ADV, OTHER) with a predicted unit
            cosine_STACK_tokens           mean cosine between the layer's states and the embeddings
            cosine_STACK_sentences        the same with a sentence's states as one vector

    Example: python stages probe words transformer 1
    """
    measure = probe_sentences if probe is Probe.SENTENCES else probe_words
    measure(EvaluationFolder().with_plan_of(variant), variant, seed, device=device)
