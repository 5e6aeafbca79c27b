"""Probes find what is there and nothing where nothing is; their features equal a slow, plain computation."""

import json

import numpy as np
import pytest
import torch
import yaml
from measured import flat, read_flat
from small_models import small_model
from tiny_training import RUN, make_experiment

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, END, Vocabulary
from context_nmt.files import UserError, write_lines
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.probes import classifier, features, words
from context_nmt.measures.probes.classifier import Examples, accuracy, train_classifier
from context_nmt.measures.probes.features import mean_states
from context_nmt.measures.probes.layers import Measuring, probe_words
from context_nmt.measures.probes.sentences import probe_sentences, probe_tasks, summary
from context_nmt.measures.probes.similarity import cosines
from context_nmt.measures.probes.states import STACKS, read_layers
from context_nmt.measures.probes.tasks import GROUPS, TASKS, find_tasks, read_task
from context_nmt.measures.probes.unit_groups import frequency_bins, unit_tags
from context_nmt.measures.probes.words import WordProbes
from context_nmt.measures.rows import read_rows
from context_nmt.models.averaging import average_run
from context_nmt.models.checkpoints import load, load_run, save
from context_nmt.models.plans import Filling
from context_nmt.pipeline.planning import write_plans
from context_nmt.settings.checking import check
from context_nmt.settings.evaluation import SentenceClassifierSettings, WordClassifierSettings
from context_nmt.settings.parameters import ExperimentSettings
from context_nmt.training.running import train_run

CPU = torch.device("cpu")
SETTINGS = SentenceClassifierSettings(epochs=40)
MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 16}
LOCAL = {"encoder_self_attention": (Filling(mechanism="dual_context", settings={"kernel_size": 2}),) * 2}


def sentences_of(lengths, seed=1):
    random = np.random.default_rng(seed)
    return [random.integers(4, 11, length) for length in lengths]


@pytest.mark.parametrize("settings", [{}, MASKED], ids=["autoregressive", "masked"])
@torch.no_grad()
def test_features_equal_a_slow_plain_computation(settings):
    """Each sentence alone, position after position; in batches they stand beside longer ones."""
    model, sentences = small_model(**settings), sentences_of([3, 9, 1, 6, 6, 0, 12])
    found = mean_states(model, sentences, device=CPU)
    for sentence, row in zip(sentences, found, strict=True):
        states = model.encode(torch.tensor([[*sentence.tolist(), END]])).states[-1][0]
        expected = [
            sum(states[place, column].item() for place in range(len(states))) / len(states) for column in range(8)
        ]
        assert row.tolist() == pytest.approx(expected, abs=1e-10)


def cyclic_task(count, seed):
    """Sentences that count 4, 5, …, 10, 4, …; every second one has two neighbours swapped."""
    random = np.random.default_rng(seed)
    sentences, labels = [], []
    for number in range(count):
        start, length = random.integers(7), random.integers(8, 13)
        sentence = 4 + (start + np.arange(length)) % 7
        if number % 2:
            place = random.integers(1, length - 2)
            sentence[[place, place + 1]] = sentence[[place + 1, place]]
        sentences.append(sentence)
        labels.append(number % 2)
    return sentences, labels


def probed(task, model, *, shuffled=False):
    """Test accuracy of a classifier with 1000 sentences to train on."""
    parts = []
    for seed, count in enumerate((1000, 300, 1000)):
        sentences, labels = task(count, seed)
        labels = torch.tensor(labels)
        if shuffled:
            labels = labels[torch.randperm(count, generator=torch.Generator().manual_seed(seed))]
        parts.append(Examples(mean_states(model, sentences, device=CPU).float(), labels))
    classes = int(parts[0].labels.max()) + 1
    return accuracy(train_classifier(*parts[:2], classes=classes, settings=SETTINGS, seed=1), parts[2])


def lengths_task(count, seed):
    """Four classes of lengths, as many sentences of each."""
    labels = [number % 4 for number in range(count)]
    random = np.random.default_rng(seed)
    return sentences_of([3 + 3 * label + random.integers(3) for label in labels], seed), labels


@pytest.mark.parametrize(("task", "chance"), [(lengths_task, 25), (cyclic_task, 50)], ids=["length", "bigram shift"])
def test_probes_find_lengths_and_swapped_words_and_nothing_in_shuffled_labels(task, chance):
    model = small_model(LOCAL, width=32)
    assert probed(task, model) >= chance + 20  # at least 28 with six seeds
    assert abs(probed(task, model, shuffled=True) - chance) <= 8  # five standard deviations of 1000 guesses


