"""The graph of an experiment's stages, as DVC sees them, and the part of it that some variants need."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from pathlib import Path

from context_nmt.files import UserError
from context_nmt.results.out_of_date import training_of
from context_nmt.settings.parameters import ExperimentSettings


@dataclass(frozen=True)
class Stage:
    """One stage of a dvc.yaml; paths are absolute."""

    name: str
    changed: bool  # apart from files that are only missing
    dependencies: tuple[str, ...]
    outputs: tuple[str, ...]
    upstream: frozenset[str]


def read_stages(folder: Path) -> dict[str, Stage]:
    """Return the stages of `folder/dvc.yaml`, as DVC sees them, in an order in which they can run."""
    from dvc.dependency import ParamsDependency  # this import takes most of a second
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    logging.getLogger("dvc.progress").setLevel(logging.CRITICAL)  # no bars of DVC's own, which the display would garble
    try:
        with Repo(str(folder.resolve()), _wait_for_lock=True) as repo, repo.lock:
            own_stages = {stage for stage in repo.index.stages if stage.path == str(folder.resolve() / "dvc.yaml")}
            stages = {}
            for stage in own_stages:
                upstream = list(repo.index.graph.successors(stage))
                stages[stage.name] = Stage(
                    name=stage.name,
                    changed=stage.changed(allow_missing=True, upstream=upstream),
                    dependencies=tuple(dep.fs_path for dep in stage.deps if not isinstance(dep, ParamsDependency)),
                    outputs=tuple(out.fs_path for out in stage.outs),
                    upstream=frozenset(dependency.name for dependency in upstream if dependency in own_stages),
                )
    except DvcException as error:
        raise UserError(f"{folder}: DVC: {error}") from None
    except FileNotFoundError as error:  # a link that leads nowhere
        raise UserError(f"{error.filename}: no such file or folder; is its disk mounted?") from None
    order = TopologicalSorter({name: stages[name].upstream for name in sorted(stages)}).static_order()
    return {name: stages[name] for name in order}


def stages_of(variants: Collection[str], stages: dict[str, Stage], settings: ExperimentSettings) -> dict[str, Stage]:
    """Return the stages of some variants, and of those that they start from, learn from or are compared with.

    Stages of all variants, such as the report, stay and run on what there is.
    """
    train, needed, left = settings.train, set[str](), [*variants]
    while left:
        needed.add(name := left.pop())
        _, start, teacher = training_of(train, name)
        teachers = train.teachers if name in settings.rescored else ()
        sources = {settings.variants[name].baseline, start, teacher, *teachers}
        left += [source for source in sources if source and source not in needed]
    taught = needed if needed & set(train.distilled) else set[str]()
    names = []
    for name in stages:
        stage, _, item = name.partition("@")
        own = _items(stage, taught if stage == "distill" else needed, settings)
        if item in own or item not in _items(stage, settings.variants, settings):
            names.append(name)
    return {name: replace(stages[name], upstream=stages[name].upstream & set(names)) for name in names}


def _items(stage: str, variants: Iterable[str], settings: ExperimentSettings) -> set[str]:
    """Return what a matrix stage has after @ for some variants: VARIANT, VARIANT-SEED or VARIANT-SEED-TEACHER."""
    if stage in ("distill", "significance"):
        return set(variants)
    runs = {f"{name}-{seed}" for name in variants for seed in settings.seeds}
    return runs | {f"{run}-{teacher}" for run in runs for teacher in settings.train.teachers}
