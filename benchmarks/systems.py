"""The trained systems of an experiment whose decoding is compared, and the text they translate."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.files import UserError, read_parallel
from context_nmt.models.checkpoints import RUN_WEIGHTS
from context_nmt.pipeline.planning import plan
from context_nmt.settings import read_settings
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.folder import Experiment
from context_nmt.settings.model import ModelSettings
from context_nmt.settings.run_layout import run_name

ROOT = Path(__file__).parents[1]
SEED = 1


@dataclass(frozen=True)
class Systems:
    """An autoregressive system, a masked one and perhaps a second masked one, by the names of their variants."""

    experiment: Experiment
    teacher: str
    masked: str
    beside: str | None
    seed: int
    test: str

    @property
    def corpus(self) -> BinarizedCorpus:
        return BinarizedCorpus(self.experiment.binarized)

    @property
    def references(self) -> list[str]:
        """Return the raw target side of the test set; raise UserError if it is missing or shorter than the source."""
        corpus = self.experiment.settings.corpus
        sides = (self.experiment.corpus / f"{self.test}.{language}" for language in (corpus.source, corpus.target))
        return read_parallel(*sides)[1]

    def folder(self, system: str) -> Path:
        """Return the folder of a system's run."""
        return self.experiment.model(run_name(system, self.seed))

    def model(self, system: str) -> ModelSettings:
        return plan(self.experiment.settings, system).training.model.model

    def search(self, system: str) -> DecodingSettings:
        """Return the search settings of a system's plan, for the best hypothesis only."""
        return dataclasses.replace(read_settings(DecodingSettings, self.folder(system) / "decoding.json"), n_best=1)


def systems_of(
    experiment: Experiment,
    *,
    teacher: str | None = None,
    masked: str | None = None,
    beside: str | None = None,
    seed: int = SEED,
    test: str | None = None,
) -> Systems:
    """Choose systems; by default the teacher, the first masked student and, if there is one, the second.

    The test set is then the first that is not the validation set. Raise UserError for a system or test set that the
    experiment does not have, or has not trained or prepared.
    """
    settings = experiment.settings
    tests = settings.corpus.tests
    if test is None:
        test = next((name for name in tests if name != settings.corpus.validation), tests[0])
    if test not in tests:
        raise UserError(f"--test is {test!r}; {experiment.parameters} has {', '.join(tests)}")
    students = [
        student for student in settings.train.distilled if plan(settings, student).training.model.model.kind == "masked"
    ]
    teacher = teacher or _first(settings.train.teachers, experiment, "teacher", "train.teachers names none")
    masked = masked or _first(students, experiment, "masked", "train.distilled names no masked variant")
    beside = beside or next((student for student in students if student != masked), None)
    systems = Systems(experiment, teacher, masked, beside, seed, test)
    _check(systems, "teacher", teacher, "autoregressive")
    _check(systems, "masked", masked, "masked")
    if beside is not None:
        _check(systems, "beside", beside, "masked")
    if not (experiment.binarized / "training/corpus.json").is_file():
        raise UserError(f"{experiment.binarized}: not there; {_remedy(experiment)}")
    if len(systems.references) != len(systems.corpus.side(test, systems.corpus.source)):
        raise UserError(f"{experiment.binarized}: {test} is not that of {experiment.corpus}; {_remedy(experiment)}")
    return systems


def _first(found: Sequence[str], experiment: Experiment, option: str, lack: str) -> str:
    if not found:
        raise UserError(f"--{option} is missing; {experiment.parameters}: {lack}")
    return found[0]


def _check(systems: Systems, option: str, system: str, kind: str) -> None:
    experiment = systems.experiment
    if system not in experiment.settings.variants:
        known = ", ".join(experiment.settings.variants)
        raise UserError(f"--{option} is {system!r}; {experiment.parameters} has {known}")
    if (actual := systems.model(system).kind) != kind:
        raise UserError(f"--{option} is {system!r}, whose model.kind is {actual}; it must be {kind}")
    if not (systems.folder(system) / RUN_WEIGHTS).is_file():
        raise UserError(f"{systems.folder(system)}: not there; {_remedy(experiment)}")


def _remedy(experiment: Experiment) -> str:
    folder = experiment.folder.resolve()
    return f"run `make repro{'' if folder == ROOT else f' NAME={folder.name}'}` first"
