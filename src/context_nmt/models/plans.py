"""A variant as training reads it, fully resolved: training needs no params.yaml."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, write_json
from context_nmt.settings import Checked, check, read_plan
from context_nmt.settings.model import JOINED, ModelSettings, TrainingSettings, output_slots

KINDS = "context_nmt.models.kinds"  # one of its modules is loaded by name
VALIDATION = "context_nmt.decoding.validation"  # loaded by name where a plan has training.validation_bleu


@dataclass(frozen=True, kw_only=True)
class Filling(Checked):
    """The mechanism in one slot of one layer, and its settings."""

    mechanism: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelPlan(Checked):
    """A model without its vocabularies."""

    model: ModelSettings
    slots: dict[str, tuple[Filling, ...]]  # slot -> its fillings, layer by layer

    @property
    def kind_module(self) -> str:
        """Return the module of the model's kind, which is `document` if a slot looks at previous sentences."""
        if output_slots(self.slots):
            return f"{KINDS}.document"
        return f"{KINDS}.{'masked' if self.model.kind == 'masked' else 'autoregressive'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without numbers of joined sentences that are 0."""
        model = {key: value for key, value in asdict(self.model).items() if value or key not in JOINED}
        return asdict(self) | {"model": model}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelPlan":
        """Undo `to_dict`; raise UserError for values that no plan of this version has."""
        try:
            return check(cls, values, where="")
        except UserError as error:
            raise UserError(f"not the plan of a model ({error})") from None


@dataclass(frozen=True, kw_only=True)
class TrainingPlan(Checked):
    """A model and its recipe, metrics/plans/VARIANT/training.json."""

    model: ModelPlan
    training: TrainingSettings
    code: dict[str, str] = field(default_factory=dict, compare=False)  # digests of the modules that are loaded by name

    def write(self, path: Path, code: dict[str, str]) -> None:
        """Write the plan as JSON, with the digests of the modules that are loaded by name."""
        write_json(path, {"model": self.model.to_dict(), "training": asdict(self.training), "code": code})

    @classmethod
    def read(cls, path: Path) -> "TrainingPlan":
        """Read a plan; raise UserError for a missing file and for values that no plan of this version has."""
        return read_plan(cls, path)
