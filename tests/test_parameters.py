"""A params.yaml is read into settings, and every error is one line with the key, what was given and what is allowed."""

from pathlib import Path

import pytest
import yaml

from context_nmt.files import UserError
from context_nmt.pipeline.checks import experiments
from context_nmt.settings.checking import read_yaml
from context_nmt.settings.folder import Experiment
from context_nmt.settings.model import ModelSettings
from context_nmt.settings.parameters import read_parameters
from context_nmt.settings.training import ScheduleSettings

ROOT = Path(__file__).parents[1]
SMALLEST = """\
root: .
corpus: {name: birds, source: en, target: de, tests: [test, other]}
variants: {first: {}, second: {baseline: first}}
train: {bitext: [first, second]}
seeds: [1]
focus: first
"""


def write(folder, text):
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(folder, key, value):
    """The smallest params.yaml with one key, a path with dots, set or, for None, removed."""
    values = yaml.safe_load(SMALLEST)
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
    """The error of a params.yaml, without the file's name, which it must start with."""
    with pytest.raises(UserError) as error:
        read_parameters(path)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


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
    ("key", "nearest", "known"),
    [
        ("modle", "model", "root, launch, download, corpus"),
        ("model.head", "heads", "kind, width, feed_forward_width, heads"),
        ("training.schedule.warm_up", "warmup", "kind, warmup, factor"),
        ("text.source.truecas", "truecase", "pretokenized, script"),
        ("variants.first.lable", "label", "like, label, slots, model"),
    ],
)
def test_a_misspelt_key_is_named_with_the_nearest_known_one(tmp_path, key, nearest, known):
    found = message(changed(tmp_path, key, 1))
    assert found.startswith(f"{key}: unknown key; did you mean {nearest!r}? (known: {known}")


def test_a_misspelt_required_key_is_not_called_missing(tmp_path):
    assert message(write(tmp_path, SMALLEST.replace("seeds", "seed"))).startswith(
        "seed: unknown key; did you mean 'seeds'?"
    )


