"""A params.yaml is read into settings, and every error is one line with the key, what was given and what is allowed."""

from pathlib import Path

import pytest
import yaml

from context_nmt.files import UserError, read_yaml
from context_nmt.pipeline.checks import experiments
from context_nmt.settings.launch import read_launch
from context_nmt.settings.model import ModelSettings, ScheduleSettings
from context_nmt.settings.parameters import Experiment, read_parameters

ROOT = Path(__file__).parents[1]
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
        ("training.schedule.warm_up", "warmup", "kind, warmup, factor"),
        ("text.source.truecas", "truecase", "pretokenized, script"),
        ("variants.first.lable", "label", "like, label, slots, model"),
        ("training.schedule.zzz", None, "kind, warmup, factor"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(tmp_path, key, nearest, known):
    hint = f"; did you mean {nearest!r}?" if nearest else ""
    assert message(changed(tmp_path, key, 1)).startswith(f"{key}: unknown key{hint} (known: {known}")


def test_a_misspelt_required_key_is_not_called_missing(tmp_path):
    assert message(write(tmp_path, SMALLEST.replace("seeds", "seed"))).startswith(
        "seed: unknown key; did you mean 'seeds'"
    )


@pytest.mark.parametrize("key", ["corpus", "corpus.name", "focus"])
def test_a_missing_key_is_named(tmp_path, key):
    assert message(changed(tmp_path, key, None)) == f"{key}: this key is required"


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
        ("variants.first.test", "t", "'bootstrap', 'sacrebleu' or 'sign'"),
        ("units.joint", "both", "True, False or 'transliterated'"),
        *((key, 0, "1") for key in AT_LEAST_ONE),
        *((key, 0, "0") for key in ABOVE_ZERO),
        *((key, -1, "0") for key in NOT_NEGATIVE),
        *((key, 1, "1") for key in BELOW_ONE),
        ("significance.sample_ratio", 1.5, "1"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_what_is_allowed(tmp_path, key, value, allowed):
    found = message(changed(tmp_path, key, value))
    given, _, what = found.removesuffix(f", not {value!r}").partition(": ")
    assert (given, allowed in what, found.endswith(repr(value))) == (key, True, True), found


SPLITS = ("train", "validation", "tests", "contrastive")


@pytest.mark.parametrize(
    ("keys", "names", "why"),
    [
        (SPLITS, ("vocabulary", "codes"), "choose another"),
        (("source", "target", *SPLITS), ("../test", "a/b", ".hidden", "-f", "a b", ""), "must be made of letters"),
    ],
)
def test_a_name_that_cannot_be_that_of_files_is_refused(tmp_path, keys, names, why):
    for key in keys:
        for name in names:
            found = message(changed(tmp_path, f"corpus.{key}", [name] if key in ("tests", "contrastive") else name))
            assert found.startswith(f"corpus.{key}: {name!r}")
            assert why in found


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("seeds", [1, "a"], ["seeds.1", "'a'", "integer"]),
        ("seeds", [-1], ["seeds.0", "-1", "0"]),
        ("seeds", [], ["seeds", "at least one"]),
        ("seeds", [1, 2, 1], ["seeds", "[1, 2, 1]", "once"]),
        ("download", ["a", "a"], ["download", "['a', 'a']", "once"]),
        ("variants.first.slots", {"cross_attention": 3}, ["variants.first", "slots.cross_attention is 3", "mechanism"]),
        ("variants.first.slots", {"self_attention": {}}, ["variants.first.slots.self_attention", "'decoder_output'"]),
        ("variants.first.training", {"schedule": {"warmup": 0}}, ["variants.first.training.schedule.warmup", "not 0"]),
        ("launch.train", " ", ["launch.train", "command is ' '", "command"]),
        ("launch.train", {"options": "--comment 'x"}, ["launch.train", "options is", "sbatch"]),
        ("launch.decode", {"options": "--array=1-3"}, ["launch.decode", "options is", "--array"]),
        # keys that exclude each other
        ("units", {"kind": "words", "joint": "transliterated"}, ["units", "joint is transliterated", "bpe", "words"]),
        ("corpus.target", "en", ["corpus", "source and target are both 'en'"]),
        ("corpus.tests", [], ["corpus", "tests", "at least one"]),
        ("corpus.tests", ["train"], ["corpus", "'train'"]),
        ("corpus.tests", ["model"], ["corpus", "'model'"]),
        ("corpus.groups", {"all": ["test", "tst"]}, ["corpus", "groups.all", "['tst']", "['test', 'other']"]),
        ("corpus.groups", {"test": ["other"]}, ["corpus", "groups.test", "test set"]),
        ("corpus.groups", {"all": []}, ["corpus", "groups.all", "empty"]),
        ("text.cleaning", {"minimum_length": 9, "maximum_length": 8}, ["text.cleaning", "maximum_length is 8", "(9)"]),
        ("units.pieces", 99, ["units", "pieces is 99", "kind bpe"]),
        ("units", {"kind": "words", "model_type": "bpe"}, ["units", "model_type is 'bpe'", "kind words"]),
        ("units", {"kind": "sentencepiece", "merges": 99}, ["units", "merges is 99", "kind sentencepiece"]),
        ("units.kind", "sentencepiece", ["text.source.truecase is true", "units.kind is sentencepiece"]),
        ("model.heads", 7, ["model", "width", "512", "(7)"]),
        ("model", {"width": 7, "heads": 7}, ["model", "width is 7", "even"]),
        ("training.keep_last", 0, ["training", "keep_last and keep_best are both 0"]),
        ("training.select_by", "bleu", ["training", "select_by is bleu", "validation_bleu is false"]),
        ("decoding.n_best", 99, ["variants.first", "decoding.n_best is 99", "decoding.beam (4)"]),
        ("probing.sentences", ["first"], ["probing", "sentences is ['first']", "tasks"]),
        ("probing.words", ["third"], ["probing.words", "'third'", "first, second"]),
        ("probing.words", ["first", "first"], ["probing", "words", "once"]),
        ("probing.tasks", "test", ["probing.tasks is 'test'", "test set"]),
        ("focus", "third", ["focus", "'third'", "first, second"]),
        *(
            ("variants.first.label", label, ["variants.first", f"label is {label!r}", "one line"])
            for label in ("two\nlines", "ends in one\n", "a\r", "a\u2028b")
        ),
        ("variants.first.label", "second", ["variants: first and second", "the same label, 'second'"]),
        ("variants.a/b", {}, ["variants", "'a/b'", "letters, digits, _ and -"]),
        ("train.bitext", ["first"], ["variants.second", "no list"]),
        ("train.bitext", ["first", "second", "first"], ["variants.first", "2 lists", "exactly one"]),
        ("train.bitext", ["first", "second", "third"], ["train.bitext", "'third'", "first, second"]),
        ("train.document", ["second"], ["train", "document_start is None", "first, second"]),
        ("train.teachers", ["first", "second"], ["train", "teachers", "['first', 'second']", "one"]),
        ("train.distilled", ["second"], ["train", "distilled is ['second']", "teachers is empty"]),
        ("rescored", ["second"], ["rescored is ['second']", "teachers is empty"]),
        ("variants.first.baseline", "third", ["variants.first.baseline", "'third'", "second"]),
        ("variants.first.baseline", "first", ["variants.first.baseline", "'first'"]),
    ],
)
def test_a_wrong_combination_is_named(tmp_path, key, value, words):
    found = message(changed(tmp_path, key, value))
    assert found.startswith(words[0])
    assert all(word in found for word in words), found


