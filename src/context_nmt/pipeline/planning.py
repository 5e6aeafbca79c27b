"""Resolve params.yaml into plans, one file for each stage; of the later stages, only pair, report and focus read it."""

import dataclasses
from typing import Any, get_args

import torch

from context_nmt.code_closure import named_digest
from context_nmt.corpus.catalogue import entry_values, read_entry
from context_nmt.corpus.download import corpus_modules
from context_nmt.files import UserError, write_json
from context_nmt.models import mechanisms
from context_nmt.models.building import build
from context_nmt.models.checkpoints import load_compatible_weights, weights_of
from context_nmt.models.model import Model
from context_nmt.models.plans import CAPTURING, VALIDATION, Filling, ModelPlan, TrainingPlan
from context_nmt.settings import Checked, check, unknown_key
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.model import AveragingSettings, LayerSlot, ModelSettings, ModelSlot
from context_nmt.settings.parameters import Experiment, ExperimentSettings, training_of

VOCABULARY_SIZE = 100  # of models that are built without weights


@dataclasses.dataclass(frozen=True, kw_only=True)
class VariantPlan:
    """The resolved settings of one variant."""

    training: TrainingPlan
    averaging: AveragingSettings
    decoding: DecodingSettings


def write_plans(experiment: Experiment) -> None:
    """Resolve all variants and write all plans; raise UserError with the key of params.yaml that is wrong."""
    settings = experiment.settings
    root = experiment.folder / settings.root
    plans = {variant: plan(settings, variant) for variant in settings.variants}
    for variant in plans:
        check_variant(settings, variant)
    entries = {name: read_entry(root / "data" / "params.yaml", name) for name in settings.download}
    corpus, text, probing = dataclasses.asdict(settings.corpus), settings.text, settings.probing
    tests = dataclasses.asdict(settings.significance)
    tokenizer = tests.pop("tokenizer")
    ceilings = {"metric": tests["metric"], "minimum_ceiling": tests.pop("minimum_ceiling")}
    scripts = " ".join(side.script or "" for side in (text.source, text.target)).split()
    script_digests = {word: named_digest(root, word) for word in scripts if word.startswith("context_nmt.")}
    stage_plans = {
        "text": {"corpus": corpus, "text": dataclasses.asdict(text)}
        | ({"untokenized": True} if settings.units.untokenized else {})
        | ({"tokenizer": tokenizer} if tokenizer else {})
        | ({"code": script_digests} if script_digests else {}),
        "units": {"corpus": corpus, "units": settings.units.values()},
        "ceilings": ceilings,
        "significance": tests,
        "probe_sentences": {"tasks": probing.tasks, "classifier": changed_values(probing.sentence_classifier)},
        "probe_words": changed_values(probing.word_classifier),
    }
    for name, values in stage_plans.items():
        write_json(experiment.stage_plan(name), values)
    for name, entry in entries.items():
        code = {module: named_digest(root, module) for module in corpus_modules(entry)}
        write_json(experiment.data_plan(name), {"entry": entry_values(entry), "code": code})
    models = {}
    for variant, variant_plan in plans.items():
        code = {module: named_digest(root, module) for module in _loaded_by_name(variant_plan.training)}
        variant_plan.training.write(experiment.plan(variant, "training"), code)
        for module in (VALIDATION, CAPTURING):
            code.pop(module, None)
        models[variant] = {"model": variant_plan.training.model.to_dict(), "code": code}
        write_json(experiment.plan(variant, "averaging"), changed_values(variant_plan.averaging))
        write_json(experiment.plan(variant, "decoding"), changed_values(variant_plan.decoding))
    write_json(experiment.stage_plan("models"), models)


def changed_values(settings: Checked) -> dict[str, Any]:
    """Return the values of a section that differ from the defaults, so that a new key does not change its plans."""
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}  # type: ignore[arg-type]
    return {name: value for name, default in defaults.items() if (value := getattr(settings, name)) != default}


def check_variant(settings: ExperimentSettings, variant: str) -> None:
    """Raise UserError if the model cannot be built, or cannot be initialised from the variant it starts from."""
    model_plan, model = _without_weights(settings, variant)
    if start := training_of(settings.train, variant).start:
        start_plan, start_model = _without_weights(settings, start)
        key = "document" if variant in settings.train.document else "continued"
        origin = f"params.yaml: train.{key}_start: {variant} cannot start from {start}"
        load_compatible_weights(model, model_plan, weights_of(start_model), start_plan, origin)