def test_a_key_like_no_other_gets_the_list_of_known_ones(tmp_path):
    known = "kind, warmup, factor, initial_rate, peak_rate, decay_updates"
    assert message(changed(tmp_path, "training.schedule.zzz", 1)) == (
        f"training.schedule.zzz: unknown key (known: {known})"
    )


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        # kinds of values
        ("model.width", "512", "model.width: input should be a valid integer, not '512'"),
        ("model.width", True, "model.width: input should be a valid integer, not True"),
        ("model.width", 1.5, "model.width: input should be a valid integer, not 1.5"),
        ("model.dropout", "none", "model.dropout: input should be a valid number, not 'none'"),
        ("corpus.source", False, "corpus.source: input should be a valid string, not False"),  # `no`
        ("corpus.tests", "test", "corpus.tests: input should be a valid array, not 'test'"),
        ("seeds", [1, "a"], "seeds.1: input should be a valid integer, not 'a'"),
        ("text", 3, "text: input should be an object, not 3"),
        ("variants.first.slots", {"cross_attention": 3}, "variants.first: slots.cross_attention is 3; it must be {"),
        ("model.dropout", float("nan"), "model.dropout: input should be a finite number, not nan"),
        ("training.schedule.peak_rate", float("inf"), "training.schedule.peak_rate: input should be a finite number"),
        # one of several words
        (
            "training.schedule.kind",
            "linear",
            "training.schedule.kind: input should be 'vaswani', 'inverse_square_root' or 'cosine', not 'linear'",
        ),
        (
            "variants.first.slots",
            {"self_attention": {}},
            "variants.first.slots.self_attention: input should be 'encoder_self_attention', 'decoder_self_attention'"
            ", 'cross_attention', 'encoder_output' or 'decoder_output', not 'self_attention'",
        ),
        ("variants.first.test", "t", "variants.first.test: input should be 'bootstrap' or 'sign', not 't'"),
        # missing
        ("corpus", None, "corpus: this key is required"),
        ("corpus.name", None, "corpus.name: this key is required"),
        ("focus", None, "focus: this key is required"),
        # ranges
        ("corpus.target", "en", "corpus: source and target are both 'en'"),
        ("corpus.tests", [], "corpus: tests needs at least one test set"),
        ("corpus.tests", ["train"], "corpus: 'train' is the training set: it cannot be evaluated on as well"),
        ("corpus.tests", ["model"], "corpus: a test set, group or contrastive set cannot be named 'model'"),
        (
            "corpus.groups",
            {"all": ["test", "tst"]},
            "corpus: group 'all' names ['tst'], which tests does not list (['test', 'other'])",
        ),
        ("corpus.groups", {"test": ["other"]}, "corpus: group 'test' has the name of a test set"),
        ("corpus.groups", {"all": []}, "corpus: group 'all' has no members"),
        ("text.cleaning.minimum_length", 0, "text.cleaning: minimum_length is 0; it must be at least 1"),
        (
            "text.cleaning",
            {"minimum_length": 9, "maximum_length": 8},
            "text.cleaning: maximum_length is 8; it must be at least minimum_length (9)",
        ),
        ("text.cleaning.maximum_ratio", 0.5, "text.cleaning: maximum_ratio is 0.5; it must be at least 1"),
        ("units.merges", 0, "units: merges is 0; it must be at least 1"),
        ("units.words", 0, "units: words is 0; it must be at least 1"),
        ("units.vocabulary_threshold", -1, "units: vocabulary_threshold is -1; 0 turns it off"),
        ("model.heads", 7, "model: width (512) must be divisible by heads (7)"),
        ("model.decoder_layers", 0, "model: decoder_layers is 0; it must be at least 1"),
        ("model", {"width": 7, "heads": 7}, "model: width is 7; sinusoids need an even one"),
        ("model.attention_dropout", 1.0, "model: attention_dropout is 1.0; it must be in [0, 1)"),
        ("training.schedule.warmup", 0, "training.schedule: warmup is 0; it must be at least 1 update"),
        ("training.schedule.factor", 0.0, "training.schedule: factor is 0.0; it must be positive"),
        ("training.schedule.peak_rate", -1.0, "training.schedule: peak_rate is -1.0; it must be positive"),
        ("training.schedule.initial_rate", -1.0, "training.schedule: initial_rate is -1.0; it must not be negative"),
        ("training.schedule.decay_updates", 0, "training.schedule: decay_updates is 0; it must be at least 1"),
        ("training.batch_tokens", 0, "training: batch_tokens is 0; it must be at least 1"),
        ("training.label_smoothing", 1.0, "training: label_smoothing is 1.0; it must be in [0, 1)"),
        ("training.adam_beta1", 1.0, "training: adam_beta1 is 1.0; it must be in [0, 1)"),
        ("training.adam_beta2", -0.1, "training: adam_beta2 is -0.1; it must be in [0, 1)"),
        ("training.adam_epsilon", 0.0, "training: adam_epsilon is 0.0; it must be positive"),
        ("training.weight_decay", -0.1, "training: weight_decay is -0.1; 0 turns it off"),
        ("training.clip_norm", -1.0, "training: clip_norm is -1.0; 0 turns clipping off"),
        ("training.patience", 0, "training: patience is 0; it must be at least 1"),
        ("training.keep_last", -1, "training: keep_last is -1; it must not be negative"),
        ("training.keep_best", -1, "training: keep_best is -1; it must not be negative"),
        ("training.keep_last", 0, "training: keep_last and keep_best are both 0: no checkpoint would be kept"),
        ("training.select_by", "bleu", "training: select_by is bleu, but validation_bleu is false"),
        ("averaging.count", 0, "averaging: count is 0; it must be at least 1"),
        ("decoding.beam", 0, "decoding: beam is 0; it must be at least 1"),
        ("decoding.n_best", 99, "decoding: n_best is 99; it must be in 1..beam ("),
        ("decoding.batch_tokens", 0, "decoding: batch_tokens is 0; it must be at least 1"),
        ("significance.resamples", 0, "significance: resamples is 0; it must be at least 1"),
        ("significance.sample_ratio", 0.0, "significance: sample_ratio is 0.0; it must be in (0, 1]"),
        ("significance.seed", 0, "significance: seed is 0; it must be in 1..4294967295"),
        # the whole
        ("seeds", [], "seeds needs at least one seed"),
        ("seeds", [1, 2, 1], "seeds repeats one: [1, 2, 1]"),
        ("seeds", [-1], "seeds: -1 is not in 0..4294967295"),
        ("focus", "third", "focus: no variant 'third'; there are ['first', 'second']"),
        ("variants.a/b", {}, "variants: 'a/b' names files; it must be made of letters, digits, _ and -"),
        ("train.bitext", ["first"], "variants.second stands in 0 lists under train; it must stand in exactly one"),
        ("train.bitext", ["first", "second", "first"], "variants.first stands in 2 lists under train; it must stand"),
        (
            "train.bitext",
            ["first", "second", "third"],
            "train.bitext: no variant ['third']; there are ['first', 'second']",
        ),
        (
            "variants.first.baseline",
            "third",
            "variants.first.baseline: no other variant 'third'; there are ['first', 'second']",
        ),
        ("variants.first.baseline", "first", "variants.first.baseline: no other variant 'first'; there are"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_what_is_allowed(tmp_path, key, value, expected):
    assert message(changed(tmp_path, key, value)).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "input should be an object, not None"),
        ("- a", "input should be an object, not ['a']"),
        (SMALLEST + "model: {width: [}\n", "not YAML ("),
        (SMALLEST + "model:\n\twidth: 8\n", "not YAML ("),
        (SMALLEST + "model: !!python/name:os.system\n", "not YAML (could not determine a constructor"),
        (SMALLEST + "seeds: [2]\n", 'not YAML (found duplicate key "seeds"'),
        (SMALLEST + "model:\n  heads: 8\n  width: 8\n  heads: 4\n", 'not YAML (found duplicate key "heads"'),
        (SMALLEST + "model: {width: 2020-01-01}\n", "Object of type date is not JSON serializable"),
        (SMALLEST + "model: &loop {width: *loop}\n", "Circular reference detected"),
    ],
)
def test_what_is_not_yaml_or_not_a_table_is_named(tmp_path, text, expected):
    assert message(write(tmp_path, text)).startswith(expected)


