"""Who trains from whom: the stage and the variants that a variant's training needs."""

from collections.abc import Iterable
from typing import NamedTuple

from context_nmt.settings.parameters import ExperimentSettings, TrainSettings


class Training(NamedTuple):
    """How a variant is trained: the stage of dvc.yaml, the variant it starts from, and that whose output it learns."""

    stage: str
    start: str | None = None
    teacher: str | None = None


def training_of(train: TrainSettings, variant: str) -> Training:
    """Return how `train` in params.yaml has a variant trained."""
    if variant in train.distilled:
        return Training("train_distilled", teacher=train.teachers[0])
    if variant in train.document:
        return Training("train_document", start=train.document_start)
    if variant in train.continued:
        return Training("train_continued", start=train.continued_start)
    return Training("train")


def with_lineage(settings: ExperimentSettings, variants: Iterable[str]) -> set[str]:
    """Return the variants with all that they start from, learn from or are compared with, and so on."""
    needed, left = set[str](), [*variants]
    while left:
        if (name := left.pop()) not in needed:
            needed.add(name)
            _, start, teacher = training_of(settings.train, name)
            teachers = settings.train.teachers if name in settings.rescored else ()
            left += filter(None, (settings.variants[name].baseline, start, teacher, *teachers))
    return needed
