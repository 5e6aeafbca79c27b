"""Resolves a params.yaml into what each stage is told; after it only pair, report and focus read params.yaml."""

import dataclasses
from typing import Any, TypeVar, get_args

import torch

from context_nmt.code_closure import named_digest
from context_nmt.corpus.catalogue import read_entry
from context_nmt.corpus.download import code_of
from context_nmt.files import UserError, write_json
from context_nmt.models import mechanisms
from context_nmt.models.building import build
from context_nmt.models.plans import VALIDATION, Filling, ModelPlan, TrainingPlan
from context_nmt.settings.checking import check, unknown_key
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.experiment import ExperimentSettings
from context_nmt.settings.folder import Experiment
from context_nmt.settings.model import LayerSlot, ModelSettings, OutputSlot
from context_nmt.settings.text import UnitSettings
from context_nmt.settings.training import AveragingSettings, TrainingSettings

Settings = TypeVar("Settings")

PLAIN = "multi_head_attention"
VOCABULARY = 100  # of models that are built without weights


@dataclasses.dataclass(frozen=True, kw_only=True)
class VariantPlan:
    """One variant, resolved."""

    training: TrainingPlan
    averaging: AveragingSettings
    decoding: DecodingSettings


def write_plans(experiment: Experiment) -> None:
    """Resolve every variant and write all plans; all are resolved before the first is written."""
    settings = experiment.settings
    root = experiment.folder / settings.root
    plans = {variant: plan(settings, variant) for variant in settings.variants}
    for variant, resolved in plans.items():
        try:
            build_without_weights(resolved.training.model)
        except UserError as error:
            raise UserError(f"params.yaml: variants.{variant}: {error}") from None
    for teacher in settings.train.teachers:
        if plans[teacher].training.model.model.kind != "autoregressive":
            raise UserError(
                f"params.yaml: train.teachers: {teacher} is a masked model; a teacher translates by beam search"
            )
        if behind := sorted(set(plans[teacher].training.model.slots) & set(get_args(OutputSlot))):
            raise UserError(
                f"params.yaml: train.teachers: {teacher} fills {behind[0]}; a teacher translates sentences one by one"
            )
    entries = {name: read_entry(root / "data" / "params.yaml", name) for name in settings.download}
    corpus = dataclasses.asdict(settings.corpus)
    probing = settings.probing
    scripts = " ".join(side.script or "" for side in (settings.text.source, settings.text.target)).split()
    own = {word: named_digest(root, word) for word in scripts if word.startswith("context_nmt.")}
    told = {
        "text": {"corpus": corpus, "text": dataclasses.asdict(settings.text), **({"code": own} if own else {})},
        "units": {"corpus": corpus, "units": dataclasses.asdict(settings.units)},
        "significance": dataclasses.asdict(settings.significance),
        "probe_sentences": {"tasks": probing.tasks, "classifier": dataclasses.asdict(probing.sentence_classifier)},
        "probe_words": dataclasses.asdict(probing.word_classifier),
    }
    for name, values in told.items():
        write_json(experiment.stage_plan(name), values)
    for name, entry in entries.items():
        module = code_of(entry)
        code = {module: named_digest(root, module)}
        write_json(experiment.data_plan(name), {"entry": dataclasses.asdict(entry), "code": code})
    for variant, resolved in plans.items():
        code = {module: named_digest(root, module) for module in loaded_by_name(resolved.training)}
        resolved.training.write(experiment.plan(variant, "training"), code)
        write_json(experiment.plan(variant, "averaging"), dataclasses.asdict(resolved.averaging))
        write_json(experiment.plan(variant, "decoding"), dataclasses.asdict(resolved.decoding))


def build_without_weights(model: ModelPlan) -> None:
    """Raise UserError for a model that cannot be built."""
    with torch.device("meta"):
        build(model, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)


def loaded_by_name(plan: TrainingPlan) -> list[str]:
    """What a training loads by name: mechanisms, the kind of model, and validation BLEU if the plan asks for it."""
    used = {filling.mechanism for layers in plan.model.slots.values() for filling in layers}
    names = [*(mechanisms.module(name) for name in sorted(used)), plan.model.kind_module]
    return [*names, VALIDATION] if plan.training.validation_bleu else names


def plan(experiment: ExperimentSettings, variant: str) -> VariantPlan:
    """Resolve one variant; raises UserError that names the key of params.yaml."""
    where = f"params.yaml: variants.{variant}"
    chosen = experiment.variants[variant]
    model = _override(experiment.model, chosen.model, f"{where}.model")
    training = _override(experiment.training, chosen.training, f"{where}.training")
    averaging = _override(experiment.averaging, chosen.averaging, f"{where}.averaging")
    kept = training.keep_last if averaging.select == "last" else training.keep_best
    if averaging.count > kept:
        raise UserError(
            f"{where}: averaging.count is {averaging.count}, but training.keep_{averaging.select} keeps only {kept}"
        )
    decoding = _override(experiment.decoding, chosen.decoding, f"{where}.decoding")
    name = "length_beam" if model.kind == "masked" else "beam"
    if decoding.n_best > getattr(decoding, name):
        raise UserError(
            f"{where}: decoding.n_best is {decoding.n_best}; with kind {model.kind} it must be at most"
            f" decoding.{name} ({getattr(decoding, name)})"
        )
    if variant in experiment.rescored and decoding.length_beam == 1:
        raise UserError(f"{where}: decoding.length_beam is 1; under rescored the teacher needs more to choose among")
    _check_together(experiment.units, model, training, where)
    behind = sorted(set(chosen.slots) & set(get_args(OutputSlot)))
    if behind and model.kind == "masked":
        raise UserError(f"{where}.slots.{behind[0]}: only kind autoregressive has this slot; model.kind is masked")
    if decoding.reference_context and not behind:
        raise UserError(
            f"{where}: decoding.reference_context is true, but nothing in its slots looks at previous sentences"
        )
    slots: dict[str, tuple[Filling, ...]] = {
        slot: _fill(slot, chosen.slots.get(slot, {"mechanism": PLAIN}), model, f"{where}.slots.{slot}")
        for slot in (*get_args(LayerSlot), *chosen.slots)
    }
    return VariantPlan(
        training=TrainingPlan(model=ModelPlan(model=model, slots=slots), training=training),
        averaging=averaging,
        decoding=decoding,
    )


