"""The experiments on TED talks; test_formats.py makes corpora of such archives."""

from pathlib import Path

import pytest

from context_nmt.corpus.catalogue import read_entry
from context_nmt.pipeline.planning import plan
from context_nmt.settings.parameters import read_parameters

ROOT = Path(__file__).parents[1]


def test_the_test_set_of_german_is_all_five():
    (file,) = read_entry(ROOT / "data/params.yaml", "iwslt14-de-en").files
    assert sum(output == "test.en" for output in file.outputs) == 5


DUAL = {  # Ampomah et al., sections 4.1 and 4.2: corpus, validation set, test set, merges, tested score
    "iwslt14-es-en": ("iwslt14-es-en", "dev", "tst2014", 34_000, "bleu_tokenized"),
    "iwslt14-en-es": ("iwslt14-es-en", "dev", "tst2014", 34_000, "bleu_tokenized"),
    "iwslt14-ro-en": ("iwslt14-ro-en", "dev", "tst2014", 32_000, "bleu_tokenized"),
    "iwslt14-en-ro": ("iwslt14-ro-en", "dev", "tst2014", 32_000, "bleu_tokenized"),
    "iwslt15-fr-en": ("iwslt15-fr-en", "tst2013", "tst2014_2015", 31_000, "bleu_tokenized"),
    "iwslt15-en-fr": ("iwslt15-fr-en", "tst2013", "tst2014_2015", 31_000, "bleu_tokenized"),
    "iwslt15-en-vi": ("iwslt15-en-vi", "tst2012", "tst2013", 21_000, "sacrebleu"),
    "iwslt15-vi-en": ("iwslt15-en-vi", "tst2012", "tst2013", 21_000, "sacrebleu"),
    "iwslt14-de-en": ("iwslt14-de-en", "valid", "test", 10_000, "bleu_tokenized"),  # not of the paper
}


def settings(experiment):
    return read_parameters(ROOT / "experiments" / experiment / "params.yaml")


@pytest.mark.parametrize("experiment", DUAL)
def test_the_recipe_of_dual_context(experiment):
    read = settings(experiment)
    corpus, validation, test, merges, metric = DUAL[experiment]
    assert (read.corpus.name, read.corpus.validation, read.corpus.tests) == (corpus, validation, (test,))
    assert read.corpus.direction == experiment.partition("-")[2]
    assert (read.units.kind, read.units.joint, read.units.merges) == ("bpe", True, merges)
    assert read.significance.metric == metric
    assert read.text.source.pretokenized == read.text.target.pretokenized == (corpus == "iwslt15-en-vi")
    systems = [variant for variant in read.variants if variant.startswith(("transformer", "dual_context"))]
    assert systems == ["transformer", "dual_context_encoder", "dual_context_decoder", "dual_context_both"]
    for variant in read.variants:
        chosen = plan(read, variant)
        model, training, decoding = chosen.training.model.model, chosen.training.training, chosen.decoding
        assert (model.width, model.heads, model.encoder_layers, model.decoder_layers) == (256, 4, 4, 4)
        assert (model.norm, model.tying) == ("post", "all")
        assert (training.batch_tokens * training.accumulation, training.maximum_updates) == (2048, 200_000)
        assert (training.schedule.kind, training.adam_beta1, training.adam_beta2) == ("cosine", 0.9, 0.98)
        assert (decoding.beam, decoding.length_penalty, decoding.length_penalty_weight) == (6, "gnmt", 1.1)


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
        keys = ("batch_tokens", "accumulation", "maximum_sentence_length", "schedule", "adam_beta2", "label_smoothing")
        for key in keys:
            assert getattr(own.training.training, key) == getattr(other.training.training, key)
