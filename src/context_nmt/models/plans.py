"""Fully resolved plans of variants, which training reads instead of params.yaml."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from context_nmt.files import UserError, write_json
from context_nmt.settings import Checked, check, read_plan
from context_nmt.settings.model import CONCATENATION_KEYS, ModelSettings, TrainingSettings, output_slots

KINDS = "context_nmt.models.kinds"  # the package of the module for a kind, which is loaded by name
VALIDATION = "context_nmt.decoding.validation"  # loaded by name where a plan has training.validation_bleu
CAPTURING = "context_nmt.training.capturing"  # the same for training.cuda_graphs


@dataclass(frozen=True, kw_only=True)
class Filling(Checked):
    """The mechanism in one slot of one layer, and its settings."""

    mechanism: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelPlan(Checked):
    """A model except for its vocabularies."""

    model: ModelSettings
    slots: dict[str, tuple[Filling, ...]]  # slot -> its fillings, layer by layer

    @property
    def kind_module(self) -> str:
        """The module of the model's kind, which is `document` if a slot reads previous sentences."""
        if output_slots(self.slots):
            return f"{KINDS}.document"
        return f"{KINDS}.{'masked' if self.model.kind == 'masked' else 'autoregressive'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers of joined sentences are left out if 0."""
        model = {key: value for key, value in asdict(self.model).items() if value or key not in CONCATENATION_KEYS}
        return asdict(self) | {"model": model}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelPlan":
        """Invert `to_dict`; raise UserError for values that are not a plan of this version."""
        try:
            return check(cls, values, where="")
        except UserError as error:
            raise UserError(f"not the plan of a model ({error})") from None


@dataclass(frozen=True, kw_only=True)
class TrainingPlan(Checked):
    """A model and its training settings, metrics/plans/VARIANT/training.json."""

    model: ModelPlan
    training: TrainingSettings
    code: dict[str, str] = field(default_factory=dict, compare=False)  # digests of the modules that are loaded by name

    def write(self, path: Path, code: dict[str, str]) -> None:
        """Write the plan as JSON, with the digests of the modules that are loaded by name."""
        write_json(path, {"model": self.model.to_dict(), "training": asdict(self.training), "code": code})

    @classmethod
    def read(cls, path: Path) -> "TrainingPlan":
        """Read a plan; raise UserError if the file is missing or not a plan of this version."""
        return read_plan(cls, path)
