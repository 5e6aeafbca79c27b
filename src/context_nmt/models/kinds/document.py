"""The translation model with mechanisms that read previous sentences, after its encoder, its decoder or both."""

from dataclasses import replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import BEGIN, END, PADDING, UNKNOWN
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.models.model import Model, Predictions
from context_nmt.settings.model import ModelSettings
from context_nmt.transformer.layers import Memory
from context_nmt.transformer.sentence_context import OutputMechanism, PreviousSentences, SentenceContext

SentenceStates = dict[str, Tensor]  # keys of PreviousSentences, for N sentences or one; target keys may be missing


def context_of(encoded: SentenceStates, previous: Tensor) -> SentenceContext:
    """Return the context of B sentences; `previous` [B, K] has rows of the N encoded sentences, oldest first, or -1."""
    before = {name: tensor[previous.clamp(min=0)] for name, tensor in encoded.items()}
    for name in ("source_words", "target_words"):
        if name in before:
            before[name] = before[name] & (previous >= 0)[..., None]
    return SentenceContext(before=cast(PreviousSentences, before))


def build(_: ModelSettings, parts: dict[str, Any]) -> Model:
    """Build a model from its parts."""
    return DocumentModel(**parts)


class DocumentModel(TranslationModel):
    """p(target | source, previous sentences), one target unit after the other."""

    in_documents: ClassVar[bool] = True

    def __init__(
        self,
        *,
        encoder_output: OutputMechanism | None = None,
        decoder_output: OutputMechanism | None = None,
        **parts: Any,
    ) -> None:
        super().__init__(**parts)
        self.encoder_output = encoder_output
        self.decoder_output = decoder_output
        counts = [0 if module is None else module.sentences for module in (encoder_output, decoder_output)]
        self.context_sentences = max(counts)
        self.receptive_sentences = sum(counts)  # the decoder's mechanism reads outputs of the encoder's mechanism

    def forward(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None = None) -> Tensor:
        """Ids [B, S] and [B, T] -> decoder states [B, T, D].

        `previous` [B, K] has the rows of the sentences before each, oldest first, or -1; without it, no sentence has
        previous ones.
        """
        if previous is None:
            previous = torch.full((len(source), self.context_sentences), -1, device=source.device)
        memory_without_context = self.encode_without_context(source)
        encoded = self.source_states(source, memory_without_context)
        memory = self.with_context(memory_without_context, context_of(encoded, previous))
        encoded |= self.target_states(target_inputs, memory)
        if self.decoder_output is None:
            return encoded["target"]
        context = replace(context_of(encoded, previous), current_cross_output=encoded["cross_output"])
        return self.decoder_output(encoded["target"], context)

    def predict(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None) -> Predictions:
        """Predict each next unit, given previous sentences."""
        return self(source, target_inputs, previous), None

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] of sentences without previous ones -> memory."""
        return self.with_context(self.encode_without_context(source), self.empty_context(len(source)))

    def encode_without_context(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory before the encoder's output slot."""
        return super().encode(source)

    def with_context(self, memory: Memory, context: SentenceContext) -> Memory:
        """Memory before the encoder's output slot -> the memory that the decoder sees."""
        if self.encoder_output is None:
            return memory
        return replace(memory, states=(*memory.states[:-1], self.encoder_output(memory.states[-1], context)))

    def source_states(self, source: Tensor, memory: Memory) -> SentenceStates:
        """Source ids [N, S] and their memory before the output slot -> the source states that later sentences read."""
        return {"source": memory.states[-1], "source_words": words_of(source)}

    def target_states(self, inputs: Tensor, memory: Memory) -> SentenceStates:
        """Target ids [N, T] and the memory that the decoder sees -> the target states that later sentences read."""
        states, cross_output = self.decoded(inputs, memory)
        return {"inputs": inputs, "target_words": words_of(inputs), "target": states, "cross_output": cross_output}

    def empty_context(self, count: int) -> SentenceContext:
        """Return the context of `count` sentences without previous ones."""
        weight = self.output.weight
        ids = torch.full((1, 1), PADDING, device=weight.device)
        words, states = ids != PADDING, weight.new_zeros(1, 1, weight.size(1))
        empty = {"source": states, "source_words": words}
        empty |= {"inputs": ids, "target_words": words, "target": states, "cross_output": states}
        return context_of(empty, ids.new_full((count, self.context_sentences), -1))

    def start(self, memory: Memory, context: SentenceContext | None = None) -> DecodingState:
        """Return the decoding state before the first step; see TranslationModel."""
        state = super().start(memory)
        context = context or self.empty_context(len(memory.real_tokens))
        return {**state, "sentences": {**state["sentences"], "context": replace(context, state={})}}

    def step(self, tokens: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """The previous units [B * K] -> logits of the next ones [B * K, V], and the next state."""
        decoded, state = self.advance(tokens, state)
        if self.decoder_output is None:
            return self.output(decoded.states[:, 0]), state
        # the hypotheses of a sentence become positions of one row
        rows = len(state["sentences"]["memory"][1])
        states, cross_output = (tensor.reshape(rows, -1, tensor.size(-1)) for tensor in decoded)
        context = replace(state["sentences"]["context"], current_cross_output=cross_output)
        return self.output(self.decoder_output(states, context).flatten(0, 1)), state


def words_of(ids: Tensor) -> Tensor:
    """Return a mask [N, T] of the ids [N, T] that are units of the text."""
    return (ids != PADDING) & (ids != BEGIN) & (ids != END) & (ids != UNKNOWN)
