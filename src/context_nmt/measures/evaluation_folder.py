"""The folder of an experiment and its settings, for the stages that score and analyse translations."""

from functools import cached_property
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, read_json
from context_nmt.settings.checking import read_plan
from context_nmt.settings.evaluation import EvaluationPlan
from context_nmt.settings.layout import Layout


class EvaluationFolder(Layout):
    """A folder with metrics/plans/text.json; these stages read no other key of params.yaml."""

    @cached_property
    def settings(self) -> EvaluationPlan:
        """Read the corpus and text settings that the plan stage wrote; raise UserError."""
        return read_plan(EvaluationPlan, self.stage_plan("text"))

    @property
    def corpus(self) -> Path:
        """The folder of raw text."""
        return self.data(self.settings.corpus.name)

    def read_pairs(self, variant: str) -> tuple[list[int], dict[str, Any]]:
        """Return the seeds and pairs of a variant, see `write_pairs`; raise UserError for a variant without pairs."""
        path = self.pairs(variant)
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
            raise UserError(f"no variant {variant!r} in {path.parent}; there are {known}. The pair stage writes them")
        pairs = read_json(path)
        return [int(seed) for seed in pairs["runs"]], pairs
