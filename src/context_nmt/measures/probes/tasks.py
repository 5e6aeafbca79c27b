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
UNIT_METRICS = frozenset(  # what word probes measure, see layers.py
    name
    for stack in ("encoder", "decoder")
    for name in (
        *(f"lexical_{stack}", f"lexical_{stack}_by_frequency", f"lexical_{stack}_by_tag"),
        *(f"cosine_{stack}_tokens", f"cosine_{stack}_sentences"),
    )
)
SPLITS = {"tr": "training", "va": "validation", "te": "test"}


@dataclass(frozen=True)
class Split:
    """Sentences of Moses tokens, with the number of each one's class."""

    sentences: list[str]
    labels: list[int]


@dataclass(frozen=True)
class Task:
    """One task: the names of its classes, those of the training sentences in order, and its three splits."""

    classes: list[str]
    splits: dict[str, Split]  # by SPLITS' values


def find_tasks(folder: Path) -> list[str]:
    """The tasks that a folder has a file TASK.txt of; raises UserError if it has none."""
    found = [task for task in TASKS if (folder / f"{task}.txt").is_file()]
    if not found:
        raise UserError(f"{folder}: has no probing task ({', '.join(TASKS)}: TASK.txt); set probing.tasks to theirs")
    return found


def read_task(path: Path) -> Task:
    """Read one task's file; raises UserError for an empty split and, with its number, for a line that is no example."""
    rows: dict[str, list[tuple[str, str]]] = {name: [] for name in SPLITS.values()}
    places: dict[str, int] = {}  # of each class outside training, its first line
    for number, line in enumerate(iterate_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 3 or fields[0] not in SPLITS:
            raise UserError(f"{path}: line {number} is {line[:60]!r}; it must be tr, va or te, a label and a sentence")
        rows[SPLITS[fields[0]]].append((fields[1], fields[-1]))
        if fields[0] != "tr":
            places.setdefault(fields[1], number)
    for short, name in SPLITS.items():
        if not rows[name]:
            raise UserError(f"{path}: has no line that begins with {short}, the {name} set")
    classes = sorted({label for label, _ in rows["training"]})
    if len(classes) < 2:
        raise UserError(f"{path}: all training sentences have the label {classes[0]!r}; there is nothing to tell apart")
    for label, number in places.items():
        if label not in classes:
            raise UserError(f"{path}: line {number} has the label {label!r}, which no training sentence has")
    numbers = {label: number for number, label in enumerate(classes)}
    return Task(
        classes,
        {
            name: Split([sentence for _, sentence in found], [numbers[label] for label, _ in found])
            for name, found in rows.items()
        },
    )
