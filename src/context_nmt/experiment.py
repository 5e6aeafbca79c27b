"""One experiment as its params.yaml describes it, for what plans, reports and compares."""

from functools import cached_property
from pathlib import Path

from context_nmt.layout import Layout
from context_nmt.parameters import read_parameters
from context_nmt.settings.experiment import ExperimentSettings


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
