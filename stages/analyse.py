"""Reads what goes on inside one run."""

from typing import Annotated

import typer

from context_nmt.command_line import run
from context_nmt.measures.analyses import analyse_run
from context_nmt.measures.evaluated import Evaluated


def main(
    variant: Annotated[str, typer.Argument(help="A variant of params.yaml.")],
    seed: Annotated[int, typer.Argument(help="The seed of the run.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …; auto takes a GPU where there is one.")] = "auto",
) -> None:
    """Read what goes on inside one run, and how right its translations are by n-grams and by length.

    Reads metrics/plans/VARIANT/decoding.json and text.json, runs/models/VARIANT-SEED, runs/binarized, runs/subwords,
    runs/tokenized, metrics/hypotheses/VARIANT-SEED, and the references and gold tags of the corpus. Writes

        metrics/analyses/VARIANT-SEED.json    for each test set
            locality_entropy                of cross-attention, in bits, over all decoder layers; of one with _LAYER
            locality_entropy_of_mean_map    the same of the map that is the mean over heads
            local_share_LAYER               how much of the attention is local, where it is gated
            divergence_PLACE                JS in nats of the two attentions of a dual context, over its layers; of one
                                            with _LAYER; PLACE is encoder or decoder
            head_divergence_PLACE           the mean of the same over pairs of heads
            gate_PLACE_SIDE                 share of the context in a query, key or value, over its layers; of one with
                                            _LAYER, of a part of speech with _TAG; PLACE also cross
            ngram_accuracy_N                per cent of the n-grams that the reference has, for n = 1 to 10
            bleu_of_iterations_N            sacrebleu of a masked model after N iterations
            bleu_of_units_N                 sacrebleu where the source has N units or more, to the next of 0, 10, … 50;
                                            sentences_of_units_N how many these are
            bleu_of_tenth_N                 sacrebleu of a tenth of the sentences, from short to long; words_of_tenth_N
                                            the mean length of their sources

    Example: python stages analyse transformer 1
    """
    analyse_run(Evaluated().with_plan_of(variant), variant, seed, device=device)


if __name__ == "__main__":
    run(main)
