"""The translation model with mechanisms after its encoder, its decoder or both, which look at previous sentences."""

from dataclasses import replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import BEGIN, END, PADDING, UNKNOWN
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.models.model import Model, Predictions
from context_nmt.settings.model import ModelSettings
from context_nmt.transformer.layers import Memory
from context_nmt.transformer.sentence_context import OutputContext, PreviousSentences, SentenceContext

KnownSentences = dict[str, Tensor]  # PreviousSentences, of N or of one; without the target until it is known


def context_of(known: KnownSentences, previous: Tensor) -> SentenceContext:
    """Return the context of B sentences; `previous` [B, K] has rows of the N known ones, oldest first, -1 for none."""
    before = {name: tensor[previous.clamp(min=0)] for name, tensor in known.items()}
    for name in ("source_words", "target_words"):
        if name in before:
            before[name] = before[name] & (previous >= 0)[..., None]
    return SentenceContext(before=cast(PreviousSentences, before))


def build(_: ModelSettings, parts: dict[str, Any]) -> Model:
    """Build a model of these parts."""
    return DocumentModel(**parts)


class DocumentModel(TranslationModel):
    """p(target | source, previous sentences), one target unit after the other."""

    in_documents: ClassVar[bool] = True

    def __init__(
        self, *, encoder_output: OutputContext | None = None, decoder_output: OutputContext | None = None, **parts: Any
    ) -> None:
        super().__init__(**parts)
        self.encoder_output = encoder_output
        self.decoder_output = decoder_output
        counts = [0 if module is None else module.sentences for module in (encoder_output, decoder_output)]
        self.sentences = max(counts)
        self.reach = sum(counts)  # previous sentences that the decoder's mechanism sees have seen the encoder's

    def forward(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None = None) -> Tensor:
        """Ids [B, S] and [B, T] -> decoder states [B, T, D].

        `previous` [B, K] has the rows of the sentences before each, oldest first, and -1 for none; without it no
        sentence has a previous one.
        """
        if previous is None:
            previous = torch.full((len(source), self.sentences), -1, device=source.device)
        alone = self.encode_alone(source)
        known = self.known_sources(source, alone)
        memory = self.with_context(alone, context_of(known, previous))
        known |= self.known_targets(target_inputs, memory)
        if self.decoder_output is None:
            return known["target"]
        context = replace(context_of(known, previous), own_crossed=known["crossed"])
        return self.decoder_output(known["target"], context)

    def predict(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None) -> Predictions:
        """Predict each next unit, with previous sentences."""
        return self(source, target_inputs, previous), None

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] of sentences without previous ones -> memory."""
        return self.with_context(self.encode_alone(source), self.nothing_before(len(source)))

    def encode_alone(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory before the encoder's output slot."""
        return super().encode(source)

    def with_context(self, alone: Memory, context: SentenceContext) -> Memory:
        """Return the memory that the decoder sees."""
        if self.encoder_output is None:
            return alone
        return replace(alone, states=(*alone.states[:-1], self.encoder_output(alone.states[-1], context)))

    def known_sources(self, source: Tensor, alone: Memory) -> KnownSentences:
        """Source ids [N, S] and their encoding -> the sources as later sentences see them."""
        return {"source": alone.states[-1], "source_words": words_of(source)}

    def known_targets(self, inputs: Tensor, memory: Memory) -> KnownSentences:
        """Target ids [N, T] and the memory that the decoder sees -> the targets as later sentences see them."""
        states, crossed = self.decoded(inputs, memory)
        return {"inputs": inputs, "target_words": words_of(inputs), "target": states, "crossed": crossed}

    def nothing_before(self, count: int) -> SentenceContext:
        """Return the context of `count` sentences without previous ones."""
        weight = self.output.weight
        ids = torch.full((1, 1), PADDING, device=weight.device)
        words, states = ids != PADDING, weight.new_zeros(1, 1, weight.size(1))
        nothing = {"source": states, "source_words": words}
        nothing |= {"inputs": ids, "target_words": words, "target": states, "crossed": states}
        return context_of(nothing, ids.new_full((count, self.sentences), -1))

    def start(self, memory: Memory, context: SentenceContext | None = None) -> DecodingState:
        """Return the decoding state before the first step; see TranslationModel."""
        state = super().start(memory)
        context = context or self.nothing_before(len(memory.padding))
        return {**state, "sentences": {**state["sentences"], "context": replace(context, state={})}}

    def step(self, tokens: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """The previous units [B * K] -> logits of the next ones [B * K, V], and the next state."""
        decoded, state = self.advance(tokens, state)
        if self.decoder_output is None:
            return self.output(decoded.states[:, 0]), state
        # the hypotheses of a sentence become positions of one row
        rows = len(state["sentences"]["memory"][1])
        states, crossed = (tensor.reshape(rows, -1, tensor.size(-1)) for tensor in decoded)
        context = replace(state["sentences"]["context"], own_crossed=crossed)
        return self.output(self.decoder_output(states, context).flatten(0, 1)), state


def words_of(ids: Tensor) -> Tensor:
    """Return a mask of the ids [N, T] that are units of the text."""
    return (ids != PADDING) & (ids != BEGIN) & (ids != END) & (ids != UNKNOWN)
