"""Sentence probes: how well classifiers find out what a sentence is like from its mean encoder state."""

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from context_nmt.command_line import progress
from context_nmt.measures.probes.classifier import Examples, accuracy, train_classifier
from context_nmt.measures.probes.features import write_features
from context_nmt.measures.probes.tasks import GROUPS, SPLITS, TASKS
from context_nmt.measures.rows import CHANCE, Row, row, write_rows
from context_nmt.models.checkpoints import load
from context_nmt.settings.checking import read_plan
from context_nmt.settings.evaluation import SentenceClassifierSettings, SentenceProbePlan
from context_nmt.settings.layout import Layout, run_name


def probe_sentences(experiment: Layout, variant: str, seed: int, *, device: str) -> None:
    """Write the accuracy of each task and group of tasks, `probe` by tag, and chance.

    With several classifiers, `probe_deviation` is their sample standard deviation. The run's encoder sees the sentences
    once, whatever classifiers follow. Raises UserError as `write_features` does.
    """
    run = run_name(variant, seed)
    plan = read_plan(SentenceProbePlan, experiment.stage_plan("probe_sentences"))
    with TemporaryDirectory() as folder:
        features = Path(folder)
        write_features(experiment, run, experiment.data(str(plan.tasks)), features, device=device)
        found = probe_tasks(features, plan.classifier, description=run)
    write_rows(experiment.sentence_probes(run), run, _rows(str(plan.tasks), found))


def _rows(tasks: str, found: dict[str, dict[str, Any]]) -> Iterator[Row]:
    for name, one in found.items():
        yield row(tasks, "probe", one["accuracy"], tag=name)
        if "deviation" in one:
            yield row(tasks, "probe_deviation", one["deviation"], tag=name)
        yield row(tasks, "probe", one["chance"], tag=name, of=CHANCE)


def probe_tasks(folder: Path, settings: SentenceClassifierSettings, *, description: str) -> dict[str, dict[str, Any]]:
    """Probe all tasks whose features are in `folder`, and the groups that are complete."""
    tasks = [task for task in TASKS if (folder / f"{task}.safetensors").is_file()]
    found = {task: probe_task(folder / f"{task}.safetensors", settings) for task in progress(tasks, description)}
    chance = {task: one["chance"] for task, one in found.items()}
    for group, members in GROUPS.items():
        if all(task in found for task in members):
            rows = zip(*(found[task]["accuracies"] for task in members), strict=True)
            found[group] = summary([fmean(row) for row in rows], fmean(chance[task] for task in members))
    return found


def probe_task(features: Path, settings: SentenceClassifierSettings) -> dict[str, Any]:
    """Probe one task with a classifier per seed; chance is the share of its test set's most frequent class."""
    tensors, metadata = load(features)
    training, validation, test = (
        Examples(tensors[f"{split}.features"], tensors[f"{split}.labels"]) for split in SPLITS.values()
    )
    classes = len(metadata["classes"])
    accuracies = []
    for seed in settings.seeds:
        classifier = train_classifier(training, validation, classes=classes, settings=settings, seed=seed)
        accuracies.append(accuracy(classifier, test))
    chance = 100 * float(test.labels.bincount().max()) / len(test.labels)
    return summary(accuracies, chance) | {"classes": classes}


def summary(accuracies: list[float], chance: float) -> dict[str, Any]:
    """Accuracies by classifier seed, in per cent, their mean, and with several their sample standard deviation."""
    deviation = {"deviation": round(stdev(accuracies), 4)} if len(accuracies) > 1 else {}
    rounded = [round(value, 4) for value in accuracies]
    return {"accuracies": rounded, "accuracy": round(fmean(accuracies), 4), "chance": round(chance, 4)} | deviation