def test_the_line_of_a_duplicate_key_is_named(tmp_path):
    assert "line 7)" in message(write(tmp_path, SMALLEST + "seeds: [2]\n"))


def test_text_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_bytes("focus: für".encode("latin-1"))
    assert message(path).startswith("not YAML ('utf-8' codec can't decode byte 0xfc")


def test_a_missing_file_is_named(tmp_path):
    assert message(tmp_path / "none.yaml") == "no such file"


def test_numbers_are_those_of_yaml_1_2(tmp_path):
    path = write(tmp_path, "[1e-9, -2E+3, 0.5e1, 1.e2, 12e03, 1e, e9, 0x1e9]")
    assert read_yaml(path) == [1e-9, -2000.0, 5.0, 100.0, 12000.0, "1e", "e9", 0x1E9]


def test_a_table_may_be_merged_into_others(tmp_path):
    """A key that overrides a merged one is no duplicate."""
    path = write(tmp_path, "a: {b: &b {x: 1}, c: {d: &d {<<: *b, x: 2}}}\ne: {<<: *d, y: 3}\n")
    assert read_yaml(path) == {"a": {"b": {"x": 1}, "c": {"d": {"x": 2}}}, "e": {"x": 2, "y": 3}}


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


def test_a_variant_like_another_changes_what_it_says_and_keeps_the_rest(tmp_path):
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


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("like: plain", "like: wide", ["variants.", "windowed is like wide is like windowed", "circle"]),
        ("like: plain", "like: windowed", ["variants.windowed.like", "circle"]),
        ("like: plain", "like: plian", ["variants.windowed.like", "'plian'", "'plain'"]),
    ],
)
def test_a_circle_of_likes_and_an_unknown_one_are_refused(tmp_path, old, new, words):
    (tmp_path / "params.yaml").write_text(LIKE.replace(old, new))
    with pytest.raises(UserError) as error:
        read_parameters(tmp_path / "params.yaml")
    assert all(word in str(error.value) for word in words), error.value
