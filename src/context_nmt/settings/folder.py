"""One experiment with its params.yaml, for planning, reports and comparisons."""

from functools import cached_property
from pathlib import Path

from context_nmt.files import UserError
from context_nmt.settings.checking import some_names
from context_nmt.settings.layout import Layout
from context_nmt.settings.parameters import ExperimentSettings, read_parameters


def experiment_folder(given: Path) -> Path:
    """Return an experiment's folder from its path or its name in `experiments/`; raise UserError if there is none."""
    for folder in (given, "experiments" / given):
        if (folder / "params.yaml").is_file():
            return folder
    known = sorted(path.parent.name for path in Path("experiments").glob("*/params.yaml"))
    names = some_names(given.name, known) or "none"
    raise UserError(f"{given}: no experiment (no params.yaml); in experiments/ there are {names}")


class Experiment(Layout):
    """A folder with a params.yaml. Stages that run on plans take a `Layout`, since they need no other key."""

    @cached_property
    def settings(self) -> ExperimentSettings:
        """The checked params.yaml; raise UserError if it is wrong."""
        return read_parameters(self.parameters)

    @property
    def corpus(self) -> Path:
        """The folder of raw text."""
        return self.data(self.settings.corpus.name)

    @property
    def speeds(self) -> Path:
        """The measured speeds of variants, `ROOT/benchmarks/variants.json`."""
        return self.folder / self.settings.root / "benchmarks" / "variants.json"
