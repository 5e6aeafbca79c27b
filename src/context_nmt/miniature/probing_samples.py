"""The base of all probing tasks: parsed sentences, sizes, and samples with equal classes in each split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

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
        """Read the English side of a gold record."""
        return cls(tuple(record["en"]["tokens"]), tuple(record["en"]["tags"]), parse_tree(record["tree"]))

    @property
    def text(self) -> str:
        """The tokens, separated by spaces."""
        return " ".join(self.tokens)


class Example(NamedTuple):
    """A line of a task, without its split."""

    label: str
    text: str


Row = tuple[Example, ...]  # one example of each class
Task = dict[str, list[Example]]  # by split


class Dealer:
    """Deals sentences out to the splits of a task, equally many of each class; too few raise UserError."""

    def __init__(self, settings: ProbingSettings, random: Random):
        self.settings, self.random = settings, random

    def too_few(self, found: str) -> UserError:
        """Return the error for a pool that cannot fill a task's splits."""
        settings = self.settings
        sizes = f"training {settings.training}, validation {settings.validation}, test {settings.test}"
        return UserError(f"{found}; raise probing.documents ({settings.documents}) or lower its sizes ({sizes})")

    def has_enough(self, sentences: int, classes: int) -> bool:
        """Return whether this many sentences are enough, in each split, for one of so many classes."""
        sizes = self.settings.per_class(classes)
        return min(sizes) >= 1 and sentences >= sum(sizes)

    def flatten(self, rows: Sequence[Row]) -> list[Example]:
        """Return the examples of rows, shuffled."""
        examples = [example for row in rows for example in row]
        self.random.shuffle(examples)
        return examples

    def deal(self, rows: Sequence[Row]) -> Task:
        """Shuffle rows and deal them out, as many as the settings say."""
        sizes = self.settings.per_class(len(rows[0]) if rows else 2)
        if len(rows) < sum(sizes):
            raise self.too_few(f"{len(rows)} sentences per class, {sum(sizes)} are needed")
        shuffled = self.random.sample(rows, sum(sizes))
        return {
            split: self.flatten([shuffled.pop() for _ in range(size)])
            for split, size in zip(SPLITS, sizes, strict=True)
        }

    def deal_classes(self, candidates: Mapping[str, Sequence[str]]) -> Task:
        """Deal out as many classes as have enough sentences, the most frequent first, and at least two."""
        labels = sorted(candidates, key=lambda label: (-len(candidates[label]), label))
        for count in range(len(labels), 1, -1):
            if self.has_enough(len(candidates[labels[count - 1]]), count):
                size = sum(self.settings.per_class(count))
                columns = [
                    [Example(label, text) for text in self.random.sample(candidates[label], size)]
                    for label in sorted(labels[:count])
                ]
                return self.deal(list(zip(*columns, strict=True)))
        counts = ", ".join(f"{label}: {len(candidates[label])}" for label in labels[:4]) or "none"
        needed = sum(self.settings.per_class(2))
        raise self.too_few(f"fewer than two classes have {needed} sentences ({counts})")

    def deal_forms(self, candidates: Mapping[str, Mapping[str, Sequence[str]]]) -> Task:
        """Deal out sentences by label and target word form, so that no form occurs in two splits.

        The forms of a split give equally many sentences, as far as they can, so that none makes up half of the split.
        """
        if len(candidates) < 2:
            raise self.too_few(f"fewer than two classes ({', '.join(candidates) or 'none'})")
        task: Task = {split: [] for split in SPLITS}
        sizes = self.settings.per_class(len(candidates))
        for label in sorted(candidates):
            forms_by_split = self._split_forms(candidates[label], sizes)
            for split, size, forms in zip(SPLITS, sizes, forms_by_split, strict=True):
                available = sum(map(len, forms))
                if available < size:
                    description = f"class {label}, {len(candidates[label])} word forms"
                    raise self.too_few(f"{description}: {split} gets {available} of {size} sentences")
                task[split] += [Example(label, text) for text in self._evenly(forms, size)]
        for examples in task.values():
            self.random.shuffle(examples)
        return task

    def _split_forms(self, forms: Mapping[str, Sequence[str]], sizes: Sequence[int]) -> list[list[Sequence[str]]]:
        """Give each form's sentences, the longest lists first, to the split that lacks most sentences."""
        forms_by_split: list[list[Sequence[str]]] = [[] for _ in sizes]
        lacking = list(sizes)
        for form in sorted(forms, key=lambda form: (-len(forms[form]), self.random.random())):
            split_index = lacking.index(max(lacking))
            forms_by_split[split_index].append(forms[form])
            lacking[split_index] -= len(forms[form])
        return forms_by_split

    def _evenly(self, lists: Sequence[Sequence[str]], count: int) -> list[str]:
        """Take texts from the lists in turn, at random from each."""
        remaining = [self.random.sample(texts, len(texts)) for texts in lists]
        taken: list[str] = []
        while len(taken) < count:
            self.random.shuffle(remaining)
            remaining = [texts for texts in remaining if texts]
            taken += [texts.pop() for texts in remaining[: count - len(taken)]]
        return taken
