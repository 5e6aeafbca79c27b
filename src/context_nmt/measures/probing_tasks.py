"""The ten probing tasks of Conneau et al. (2018): SentEval files with lines `split<TAB>label<TAB>tokens`."""

from dataclasses import dataclass
from pathlib import Path

from context_nmt.files import UserError, iterate_lines

GROUPS = {  # as SentEval groups them
    "surface": ("sentence_length", "word_content"),
    "syntactic": ("tree_depth", "top_constituents", "bigram_shift"),
    "semantic": ("past_present", "subj_number", "obj_number", "odd_man_out", "coordination_inversion"),
}
TASKS = tuple(task for tasks in GROUPS.values() for task in tasks)
SPLITS = {"tr": "training", "va": "validation", "te": "test"}


@dataclass(frozen=True)
class Task:
    """One task: the classes of its training sentences, sorted, and its sentences with the numbers of their classes."""

    classes: list[str]
    sentences: dict[str, list[str]]  # of Moses tokens, by SPLITS' values
    labels: dict[str, list[int]]


def find_tasks(folder: Path) -> list[str]:
    """Return the tasks with a file TASK.txt in a folder; raise UserError if there are none."""
    tasks = [task for task in TASKS if (folder / f"{task}.txt").is_file()]
    if not tasks:
        raise UserError(f"{folder}: no probing task ({', '.join(TASKS)}: TASK.txt); set probing.tasks to their folder")
    return tasks


def read_task(path: Path) -> Task:
    """Read the file of a task; raise UserError for an empty split and for a malformed line, with its number."""
    sentences: dict[str, list[str]] = {split: [] for split in SPLITS.values()}
    labels: dict[str, list[str]] = {split: [] for split in SPLITS.values()}  # of each sentence
    first_lines: dict[str, int] = {}  # with each label outside the training set
    for number, line in enumerate(iterate_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 3 or fields[0] not in SPLITS:
            raise UserError(f"{path}: line {number} is {line[:60]!r}; it must be tr, va or te, a label and a sentence")
        sentences[SPLITS[fields[0]]].append(fields[-1])
        labels[SPLITS[fields[0]]].append(fields[1])
        if fields[0] != "tr":
            first_lines.setdefault(fields[1], number)
    for code, split in SPLITS.items():
        if not labels[split]:
            raise UserError(f"{path}: no line starts with {code}, for the {split} set")
    classes = sorted(set(labels["training"]))
    if len(classes) < 2:
        raise UserError(f"{path}: all training sentences have the label {classes[0]!r}; a task needs at least two")
    for label, number in first_lines.items():
        if label not in classes:
            raise UserError(f"{path}: line {number} has the label {label!r}, which no training sentence has")
    numbers = {label: number for number, label in enumerate(classes)}
    return Task(
        classes,
        sentences,
        {split: [numbers[label] for label in split_labels] for split, split_labels in labels.items()},
    )
