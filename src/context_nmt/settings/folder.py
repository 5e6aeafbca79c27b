"""One experiment as its params.yaml describes it, for what plans, reports and compares."""

from functools import cached_property
from pathlib import Path

from context_nmt.files import UserError
from context_nmt.settings.layout import Layout
from context_nmt.settings.parameters import ExperimentSettings, read_parameters


def experiment_folder(given: Path) -> Path:
    """The folder of an experiment that is given as it is or by its name in `experiments/`; raises UserError."""
    for folder in (given, "experiments" / given):
        if (folder / "params.yaml").is_file():
            return folder
    known = ", ".join(sorted(path.parent.name for path in Path("experiments").glob("*/params.yaml")))
    raise UserError(f"{given}: no experiment (no params.yaml); in experiments/ there are {known or 'none'}")


class Experiment(Layout):
    """A folder with a params.yaml. Stages that run on plans take a `Layout`: no other key concerns them."""

    @cached_property
    def settings(self) -> ExperimentSettings:
        """The checked params.yaml; raises UserError."""
        return read_parameters(self.parameters)

    @property
    def corpus(self) -> Path:
        """The folder of raw text."""
        return self.data(self.settings.corpus.name)

    @property
    def speeds(self) -> Path:
        """How fast variants are, `ROOT/benchmarks/variants.json`."""
        return self.folder / self.settings.root / "benchmarks" / "variants.json"
