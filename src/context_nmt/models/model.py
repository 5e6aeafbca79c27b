"""The base class of all kinds of model in `kinds/`."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from context_nmt.transformer.embedding import Embedding
from context_nmt.transformer.layers import Decoder, Encoder, Memory

Predictions = tuple[Tensor, Tensor | None]  # decoder states [B, T, D], and a loss in nats to add


class Model(nn.Module):
    """An encoder, a decoder, the embeddings of both sides and the output layer."""

    source_embedding: Embedding
    target_embedding: Embedding
    encoder: Encoder
    decoder: Decoder
    output: nn.Linear

    in_documents: ClassVar[bool] = False  # whether it is given the previous sentences of a document
    context_sentences: int = 0  # K, the number of previous sentences that its mechanisms read
    receptive_sentences: int = 0  # number of previous sentences that its states depend on
    previous_sources: int = 0  # number of previous sentences that are joined with each source
    previous_targets: int = 0  # number of previous targets that are joined with each target

    def __init__(self, **parts: nn.Module) -> None:
        """Register the parts; their order is the order of the parameters."""
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.output.weight.device

    @property
    def needs_documents(self) -> bool:
        """Whether the model sees previous sentences in any way."""
        return self.in_documents or self.previous_sources > 0

    def forward(self, source: Tensor, target_inputs: Tensor) -> Tensor:
        """Source ids [B, S], target ids [B, T] -> decoder states [B, T, D], for `output`."""
        return self.decode(target_inputs, self.encode(source))

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory."""
        raise NotImplementedError

    def decode(self, target_inputs: Tensor, memory: Memory) -> Tensor:
        """Target ids [B, T] -> decoder states [B, T, D]."""
        raise NotImplementedError

    def predict(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None) -> Predictions:
        """Ids [B, S] and [B, T], rows of previous sentences [B, K] or None -> decoder states, and a loss to add."""
        return self(source, target_inputs), None