def _check_together(units: UnitSettings, model: ModelSettings, training: TrainingSettings, where: str) -> None:
    """Refuse settings that are right alone and wrong together."""
    if model.tying == "all" and not units.joint:
        raise UserError(
            f"{where}: model.tying is all, but units.joint is false: one table cannot hold two vocabularies;"
            " set model.tying to decoder or none, or units.joint to true"
        )
    limited = model.positions == "learned" or model.kind == "masked"
    taken = 2 if model.kind == "masked" else 1
    if limited and training.maximum_sentence_length > model.maximum_positions - taken:
        raise UserError(
            f"{where}: training.maximum_sentence_length is {training.maximum_sentence_length}; with learned positions,"
            f" or kind masked, it must be at most model.maximum_positions ({model.maximum_positions}) less {taken}:"
            f" END takes one{' and length 0 another' if taken == 2 else ''}"
        )
    if training.schedule.kind == "cosine" and training.schedule.warmup >= training.maximum_updates:
        raise UserError(
            f"{where}: training.schedule.warmup is {training.schedule.warmup}; with kind cosine it must be below"
            f" training.maximum_updates ({training.maximum_updates})"
        )


def _override(base: Settings, changes: dict[str, Any], where: str) -> Settings:
    """The base settings with some keys changed, checked again as a whole."""
    return check(type(base), _merged(dataclasses.asdict(base), changes), where=where)  # type: ignore[call-overload]


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    both = {key for key, value in changes.items() if isinstance(value, dict) and isinstance(base.get(key), dict)}
    nested = {key: _merged(base[key], changes[key]) for key in both}
    return {**base, **changes, **nested}


def _fill(
    slot: str, given: dict[str, Any] | list[dict[str, Any]], model: ModelSettings, where: str
) -> tuple[Filling, ...]:
    """Spread one slot's entry, or list of entries, over the layers; plain attention fills those that none picks."""
    count = model.encoder_layers if slot.startswith("encoder") else model.decoder_layers
    if slot in get_args(OutputSlot):
        count = 1
        if not isinstance(given, dict) or "layers" in given:
            raise UserError(f"{where}: one mechanism sits behind a stack, {{mechanism: NAME, …}} without layers")
    fillings: dict[int, Filling] = {}
    entries = {f"{where}[{i}]": one for i, one in enumerate(given)} if isinstance(given, list) else {where: given}
    for key, entry in entries.items():
        filled = _fillings(slot, entry, count, key)
        twice = sorted(set(filled) & set(fillings))
        if twice:
            raise UserError(f"{key}.layers: another entry of this slot fills {twice}, too; give each its own layers")
        fillings |= filled
    return tuple(fillings.get(layer, Filling(mechanism=PLAIN)) for layer in range(1, count + 1))


def _fillings(slot: str, entry: dict[str, Any], count: int, where: str) -> dict[int, Filling]:
    """What one entry puts into which layers: `layers` picks some, a list gives a value per picked layer."""
    options = dict(entry)
    name = options.pop("mechanism", None)
    if not isinstance(name, str):
        raise UserError(f"{where}.mechanism: this key is required; there are {', '.join(mechanisms.names())}")
    try:
        mechanism = mechanisms.load(name)
    except UserError as error:
        raise UserError(f"{where}.mechanism: {error}") from None
    if slot not in mechanism.SLOTS:
        raise UserError(f"{where}.mechanism: {name} does not fit this slot; it accepts {', '.join(mechanism.SLOTS)}")
    layers = options.pop("layers", list(range(1, count + 1)))
    if not _are_layers(layers, count):
        raise UserError(f"{where}.layers: {layers!r} is not a list of different layers of 1..{count}")
    _refuse_unknown(options, [field.name for field in dataclasses.fields(mechanism.Settings)], where)
    fillings = {}
    for index, layer in enumerate(layers):
        settings = {key: _of_layer(value, index, len(layers), f"{where}.{key}") for key, value in options.items()}
        checked = dataclasses.asdict(check(mechanism.Settings, settings, where=where))
        fillings[layer] = Filling(mechanism=name, settings=checked)
    return fillings


def _are_layers(layers: Any, count: int) -> bool:
    if not isinstance(layers, list) or not layers or any(type(layer) is not int for layer in layers):
        return False
    return set(layers) <= set(range(1, count + 1)) and len(set(layers)) == len(layers)


def _refuse_unknown(options: dict[str, Any], settings: list[str], where: str) -> None:
    known = ["mechanism", "layers", *settings]
    for key in options:
        if key not in known:
            raise UserError(f"{where}.{key}: {unknown_key(key, known)}")


def _of_layer(value: Any, index: int, count: int, where: str) -> Any:
    if not isinstance(value, list):
        return value
    if len(value) != count:
        raise UserError(f"{where}: a list gives one value per layer: {count} are needed, {len(value)} given ({value})")
    return value[index]
