"""The autoregressive translation model: an encoder, a decoder and the two ends that hold the vocabulary."""

from typing import Any

import torch
from torch import Tensor, nn

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.model import Model, Predictions
from context_nmt.settings.model import ModelSettings
from context_nmt.transformer.embedding import Embedding
from context_nmt.transformer.layers import Decoded, Decoder, Encoder, Memory, causal_mask

DecodingState = dict[str, Any]


def build(_: ModelSettings, parts: dict[str, Any]) -> Model:
    """A model of these parts."""
    return TranslationModel(**parts)


class TranslationModel(Model):
    """p(target | source), one target unit after the other."""

    def __init__(
        self,
        *,
        source_embedding: Embedding,
        target_embedding: Embedding,
        encoder: Encoder,
        decoder: Decoder,
        output: nn.Linear,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    def forward(self, source: Tensor, target_inputs: Tensor) -> Tensor:
        """Source ids [B, S], target ids shifted right [B, T] -> decoder states [B, T, D]; see `output`."""
        return self.decode(target_inputs, self.encode(source))

    def predict(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None) -> Predictions:
        """The next units; sentences have no previous ones."""
        return self(source, target_inputs), None

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory."""
        return self.encoder(self.source_embedding(source), source != PADDING)

    def decode(self, target_inputs: Tensor, memory: Memory) -> Tensor:
        """Target ids shifted right [B, T] -> decoder states [B, T, D]; padding behind is harmless."""
        return self.decoded(target_inputs, memory).states

    def decoded(self, target_inputs: Tensor, memory: Memory) -> Decoded:
        """The same, with what the last cross-attention gave."""
        result: Decoded = self.decoder(
            self.target_embedding(target_inputs),
            padding=target_inputs != PADDING,
            mask=causal_mask(target_inputs.size(1), target_inputs.device),
            causal=True,
            memory=memory,
        )
        return result

    def start(self, memory: Memory) -> DecodingState:
        """The decoding state before the first step: two trees whose tensors all have the batch first.

        `sentences` has a row per sentence [B]; `hypotheses` has one per hypothesis [B * K], K in a row for each
        sentence, and K = 1 here.
        """
        sentences, hypotheses = self.decoder.new_state()
        return {
            "sentences": {"memory": (memory.states, memory.padding), "layers": sentences},
            "hypotheses": {"position": 0, "layers": hypotheses},
        }

    def step(self, tokens: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """The previous units [B * K] -> logits of the next ones [B * K, V], and the state after them."""
        decoded, state = self.advance(tokens, state)
        return self.output(decoded.states[:, 0]), state

    def advance(self, tokens: Tensor, state: DecodingState) -> tuple[Decoded, DecodingState]:
        """The previous units [B * K] -> what the decoder puts out, [B * K, 1, D] each, and the state after them."""
        sentences, hypotheses = state["sentences"], state["hypotheses"]
        position = hypotheses["position"]
        decoded = self.decoder(
            self.target_embedding(tokens[:, None], first_position=position),
            padding=torch.ones_like(tokens[:, None], dtype=torch.bool),
            mask=torch.ones(1, 1, 1, position + 1, dtype=torch.bool, device=tokens.device),
            causal=True,
            memory=Memory(*sentences["memory"]),
            state=[{**one, **other} for one, other in zip(sentences["layers"], hypotheses["layers"], strict=True)],
        )
        return decoded, {**state, "hypotheses": {**hypotheses, "position": position + 1}}