def test_equal_seeds_give_equal_classifiers():
    sentences, labels = lengths_task(200, 1)
    examples = Examples(mean_states(small_model(), sentences, device=CPU).float(), torch.tensor(labels))
    one, same, other = (
        train_classifier(examples, examples, classes=4, settings=SentenceClassifierSettings(epochs=2), seed=seed)
        for seed in (1, 1, 2)
    )
    assert torch.equal(one[0].weight, same[0].weight)
    assert not torch.equal(one[0].weight, other[0].weight)


def test_training_stops_after_its_patience_and_keeps_the_best_epoch(monkeypatch):
    reached, weights = iter([50.0, 70.0, 70.0, 60.0, 90.0]), []

    def scripted(model, _):
        weights.append(model[0].weight.clone())
        return next(reached)

    monkeypatch.setattr(classifier, "accuracy", scripted)
    examples = Examples(torch.randn(20, 4), torch.arange(20) % 2)
    trained = train_classifier(examples, examples, classes=2, settings=SentenceClassifierSettings(patience=2), seed=1)
    assert len(weights) == 4
    assert torch.equal(trained[0].weight, weights[1])


def test_the_summary_of_seeds_by_hand():
    assert summary([50.0, 53.0], 25) == {"accuracies": [50, 53], "accuracy": 51.5, "chance": 25, "deviation": 2.1213}
    assert "deviation" not in summary([50.0], 25)


def test_all_ten_tasks_are_probed_and_their_groups_are_means(tmp_path):
    for number, task in enumerate(TASKS):
        tensors = {}
        for split in ("training", "validation", "test"):
            labels = torch.arange(40) % 2
            tensors |= {f"{split}.features": torch.eye(2)[labels] * (number % 2), f"{split}.labels": labels}
        save(tmp_path / f"{task}.safetensors", tensors, {"classes": ["a", "b"]})
    found = probe_tasks(tmp_path, SentenceClassifierSettings(), description="made up")
    assert found.keys() == {*TASKS, *GROUPS}
    assert {found[task]["accuracy"] for task in TASKS[1::2]} == {100}
    assert {found[task]["accuracy"] for task in TASKS[::2]} == {50}
    for group, tasks in GROUPS.items():
        assert found[group]["accuracy"] == pytest.approx(sum(found[task]["accuracy"] for task in tasks) / len(tasks))


GOOD_REST = ["va\t0\t4", "te\t1\t5 6"]
GOOD = ["tr\tA\ta b", "tr\tB\tb a", "va\tA\ta", "te\tB\tb"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*GOOD, "tr A c"], r"line 5 is 'tr A c'; it must be tr, va or te, a label and a sentence"),
        ([*GOOD, "dev\tA\tc"], r"line 5 is 'dev\\tA\\tc'; it must be tr, va or te"),
        (GOOD[:3], r"has no line that begins with te, the test set"),
        ([GOOD[0], *GOOD[2:]], r"all training sentences have the label 'A'"),
        ([*GOOD, "te\tC\tc"], r"line 5 has the label 'C', which no training sentence has"),
    ],
)
def test_a_bad_task_file_is_one_clear_error(tmp_path, lines, message):
    write_lines(tmp_path / "bigram_shift.txt", lines)
    with pytest.raises(UserError, match=rf"bigram_shift\.txt: {message}"):
        read_task(tmp_path / "bigram_shift.txt")


def test_tasks_are_found_by_their_names(tmp_path):
    write_lines(tmp_path / "notes.txt", [])
    with pytest.raises(UserError, match=r"has no probing task \(sentence_length, .* set probing\.tasks"):
        find_tasks(tmp_path)
    write_lines(tmp_path / "bigram_shift.txt", GOOD)
    assert find_tasks(tmp_path) == ["bigram_shift"]
    task = read_task(tmp_path / "bigram_shift.txt")
    assert task.classes == ["A", "B"]
    assert (task.splits["training"].sentences, task.splits["training"].labels) == (["a b", "b a"], [0, 1])


@pytest.mark.parametrize(
    ("probing", "message"),
    [
        ({"sentences": ["plain"]}, r"probing: sentences is \['plain'\], but tasks is not set"),
        ({"words": ["plane"]}, r"probing\.words: no variant \['plane'\]; there are \['plain'\]"),
        ({"words": ["plain", "plain"]}, r"probing: words is \['plain', 'plain'\]; each may be listed only once"),
        ({"tasks": "valid"}, r"probing\.tasks is 'valid', which is also the name of a test set"),
        ({"sentence_classifier": {"seeds": []}}, r"sentence_classifier: seeds is empty"),
        ({"word_classifier": {"dropout": 1}}, r"word_classifier\.dropout: input should be less than 1, not 1"),
        ({"word_classifier": {"epoch": 1}}, r"word_classifier\.epoch: unknown key; did you mean 'epochs'"),
    ],
)
def test_bad_settings_are_one_clear_error(tmp_path, probing, message):
    experiment = make_experiment(tmp_path, pairs=12)
    values = yaml.safe_load(experiment.parameters.read_text()) | {"probing": probing}
    with pytest.raises(UserError, match=message):
        check(ExperimentSettings, values, where="params.yaml")


