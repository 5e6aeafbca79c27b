"""Read the ten probing tasks of Conneau et al. (2018): SentEval files with lines `split<TAB>label<TAB>tokens`."""

from dataclasses import dataclass
from pathlib import Path

from context_nmt.files import UserError, iterate_lines

TASK_GROUPS = {  # as SentEval groups them
    "surface": ("sentence_length", "word_content"),
    "syntactic": ("tree_depth", "top_constituents", "bigram_shift"),
    "semantic": ("past_present", "subj_number", "obj_number", "odd_man_out", "coordination_inversion"),
}
TASKS = tuple(task for tasks in TASK_GROUPS.values() for task in tasks)
SPLITS = {"tr": "training", "va": "validation", "te": "test"}


@dataclass(frozen=True)
class ProbingTask:
    """A task: its sorted classes, and the sentences of each split with their class numbers."""

    classes: list[str]
    sentences: dict[str, list[str]]  # Moses tokens, by split (a value of SPLITS)
    labels: dict[str, list[int]]  # class numbers, by split


def find_tasks(folder: Path) -> list[str]:
    """Return the tasks with a file TASK.txt in a folder; raise UserError if there are none."""
    tasks = [task for task in TASKS if (folder / f"{task}.txt").is_file()]
    if not tasks:
        raise UserError(f"{folder}: no probing task ({', '.join(TASKS)}: TASK.txt); set probing.tasks to their folder")
    return tasks


def read_task(path: Path) -> ProbingTask:
    """Read the file of a task; raise UserError for an empty split and for a malformed line, with its number."""
    sentences: dict[str, list[str]] = {split: [] for split in SPLITS.values()}
    labels: dict[str, list[str]] = {split: [] for split in SPLITS.values()}  # of each sentence
    first_line_of_label: dict[str, int] = {}  # by label, outside the training set
    for number, line in enumerate(iterate_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 3 or fields[0] not in SPLITS:
            raise UserError(f"{path}: line {number} is {line[:60]!r}; it must be tr, va or te, a label and a sentence")
        sentences[SPLITS[fields[0]]].append(fields[-1])
        labels[SPLITS[fields[0]]].append(fields[1])
        if fields[0] != "tr":
            first_line_of_label.setdefault(fields[1], number)
    for code, split in SPLITS.items():
        if not labels[split]:
            raise UserError(f"{path}: no line starts with {code}, for the {split} set")
    classes = sorted(set(labels["training"]))
    if len(classes) < 2:
        raise UserError(f"{path}: all training sentences have the label {classes[0]!r}; a task needs at least two")
    for label, number in first_line_of_label.items():
        if label not in classes:
            raise UserError(f"{path}: line {number} has the label {label!r}, which no training sentence has")
    numbers = {label: number for number, label in enumerate(classes)}
    return ProbingTask(
        classes,
        sentences,
        {split: [numbers[label] for label in split_labels] for split, split_labels in labels.items()},
    )
