"""The experiments at paper size: every system has the parameters that its paper counts, and its paper's recipe."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from context_nmt.models.building import build
from context_nmt.pipeline.planning import plan
from context_nmt.report.papers.published import read_papers
from context_nmt.results.metrics import is_score
from context_nmt.settings.parameters import read_parameters

ROOT = Path(__file__).parents[1]
LEXICAL, DUAL, AWARE, CROSS = (
    f"wmt14-en-de-{paper}" for paper in ("lexical-shortcuts", "dual-contextual", "context-aware", "cross-attention")
)
AWARE_ZH_EN = "wmt17-zh-en-context-aware"
IWSLT = [f"iwslt14-{pair}" for pair in ("es-en", "en-es", "ro-en", "en-ro")]
IWSLT += [f"iwslt15-{pair}" for pair in ("fr-en", "en-fr", "en-vi", "vi-en")]
TED = ("ted-es-en", "ted-zh-en", "tvsub-zh-en")
DOCUMENTS = (*TED, "opensubtitles2018-es-en", "news-commentary-es-en")
# Units on either side: those that fit what is published; Mask-Predict's own number.
VOCABULARY = {LEXICAL: 41_138, DUAL: 41_138, AWARE: 28_558, AWARE_ZH_EN: 41_512, CROSS: 32_768}
VOCABULARY |= dict.fromkeys(IWSLT, 32_000) | dict.fromkeys(TED, 30_000)
SQUARE = 512**2
TABLES = 3 * 1024 * 512  # of a masked model: positions on either side, and lengths

PUBLISHED = {  # in all; Ampomah et al. and Ding et al. give no total that we know of
    LEXICAL: {  # Emelin et al., table 5, in thousands
        "transformer": 65_166,
        "lexical_shortcuts": 71_470,
        "lexical_shortcuts_fusion": 84_053,
        "transformer_big": 218_413,
        "lexical_shortcuts_fusion_big": 293_935,
    },
    AWARE: {  # Yang et al., tables 1 and 2, in thousands; context_aware_global, 91,000, is out of reach
        "transformer": 88_000,
        "context_aware_deep_global": 99_000,
        "context_aware_deep": 95_900,
        "context_aware_encoder": 106_900,
        "context_aware_decoder_deep_global": 99_000,
        "context_aware_decoder": 106_900,
        "context_aware_both": 125_800,
        "transformer_big": 264_100,
        "context_aware_big": 339_600,
    },
    AWARE_ZH_EN: {  # table 2
        "transformer": 107_900,
        "context_aware_encoder": 126_800,
        "transformer_big": 303_900,
        "context_aware_big": 379_400,
    },
}
ADDED = {  # to `transformer`, or to `transformer_big`, of the experiment
    LEXICAL: {
        "transformer": 0,
        "lexical_shortcuts": 71_470_080 - 65_166_336,
        "lexical_shortcuts_without_gates": 71_470_080 - 65_166_336 - 12 * 2 * 512,
        "lexical_shortcuts_fusion": 84_052_992 - 65_166_336,
        "transformer_big": 0,
        "lexical_shortcuts_fusion_big": 293_935_104 - 218_413_056,
        "transformer_small": 21_573_120 - 65_166_336,
        "lexical_shortcuts_small": 23_152_128 - 65_166_336,
        "lexical_shortcuts_fusion_small": 26_297_856 - 65_166_336,
        "lexical_shortcuts_cross": 6 * (6 * SQUARE + 2 * 512),
        "lexical_shortcuts_all": 18 * (6 * SQUARE + 2 * 512),
        "lexical_shortcuts_non_lexical": 12 * (6 * SQUARE + 2 * 512),
        "lexical_shortcuts_encoder": 6 * (6 * SQUARE + 2 * 512),
        "lexical_shortcuts_decoder": 6 * (6 * SQUARE + 2 * 512),
        "lexical_shortcuts_official_residual": 12 * (6 * SQUARE + 2 * 512),
    },
    DUAL: {  # Ampomah et al. publish 12.7M for either stack and about 25M for both
        "transformer": 0,
        "dual_context_encoder": 12_598_272,
        "dual_context_decoder": 12_598_272,
        "dual_context_both": 25_196_544,
        **{f"dual_context_kernel_{size}": 12_598_272 + (size - 2) * 6 * 2 * SQUARE for size in range(3, 9)},
        "dual_context_layers_1": 2_099_712,
        "dual_context_layers_1_2": 2 * 2_099_712,
        "dual_context_layers_1_3": 3 * 2_099_712,
        "dual_context_layers_1_4": 4 * 2_099_712,
        "dual_context_layers_1_5": 5 * 2_099_712,
        "dual_context_layers_4_6": 3 * 2_099_712,
        "dual_context_layers_5_6": 2 * 2_099_712,
        "dual_context_layers_6": 2_099_712,
    },
    AWARE: {  # Yang et al., tables 1 and 2, publish these in millions
        "transformer": 0,
        "context_aware_global": 3_158_028,  # published: 3.0
        "context_aware_deep_global": 11_022_348,  # 11.0
        "context_aware_deep": 7_874_570,  # 7.9
        "context_aware_encoder": 18_886_668,  # 18.9
        "context_aware_decoder_deep_global": 11_022_348,  # 11.0
        "context_aware_decoder": 18_886_668,  # 18.9
        "context_aware_both": 37_773_336,  # 37.8
        "transformer_big": 0,
        "context_aware_big": 75_522_060,  # 75.5
        "context_aware_queries": 18_886_668 // 2,
        "context_aware_keys": 18_886_668 // 2,
        "context_aware_without_gates": 18_886_668 - 6 * 2 * (2 * 512 + 1),
    },
    AWARE_ZH_EN: {
        "transformer": 0,
        "context_aware_encoder": 18_886_668,
        "transformer_big": 0,
        "context_aware_big": 75_522_060,
    },
    CROSS: {  # of a layer the 64 weights of its gate and, as in the authors' code, a bias; the equation has none
        "transformer": 0,
        "transformer_big": 0,
        **dict.fromkeys(("cmlm", "cmlm_raw"), TABLES),
        **dict.fromkeys(("ccan", "ccan_raw", "ccan_target"), TABLES + 6 * 65),
        **{f"ccan_window_{window}": TABLES + 6 * 65 for window in (3, 5, 7, 11)},
        **dict.fromkeys(("ccan_layers_1", "ccan_layers_6"), TABLES + 65),
        **dict.fromkeys(("ccan_layers_1_3", "ccan_layers_4_6"), TABLES + 3 * 65),
    },
}
ADDED |= {  # Ampomah et al. give none for these
    experiment: {
        "transformer": 0,
        "dual_context_encoder": 4 * (8 * 256**2 + 5 * 256),
        "dual_context_decoder": 4 * (8 * 256**2 + 5 * 256),
        "dual_context_both": 8 * (8 * 256**2 + 5 * 256),
    }
    for experiment in IWSLT
}


def settings(experiment):
    return read_parameters(ROOT / "experiments" / experiment / "params.yaml")


@cache
def counts(experiment):
    """The parameters of every variant."""
    read, size = settings(experiment), VOCABULARY[experiment]
    found = {}
    for variant in read.variants:
        with torch.device("meta"):
            chosen = plan(read, variant).training.model
            model = build(chosen, source_vocabulary=size, target_vocabulary=size)
        found[variant] = sum(parameter.numel() for parameter in model.parameters())
    return found


@pytest.mark.parametrize("experiment", ADDED)
def test_every_system_adds_the_parameters_that_its_paper_counts(experiment):
    found = counts(experiment)
    base = {variant: found["transformer_big" if variant.endswith("_big") else "transformer"] for variant in found}
    assert {variant: count - base[variant] for variant, count in found.items()} == ADDED[experiment]


@pytest.mark.parametrize(("experiment", "unit"), [(LEXICAL, 1), (AWARE, 100), (AWARE_ZH_EN, 100)])
def test_all_parameters_together_round_to_what_is_published(experiment, unit):
    found = {variant: unit * round(counts(experiment)[variant] / 1000 / unit) for variant in PUBLISHED[experiment]}
    assert found == PUBLISHED[experiment]


@pytest.mark.parametrize("experiment", TED)
def test_hierarchical_attention_adds_what_its_code_uses(experiment):
    found = counts(experiment)
    added = {variant: count - found["transformer"] for variant, count in found.items() if variant.startswith("han_")}
    assert added.pop("han_decoder_alignment") == 4_730_880 + 2 * 512  # with a norm for what it reads
    assert {variant: count // (1 + variant.startswith("han_joint")) for variant, count in added.items()} == (
        dict.fromkeys(added, 4_730_880)
    )


def test_the_masked_model_has_what_mask_predict_has_but_for_unused_positions():
    """The layers of a post-norm Transformer with biases, one table of units, and the tables of 10,000 there."""
    square, inner = 512 * 512 + 512, 2 * 512 * 2048 + 2048 + 512
    layers = 6 * (4 * square + inner + 2 * 1024) + 6 * (8 * square + inner + 3 * 1024)
    assert layers == 44_138_496
    assert counts(CROSS)["cmlm"] == layers + 512 * VOCABULARY[CROSS] + TABLES


@pytest.mark.parametrize("experiment", DOCUMENTS)
def test_document_systems_are_marked_by_the_test_of_moses(experiment):
    variants = settings(experiment).variants
    assert {name: one.test for name, one in variants.items()} == {
        name: "sacrebleu" if one.baseline else "bootstrap" for name, one in variants.items()
    }


@pytest.mark.parametrize(
    ("experiment", "variant", "warmup", "updates", "averaged", "beta2", "beam"),
    [
        (LEXICAL, "transformer", 4000, 152_000, 5, 0.98, 16),
        (LEXICAL, "lexical_shortcuts", 6000, 152_000, 5, 0.98, 16),
        (LEXICAL, "lexical_shortcuts_fusion", 8000, 152_000, 5, 0.98, 16),
        (LEXICAL, "lexical_shortcuts_small", 6000, 152_000, 5, 0.98, 16),
        (LEXICAL, "transformer_big", 16_000, 300_000, 16, 0.998, 16),
        (LEXICAL, "lexical_shortcuts_fusion_big", 16_000, 300_000, 16, 0.998, 16),
        (DUAL, "dual_context_both", 8000, 160_000, 5, 0.98, 4),
        (AWARE, "context_aware_both", 4000, 100_000, 5, 0.98, 4),
        (AWARE, "context_aware_big", 4000, 300_000, 20, 0.98, 4),
    ],
)
def test_recipes(experiment, variant, warmup, updates, averaged, beta2, beam):
    chosen = plan(settings(experiment), variant)
    training, decoding = chosen.training.training, chosen.decoding
    assert (training.schedule.warmup, training.maximum_updates, chosen.averaging.count) == (warmup, updates, averaged)
    assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, beta2, 1e-9)
    assert training.label_smoothing == 0.1
    assert (decoding.beam, decoding.length_penalty, decoding.length_penalty_weight) == (beam, "gnmt", 0.6)


@pytest.mark.parametrize(
    ("experiment", "norm", "epsilon", "bias", "tying", "tokens", "kind"),
    [
        (LEXICAL, "pre", 1e-5, False, "all", 24_576, "vaswani"),
        (DUAL, "post", 1e-5, False, "all", 4960, "cosine"),
        (AWARE, "pre", 1e-6, True, "none", 32_768, "vaswani"),
    ],
)
def test_conventions(experiment, norm, epsilon, bias, tying, tokens, kind):
    for variant in settings(experiment).variants:
        chosen = plan(settings(experiment), variant).training
        model, training = chosen.model.model, chosen.training
        assert (model.norm, model.layer_norm_epsilon, model.attention_bias, model.tying) == (norm, epsilon, bias, tying)
        assert (training.batch_tokens * training.accumulation, training.schedule.kind) == (tokens, kind)
        assert (model.positions, model.embedding_scale, model.activation) == ("sinusoidal", True, "relu")
        assert model.source_embedding_bias == (experiment == AWARE)


def test_conventions_of_masked_models():
    """Those of the authors' script and code, a copy of Mask-Predict."""
    read = settings(CROSS)
    masked = [variant for variant in read.variants if not variant.startswith("transformer")]
    assert len(masked) == len(read.variants) - 2
    for variant in masked:
        chosen = plan(read, variant)
        model, training = chosen.training.model.model, chosen.training.training
        assert (model.kind, model.norm, model.activation, model.positions) == ("masked", "post", "gelu", "learned")
        assert (model.layer_norm_epsilon, model.attention_bias, model.tying) == (1e-12, True, "all")
        assert (model.initialisation, model.embedding_initialisation) == ("bert", "bert")
        assert (model.dropout, model.embedding_dropout, model.embedding_scale) == (0.2, 0.2, False)
        assert (model.attention_dropout, model.feed_forward_dropout) == (0, 0)
        assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, 0.999, 1e-6)
        assert (training.weight_decay, training.label_smoothing, training.clip_norm) == (0.01, 0.1, 25)
        assert (training.batch_tokens * training.accumulation, training.maximum_updates) == (4 * 8 * 8192, 300_000)
        rate = training.schedule
        assert (rate.kind, rate.warmup) == ("inverse_square_root", 10_000)
        assert (rate.initial_rate, rate.peak_rate) == (1e-7, 5e-4)
        assert (chosen.averaging.select, chosen.averaging.count) == ("best", 3)
        assert (chosen.decoding.iterations, chosen.decoding.length_beam) == (10, 5)
        assert read.variants[variant].test == "sign"