def _without_weights(settings: ExperimentSettings, variant: str) -> tuple[ModelPlan, Model]:
    model_plan = plan(settings, variant).training.model
    try:
        with torch.device("meta"):
            return model_plan, build(model_plan, source_vocabulary=VOCABULARY_SIZE, target_vocabulary=VOCABULARY_SIZE)
    except UserError as error:
        raise UserError(f"params.yaml: variants.{variant}: {error}") from None


def _loaded_by_name(plan: TrainingPlan) -> list[str]:
    """Return the modules that a training loads by name: mechanisms, kind of model, and what optional keys need."""
    mechanism_names = {filling.mechanism for layers in plan.model.slots.values() for filling in layers}
    optional = {VALIDATION: plan.training.validation_bleu, CAPTURING: plan.training.cuda_graphs}
    return [
        *(mechanisms.module(name) for name in sorted(mechanism_names)),
        plan.model.kind_module,
        *(module for module, is_used in optional.items() if is_used),
    ]


def plan(settings: ExperimentSettings, variant: str) -> VariantPlan:
    """Resolve one variant; raise UserError with the key of params.yaml that is wrong."""
    recipe = settings.recipe(variant)
    slots: dict[str, tuple[Filling, ...]] = {
        slot: _fill(
            slot,
            recipe.slots.get(slot, {"mechanism": mechanisms.plain(slot)}),
            recipe.model,
            f"variants.{variant}.slots.{slot}",
        )
        for slot in (*get_args(LayerSlot), "norm", *recipe.slots)
    }
    return VariantPlan(
        training=TrainingPlan(model=ModelPlan(model=recipe.model, slots=slots), training=recipe.training),
        averaging=recipe.averaging,
        decoding=recipe.decoding,
    )


def _fill(
    slot: str, value: dict[str, Any] | list[dict[str, Any]], model: ModelSettings, key: str
) -> tuple[Filling, ...]:
    """Spread a slot's entry, or list of entries, over the layers; the plain mechanism fills the remaining layers."""
    count = model.encoder_layers if slot.startswith("encoder") else model.decoder_layers
    if slot in get_args(ModelSlot):
        count = 1
        if not isinstance(value, dict) or "layers" in value:
            raise UserError(f"params.yaml: {key}: it must be one {{mechanism: NAME, …}}, without layers")
    fillings: dict[int, Filling] = {}
    entries = {f"{key}[{i}]": entry for i, entry in enumerate(value)} if isinstance(value, list) else {key: value}
    for path, entry in entries.items():
        filled = _fillings(slot, entry, count, path)
        if repeated := sorted(filled.keys() & fillings.keys()):
            raise UserError(f"params.yaml: {path}.layers: another entry of this slot also fills {repeated}")
        fillings |= filled
    return tuple(fillings.get(layer, Filling(mechanism=mechanisms.plain(slot))) for layer in range(1, count + 1))


def _fillings(slot: str, entry: dict[str, Any], count: int, key: str) -> dict[int, Filling]:
    """Resolve an entry by layer: `layers` selects some of 1..count, and a list has a value for each of them."""
    where, options = f"params.yaml: {key}", dict(entry)
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
    all_layers = set(range(1, count + 1))
    are_numbers = isinstance(layers, list) and all(type(layer) is int for layer in layers)
    if not are_numbers or not layers or len(set(layers) & all_layers) != len(layers):
        raise UserError(f"{where}.layers: {layers!r} is not a list of different layers of 1..{count}")
    keys = ["mechanism", "layers", *(field.name for field in dataclasses.fields(mechanism.Settings))]
    for option, value in options.items():
        if option not in keys:
            raise UserError(f"{where}.{option}: {unknown_key(option, keys)}")
        if isinstance(value, list) and len(value) != len(layers):
            raise UserError(
                f"{where}.{option}: {value} has {len(value)} values; a list needs one per layer, here {len(layers)}"
            )
    fillings = {}
    for index, layer in enumerate(layers):
        values = {option: value[index] if isinstance(value, list) else value for option, value in options.items()}
        settings = check(mechanism.Settings, values, where="params.yaml", key=key)
        fillings[layer] = Filling(mechanism=name, settings=dataclasses.asdict(settings))
    return fillings
