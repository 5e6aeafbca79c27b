"""Analyse the attention and the translations of one run."""

from context_nmt.measures.analyses import analyse_run
from context_nmt.measures.evaluation_folder import EvaluationFolder
from stages import Device, Seed, Variant


def main(
    variant: Variant,
    seed: Seed,
    device: Device = "auto",
) -> None:
    """Analyse attention inside one run, and the quality of its translations by n-grams and by length.

    Reads metrics/plans/VARIANT/decoding.json and text.json, runs/models/VARIANT-SEED, runs/binarized, runs/subwords,
    runs/tokenized, metrics/hypotheses/VARIANT-SEED.zip, and the references and gold tags of the corpus. Writes

        metrics/analyses/VARIANT-SEED.csv    rows for each test set, by layer or tag
            locality_entropy                of cross-attention, in bits, by decoder layer and over all of them
            locality_entropy_of_mean_map    the same for the attention map averaged over heads
            local_share                     share of the attention that is local, by layer, where it is gated
            divergence_KIND                 JS in nats between the two attentions of a dual context, by layer and over
                                            its layers; KIND is encoder or decoder
            literal_divergence_KIND         the same for maxima over heads that are not renormalized
            head_divergence_KIND            the mean divergence between pairs of heads
            gate_KIND_SIDE                  share of the context in a query, key or value, by layer, over its layers,
                                            and by part of speech; KIND can also be cross
            ngram_accuracy                  percentage of the n-grams that are in the reference, by n from 1 to 10
            bleu_of_iterations              sacrebleu of a masked model, by number of iterations
            bleu_of_units                   sacrebleu by length, where the source has at least 0, 10, … 50 units;
                                            sentences_of_units is their number
            bleu_of_tenth                   sacrebleu of each tenth of the sentences, from short to long; words_of_tenth
                                            is the mean length of their sources
            bleu_of_words                   tokenized BLEU where the source has 1 to 5, 6 to 10, … over 45 words;
                                            sentences_of_words is their number

    Example: python stages analyse transformer 1
    """
    analyse_run(EvaluationFolder().with_plan_of(variant), variant, seed, device=device)
