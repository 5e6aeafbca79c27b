"""Reads a whole params.yaml."""

from pathlib import Path

from context_nmt.checking import check, read_yaml
from context_nmt.settings.experiment import ExperimentSettings


def read_parameters(path: Path) -> ExperimentSettings:
    """Read and check a whole params.yaml; raises UserError."""
    return check(ExperimentSettings, read_yaml(path), where=str(path))
