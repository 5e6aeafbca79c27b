"""A params.yaml is read into settings; every error is one line with the key, the value and what is allowed."""

from pathlib import Path

import pytest
import yaml
from test_planning import _made_up_mechanism  # noqa: F401 (a fixture that every test uses)

from context_nmt.files import UserError, read_yaml
from context_nmt.pipeline.checks import experiments
from context_nmt.pipeline.planning import plan
from context_nmt.settings.launch import read_launch
from context_nmt.settings.model import ModelSettings, ScheduleSettings
from context_nmt.settings.parameters import Experiment, read_parameters

ROOT = Path(__file__).parents[1]
REFUSED = yaml.safe_load((Path(__file__).parent / "refused_parameters.yaml").read_text(encoding="utf-8"))
SMALLEST = """\
root: .
corpus: {name: birds, source: en, target: de, tests: [test, other]}
variants: {first: {}, second: {baseline: first}}
train: {bitext: [first, second]}
seeds: [1]
focus: first
"""


def keys(section, names):
    return [f"{section}.{name}" for name in names.split()]


AT_LEAST_ONE = [
    *keys("model", "width feed_forward_width heads encoder_layers decoder_layers maximum_positions"),
    *keys("training", "schedule.warmup schedule.decay_updates batch_tokens accumulation maximum_updates patience"),
    *keys("training", "maximum_sentence_length validate_every"),
    *keys("averaging", "count"),
    *keys("decoding", "beam n_best batch_tokens iterations length_beam maximum_length_offset"),
    *keys("text.cleaning", "minimum_length maximum_length maximum_ratio"),
    *keys("units", "merges words pieces"),
    *keys("significance", "resamples seed"),
    *keys("probing.sentence_classifier", "hidden_width batch_sentences epochs patience"),
    *keys("probing.word_classifier", "hidden_width training_sentences batch_tokens epochs patience"),
]
ABOVE_ZERO = [
    *keys("model", "layer_norm_epsilon"),
    *keys("training", "schedule.factor schedule.peak_rate adam_epsilon"),
    *keys("significance", "sample_ratio"),
    *keys("probing", "sentence_classifier.learning_rate word_classifier.learning_rate word_classifier.adam_epsilon"),
]
NOT_NEGATIVE = [
    *keys("model", "dropout embedding_dropout attention_dropout feed_forward_dropout"),
    *keys("training", "schedule.initial_rate keep_last keep_best weight_decay clip_norm adam_beta1 adam_beta2"),
    *keys("decoding", "length_penalty_weight maximum_length_ratio"),
    *keys("units", "vocabulary_threshold"),
    *keys("probing", "sentence_classifier.weight_decay word_classifier.dropout word_classifier.adam_beta2"),
]
BELOW_ONE = [
    *keys("model", "dropout embedding_dropout attention_dropout feed_forward_dropout"),
    *keys("training", "label_smoothing adam_beta1 adam_beta2"),
    *keys("probing", "word_classifier.dropout word_classifier.adam_beta2"),
]


def write(folder, text):
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(folder, **changes):
    """The smallest params.yaml with values set at dotted keys, or removed if None."""
    values = yaml.safe_load(SMALLEST)
    for key, value in changes.items():
        *parents, last = key.split(".")
        inner = values
        for parent in parents:
            inner = inner.setdefault(parent, {})
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return write(folder, yaml.safe_dump(values))


def message(path):
    """The error of a params.yaml or one of its plans, without the file name that it must start with."""

    def read():
        settings = read_parameters(path)
        return [plan(settings, variant) for variant in settings.variants]

    with pytest.raises(UserError) as error:
        read()
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith((f"{path}: ", "params.yaml: "))
    return text.removeprefix(f"{path.parent}/").removeprefix("params.yaml: ")


@pytest.mark.parametrize("folder", experiments(ROOT), ids=lambda folder: folder.name)
def test_every_params_file_of_this_project_loads(folder):
    settings = read_parameters(folder / "params.yaml")
    assert set(settings.train.everything) == set(settings.variants)


