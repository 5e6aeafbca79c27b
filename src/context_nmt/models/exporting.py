"""Export the model of a trained run to CTranslate2, in float32."""

import shutil
from pathlib import Path
from typing import Any

import torch
from torch import nn

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.vocabulary import BEGIN, END, SPECIALS, UNKNOWN
from context_nmt.files import UserError, replacing_folder
from context_nmt.models.checkpoints import load_metadata, load_run, run_weights_path
from context_nmt.models.mechanisms import plain
from context_nmt.models.plans import ModelPlan
from context_nmt.transformer.embedding import Embedding, sinusoids

SINUSOID_POSITIONS = 1024  # number of positions to export of sinusoids, which are unlimited here


def export(run: Path, folder: Path) -> None:
    """Write a run's model and text for CTranslate2; raise UserError if it cannot run the model or `folder` exists."""
    if folder.exists():
        raise UserError(f"{folder}: already exists; name a new folder")
    path = run_weights_path(run)
    plan = ModelPlan.from_dict(load_metadata(path)["plan"])
    _require_exportable(plan, path)
    try:
        from ctranslate2.specs import TransformerSpec
    except ImportError:
        raise UserError("the package ctranslate2 is missing: pip install ctranslate2") from None
    settings, model, corpus = plan.model, load_run(run, torch.device("cpu")), BinarizedCorpus(run / "text")
    # RELU and GELU have the numbers 0 and 3 in ctranslate2.specs.common_spec.Activation, which is not typed.
    spec = TransformerSpec.from_config(
        (settings.encoder_layers, settings.decoder_layers),
        settings.heads,
        pre_norm=settings.norm == "pre",
        activation={"relu": 0, "gelu": 3}[settings.activation],
    )
    _set_embedding(spec.encoder, spec.encoder.embeddings[0], model.source_embedding)
    _set_embedding(spec.decoder, spec.decoder.embeddings, model.target_embedding)
    for stack_spec, stack in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        for layer_spec, layer in zip(stack_spec.layer, stack.layers, strict=True):
            _set_layer(layer_spec, layer)
        if settings.norm == "pre":
            _set_norm(stack_spec.layer_norm, stack.final_norm)
    spec.decoder.projection.weight = _array(model.output.weight)
    spec.register_source_vocabulary(list(corpus.source_vocabulary.units))
    spec.register_target_vocabulary(list(corpus.target_vocabulary.units))
    spec.config.bos_token = spec.config.decoder_start_token = SPECIALS[BEGIN]
    spec.config.eos_token, spec.config.unk_token = SPECIALS[END], SPECIALS[UNKNOWN]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = settings.layer_norm_epsilon
    spec.validate()
    with replacing_folder(folder) as temporary:
        spec.save(str(temporary))
        shutil.copytree(run / "text", temporary / "text")


def _require_exportable(plan: ModelPlan, path: Path) -> None:
    if plan.model.kind != "autoregressive":
        raise UserError(
            f"{path}: is a {plan.model.kind} model; CTranslate2 runs only autoregressive models (model.kind)"
        )
    for slot, fillings in plan.slots.items():
        for filling in fillings:
            if filling.mechanism != plain(slot):
                raise UserError(f"{path}: has {filling.mechanism} in {slot}; CTranslate2 has only {plain(slot)} there")
    if plan.model.positions == "none":
        raise UserError(f"{path}: has no positions (model.positions); CTranslate2 adds them to the embeddings")


def _set_embedding(stack_spec: Any, spec: Any, embedding: Embedding) -> None:
    """Convert an embedding, with its scale and bias included in the table."""
    table = embedding.table.weight * embedding.scale
    stack_spec.scale_embeddings = False
    spec.weight = _array(table if embedding.bias is None else table + embedding.bias)
    learned = embedding.positions
    positions = sinusoids(0, SINUSOID_POSITIONS, table.size(1), table.device) if learned is None else learned.weight
    stack_spec.position_encodings.encodings = _array(positions)


def _set_layer(spec: Any, layer: Any) -> None:
    """Convert a layer of the encoder or decoder; CTranslate2 has queries, keys and values in one matrix."""
    attention = layer.self_attention
    _set_norm(spec.self_attention.layer_norm, layer.residual.norm)
    _set_linear(spec.self_attention.linear[0], attention.query, attention.key, attention.value)
    _set_linear(spec.self_attention.linear[1], attention.output)
    if hasattr(layer, "cross_attention"):
        cross_attention = layer.cross_attention
        _set_norm(spec.attention.layer_norm, layer.cross_residual.norm)
        _set_linear(spec.attention.linear[0], cross_attention.query)
        _set_linear(spec.attention.linear[1], cross_attention.key, cross_attention.value)
        _set_linear(spec.attention.linear[2], cross_attention.output)
    _set_norm(spec.ffn.layer_norm, layer.feed_forward.residual.norm)
    _set_linear(spec.ffn.linear_0, layer.feed_forward.network.inner)
    _set_linear(spec.ffn.linear_1, layer.feed_forward.network.outer)


def _set_linear(spec: Any, *layers: nn.Linear) -> None:
    spec.weight = _array(torch.cat([layer.weight for layer in layers]))
    if layers[0].bias is not None:
        spec.bias = _array(torch.cat([layer.bias for layer in layers]))


def _set_norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(values: torch.Tensor) -> Any:
    return values.detach().float().contiguous().numpy()
