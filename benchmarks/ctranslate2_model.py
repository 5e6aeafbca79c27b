"""Write a trained run as a CTranslate2 model: the same weights, float32."""

from pathlib import Path
from typing import Any

import ctranslate2
import torch
from ctranslate2.specs import TransformerSpec
from torch import nn

from context_nmt.corpus.vocabulary import BEGIN, END, SPECIALS, UNKNOWN, Vocabulary
from context_nmt.models.model import Model
from context_nmt.transformer.embedding import sinusoids

POSITIONS = 512


def convert(model: Model, units: Vocabulary, heads: int, folder: Path) -> None:
    """Convert a pre-norm model of plain attentions without biases, with sinusoids and one vocabulary."""
    layers = len(model.encoder.layers), len(model.decoder.layers)
    spec = TransformerSpec.from_config(layers, heads, pre_norm=True)
    for side, stack, embedding in (
        (spec.encoder, model.encoder, model.source_embedding),
        (spec.decoder, model.decoder, model.target_embedding),
    ):
        table = embedding.table.weight
        table_spec = side.embeddings[0] if side is spec.encoder else side.embeddings
        table_spec.weight = _array(table)
        side.position_encodings.encodings = _array(sinusoids(0, POSITIONS, table.size(1), torch.device("cpu")))
        for layer_spec, layer in zip(side.layer, stack.layers, strict=True):
            _layer(layer_spec, layer)
        _norm(side.layer_norm, stack.final_norm)
    spec.decoder.projection.weight = _array(model.output.weight)
    spec.register_source_vocabulary(list(units.units))
    spec.register_target_vocabulary(list(units.units))
    spec.config.bos_token, spec.config.eos_token = SPECIALS[BEGIN], SPECIALS[END]
    spec.config.unk_token = SPECIALS[UNKNOWN]
    spec.config.decoder_start_token = SPECIALS[BEGIN]
    spec.config.add_source_eos = True
    spec.validate()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def translator(folder: Path, workers: int) -> ctranslate2.Translator:
    """Return a float32 translator with `workers` workers of one thread each."""
    return ctranslate2.Translator(
        str(folder), device="cpu", compute_type="float32", inter_threads=workers, intra_threads=1
    )


def _layer(spec: Any, layer: Any) -> None:
    """Convert one layer of the encoder or decoder; CTranslate2 has queries, keys and values in one matrix."""
    attention = layer.self_attention
    _norm(spec.self_attention.layer_norm, layer.residual.norm)
    _linear(spec.self_attention.linear[0], attention.query, attention.key, attention.value)
    _linear(spec.self_attention.linear[1], attention.output)
    if hasattr(layer, "cross_attention"):
        crossing = layer.cross_attention
        _norm(spec.attention.layer_norm, layer.cross_residual.norm)
        _linear(spec.attention.linear[0], crossing.query)
        _linear(spec.attention.linear[1], crossing.key, crossing.value)
        _linear(spec.attention.linear[2], crossing.output)
    _norm(spec.ffn.layer_norm, layer.feed_forward.residual.norm)
    _linear(spec.ffn.linear_0, layer.feed_forward.inner)
    _linear(spec.ffn.linear_1, layer.feed_forward.outer)


def _linear(spec: Any, *layers: nn.Linear) -> None:
    spec.weight = _array(torch.cat([layer.weight for layer in layers]))
    if layers[0].bias is not None:
        spec.bias = _array(torch.cat([layer.bias for layer in layers]))


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(values: torch.Tensor) -> Any:
    return values.detach().float().contiguous().numpy()
