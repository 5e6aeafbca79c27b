"""The states of every layer of a model's two stacks at the units of sentence pairs.

The encoder sees the source and END, the decoder the reference: an autoregressive one behind BEGIN, a masked one whole,
with no unit masked. A model that looks at previous sentences sees none before these. Layer 0 are the embeddings with
their positions; another layer is what its feed-forward sublayer puts out, residual included, and the last one that
behind the stack's final norm.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from context_nmt.corpus.batching import Indices, pad
from context_nmt.corpus.binarized import TokenFile
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.measures.attention.recording import recording
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.models.model import Model

STACKS = ("encoder", "decoder")


@dataclass(frozen=True)
class Layers:
    """One stack's states of B sentences."""

    states: tuple[Tensor, ...]  # [B, T, D] each: [0] embeddings, [-1] the stack's output
    ids: Tensor  # [B, T], the unit that was put in at each position
    real: Tensor  # bool [B, T], True = a unit of the text: not BEGIN, END or padding


def read_layers(model: Model, pairs: tuple[TokenFile, TokenFile], batch: Indices) -> dict[str, Layers]:
    """Read both stacks on the pairs of these numbers, with the model in evaluation mode."""
    device = next(model.parameters()).device
    sources, targets = ([side[number] for number in batch] for side in pairs)
    source = torch.from_numpy(pad(sources, last=END)).to(device)
    around = {"last": END} if isinstance(model, MaskedLanguageModel) else {"first": BEGIN}
    inputs = torch.from_numpy(pad(targets, **around)).to(device)
    memory = model.encode(source)
    inner = [f"decoder.layers.{number}.feed_forward" for number in range(len(model.decoder.layers) - 1)]
    names = ["target_embedding", *inner, "decoder.final_norm"]
    with recording(model, names) as outputs:
        model.decode(inputs, memory)
    return {
        "encoder": Layers(memory.states, source, _units(source)),
        "decoder": Layers(tuple(outputs[name] for name in names), inputs, _units(inputs)),
    }


def _units(ids: Tensor) -> Tensor:
    return (ids != PADDING) & (ids != BEGIN) & (ids != END)