class SplitAtSpaces:
    """A text chain whose words are the digits' own units."""

    def __init__(self, folder):
        self.corpus = BinarizedCorpus(folder)
        self.source_vocabulary = self.corpus.source_vocabulary

    def source_subwords(self, lines):
        return list(lines)


def test_a_run_s_features_are_those_of_its_model_and_text(tmp_path, monkeypatch):
    experiment = make_experiment(tmp_path, pairs=12)
    train_run(experiment, "plain", 1, device="cpu")
    (experiment.tokenized / "moses.json").write_text('{"source": {"language": "xx", "pretokenized": true}}')
    average_run(experiment, "plain", 1)
    values = yaml.safe_load(experiment.parameters.read_text()) | {"probing": {"sentences": ["plain"], "tasks": "tasks"}}
    experiment.parameters.write_text(yaml.safe_dump(values))
    experiment = type(experiment)(tmp_path)
    write_plans(experiment)
    tasks = experiment.data("tasks")
    write_lines(tasks / "sentence_length.txt", ["tr\t0\t1 2", "tr\t1\t1 2 3", "va\t0\t4", "te\t1\t5 6"])
    monkeypatch.setattr(features, "TextChain", SplitAtSpaces)
    features.write_features(experiment, RUN, tasks, tmp_path / "features", device="cpu")
    tensors, metadata = load(tmp_path / "features/sentence_length.safetensors")
    model = load_run(experiment.model(RUN), CPU)
    ids = SplitAtSpaces(experiment.binarized).source_vocabulary.ids("1 2 3")
    expected = mean_states(model, [np.array(ids)], device=CPU)[0]
    assert torch.allclose(tensors["training.features"][1], expected, atol=1e-6)
    assert metadata == {"classes": ["0", "1"]}
    assert {name: len(tensor) for name, tensor in tensors.items() if name.endswith("labels")} == {
        "training.labels": 2,
        "validation.labels": 1,
        "test.labels": 1,
    }
    probe_sentences(experiment, "plain", 1, device="cpu")
    expected = probe_tasks(tmp_path / "features", SentenceClassifierSettings(), description=RUN)
    found = read_flat(experiment.sentence_probes(RUN))["tasks"]
    assert found["probe_sentence_length"]["score"] == expected["sentence_length"]["accuracy"]
    assert found["probe_sentence_length_chance"]["score"] == expected["sentence_length"]["chance"]
    assert expected.keys() == {"sentence_length"}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return make_experiment(tmp_path_factory.mktemp("digits"), pairs=200)


def model_for(corpus, monkeypatch, **settings):
    monkeypatch.setattr("small_models.VOCABULARY", len(corpus.target_vocabulary))
    return small_model(**settings).float()


QUICK = WordClassifierSettings(learning_rate=0.01, batch_tokens=256, epochs=12)


def test_lexical_probes_of_the_embeddings_find_nearly_all_units(digits, monkeypatch):
    corpus = BinarizedCorpus(digits.binarized)
    model = model_for(corpus, monkeypatch, width=32)
    found = flat(Measuring(WordProbes(model, corpus, QUICK), corpus).rows("valid", dict.fromkeys(STACKS)))
    assert found["lexical_encoder_0"] >= 99
    assert found["lexical_decoder_0"] >= 99
    assert {f"lexical_{stack}_{layer}" for stack in ("encoder", "decoder") for layer in range(3)} <= found.keys()
    assert not [name for name in found if "_tag_" in name]
    groups = [found[f"lexical_encoder_frequency_{number}_0"] for number in range(1, 11)]  # ten digits, one in each
    assert min(groups) >= 90


def test_lexical_probes_of_nothing_find_nothing(digits, monkeypatch):
    """States that say nothing leave the most frequent of ten digits."""
    corpus = BinarizedCorpus(digits.binarized)
    model = model_for(corpus, monkeypatch)
    monkeypatch.setattr(words, "read_layers", blind)
    probes = WordProbes(model, corpus, WordClassifierSettings(epochs=1))
    layers = blind(model, corpus.parallel("valid"), np.arange(40))
    assert probes.right("encoder", layers["encoder"]).mean() < 0.2


def blind(model, pairs, batch):
    layers = read_layers(model, pairs, batch)
    return {
        stack: type(one)(tuple(torch.ones_like(states) for states in one.states), one.ids, one.real)
        for stack, one in layers.items()
    }


