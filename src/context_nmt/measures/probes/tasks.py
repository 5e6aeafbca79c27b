"""The ten probing tasks of Conneau et al. (2018) as files: lines `split<TAB>label<TAB>tokens`, as SentEval has them."""

from dataclasses import dataclass
from pathlib import Path

from context_nmt.files import UserError, iterate_lines

GROUPS = {  # as SentEval groups them
    "surface": ("sentence_length", "word_content"),
    "syntactic": ("tree_depth", "top_constituents", "bigram_shift"),
    "semantic": ("past_present", "subj_number", "obj_number", "odd_man_out", "coordination_inversion"),
}
TASKS = tuple(task for tasks in GROUPS.values() for task in tasks)
UNIT_METRICS = frozenset(  # what word probes measure, see words.py
    metric.format(stack)
    for stack in ("encoder", "decoder")
    for metric in (
        *("lexical_{}", "lexical_{}_by_frequency", "lexical_{}_by_tag"),
        *("cosine_{}_tokens", "cosine_{}_sentences"),
    )
)
SPLITS = {"tr": "training", "va": "validation", "te": "test"}


@dataclass(frozen=True)
class Task:
    """One task: its classes, those of the training sentences in order, and sentences with their classes' numbers."""

    classes: list[str]
    sentences: dict[str, list[str]]  # of Moses tokens, by SPLITS' values
    labels: dict[str, list[int]]


def find_tasks(folder: Path) -> list[str]:
    """Return the tasks that have a file TASK.txt in a folder; raises UserError if none has."""
    found = [task for task in TASKS if (folder / f"{task}.txt").is_file()]
    if not found:
        raise UserError(f"{folder}: has no probing task ({', '.join(TASKS)}: TASK.txt); set probing.tasks to theirs")
    return found


def read_task(path: Path) -> Task:
    """Read one task's file; raises UserError for an empty split and, with its number, for a line that is no example."""
    sentences: dict[str, list[str]] = {split: [] for split in SPLITS.values()}
    names: dict[str, list[str]] = {split: [] for split in SPLITS.values()}  # of each sentence's class
    places: dict[str, int] = {}  # of each class outside training, its first line
    for number, line in enumerate(iterate_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 3 or fields[0] not in SPLITS:
            raise UserError(f"{path}: line {number} is {line[:60]!r}; it must be tr, va or te, a label and a sentence")
        sentences[SPLITS[fields[0]]].append(fields[-1])
        names[SPLITS[fields[0]]].append(fields[1])
        if fields[0] != "tr":
            places.setdefault(fields[1], number)
    for short, split in SPLITS.items():
        if not names[split]:
            raise UserError(f"{path}: has no line that begins with {short}, the {split} set")
    classes = sorted(set(names["training"]))
    if len(classes) < 2:
        raise UserError(f"{path}: all training sentences have the label {classes[0]!r}; there is nothing to tell apart")
    for name, number in places.items():
        if name not in classes:
            raise UserError(f"{path}: line {number} has the label {name!r}, which no training sentence has")
    numbers = {name: number for number, name in enumerate(classes)}
    return Task(classes, sentences, {split: [numbers[name] for name in own] for split, own in names.items()})
