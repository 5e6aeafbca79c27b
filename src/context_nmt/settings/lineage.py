"""Which variants a variant needs: the one that it starts from, those that it learns from, and its baseline."""

from collections.abc import Iterable

from context_nmt.settings.parameters import ExperimentSettings


def start_of(settings: ExperimentSettings, variant: str) -> str | None:
    """Return the variant whose run a variant's training starts from."""
    train = settings.train
    if variant in train.document:
        return train.document_start
    return train.continued_start if variant in train.continued else None


def teachers_of(settings: ExperimentSettings, variant: str) -> tuple[str, ...]:
    """Return the variants whose translations a variant is trained on, or which choose among its own."""
    return settings.train.teachers if variant in (*settings.train.distilled, *settings.rescored) else ()


def with_lineage(settings: ExperimentSettings, variants: Iterable[str]) -> set[str]:
    """Return the variants with all that they start from, learn from or are compared with, and so on."""
    needed, left = set[str](), [*variants]
    while left:
        if (name := left.pop()) not in needed:
            needed.add(name)
            sources = (settings.variants[name].baseline, start_of(settings, name), *teachers_of(settings, name))
            left += filter(None, sources)
    return needed
