"""Resolve params.yaml into plans, a file for each stage."""

from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.parameters import Experiment


def main() -> None:
    """Resolve params.yaml into plans, a file for each stage.

    The settings of a variant are the experiment's with the variant's changes, checked; a mechanism's settings are
    spread over the layers of its slot. Code that is loaded by name (mechanisms, formats of corpora, validation BLEU) is
    recorded with its digest. Each later stage depends only on its own plans, so an edit reruns only what it affects.
    Reads params.yaml, ROOT/data/params.yaml and ROOT/src/code/loaded_by_name.json. Writes

        metrics/plans/VARIANT/training.json     model, slots layer by layer, recipe, digests of mechanisms
        metrics/plans/VARIANT/averaging.json
        metrics/plans/VARIANT/decoding.json
        metrics/plans/models.json               models of all variants, for the describe stage
        metrics/plans/data.CORPUS.json          corpora, for the download stage
        metrics/plans/text.json                 corpus and text, for the tokenize and evaluation stages
        metrics/plans/units.json                corpus and units, for the bpe stage
        metrics/plans/ceilings.json             the score and its minimum ceiling, for the tokenize stage
        metrics/plans/significance.json, probe_sentences.json, probe_words.json

    Example: python stages plan
    """
    write_plans(Experiment())