def test_of_many_variants_the_most_similar_are_named(tmp_path):
    names = [f"system_{number}" for number in range(40)]
    values = {"variants": {name: {} for name in names}, "train": {"bitext": names}, "focus": "sytem_17"}
    found = message(write(tmp_path, yaml.safe_dump(yaml.safe_load(SMALLEST) | values)))
    assert found.startswith("focus: ")
    assert "system_17, " in found
    assert sum(name in found for name in names) < 9, found


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": {"kind": "masked"}}, ["train.teachers", "first", "masked", "autoregressive"]),
        (
            {"variants": {"first": {"slots": {"encoder_output": {"mechanism": "cache_memory"}}}, "second": {}}},
            ["train.teachers", "first", "encoder_output"],
        ),
        (
            {"model": {"kind": "concatenation", "previous_sources": 1}},
            ["train.teachers", "first", "concatenation", "autoregressive"],
        ),
        ({"rescored": ["second"]}, ["rescored", "'second'", "autoregressive"]),
        (
            {
                "variants": {"first": {}, "second": {"model": {"kind": "masked"}, "decoding": {"length_beam": 1}}},
                "rescored": ["second"],
            },
            ["variants.second.decoding.length_beam is 1"],
        ),
    ],
)
def test_what_a_teacher_or_its_student_cannot_be_is_named(tmp_path, changes, words):
    train = {"train": {"bitext": ["first", "second"], "teachers": ["first"]}}
    found = message(write(tmp_path, yaml.safe_dump(yaml.safe_load(SMALLEST) | train | changes)))
    assert found.startswith(words[0])
    assert all(word in found for word in words), found


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


def test_numbers_are_those_of_yaml_1_2(tmp_path):
    path = write(tmp_path, "[1e-9, -2E+3, 0.5e1, 1.e2, 12e03, 1e, e9, 0x1e9]")
    assert read_yaml(path) == [1e-9, -2000.0, 5.0, 100.0, 12000.0, "1e", "e9", 0x1E9]


def test_what_stages_are_launched_with_is_read_as_all_other_settings(tmp_path):
    text = "focus:\tplain\nlaunch:\n  train: {hours: 1e1, partition: no, cores: 010}\n"
    launch = read_launch(write(tmp_path, text), tmp_path).train
    assert (launch.hours, launch.partition, launch.cores) == (10.0, "no", 10)


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
        ("like: plain", "like: plian", ["variants.windowed.like", "'plian'", "plain"]),
    ],
)
def test_a_circle_of_likes_and_an_unknown_one_are_refused(tmp_path, old, new, words):
    (tmp_path / "params.yaml").write_text(LIKE.replace(old, new))
    with pytest.raises(UserError) as error:
        read_parameters(tmp_path / "params.yaml")
    assert all(word in str(error.value) for word in words), error.value