def test_students_learn_from_the_big_model():
    read = settings(CROSS)
    assert read.train.teachers == ("transformer_big",)
    assert {variant for variant in read.variants if variant.endswith("_raw")} == {"cmlm_raw", "ccan_raw"}
    assert set(read.train.bitext) == {"transformer", "transformer_big", "cmlm_raw", "ccan_raw"}
    for variant in ("transformer", "transformer_big"):
        assert plan(read, variant).training.training.clip_norm == 0
    teacher = plan(read, "transformer_big").training
    model, training = teacher.model.model, teacher.training
    assert (model.kind, model.width, model.heads, model.norm) == ("autoregressive", 1024, 16, "post")
    assert training.batch_tokens * training.accumulation == 458_752
    assert (training.adam_beta2, training.adam_epsilon, training.weight_decay) == (0.98, 1e-8, 0)


@pytest.mark.parametrize(
    ("variant", "layers", "window", "center"),
    [
        *((f"ccan_window_{window}", range(6), window, "alignment") for window in (3, 5, 7, 11)),
        ("ccan", range(6), 9, "alignment"),
        ("ccan_layers_1", [0], 9, "alignment"),
        ("ccan_layers_1_3", [0, 1, 2], 9, "alignment"),
        ("ccan_layers_6", [5], 9, "alignment"),
        ("ccan_layers_4_6", [3, 4, 5], 9, "alignment"),
        ("ccan_target", range(6), 9, "target"),
    ],
)
def test_windows_and_layers_are_those_of_table_3(variant, layers, window, center):
    slots = plan(settings(CROSS), variant).training.model.slots
    filled = {
        (slot, number): filling.settings
        for slot, fillings in slots.items()
        for number, filling in enumerate(fillings)
        if filling.settings
    }
    assert filled == {("cross_attention", number): {"window": window, "center": center} for number in layers}


