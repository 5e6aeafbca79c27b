"""An experiment's folder and settings, for the stages that score and analyse translations."""

from typing import Any

from context_nmt.files import UserError, read_json
from context_nmt.measures.scored_text import TextFolder
from context_nmt.settings.layout import Layout


class EvaluationFolder(TextFolder, Layout):
    """An experiment whose settings are those of metrics/plans/text.json; these stages do not read params.yaml."""

    def read_pairs(self, system: str) -> tuple[list[int], dict[str, Any]]:
        """Return the seeds and pairs of a system, see `system_pairs`; raise UserError for a system without pairs."""
        path = self.pairs(system)
        if not path.is_file():
            systems = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
            raise UserError(f"no system {system!r} in {path.parent}; there are {systems}. The pair stage writes them")
        pairs = read_json(path)
        return [int(seed) for seed in pairs["runs"]], pairs
