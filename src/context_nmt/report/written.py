"""An experiment as its report stage has written it, however much of it has run by now."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from context_nmt.files import read_json
from context_nmt.results.flat import read_flat
from context_nmt.results.speeds import Speeds, read_speeds
from context_nmt.results.table import Difference
from context_nmt.settings.experiment import ExperimentSettings
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name

OLDER = {"kind": "autoregressive"}  # what models.json did not say before there were others


@dataclass(frozen=True)
class Written:
    """The rows of results.csv and analyses.csv, for the variants of params.yaml that models.json describes."""

    experiment: Experiment
    name: str  # of its folder under experiments/; empty for the experiment that the report is of
    command: str  # brings it up to date, from the folder of the project
    models: dict[str, dict[str, Any]]
    speeds: Speeds
    rows: dict[tuple[str, str, str], dict[str, str]]  # by variant, test set and metric

    @property
    def settings(self) -> ExperimentSettings:
        return self.experiment.settings

    @property
    def test_sets(self) -> list[str]:
        return [*self.settings.corpus.tests, *self.settings.corpus.groups]

    @property
    def probing_sets(self) -> list[str]:
        return [self.settings.probing.tasks] if self.settings.probing.tasks else []

    @property
    def contrastive_sets(self) -> list[str]:
        return list(self.settings.corpus.contrastive)

    @property
    def title(self) -> str:
        """Corpus, direction, the experiment's name where it is another one, and seeds."""
        corpus, seeds = self.settings.corpus, ", ".join(map(str, self.settings.seeds))
        own = f" ({self.name})" if self.name and self.name != f"{corpus.name}-{corpus.source}-{corpus.target}" else ""
        return f"{corpus.name} {corpus.source}-{corpus.target}{own}, {'seeds' if ',' in seeds else 'seed'} {seeds}"

    @property
    def recipe(self) -> tuple[object, ...]:
        """Corpus and settings that all variants start from; equal ones can be compared."""
        settings = self.settings
        corpus = settings.corpus
        return (
            *(corpus.name, corpus.source, corpus.target, corpus.train, settings.text, settings.units),
            *(settings.model, settings.training, settings.averaging, settings.decoding),
        )

    @cached_property
    def _measured(self) -> set[tuple[str, str]]:
        return {(test_set, metric) for variant, test_set, metric in self.rows if variant in self.models}

    def has(self, test_set: str, metric: str) -> bool:
        """Whether any variant has this metric or measure on a test set."""
        return (test_set, metric) in self._measured

    def summary(self, variant: str, test_set: str, metric: str) -> dict[str, Any] | None:
        """Mean, sample standard deviation (0 for a single seed) and number of seeds."""
        row = self.rows.get((variant, test_set, metric))
        if row is None or variant not in self.models:
            return None
        return {"mean": float(row["mean"]), "deviation": float(row["deviation"]), "seeds": int(row["seeds"])}

    def difference(self, variant: str, test_set: str, metric: str) -> Difference | None:
        """The gain over the variant's baseline of params.yaml; None if another one, or none, was compared with."""
        row = self.rows.get((variant, test_set, metric))
        if row is None or not row["difference"] or row["baseline"] != self.settings.variants[variant].baseline:
            return None
        ends = row["interval_low"], row["interval_high"]
        interval = (float(ends[0]), float(ends[1])) if all(ends) else None
        return Difference(float(row["difference"]), interval, float(row["p"]) if row["p"] else None)

    def signatures(self, metric: str) -> list[str]:
        """Every signature that a metric's scores carry."""
        return sorted(self._signatures.get(metric, ()))

    @cached_property
    def _signatures(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in self._score_files():
            for scores in read_flat(path).values() if path.is_file() else ():
                for metric, score in scores.items():
                    if score["signature"]:
                        found.setdefault(metric, set()).add(score["signature"])
        return found

    def _score_files(self) -> Iterator[Path]:
        for variant in self.models:
            for seed in self.settings.seeds:
                run = run_name(variant, seed)
                yield from (place(run) for place in self._places())

    def _places(self) -> tuple[Callable[[str], Path], ...]:
        return self.experiment.scores, self.experiment.contrastive, self.experiment.discourse


def read_written(experiment: Experiment, name: str, command: str) -> Written:
    """Read what stands under metrics/ of an experiment; raises UserError for a broken file."""
    path = experiment.metrics / "models.json"
    models = read_json(path) if path.is_file() else {}
    rows = {
        (row["variant"], row["test_set"], row["metric"]): row
        for table in ("results.csv", "analyses.csv")
        for row in _read_csv(experiment.metrics / table)
    }
    return Written(
        experiment=experiment,
        name=name,
        command=command,
        models={variant: OLDER | models[variant] for variant in experiment.settings.variants if variant in models},
        speeds=read_speeds(experiment.speeds),
        rows=rows,
    )


def read_all(experiment: Experiment) -> list[Written]:
    """Read an experiment and those in experiments/ below it, of which the default one, at the root, has some."""
    place = experiment.parameters.resolve().parent
    root = (place / experiment.settings.root).resolve()
    first = read_written(experiment, "", _command(place, root))
    others = sorted(path.parent for path in (experiment.folder / "experiments").glob("*/params.yaml"))
    return [first, *(read_written(Experiment(folder), folder.name, _command(folder, root)) for folder in others)]


def _command(folder: Path, root: Path) -> str:
    inside = folder.resolve().relative_to(root)
    return f"make repro NAME={inside.name}" if inside.parts else "make repro"


def _read_csv(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
