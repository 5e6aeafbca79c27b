"""An experiment as its evaluation sees it: what text there is, and how it became tokens."""

from functools import cached_property
from pathlib import Path

from context_nmt.checking import read_settings
from context_nmt.layout import Layout
from context_nmt.settings.text import TextPlan


class Evaluated(Layout):
    """A folder with metrics/plans/text.json; no other key of params.yaml concerns these stages."""

    @cached_property
    def settings(self) -> TextPlan:
        """What the plan stage has written; raises UserError."""
        return read_settings(TextPlan, self.stage_plan("text"))

    @property
    def corpus(self) -> Path:
        """The folder of raw text."""
        return self.data(self.settings.corpus.name)
