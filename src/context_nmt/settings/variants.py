"""The keys of one variant, and the recipe that follows from them."""

from dataclasses import dataclass, field
from typing import Any, Literal

from context_nmt.settings import Checked, require
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.model import ModelSettings, Slot, output_slots
from context_nmt.settings.text import UnitSettings
from context_nmt.settings.training import AveragingSettings, TrainingSettings


@dataclass(frozen=True, kw_only=True)
class VariantSettings(Checked):
    """One named system: the mechanisms in its slots, and its changes to the experiment's recipe.

    A slot holds a mechanism with its settings, `{mechanism: NAME, layers: [1, 2], KEY: VALUE}`, or a list of such
    entries for different layers. With `like`, an entry without `mechanism` changes settings of the other variant's.
    """

    like: str | None = None  # another variant; everything but its label is taken from it, then changed by the keys here
    label: str | None = None  # the name in tables; if unset, the variant's key
    # mechanisms by slot; a slot that is not named has plain attention
    slots: dict[Slot, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)  # changes to the keys of model
    training: dict[str, Any] = field(default_factory=dict)  # changes to the keys of training
    averaging: dict[str, Any] = field(default_factory=dict)  # changes to the keys of averaging
    decoding: dict[str, Any] = field(default_factory=dict)  # changes to the keys of decoding
    baseline: str | None = None  # the variant that tables compare it with
    # the test whose p-value marks its difference: bootstrap of compare-mt, of sacrebleu as in Moses, or the sign test
    test: Literal["bootstrap", "sacrebleu", "sign"] = "bootstrap"

    def __post_init__(self) -> None:
        require(
            not self.label or self.label.splitlines() == [self.label],
            f"label is {self.label!r}; it must be one line of text",
        )
        for slot, filling in self.slots.items():
            entries = filling if isinstance(filling, list) else [filling]
            require(
                len(entries) > 0 and all(isinstance(entry, dict) for entry in entries),
                f"slots.{slot} is {filling!r}; it must be {{mechanism: NAME, …}} or a list of such entries",
            )


@dataclass(frozen=True, kw_only=True)
class Recipe(Checked):
    """The settings of one variant: the experiment's, with the variant's changes."""

    units: UnitSettings
    slots: dict[Slot, Any]
    model: ModelSettings
    training: TrainingSettings
    averaging: AveragingSettings
    decoding: DecodingSettings

    @property
    def looking_back(self) -> list[str]:
        """The keys by which the variant sees previous sentences."""
        joined = ["model.previous_sources"] if self.model.previous_sources else []
        return [f"slots.{slot}" for slot in output_slots(self.slots)] + joined

    def __post_init__(self) -> None:
        model, training, averaging, decoding = self.model, self.training, self.averaging, self.decoding
        masked, after_stacks = model.kind == "masked", output_slots(self.slots)
        kept = training.keep_last if averaging.select == "last" else training.keep_best
        require(
            averaging.count <= kept,
            f"averaging.count is {averaging.count}, but training.keep_{averaging.select} keeps only {kept}",
        )
        beam_key = "length_beam" if masked else "beam"
        beam_size = getattr(decoding, beam_key)
        require(
            decoding.n_best <= beam_size,
            f"decoding.n_best is {decoding.n_best}; where model.kind is {model.kind}, it must be at most"
            f" decoding.{beam_key} ({beam_size})",
        )
        require(
            model.tying != "all" or bool(self.units.joint),
            "model.tying is all, but units.joint is false: one table cannot hold two vocabularies;"
            " set model.tying to decoder or none, or units.joint to true",
        )
        sentences = 1 + model.previous_sources
        longest = (model.maximum_positions - masked) // sentences - 1
        require(
            training.maximum_sentence_length <= longest or not (masked or model.positions == "learned"),
            f"training.maximum_sentence_length is {training.maximum_sentence_length}; with learned positions or a"
            f" masked model it must be at most {longest}: model.maximum_positions ({model.maximum_positions})"
            f"{f' shared by {sentences} sentences' if sentences > 1 else ''} less one for END"
            f"{' and one for length 0' if masked else ''}",
        )
        schedule = training.schedule
        require(
            schedule.kind != "cosine" or schedule.warmup < training.maximum_updates,
            f"training.schedule.warmup is {schedule.warmup}; where its kind is cosine, it must be less than"
            f" training.maximum_updates ({training.maximum_updates})",
        )
        require(
            model.kind == "autoregressive" or not after_stacks,
            f"slots.{', '.join(after_stacks)} needs model.kind autoregressive, but model.kind is {model.kind}",
        )
        require(
            bool(after_stacks) or not decoding.reference_context,
            "decoding.reference_context is true, but this variant has no slot that looks at previous sentences",
        )
