"""Build a model from its plan; only this module puts mechanisms into layers."""

import importlib
from typing import Any, get_args

from torch import nn

from context_nmt.files import UserError
from context_nmt.models import mechanisms
from context_nmt.models.model import Model
from context_nmt.models.plans import ModelPlan
from context_nmt.settings.model import ModelSettings, ModelSlot, OutputSlot
from context_nmt.transformer.attention import Place
from context_nmt.transformer.embedding import Embedding, token_table
from context_nmt.transformer.layers import Decoder, DecoderLayer, Encoder, EncoderLayer, FeedForward, Residual


def build(plan: ModelPlan, *, source_vocabulary: int, target_vocabulary: int) -> Model:
    """Build a model with fresh weights; raise UserError if all embeddings are tied and vocabularies differ in size."""
    model = plan.model
    if model.tying == "all" and source_vocabulary != target_vocabulary:
        raise UserError(
            f"model.tying is all, but the vocabularies hold {source_vocabulary} and {target_vocabulary} units;"
            " set units.joint to true, or model.tying to decoder or none"
        )

    def table(vocabulary: int) -> nn.Embedding:
        return token_table(vocabulary, model.width, model.embedding_initialisation)

    target_table = table(target_vocabulary)
    source_table = target_table if model.tying == "all" else table(source_vocabulary)
    output = nn.Linear(model.width, target_vocabulary, bias=False)
    output.weight = table(target_vocabulary).weight if model.tying == "none" else target_table.weight
    parts: dict[str, Any] = {  # the order matters, because each part draws its weights
        "source_embedding": _embedding(model, source_table, bias=model.source_embedding_bias),
        "target_embedding": _embedding(model, target_table),
    }
    encoder_layers = [
        EncoderLayer(
            self_attention=_mechanism(plan, "encoder_self_attention", layer),
            residual=_residual(plan, layer),
            feed_forward=_feed_forward(plan, "encoder_feed_forward", layer),
        )
        for layer in range(1, model.encoder_layers + 1)
    ]
    decoder_layers = [
        DecoderLayer(
            self_attention=_mechanism(plan, "decoder_self_attention", layer),
            residual=_residual(plan, layer),
            cross_attention=_mechanism(plan, "cross_attention", layer),
            cross_residual=_residual(plan, layer),
            feed_forward=_feed_forward(plan, "decoder_feed_forward", layer),
        )
        for layer in range(1, model.decoder_layers + 1)
    ]
    parts["encoder"] = Encoder(encoder_layers, _final_norm(plan, model.encoder_layers))
    parts["decoder"] = Decoder(decoder_layers, _final_norm(plan, model.decoder_layers))
    parts["output"] = output
    parts |= {slot: _mechanism(plan, slot, 1) for slot in get_args(OutputSlot) if slot in plan.slots}
    built: Model = importlib.import_module(plan.kind_module).build(model, parts)
    if model.initialisation == "bert":
        _initialise_like_bert(built)
    return built


def _initialise_like_bert(model: nn.Module) -> None:
    """Draw linear maps from N(0, 0.02); queries, keys and values Glorot-uniform as one map, as Mask-Predict does."""
    for name, module in model.named_modules():
        _, _, last = name.rpartition(".")
        if isinstance(module, nn.Linear) and last in ("query", "key", "value"):
            nn.init.xavier_uniform_(module.weight, gain=0.5**0.5)  # as for one map from D to 3 D
        elif isinstance(module, nn.Linear) and name != "output":
            nn.init.normal_(module.weight, std=0.02)


def _embedding(model: ModelSettings, table: nn.Embedding, *, bias: bool = False) -> Embedding:
    learned = token_table(model.maximum_positions, model.width, "bert") if model.positions == "learned" else None
    return Embedding(
        table,
        positions=learned,
        sinusoidal=model.positions == "sinusoidal",
        scale=model.embedding_scale,
        dropout=model.embedding_dropout,
        bias=bias,
    )


def _mechanism(plan: ModelPlan, slot: str, layer: int) -> Any:
    """Build the mechanism of a slot in a layer, counted from 1."""
    filling = plan.slots[slot][0 if slot in get_args(ModelSlot) else layer - 1]
    mechanism = mechanisms.load(filling.mechanism)
    return mechanism.build(mechanism.Settings(**filling.settings), place_of(plan.model, slot, layer))


def place_of(model: ModelSettings, slot: str, layer: int) -> Place:
    """Return the Place of a slot in a layer, counted from 1."""
    return Place(
        slot=slot,
        layer=layer,
        causal=model.kind != "masked" and slot.startswith(("decoder", "cross")),
        width=model.width,
        feed_forward_width=model.feed_forward_width,
        heads=model.heads,
        bias=model.attention_bias,
        dropout=model.dropout,
        attention_dropout=model.attention_dropout,
        feed_forward_dropout=model.feed_forward_dropout,
        activation=model.activation,
        layer_norm_epsilon=model.layer_norm_epsilon,
    )


def _residual(plan: ModelPlan, layer: int) -> Residual:
    return Residual(_mechanism(plan, "norm", layer), pre=plan.model.norm == "pre", dropout=plan.model.dropout)


def _feed_forward(plan: ModelPlan, slot: str, layer: int) -> FeedForward:
    return FeedForward(network=_mechanism(plan, slot, layer), residual=_residual(plan, layer))


def _final_norm(plan: ModelPlan, layer: int) -> nn.Module:
    return _mechanism(plan, "norm", layer) if plan.model.norm == "pre" else nn.Identity()