@pytest.mark.parametrize(
    ("experiment", "paper"),
    [
        (LEXICAL, "lexical_shortcuts"),
        (DUAL, "dual_contextual"),
        (AWARE, "context_aware_self_attention"),
        (CROSS, "context_aware_cross_attention"),
        ("wmt14-de-en-lexical-shortcuts", "lexical_shortcuts"),
        ("wmt17-en-ru-lexical-shortcuts", "lexical_shortcuts"),
        ("wmt18-en-cs-lexical-shortcuts", "lexical_shortcuts"),
        ("wmt18-en-fi-lexical-shortcuts", "lexical_shortcuts"),
        (AWARE_ZH_EN, "context_aware_self_attention"),
        ("wmt16-ro-en-cross-attention", "context_aware_cross_attention"),
        ("wmt17-zh-en-cross-attention", "context_aware_cross_attention"),
        ("aspec-ja-en-cross-attention", "context_aware_cross_attention"),
        *((experiment, "hierarchical_attention") for experiment in DOCUMENTS),
    ],
)
def test_every_table_of_the_paper_can_show_marks(experiment, paper):
    """The metric that is tested is that of a column, in each table with scores of the experiment's test sets."""
    read = settings(experiment)
    shown = {
        table.id: {column.metric for column in table.columns if is_tested(read, table, column)}
        for table in read_papers()[paper].tables
    }
    assert any(shown.values())
    for metrics in shown.values():
        assert not metrics or read.significance.metric in metrics


