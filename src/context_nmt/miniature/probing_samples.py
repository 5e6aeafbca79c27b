"""What all probing tasks share: parsed sentences, sizes, and samples with equal classes in each split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from context_nmt.files import UserError
from context_nmt.miniature.probing_trees import Tree, parse_tree
from context_nmt.settings.miniature import ProbingSettings

SPLITS = ("tr", "va", "te")


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """English Moses tokens in their original case, their Penn Treebank tags, and the constituency tree above them."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    tree: Tree

    @classmethod
    def from_gold(cls, record: Mapping[str, Any]) -> "ParsedSentence":
        """Read the English side of a gold record; raises ValueError where tokens, tags and tree differ in length."""
        tokens, tags, tree = tuple(record["en"]["tokens"]), tuple(record["en"]["tags"]), parse_tree(record["tree"])
        if not len(tokens) == len(tags) == tree.end:
            raise ValueError(f"{len(tokens)} tokens, {len(tags)} tags, {tree.end} leaves: {' '.join(tokens)}")
        return cls(tokens, tags, tree)

    @property
    def text(self) -> str:
        """The tokens, separated by spaces."""
        return " ".join(self.tokens)


@dataclass(frozen=True, slots=True)
class Example:
    """A line of a task, without its split."""

    label: str
    text: str


Row = tuple[Example, ...]  # one example of each class
Task = dict[str, list[Example]]  # by split


def deal(rows: Sequence[Row], settings: ProbingSettings, random: Random) -> Task:
    """Shuffle rows and deal them out to the splits, as many as the settings say.

    Raises UserError when there are too few.
    """
    sizes = settings.per_class(len(rows[0])) if rows else settings.per_class(2)
    if len(rows) < sum(sizes):
        raise too_few(settings, f"{len(rows)} sentences per class, {sum(sizes)} are needed")
    shuffled = random.sample(rows, sum(sizes))
    return {
        split: flatten([shuffled.pop() for _ in range(size)], random) for split, size in zip(SPLITS, sizes, strict=True)
    }


def flatten(rows: Sequence[Row], random: Random) -> list[Example]:
    """The examples of rows, shuffled."""
    examples = [example for row in rows for example in row]
    random.shuffle(examples)
    return examples


def too_few(settings: ProbingSettings, found: str) -> UserError:
    """The error for a pool that cannot fill a task's splits."""
    sizes = f"training {settings.training}, validation {settings.validation}, test {settings.test}"
    return UserError(f"{found}; raise probing.documents ({settings.documents}) or lower its sizes ({sizes})")


def deal_classes(candidates: Mapping[str, Sequence[str]], settings: ProbingSettings, random: Random) -> Task:
    """Deal out as many classes as have enough sentences, the most frequent first; raises UserError below two."""
    labels = sorted(candidates, key=lambda label: (-len(candidates[label]), label))
    for count in range(len(labels), 1, -1):
        if has_enough(len(candidates[labels[count - 1]]), count, settings):
            chosen = sorted(labels[:count])
            columns = [random.sample(candidates[label], sum(settings.per_class(count))) for label in chosen]
            rows = [
                tuple(Example(label, text) for label, text in zip(chosen, texts, strict=True))
                for texts in zip(*columns, strict=True)
            ]
            return deal(rows, settings, random)
    found = ", ".join(f"{label}: {len(candidates[label])}" for label in labels[:4]) or "none"
    needed = sum(settings.per_class(2))
    raise too_few(settings, f"fewer than two classes have {needed} sentences ({found})")


def has_enough(sentences: int, classes: int, settings: ProbingSettings) -> bool:
    """Whether this many sentences fill one of so many classes, in each split."""
    sizes = settings.per_class(classes)
    return min(sizes) >= 1 and sentences >= sum(sizes)


def deal_forms(
    candidates: Mapping[str, Mapping[str, Sequence[str]]], settings: ProbingSettings, random: Random
) -> Task:
    """Deal out sentences by label and target word form, so that no form occurs in two splits.

    The forms of a split give equally many sentences as far as they have them: no verb or noun makes up half of it.
    Raises UserError when the sentences of a class do not fill the splits.
    """
    task: Task = {split: [] for split in SPLITS}
    sizes = settings.per_class(len(candidates))
    for label in sorted(candidates):
        for split, size, forms in zip(SPLITS, sizes, _split_forms(candidates[label], sizes, random), strict=True):
            found = sum(map(len, forms))
            if found < size:
                forms_found = len(candidates[label])
                raise too_few(
                    settings, f"class {label}, {forms_found} word forms: {split} gets {found} of {size} sentences"
                )
            task[split] += [Example(label, text) for text in _evenly(forms, size, random)]
    for examples in task.values():
        random.shuffle(examples)
    return task


def _split_forms(
    forms: Mapping[str, Sequence[str]], sizes: Sequence[int], random: Random
) -> tuple[list[Sequence[str]], ...]:
    """Give each form's sentences, the longest lists first, to the split that lacks most."""
    parts: tuple[list[Sequence[str]], ...] = tuple([] for _ in sizes)
    lacking = list(sizes)
    for form in sorted(forms, key=lambda form: (-len(forms[form]), random.random())):
        part = max(range(len(sizes)), key=lambda part: lacking[part])
        parts[part].append(forms[form])
        lacking[part] -= len(forms[form])
    return parts


def _evenly(lists: Sequence[Sequence[str]], count: int, random: Random) -> list[str]:
    """Take texts from the lists in turn, at random from each."""
    waiting = [random.sample(texts, len(texts)) for texts in lists]
    taken: list[str] = []
    while len(taken) < count:
        random.shuffle(waiting)
        waiting = [texts for texts in waiting if texts]
        taken += [texts.pop() for texts in waiting[: count - len(taken)]]
    return taken
