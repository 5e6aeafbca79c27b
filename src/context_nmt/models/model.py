"""What every kind of model in `kinds/` gives."""

from typing import ClassVar

from torch import Tensor, nn

from context_nmt.transformer.embedding import Embedding
from context_nmt.transformer.layers import Decoder, Encoder, Memory

Predictions = tuple[Tensor, Tensor | None]  # decoder states [B, T, D], and what else is to be minimised, in nats


class Model(nn.Module):
    """An encoder, a decoder and the two ends that hold the vocabulary."""

    source_embedding: Embedding
    target_embedding: Embedding
    encoder: Encoder
    decoder: Decoder
    output: nn.Linear

    in_documents: ClassVar[bool] = False  # whether it takes the previous sentences of a document
    sentences: int = 0  # previous ones that a mechanism looks at, K
    reach: int = 0  # previous ones that a state depends on

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory."""
        raise NotImplementedError

    def decode(self, target_inputs: Tensor, memory: Memory) -> Tensor:
        """Target ids [B, T] -> decoder states [B, T, D]."""
        raise NotImplementedError

    def predict(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None) -> Predictions:
        """A batch's ids [B, S] and [B, T], and the rows of previous sentences [B, K] -> what its loss is of."""
        raise NotImplementedError
