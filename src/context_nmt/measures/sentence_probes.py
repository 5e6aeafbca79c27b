"""Sentence probes: the accuracy of classifiers that predict properties of a sentence from its mean encoder state.

The mean is over all real positions of the encoder's output after the final norm: the units of the sentence and END. A
model that uses previous sentences is given none here.

The classifier follows Ampomah et al. (2021): two layers, RMSprop, L2 regularisation of 1e-4, a learning rate of 2.5e-4,
batches of 64 sentences and up to 100 epochs. The rest is our choice: 512 hidden units with ReLU, a patience of 5
epochs, L2 as weight decay of the hidden layer only, and the weights of the best epoch.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from context_nmt.corpus.batching import Indices, length_batches, pad
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.text_chain import TextChain
from context_nmt.corpus.vocabulary import END
from context_nmt.decoding.in_batches import check_positions, decode_workers, evaluation_mode, process_batches
from context_nmt.files import read_json
from context_nmt.measures.probe import Probe
from context_nmt.measures.probing_tasks import SPLITS, TASK_GROUPS, ProbingTask, find_tasks, read_task
from context_nmt.measures.rows import CHANCE, Row, row, write_rows
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import Processes, device_named
from context_nmt.models.model import Model
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.evaluation import SentenceClassifierSettings, SentenceProbePlan
from context_nmt.settings.layout import Layout
from context_nmt.settings.run_layout import run_name
from context_nmt.settings.text import SideSettings

BATCH_TOKENS = 4096  # in a batch, including padding


@dataclass(frozen=True)
class Examples:
    """Features [N, D] and their class numbers [N]."""

    features: Tensor
    labels: Tensor


def train_sentence_probe(
    training: Examples, validation: Examples, *, classes: int, settings: SentenceClassifierSettings, seed: int
) -> Probe:
    """Train a classifier of sentences; equal seeds give equal weights."""
    torch.manual_seed(seed)
    hidden = nn.Linear(training.features.size(1), settings.hidden_width)
    output = nn.Linear(settings.hidden_width, classes)
    groups: list[dict[str, Any]] = [
        {"params": hidden.parameters(), "weight_decay": settings.weight_decay},
        {"params": output.parameters()},
    ]
    optimizer = torch.optim.RMSprop(groups, lr=settings.learning_rate)
    probe = Probe(nn.Sequential(hidden, nn.ReLU(), output), optimizer, settings.patience)
    for _ in tracked(range(settings.epochs), "classifier", settings.epochs, "epochs"):
        for batch in torch.split(torch.randperm(len(training.labels)), settings.batch_sentences):
            probe.update(training.features[batch], training.labels[batch])
        probe.record_accuracy(accuracy(probe, validation))
        if not probe.is_improving:
            break
    probe.restore()
    return probe


def accuracy(probe: Probe, examples: Examples) -> float:
    """Return the accuracy on the examples, in per cent."""
    return 100 * float(probe.is_correct(examples.features, examples.labels).double().mean())


def probe_sentences(experiment: Layout, variant: str, seed: int, *, device: str) -> None:
    """Write the accuracy and chance level of each task and group of tasks, as metric `probe` with the task as tag.

    With several classifiers, `probe_deviation` is the sample standard deviation of their accuracies. Raise UserError
    for a folder without tasks, a malformed file, and sentences longer than the model's learned positions.
    """
    run = run_name(variant, seed)
    plan = read_plan(SentenceProbePlan, experiment.stage_plan("probe_sentences"))
    test_set = str(plan.tasks)
    folder = experiment.data(test_set)
    tasks = {name: read_task(folder / f"{name}.txt") for name in find_tasks(folder)}
    text = SourceTokenizer(experiment.model(run) / "text")
    model = load_run(experiment.model(run), device_named(device), text.chain.corpus)
    results = {
        name: probe_task(split_features(model, text, task), plan.classifier)
        for name, task in tracked(tasks.items(), run, len(tasks), "tasks")
    }
    rows: list[Row] = []
    for name, result in (results | group_means(results)).items():
        rows += [row(test_set, "probe", result["accuracy"], tag=name)]
        rows += [row(test_set, "probe", result["chance"], tag=name, subject=CHANCE)]
        if "deviation" in result:
            rows += [row(test_set, "probe_deviation", result["deviation"], tag=name)]
    write_rows(experiment.sentence_probes(run), run, rows)


def probe_task(examples: dict[str, Examples], settings: SentenceClassifierSettings) -> dict[str, Any]:
    """Probe one task with a classifier per seed; chance is the share of the test set's most frequent class."""
    training, validation, test = (examples[split] for split in SPLITS.values())
    classes = int(training.labels.max()) + 1
    accuracies = []
    for seed in tracked(settings.seeds, "classifiers", len(settings.seeds), "seeds"):
        classifier = train_sentence_probe(training, validation, classes=classes, settings=settings, seed=seed)
        accuracies.append(accuracy(classifier, test))
    return summarize(accuracies, 100 * float(test.labels.bincount().max()) / len(test.labels))