def test_what_is_not_given_has_its_default(tmp_path):
    settings = read_parameters(write(tmp_path, SMALLEST))
    assert settings.model == ModelSettings()
    assert settings.training.schedule == ScheduleSettings()
    assert settings.corpus.tests == ("test", "other")
    assert settings.variants["second"].baseline == "first"
    assert Experiment(tmp_path).settings == settings


@pytest.mark.parametrize(
    ("changes", "start", "words"),
    [
        pytest.param(changes, start, words, id=str(changes)[:60])
        for rows in REFUSED.values()
        for changes, start, *words in rows
    ],
)
def test_a_wrong_combination_is_named(tmp_path, changes, start, words):
    error = message(changed(tmp_path, **changes))
    assert error.startswith(start)
    assert all(word in error for word in words), error


@pytest.mark.parametrize("layers", [[], [7], [0], [-1, 1], [1, 1], 2, "1", [[1]], [True], ["1"]])
def test_layers_that_are_not_there_are_refused(tmp_path, layers):
    key = "variants.first.slots.cross_attention"
    entry = {"mechanism": "made_up", "kernel_size": 3, "layers": layers}
    assert message(changed(tmp_path, **{key: entry})) == (
        f"{key}.layers: {layers!r} is not a list of different layers of 1..6"
    )


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        # types
        ("model.width", "512", "integer"),
        ("model.width", True, "integer"),
        ("model.width", 1.5, "integer"),
        ("model.dropout", "none", "number"),
        ("corpus.source", False, "string"),  # `no`
        ("corpus.tests", "test", "array"),
        ("text", 3, "object"),
        ("model.dropout", float("nan"), "finite"),
        ("training.schedule.peak_rate", float("inf"), "finite"),
        # one of several words
        ("training.schedule.kind", "linear", "'vaswani', 'inverse_square_root' or 'cosine'"),
        ("variants.first.test", "t", "'bootstrap', 'sacrebleu', 'sign' or 'randomization'"),
        ("units.joint", "both", "True, False or 'transliterated'"),
        *((key, 0, "1") for key in AT_LEAST_ONE),
        *((key, 0, "0") for key in ABOVE_ZERO),
        *((key, -1, "0") for key in NOT_NEGATIVE),
        *((key, 1, "1") for key in BELOW_ONE),
        ("significance.sample_ratio", 1.5, "1"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_what_is_allowed(tmp_path, key, value, allowed):
    error = message(changed(tmp_path, **{key: value}))
    named_key, _, problem = error.removesuffix(f", not {value!r}").partition(": ")
    assert (named_key, allowed in problem, error.endswith(repr(value))) == (key, True, True), error


SPLITS = ("train", "validation", "tests", "contrastive")


@pytest.mark.parametrize(
    ("keys", "names", "reason"),
    [
        (SPLITS, ("vocabulary", "codes"), "choose another"),
        (("source", "target", *SPLITS), ("../test", "a/b", ".hidden", "-f", "a b", ""), "must be made of letters"),
    ],
)
def test_a_name_that_cannot_name_files_is_refused(tmp_path, keys, names, reason):
    for key in keys:
        for name in names:
            value = [name] if key in ("tests", "contrastive") else name
            error = message(changed(tmp_path, **{f"corpus.{key}": value}))
            assert error.startswith(f"corpus.{key}: {name!r}")
            assert reason in error


def test_of_many_variants_the_most_similar_are_named(tmp_path):
    names = [f"system_{number}" for number in range(40)]
    values = {"variants": {name: {} for name in names}, "train": {"bitext": names}, "focus": "sytem_17"}
    error = message(write(tmp_path, yaml.safe_dump(yaml.safe_load(SMALLEST) | values)))
    assert error.startswith("focus: ")
    assert "system_17, " in error
    assert sum(name in error for name in names) < 9, error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "input should be an object, not None"),
        ("- a", "input should be an object, not ['a']"),
        (SMALLEST + "model: {width: [}\n", "not YAML ("),
        (SMALLEST + "model:\n\twidth: 8\n", "not YAML ("),
        (SMALLEST + "model: !!python/name:os.system\n", "not YAML (could not determine a constructor"),
        (
            SMALLEST + "seeds: [2]\n",
            'not YAML (found duplicate key "seeds" with value "[]" (original value: "[]"), line 7)',
        ),
        (SMALLEST + "model:\n  heads: 8\n  width: 8\n  heads: 4\n", 'not YAML (found duplicate key "heads"'),
        (SMALLEST + "model: {width: 2020-01-01}\n", "model.width: is a date, 2020-01-01; if it is text, put it into"),
        (SMALLEST + "download: [a, 2020-01-01]\n", "download.1: is a date, 2020-01-01"),
        (SMALLEST + "model: {2020-01-01: 1}\n", "model: is a date, 2020-01-01"),
        (SMALLEST + "model: &loop {width: *loop}\n", "Circular reference detected"),
    ],
)
def test_what_is_not_yaml_or_not_a_table_is_named(tmp_path, text, expected):
    assert message(write(tmp_path, text)).startswith(expected)