def is_tested(read, table, column):
    """Whether a column has a score of a test set of the experiment."""
    languages = column.languages or table.languages
    return languages == read.corpus.direction and column.test_set in read.corpus.tests and is_score(column.metric)


def test_rows_name_settings_that_their_systems_have():
    rows = [row for paper in read_papers().values() for table in paper.tables for row in table.rows if row.settings]
    found = {}
    for row in rows:
        slots = plan(settings(CROSS), row.variant).training.model.slots
        found[row.variant] = [
            {name: filling.settings[name] for name in row.settings}
            for fillings in slots.values()
            for filling in fillings
            if filling.settings
        ]
        assert found[row.variant] == [row.settings] * 6
    assert set(found) == {"ccan", "ccan_target"}


@pytest.mark.parametrize(
    ("experiment", "dropouts"),
    [(LEXICAL, (0.1, 0.3, 0.1, 0.1)), (AWARE, (0.3, 0.3, 0.0, 0.0)), (CROSS, (0.3, 0.3, 0.0, 0.0))],
)
def test_dropout_of_the_big_models(experiment, dropouts):
    model = plan(settings(experiment), "transformer_big").training.model.model
    found = (model.dropout, model.embedding_dropout, model.attention_dropout, model.feed_forward_dropout)
    assert found == dropouts


