"""The autoregressive translation model (Vaswani et al. 2017), of single sentences or of joined ones.

For concatenation (Tiedemann and Scherrer 2017, Agrawal et al. 2018), the source is up to `previous_sources` sentences,
each followed by BREAK, and the current one. In the same way the target has up to `previous_targets` sentences, which
are translated again. 3 and 0 are 4-to-1, 1 and 1 are 2-to-2.
"""

from typing import Any

import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.model import Model
from context_nmt.settings.model import ModelSettings
from context_nmt.transformer.layers import Decoded, Memory, causal_mask

DecodingState = dict[str, Any]


def build(settings: ModelSettings, parts: dict[str, Any]) -> Model:
    """Build a model from its parts, with the numbers of sentences that are joined."""
    model = TranslationModel(**parts)
    model.previous_sources, model.previous_targets = settings.previous_sources, settings.previous_targets
    return model


class TranslationModel(Model):
    """p(target | source), one target unit after the other; target inputs are the targets shifted right."""

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory."""
        return self.encoder(self.source_embedding(source), source != PADDING, source)

    def decode(self, target_inputs: Tensor, memory: Memory) -> Tensor:
        """Target ids [B, T] -> decoder states [B, T, D]; padding on the right does not change them."""
        return self.decoded(target_inputs, memory).states

    def decoded(self, target_inputs: Tensor, memory: Memory) -> Decoded:
        """Target ids [B, T] -> decoder states and the output of the last cross-attention, [B, T, D] each."""
        outputs: Decoded = self.decoder(
            self.target_embedding(target_inputs),
            real_tokens=target_inputs != PADDING,
            ids=target_inputs,
            mask=causal_mask(target_inputs.size(1), target_inputs.device),
            causal=True,
            memory=memory,
        )
        return outputs

    def start(self, memory: Memory) -> DecodingState:
        """Return the decoding state before the first step: two trees of tensors, batch first.

        `sentences` has B rows, one per sentence; `hypotheses` has B * K rows, one per hypothesis, with the hypotheses
        of a sentence next to each other. K is 1 here.
        """
        sentences, hypotheses = self.decoder.new_state()
        return {
            "sentences": {"memory": (memory.states, memory.real_tokens, memory.ids), "layers": sentences},
            "hypotheses": {"position": 0, "layers": hypotheses},
        }

    def step(self, tokens: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """The previous units [B * K] -> logits of the next ones [B * K, V], and the next state."""
        decoded, state = self.advance(tokens, state)
        return self.output(decoded.states[:, 0]), state

    def advance(self, tokens: Tensor, state: DecodingState) -> tuple[Decoded, DecodingState]:
        """The previous units [B * K] -> the decoder's outputs, [B * K, 1, D] each, and the next state."""
        sentences, hypotheses = state["sentences"], state["hypotheses"]
        position = hypotheses["position"]
        decoded = self.decoder(
            self.target_embedding(tokens[:, None], first_position=position),
            real_tokens=torch.ones_like(tokens[:, None], dtype=torch.bool),
            ids=tokens[:, None],
            mask=torch.ones(1, 1, 1, position + 1, dtype=torch.bool, device=tokens.device),
            causal=True,
            memory=Memory(*sentences["memory"]),
            state=[
                {**sentence_state, **hypothesis_state}
                for sentence_state, hypothesis_state in zip(sentences["layers"], hypotheses["layers"], strict=True)
            ],
        )
        return decoded, {**state, "hypotheses": {**hypotheses, "position": position + 1}}