def test_text_that_is_not_utf8_and_a_missing_file_are_named(tmp_path):
    path = tmp_path / "params.yaml"
    assert message(path) == "no such file"
    path.write_bytes("focus: für".encode("latin-1"))
    assert message(path).startswith("not YAML ('utf-8' codec can't decode byte 0xfc")


def test_numbers_are_read_as_in_yaml_1_2_and_tables_can_be_merged(tmp_path):
    """A key that overrides a merged key is not a duplicate."""
    path = write(tmp_path, "[1e-9, -2E+3, 0.5e1, 1.e2, 12e03, 1e, e9, 0x1e9]")
    assert read_yaml(path) == [1e-9, -2000.0, 5.0, 100.0, 12000.0, "1e", "e9", 0x1E9]
    path = write(tmp_path, "a: {b: &b {x: 1}, c: {d: &d {<<: *b, x: 2}}}\ne: {<<: *d, y: 3}\n")
    assert read_yaml(path) == {"a": {"b": {"x": 1}, "c": {"d": {"x": 2}}}, "e": {"x": 2, "y": 3}}


def test_what_stages_are_launched_with_is_read_as_all_other_settings(tmp_path):
    text = "focus:\tplain\nlaunch:\n  train: {hours: 1e1, partition: no, cores: 010}\n"
    launch = read_launch(write(tmp_path, text), tmp_path).train
    assert (launch.hours, launch.partition, launch.cores) == (10.0, "no", 10)


LIKE = """\
root: .
corpus: {name: c, source: xx, target: yy, tests: [test]}
variants:
  plain: {label: Plain, model: {width: 32, heads: 2}, training: {schedule: {warmup: 9}}}
  windowed:
    like: plain
    label: Windowed
    slots: {cross_attention: {mechanism: context_aware_cross_attention, window: 2}}
    baseline: plain
  wide:
    like: windowed
    training: {schedule: {factor: 2.0}}
    slots: {cross_attention: {window: 4}, encoder_self_attention: {mechanism: dual_context}}
  other:
    like: windowed
    slots: {cross_attention: {mechanism: dual_context}}
train: {bitext: [plain, windowed, wide, other]}
seeds: [1]
focus: plain
"""


def test_a_variant_like_another_inherits_all_other_keys(tmp_path):
    (tmp_path / "params.yaml").write_text(LIKE)
    variants = read_parameters(tmp_path / "params.yaml").variants
    wide = variants["wide"]
    assert wide.model == {"width": 32, "heads": 2}
    assert wide.training == {"schedule": {"warmup": 9, "factor": 2.0}}
    assert wide.slots == {
        "cross_attention": {"mechanism": "context_aware_cross_attention", "window": 4},
        "encoder_self_attention": {"mechanism": "dual_context"},
    }
    assert (wide.label, wide.baseline) == (None, "plain")
    assert variants["other"].slots == {"cross_attention": {"mechanism": "dual_context"}}
    assert variants["plain"].slots == {}