def test_every_system_is_trained_as_its_baseline_is():
    """But for the warm-up: nothing else than what fills its slots may make the difference."""
    for experiment in ADDED:
        read = settings(experiment)
        for variant, chosen in read.variants.items():
            if chosen.baseline is None:
                assert variant == "transformer"
            elif variant.startswith("transformer"):  # another size
                assert chosen.baseline == "transformer"
                assert not chosen.slots
            elif variant == "cmlm":  # another kind of model
                assert chosen.baseline in read.train.teachers
            elif variant == "cmlm_raw":  # another text
                assert plan(read, variant) == plan(read, str(chosen.baseline))
            else:
                own, other = plan(read, variant), plan(read, chosen.baseline)
                assert own.training.model.slots != other.training.model.slots
                assert own.training.model.model == other.training.model.model
                assert (own.averaging, own.decoding) == (other.averaging, other.decoding)
                warmup = other.training.training.schedule.warmup
                schedule = replace(own.training.training.schedule, warmup=warmup)
                assert replace(own.training.training, schedule=schedule) == other.training.training


# By kind of model: each language with its own table, as the scripts share hardly any unit.
OWN_TABLES = {kind: {"tying": "decoder"} for kind in ("masked", "autoregressive")}


@pytest.mark.parametrize(
    ("experiment", "original", "changed"),
    [
        ("wmt14-de-en-lexical-shortcuts", LEXICAL, {}),
        ("wmt17-en-ru-lexical-shortcuts", LEXICAL, {}),
        ("wmt18-en-cs-lexical-shortcuts", LEXICAL, {}),
        ("wmt18-en-fi-lexical-shortcuts", LEXICAL, {}),
        (AWARE_ZH_EN, AWARE, {}),
        ("wmt16-ro-en-cross-attention", CROSS, {"masked": {"dropout": 0.3, "embedding_dropout": 0.3}}),
        ("wmt17-zh-en-cross-attention", CROSS, OWN_TABLES),
        ("aspec-ja-en-cross-attention", CROSS, OWN_TABLES),
    ],
)
def test_other_language_pairs_have_the_recipe_of_english_german(experiment, original, changed):
    read, same = settings(experiment), settings(original)
    assert replace(read.significance, minimum_ceiling=90) == same.significance or original == CROSS
    for variant, chosen in read.variants.items():
        own, expected = plan(read, variant), plan(same, variant)
        model = expected.training.model.model
        model = replace(expected.training.model, model=replace(model, **changed.get(model.kind, {})))
        assert own == replace(expected, training=replace(expected.training, model=model))
        assert (chosen.label, chosen.test) == (same.variants[variant].label, same.variants[variant].test)
        assert chosen.baseline == same.variants[variant].baseline or variant == "cmlm"