def group_means(summaries: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the summary of each group whose tasks all have results: means over the tasks."""
    groups = {}
    for group, tasks in TASK_GROUPS.items():
        if summaries.keys() >= set(tasks):
            by_seed = zip(*(summaries[task]["accuracies"] for task in tasks), strict=True)
            chance = fmean(summaries[task]["chance"] for task in tasks)
            groups[group] = summarize([fmean(accuracies) for accuracies in by_seed], chance)
    return groups


def summarize(accuracies: list[float], chance: float) -> dict[str, Any]:
    """Summarize the accuracies of all classifiers, in per cent: their mean and, if several, sample deviation."""
    deviation = {"deviation": round(stdev(accuracies), 4)} if len(accuracies) > 1 else {}
    rounded = [round(value, 4) for value in accuracies]
    return {"accuracies": rounded, "accuracy": round(fmean(accuracies), 4), "chance": round(chance, 4)} | deviation


class SourceTokenizer:
    """A converter from lines of Moses tokens to the source ids of a run.

    The tokens are detokenized, then tokenized like the text of the run. Otherwise its tokenizer's settings, or the gaps
    between tokens ("didn 't"), would split words differently.
    """

    def __init__(self, folder: Path):
        self.chain = TextChain(folder)
        side = read_json(folder / "moses.json")["source"]
        self._side = MosesSide(side.pop("language"), SideSettings(**side))

    def ids(self, lines: list[str]) -> list[NDArray[np.int64]]:
        """Return the ids of each line, without END."""
        units = self.chain.source_subwords([self._side.text(line) for line in lines])
        return [np.array(self.chain.corpus.source_vocabulary.ids(line), dtype=np.int64) for line in units]


def split_features(model: Model, text: SourceTokenizer, task: ProbingTask) -> dict[str, Examples]:
    """Return the mean states and class numbers of each split of a task."""
    return {
        split: Examples(mean_states(model, text.ids(lines)), torch.tensor(task.labels[split]))
        for split, lines in tracked(task.sentences.items(), None, sizes=map(len, task.sentences.values()))
    }


def mean_states(model: Model, sentences: list[NDArray[np.int64]]) -> Tensor:
    """Return the mean state of the top encoder layer for N sentences of source ids, [N, D], on the CPU.

    Raise UserError for a sentence that is longer than the model's learned positions.
    """
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    check_positions(model.source_embedding.positions, lengths, "sentence")

    def encode_batch(batch: Indices) -> list[NDArray[np.floating]]:
        memory = model.encode(torch.from_numpy(pad([sentences[number] for number in batch], last=END)).to(model.device))
        real = memory.real_tokens[..., None]
        return list(((memory.states[-1] * real).sum(1) / real.sum(1)).cpu().numpy())

    batches = length_batches(lengths + 1, lengths + 1, tokens=BATCH_TOKENS)
    with evaluation_mode(model):
        states = process_batches(
            encode_batch, batches, lengths, progress=None, processes=Processes(workers=decode_workers(model.device))
        )
    return torch.from_numpy(np.stack([states[number] for number in range(len(lengths))]))
