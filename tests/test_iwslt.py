"""The experiments on TED talks; test_formats.py makes corpora of such archives."""

import pytest
from measured import assert_golden
from project_root import ROOT

from context_nmt.pipeline.planning import plan
from context_nmt.settings.parameters import read_parameters


def settings(experiment):
    return read_parameters(ROOT / "experiments" / experiment / "params.yaml")


def test_the_recipe_of_dual_context():
    """Ampomah et al., sections 4.1 and 4.2; iwslt14-de-en is not of the paper."""
    lines = []
    for path in sorted((ROOT / "experiments").glob("iwslt*")):
        read = settings(path.name)
        corpus, units, sides = read.corpus, read.units, (read.text.source, read.text.target)
        systems = [name for name in read.variants if name.startswith(("transformer", "dual_context"))]
        lines += [
            f"{path.name}: {corpus.name} {corpus.direction}, {corpus.validation} {' '.join(corpus.tests)}",
            f"    {units.kind}, joint {units.joint}, {units.merges} merges, {read.significance.metric}",
            f"    pretokenized {[side.pretokenized for side in sides]}; {' '.join(systems)}",
        ]
        recipes = set()
        for variant in read.variants:
            chosen = plan(read, variant)
            model, training, decoding = chosen.training.model.model, chosen.training.training, chosen.decoding
            recipes.add(
                f"    width {model.width}, {model.heads} heads, {model.encoder_layers} + {model.decoder_layers} layers,"
                f" {model.norm}, tying {model.tying}; {training.batch_tokens * training.accumulation} tokens,"
                f" {training.maximum_updates} updates, {training.schedule.kind}, {training.adam_beta1},"
                f" {training.adam_beta2}; beam {decoding.beam}, {decoding.length_penalty}"
                f" {decoding.length_penalty_weight}"
            )
        lines += sorted(recipes)  # one for all variants
    assert_golden("".join(f"{line}\n" for line in lines), "iwslt-recipes.txt")


@pytest.mark.parametrize(
    ("experiment", "corpus", "direction", "test", "metric"),
    [
        ("ted-es-en", "ted-es-en", "es-en", "ted_tst2010_2012", "bleu_lowercased"),
        ("ted-zh-en", "iwslt15-zh-en", "zh-en", "ted_tst2010_2013", "bleu_tokenized"),
    ],
)
def test_ted_talks_have_the_recipe_of_the_subtitles(experiment, corpus, direction, test, metric):
    """But for the text and how long an epoch of it is."""
    read, subtitles = settings(experiment), settings("tvsub-zh-en")
    assert (read.corpus.name, read.corpus.direction) == (corpus, direction)
    assert (read.corpus.validation, read.corpus.tests) == ("dev2010", (test,))
    assert read.significance.metric == metric
    assert (read.units, read.model, read.train) == (subtitles.units, subtitles.model, subtitles.train)
    assert list(read.variants) == list(subtitles.variants)
    assert (read.text.target, read.text.cleaning) == (subtitles.text.target, subtitles.text.cleaning)
    assert read.text.source == (subtitles.text.source if direction == "zh-en" else read.text.target)
    for variant in read.variants:
        own, other = plan(read, variant), plan(subtitles, variant)
        assert own.training.model == other.training.model
        assert (own.averaging, own.decoding) == (other.averaging, other.decoding)
        for key in ("batch_tokens", "accumulation", "maximum_sentence_length", "schedule", "adam_beta2"):
            assert getattr(own.training.training, key) == getattr(other.training.training, key)
        assert own.training.training.label_smoothing == other.training.training.label_smoothing