@pytest.mark.parametrize(
    ("experiment", "direction", "merges", "joint", "validation", "tests"),
    [
        (LEXICAL, "en-de", 32_000, True, "newstest2013", None),
        ("wmt14-de-en-lexical-shortcuts", "de-en", 32_000, True, "newstest2013", ("newstest2014", "newstest2017")),
        (
            *("wmt17-en-ru-lexical-shortcuts", "en-ru", 32_000, "transliterated"),
            *("newstest2016", ("newstest2017", "newstest2018")),
        ),
        ("wmt18-en-cs-lexical-shortcuts", "en-cs", 89_500, True, "newstest2017", ("newstest2015", "newstest2018")),
        ("wmt18-en-fi-lexical-shortcuts", "en-fi", 89_500, True, "newstest2017", ("newstest2015", "newstest2018")),
        (AWARE, "en-de", 32_000, False, "newstest2013", ("newstest2013", "newstest2014")),
        (AWARE_ZH_EN, "zh-en", 32_000, False, "newsdev2017", ("newstest2017",)),
        (CROSS, "en-de", 32_000, True, "newstest2013", ("newstest2013", "newstest2014")),
        ("wmt16-ro-en-cross-attention", "ro-en", 32_000, True, "newsdev2016", ("newstest2016",)),
        ("wmt17-zh-en-cross-attention", "zh-en", 32_000, False, "newsdev2017", ("newstest2017",)),
        ("aspec-ja-en-cross-attention", "ja-en", None, False, "aspec_dev", ("aspec_test",)),
    ],
)
def test_corpora_and_units(experiment, direction, merges, joint, validation, tests):
    read = settings(experiment)
    assert (read.corpus.direction, read.corpus.validation) == (direction, validation)
    assert tests is None or read.corpus.tests == tests
    assert (read.units.values().get("merges"), read.units.joint) == (merges, joint)
    if experiment.endswith("lexical-shortcuts"):
        assert read.units.vocabulary_threshold == 50
        assert (read.text.cleaning.minimum_length, read.text.cleaning.maximum_length) == (1, 80)
        for side in (read.text.source, read.text.target):
            assert (side.normalize_punctuation, side.aggressive_hyphens, side.truecase) == (True, True, True)


@pytest.mark.parametrize(
    ("experiment", "teacher"),
    [("wmt16-ro-en", "transformer"), ("wmt17-zh-en", "transformer_big"), ("aspec-ja-en", "transformer_big")],
)
def test_teachers_of_other_language_pairs(experiment, teacher):
    read = settings(f"{experiment}-cross-attention")
    assert (read.train.teachers, read.train.distilled) == ((teacher,), ("cmlm", "ccan"))
    assert read.variants["cmlm"].baseline == teacher


def test_german_english_is_scored_by_contrawsd():
    assert settings("wmt14-de-en-lexical-shortcuts").corpus.contrastive == ("contrawsd",)


def test_russian_is_probed_for_words():
    assert settings("wmt17-en-ru-lexical-shortcuts").probing.words == ("transformer", "lexical_shortcuts_fusion")