@pytest.mark.parametrize("settings", [{}, MASKED], ids=["autoregressive", "masked"])
@torch.no_grad()
def test_layers_are_the_states_that_the_model_computes(digits, monkeypatch, settings):
    corpus = BinarizedCorpus(digits.binarized)
    model = model_for(corpus, monkeypatch, **settings)
    source, target = corpus.parallel("valid")
    found = read_layers(model, (source, target), np.array([3, 5]))
    first = [*target[3].tolist()]
    inputs = torch.tensor([[*first, END] if settings else [BEGIN, *first]])
    memory = model.encode(torch.tensor([[*source[3].tolist(), END]]))
    length, width = len(source[3]) + 1, inputs.size(1)
    for states, expected in zip(found["encoder"].states, memory.states, strict=True):
        assert torch.allclose(states[0, :length], expected[0], atol=1e-5)
    decoder = found["decoder"]
    assert len(decoder.states) == 3
    assert torch.allclose(decoder.states[0][0, :width], model.target_embedding(inputs)[0], atol=1e-5)
    assert torch.allclose(decoder.states[-1][0, :width], model.decode(inputs, memory)[0], atol=1e-5)
    assert decoder.ids[0][decoder.real[0]].tolist() == first
    assert found["encoder"].real[0].sum() == length - 1


@torch.no_grad()
def test_cosines_equal_slow_plain_ones(digits, monkeypatch):
    corpus = BinarizedCorpus(digits.binarized)
    model = model_for(corpus, monkeypatch).double()
    layers = read_layers(model, corpus.parallel("valid"), np.arange(6))["decoder"]
    for number, (tokens, sentences) in enumerate(cosines(layers), start=1):
        each, whole = [], []
        for row in range(6):
            real = layers.real[row]
            one, other = layers.states[0][row][real].numpy(), layers.states[number][row][real].numpy()
            each += [float(a @ b / np.sqrt((a @ a) * (b @ b))) for a, b in zip(one, other, strict=True)]
            a, b = one.reshape(-1), other.reshape(-1)
            whole.append(float(a @ b / np.sqrt((a @ a) * (b @ b))))
        assert tokens.tolist() == pytest.approx(each, abs=1e-10)
        assert sentences.tolist() == pytest.approx(whole, abs=1e-10)


class Sides(list):
    """A token file in memory."""

    @property
    def lengths(self):
        return np.array([len(sentence) for sentence in self])


def test_frequency_bins_by_hand():
    """24 types; id 4 + i stands i + 1 times: the rarest ones are in bin 1, which like bins 2 to 4 has one more."""
    side = Sides([np.array([4 + number] * (number + 1)) for number in range(24)])
    bins = frequency_bins(side, 30).tolist()
    assert bins[4:28] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10]
    assert bins[:4] + bins[28:] == [0] * 6


def test_a_word_s_tag_is_that_of_its_units():
    vocabulary = Vocabulary(("<pad>", "<s>", "</s>", "<unk>", "gar@@", "den", "a"))
    found = unit_tags(Sides([np.array(ids) for ids in ([6, 4, 5], [6, 6])]), vocabulary, [["DT", "NN"], ["DT"]])
    assert found == [["DT", "NN", "NN"], [None, None]]


def test_a_run_s_words_are_probed_by_tag_where_gold_tags_are_known(tmp_path):
    experiment = make_experiment(tmp_path, pairs=30)
    values = yaml.safe_load(experiment.parameters.read_text())
    values["probing"] = {"words": ["plain"], "word_classifier": {"epochs": 1}}
    experiment.parameters.write_text(yaml.safe_dump(values))
    experiment = type(experiment)(tmp_path)
    write_plans(experiment)
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    lines = (experiment.subwords / "valid.xx").read_text().split("\n")[:-1]
    for language in ("xx", "yy"):
        write_lines(experiment.tokenized / f"valid.{language}.cased", lines)
    tokens = [line.split() for line in lines]
    tags = [["EVEN" if int(digit) % 2 == 0 else "ODD" for digit in row] for row in tokens]
    records = [{"xx": {"tokens": row, "tags": own}} for row, own in zip(tokens, tags, strict=True)]
    write_lines(experiment.corpus / "valid.gold.jsonl", map(json.dumps, records))
    probe_words(Evaluated(tmp_path), "plain", 1, device="cpu")
    found = flat(read_rows(experiment.word_probes(RUN)))
    tagged = {name for name in found if "_tag_" in name}
    assert tagged == {f"lexical_encoder_tag_{tag}_{layer}" for tag in ("EVEN", "ODD") for layer in (0, 1)}
