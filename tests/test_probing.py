"""Probes find what is there and nothing where nothing is; their features equal a slow, plain computation."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml
from measured import flat, read_flat
from small_models import small_model
from tiny_training import RUN, make_experiment

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, END, SPECIALS, Vocabulary
from context_nmt.files import UserError, read_lines, write_lines
from context_nmt.measures import sentence_probes, word_probes
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.parts_of_speech import TaggedWord, Tags
from context_nmt.measures.probing_tasks import SPLITS, TASK_GROUPS, TASKS, find_tasks, read_task
from context_nmt.measures.rows import read_rows
from context_nmt.measures.sentence_probes import Examples, mean_states, probe_task, summarize
from context_nmt.measures.word_probes import STACKS, WordProbes, read_states
from context_nmt.models.averaging import average_run
from context_nmt.models.checkpoints import load_run
from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.evaluation import SentenceClassifierSettings, WordClassifierSettings
from context_nmt.training.batches import pairs_for
from context_nmt.training.trainer import train_run

MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 16}
KINDS = pytest.mark.parametrize("settings", [{}, MASKED], ids=["autoregressive", "masked"])


@KINDS
@torch.no_grad()
def test_features_equal_a_slow_plain_computation(settings):
    """Each sentence alone, position after position; in batches they stand beside longer ones."""
    random = np.random.default_rng(1)
    model, ids = small_model(**settings), [random.integers(4, 11, length) for length in (3, 9, 1, 6, 6, 0, 12)]
    for sentence, row in zip(ids, mean_states(model, ids), strict=True):
        states = model.encode(torch.tensor([[*sentence.tolist(), END]])).states[-1][0].tolist()
        expected = [sum(column) / len(states) for column in zip(*states, strict=True)]
        assert row.tolist() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("told", "found"), [(0, 50), (1, 100)])
def test_a_task_is_found_by_features_that_tell_the_classes_apart(told, found):
    labels = torch.arange(40) % 2
    examples = dict.fromkeys(SPLITS.values(), Examples(torch.eye(2)[labels] * told, labels))
    expected = {"accuracies": [found] * 2, "accuracy": found, "chance": 50, "deviation": 0}
    assert probe_task(examples, SentenceClassifierSettings(seeds=(1, 2))) == expected


EXAMPLES = Examples(torch.randn(20, 4, generator=torch.Generator().manual_seed(1)), torch.arange(20) % 2)


def test_training_stops_after_its_patience_and_keeps_the_best_epoch(monkeypatch):
    weights = []

    def scripted(probe, _):
        weights.append(probe.classifier[0].weight.clone())
        return next(reached)

    monkeypatch.setattr(sentence_probes, "accuracy", scripted)
    settings, trained = SentenceClassifierSettings(patience=2), []
    for seed in (1, 1, 2):
        reached = iter([50.0, 70.0, 70.0, 60.0, 90.0])
        probe = sentence_probes.train_sentence_probe(EXAMPLES, EXAMPLES, classes=2, settings=settings, seed=seed)
        trained.append(probe.classifier[0].weight)
    assert len(weights) == 3 * 4
    assert torch.equal(trained[0], weights[1])
    assert [torch.equal(trained[0], other) for other in trained[1:]] == [True, False]  # equal seeds


def test_groups_are_means_of_their_tasks_if_all_are_there():
    assert summarize([50.0, 53.0], 25) == {"accuracies": [50, 53], "accuracy": 51.5, "chance": 25, "deviation": 2.1213}
    summaries = {task: summarize([10.0 * number, 20.0], number) for number, task in enumerate(TASKS)}
    groups = sentence_probes.group_means(summaries)
    assert groups.keys() == TASK_GROUPS.keys()
    assert groups["surface"] == summarize([5.0, 20.0], 0.5)
    del summaries["sentence_length"]
    assert sentence_probes.group_means(summaries).keys() == TASK_GROUPS.keys() - {"surface"}


GOOD = ["tr\tA\ta b", "tr\tB\tb a", "va\tA\ta", "te\tB\tb"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*GOOD, "tr A c"], r"line 5 is 'tr A c'"),
        ([*GOOD, "dev\tA\tc"], r"line 5 is 'dev\\tA\\tc'; it must be tr, va or te"),
        (GOOD[:3], r"te, for the test set"),
        ([GOOD[0], *GOOD[2:]], r"all training sentences have the label 'A'"),
        ([*GOOD, "te\tC\tc"], r"line 5 has the label 'C'"),
    ],
)
def test_a_bad_task_file_is_one_clear_error(tmp_path, lines, message):
    write_lines(tmp_path / "bigram_shift.txt", lines)
    with pytest.raises(UserError, match=rf"bigram_shift\.txt: .*{message}"):
        read_task(tmp_path / "bigram_shift.txt")


def test_tasks_are_found_by_their_names(tmp_path):
    write_lines(tmp_path / "notes.txt", [])
    with pytest.raises(UserError, match=r"sentence_length, .*probing\.tasks"):
        find_tasks(tmp_path)
    write_lines(tmp_path / "bigram_shift.txt", GOOD)
    assert find_tasks(tmp_path) == ["bigram_shift"]
    task = read_task(tmp_path / "bigram_shift.txt")
    assert (task.classes, task.sentences["training"], task.labels["training"]) == (["A", "B"], ["a b", "b a"], [0, 1])


def probing_experiment(folder, **probing):
    """A tiny run with these settings."""
    experiment = make_experiment(folder, pairs=30)
    values = yaml.safe_load(experiment.parameters.read_text()) | {"probing": probing}
    experiment.parameters.write_text(yaml.safe_dump(values))
    experiment = type(experiment)(folder)
    write_plans(experiment)
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    return experiment


def test_a_run_s_features_are_those_of_its_model_and_text(tmp_path):
    experiment = probing_experiment(tmp_path, sentences=["plain"], tasks="tasks", sentence_classifier={"seeds": [1, 2]})
    tasks = experiment.data("tasks")
    write_lines(tasks / "sentence_length.txt", ["tr\t0\t1 2", "tr\t1\t1 2 3", "va\t0\t4", "te\t1\t5 6"])
    task, model = read_task(tasks / "sentence_length.txt"), load_run(experiment.model(RUN), torch.device("cpu"))
    text = sentence_probes.SourceTokenizer(experiment.model(RUN) / "text")
    examples = sentence_probes.split_features(model, text, task)
    expected = mean_states(model, [np.array(text.chain.corpus.source_vocabulary.ids("1 2 3"))])[0]
    assert torch.allclose(examples["training"].features[1], expected, atol=1e-6)
    assert {split: example.labels.tolist() for split, example in examples.items()} == task.labels
    sentence_probes.probe_sentences(experiment, "plain", 1, device="cpu")
    expected = probe_task(examples, SentenceClassifierSettings(seeds=(1, 2)))
    scores = read_flat(experiment.sentence_probes(RUN))["tasks"]
    assert {name: example["score"] for name, example in scores.items()} == {
        "probe_sentence_length": expected["accuracy"],
        "probe_deviation_sentence_length": expected["deviation"],
        "probe_sentence_length_chance": expected["chance"],
    }


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return make_experiment(tmp_path_factory.mktemp("digits"), pairs=200)


@pytest.fixture(scope="module")
def corpus(digits):
    return BinarizedCorpus(digits.binarized)


def model_for(corpus, **settings):
    return small_model(vocabulary=len(corpus.target_vocabulary), **settings).float()


@pytest.mark.parametrize(("epochs", "sentences"), [(12, 100_000), (24, 100)], ids=["all", "sample"])
def test_lexical_probes_of_the_embeddings_find_nearly_all_units(corpus, epochs, sentences):
    settings = WordClassifierSettings(learning_rate=0.01, batch_tokens=256, epochs=epochs, training_sentences=sentences)
    accuracies = flat(WordProbes(model_for(corpus, width=32), corpus, settings).rows("valid", dict.fromkeys(STACKS)))
    assert min(accuracies["lexical_encoder_0"], accuracies["lexical_decoder_0"]) >= 99
    assert {f"lexical_{stack}_{layer}" for stack in STACKS for layer in range(3)} <= accuracies.keys()
    assert not [name for name in accuracies if "_tag_" in name]
    groups = [accuracies[f"lexical_encoder_frequency_{number}_0"] for number in range(1, 11)]  # ten digits, one in each
    assert min(groups) >= 90


def test_lexical_probes_of_nothing_find_nothing(corpus, monkeypatch):
    """States that say nothing leave the most frequent of ten digits."""

    def blind(*arguments):
        layers = read_states(*arguments)
        return {
            stack: replace(states, states=tuple(map(torch.ones_like, states.states)))
            for stack, states in layers.items()
        }

    model = model_for(corpus)
    monkeypatch.setattr(word_probes, "read_states", blind)
    probes = WordProbes(model, corpus, WordClassifierSettings(epochs=1))
    layers = blind(model, pairs_for(model, corpus, "valid", None), np.arange(40))
    assert probes.is_correct("encoder", layers["encoder"]).mean() < 0.2


def test_lexical_probes_train_with_the_adam_and_the_patience_of_the_settings(corpus, monkeypatch):
    epochs = []
    monkeypatch.setattr(WordProbes, "_epoch", lambda *_: epochs.append(1))  # nothing is learnt
    WordProbes(model_for(corpus), corpus, WordClassifierSettings(patience=2, epochs=9))
    assert len(epochs) == 3
    settings = WordClassifierSettings(learning_rate=0.1, adam_beta2=0.5, adam_epsilon=1e-3)
    (group,) = word_probes.make_word_probe(4, 2, settings, torch.device("cpu")).optimizer.param_groups
    assert (group["lr"], group["betas"], group["eps"]) == (0.1, (0.9, 0.5), 1e-3)


@KINDS
@torch.no_grad()
def test_layers_are_the_states_that_the_model_computes(corpus, settings):
    model, (source, target) = model_for(corpus, **settings), corpus.parallel("valid")
    layers = read_states(model, pairs_for(model, corpus, "valid", None), np.array([3, 5]))
    first = target[3].tolist()
    inputs = torch.tensor([[*first, END] if settings else [BEGIN, *first]])
    memory = model.encode(torch.tensor([[*source[3].tolist(), END]]))
    length, width = len(source[3]) + 1, inputs.size(1)
    for states, expected in zip(layers["encoder"].states, memory.states, strict=True):
        assert torch.allclose(states[0, :length], expected[0], atol=1e-5)
    decoder = layers["decoder"]
    assert len(decoder.states) == 3
    assert torch.allclose(decoder.states[0][0, :width], model.target_embedding(inputs)[0], atol=1e-5)
    assert torch.allclose(decoder.states[-1][0, :width], model.decode(inputs, memory)[0], atol=1e-5)
    assert decoder.ids[0][decoder.real[0]].tolist() == first
    assert layers["encoder"].real[0].sum() == length - 1


def test_cosines_equal_slow_plain_ones(corpus):
    model = model_for(corpus).double()
    layers = read_states(model, pairs_for(model, corpus, "valid", None), np.arange(6))["decoder"]
    for states, (of_tokens, of_sentences) in zip(layers.states[1:], word_probes.cosines(layers), strict=True):
        pairs = [(layers.states[0][row][real], states[row][real]) for row, real in enumerate(layers.real)]
        tokens = [pair for one, other in pairs for pair in zip(one, other, strict=True)]
        for found, vectors in ((of_tokens, tokens), (of_sentences, pairs)):
            rows = [(one.flatten().numpy(), other.flatten().numpy()) for one, other in vectors]
            expected = [float(a @ b / np.sqrt((a @ a) * (b @ b))) for a, b in rows]
            assert found.tolist() == pytest.approx(expected, abs=1e-10)


def test_frequency_bins_by_hand():
    """24 types; id 4 + i stands i + 1 times: the rarest ones are in bin 1, which like bins 2 to 4 has one more."""
    bins = word_probes.frequency_bins([np.array([4 + number] * (number + 1)) for number in range(24)], 30).tolist()
    assert bins[4:28] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10]
    assert bins[:4] + bins[28:] == [0] * 6


GARDEN = Vocabulary((*SPECIALS, "gar@@", "den", "a"))


def test_words_have_the_units_and_the_tag_of_their_token():
    tags = Tags("by hand", [["a", "garden"], ["a"]], [["DT", "NN"], ["DT"]])
    garden = [TaggedWord(0, 1, "DT"), TaggedWord(1, 3, "NN")]
    assert word_probes.words_of_units([[6, 4, 5], [6, 6]], GARDEN, tags) == [garden, []]


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("NOUN", "NN NNS NNP NE"),
        ("VERB", "VB VBZ VVFIN VAFIN VMINF"),
        ("ADJ/ADV", "JJ JJR RB RBS ADJA ADJD ADV"),
        ("OTHER", "MD RP IN DT CD PRP APPR ART ADVX PTKVZ $."),
    ],
)
def test_word_classes_are_those_of_the_paper_s_code(name, tags):
    """Modal verbs are verbs in German, not in English; ADV is an adverb by its whole name."""
    assert {word_probes.word_class(tag) for tag in tags.split()} == {name}


def test_a_word_is_found_if_one_of_its_units_is(corpus, monkeypatch):
    """Units count one by one by tag, in words by class; each sentence has a word of two units, then one of one."""
    probes = WordProbes(model_for(corpus), corpus, WordClassifierSettings(epochs=1))
    lengths = [len(line) for line in corpus.parallel("valid")[0]]
    words = [[TaggedWord(0, 2, "NN"), TaggedWord(2, length, "IN")] if length > 2 else [] for length in lengths]
    monkeypatch.setattr(word_probes, "words_of_units", lambda *_: words)
    batches = []

    def is_correct(stack, layers):
        counts = layers.real.sum(1).tolist()
        batches.append(counts)
        positions = np.concatenate([np.arange(count) for count in counts])
        return np.stack([positions == 1, positions == 0, positions == 2])

    monkeypatch.setattr(probes, "is_correct", is_correct)
    accuracies = flat(probes.rows("valid", {"encoder": Tags("by hand", [], []), "decoder": None}))
    assert [accuracies[f"lexical_encoder_word_class_NOUN_{layer}"] for layer in range(3)] == [100, 100, 0]
    assert [accuracies[f"lexical_encoder_word_class_OTHER_{layer}"] for layer in range(3)] == [0, 0, 100]
    assert [accuracies[f"lexical_encoder_tag_NN_{layer}"] for layer in range(3)] == [50, 50, 0]
    assert max(map(len, batches)) > 1  # so words are found beyond the first sentence


def test_a_run_s_words_are_probed_by_tag_where_gold_tags_are_known(tmp_path):
    experiment = probing_experiment(tmp_path, words=["plain"], word_classifier={"epochs": 1})
    lines = read_lines(experiment.subwords / "valid.xx")
    for language in ("xx", "yy"):
        write_lines(experiment.tokenized / f"valid.{language}.cased", lines)
    tokens = [line.split() for line in lines]
    tags = [["EVEN" if int(digit) % 2 == 0 else "ODD" for digit in row] for row in tokens]
    records = [{"xx": {"tokens": row, "tags": own}} for row, own in zip(tokens, tags, strict=True)]
    write_lines(experiment.corpus / "valid.gold.jsonl", map(json.dumps, records))
    word_probes.probe_words(EvaluationFolder(tmp_path), "plain", 1, device="cpu")
    tagged = {name for name in flat(read_rows(experiment.word_probes(RUN))) if "_tag_" in name}
    assert tagged == {f"lexical_encoder_tag_{tag}_{layer}" for tag in ("EVEN", "ODD") for layer in (0, 1)}
