"""The translation model with mechanisms behind its encoder, its decoder or both, which look at previous sentences."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from context_nmt.corpus.vocabulary import BEGIN, END, PADDING, UNKNOWN
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.models.model import Model, Predictions
from context_nmt.settings.model import ModelSettings
from context_nmt.transformer.layers import Memory
from context_nmt.transformer.sentence_context import OutputContext, SentenceContext, SourceStates, TargetStates


@dataclass(frozen=True)
class KnownSentences:
    """N sentences, which others have before them; `target` is None as long as it is not known."""

    source: SourceStates
    target: TargetStates | None = None

    def before(self, previous: Tensor) -> SentenceContext:
        """The context of B sentences; `previous` [B, K] has rows of these N, oldest sentence first, and -1 for none."""
        rows, there = previous.clamp(min=0), (previous >= 0)[..., None]
        source, target = self.source, self.target
        return SentenceContext(
            source=SourceStates(states=source.states[rows], words=source.words[rows] & there),
            target=None
            if target is None
            else TargetStates(
                inputs=target.inputs[rows],
                words=target.words[rows] & there,
                states=target.states[rows],
                crossed=target.crossed[rows],
            ),
        )


def build(_: ModelSettings, parts: dict[str, Any]) -> Model:
    """A model of these parts."""
    return DocumentModel(**parts)


class DocumentModel(TranslationModel):
    """p(target | source, the sentences before), one target unit after the other."""

    in_documents: ClassVar[bool] = True

    def __init__(
        self, *, encoder_output: OutputContext | None = None, decoder_output: OutputContext | None = None, **parts: Any
    ) -> None:
        super().__init__(**parts)
        self.encoder_output = encoder_output
        self.decoder_output = decoder_output
        numbers = [0 if module is None else module.sentences for module in (encoder_output, decoder_output)]
        self.sentences = max(numbers)
        self.reach = sum(numbers)  # the decoder's have seen the encoder's

    def forward(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None = None) -> Tensor:
        """Ids [B, S] and [B, T] -> decoder states [B, T, D].

        `previous` [B, K] has the rows of the sentences before each, oldest first, and -1 for none; without it no
        sentence has any before it.
        """
        if previous is None:
            previous = torch.full((len(source), self.sentences), -1, device=source.device)
        alone = self.encode_alone(source)
        sentences = KnownSentences(source_states(source, alone))
        memory = self.with_context(alone, sentences.before(previous))
        states, target = self._read(target_inputs, memory)
        if self.decoder_output is None:
            return states
        context = replace(sentences, target=target).before(previous)
        return self.decoder_output(states, replace(context, own_crossed=target.crossed))

    def predict(self, source: Tensor, target_inputs: Tensor, previous: Tensor | None) -> Predictions:
        """The next units, with previous sentences."""
        return self(source, target_inputs, previous), None

    def encode(self, source: Tensor) -> Memory:
        """Source ids [B, S] of sentences without any before them -> memory."""
        return self.with_context(self.encode_alone(source), self.nothing_before(len(source)))

    def encode_alone(self, source: Tensor) -> Memory:
        """Source ids [B, S] -> memory as it is before the encoder's output slot."""
        return super().encode(source)

    def with_context(self, alone: Memory, context: SentenceContext) -> Memory:
        """The memory that the decoder sees."""
        if self.encoder_output is None:
            return alone
        return replace(alone, states=(*alone.states[:-1], self.encoder_output(alone.states[-1], context)))

    def remembered(self, source: Tensor, alone: Memory, memory: Memory, target_inputs: Tensor) -> KnownSentences:
        """What later sentences see of these, whose targets are now known."""
        return KnownSentences(source_states(source, alone), self._read(target_inputs, memory)[1])

    def _read(self, target_inputs: Tensor, memory: Memory) -> tuple[Tensor, TargetStates]:
        states, crossed = self.decoded(target_inputs, memory)
        words = words_of(target_inputs)
        return states, TargetStates(inputs=target_inputs, words=words, states=states, crossed=crossed)

    def nothing_before(self, count: int) -> SentenceContext:
        """The context of sentences without any before them."""
        weight = self.output.weight
        ids = torch.full((1, 1), PADDING, device=weight.device)
        words, states = ids != PADDING, weight.new_zeros(1, 1, weight.size(1))
        target = TargetStates(inputs=ids, words=words, states=states, crossed=states)
        nothing = KnownSentences(SourceStates(states=states, words=words), target)
        return nothing.before(ids.new_full((count, self.sentences), -1))

    def start(self, memory: Memory, context: SentenceContext | None = None) -> DecodingState:
        """The decoding state before the first step; see TranslationModel."""
        state = super().start(memory)
        context = context or self.nothing_before(len(memory.padding))
        return {**state, "sentences": {**state["sentences"], "context": replace(context, state={})}}

    def step(self, tokens: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        """The previous units [B * K] -> logits of the next ones [B * K, V], and the state after them."""
        decoded, state = self.advance(tokens, state)
        if self.decoder_output is None:
            return self.output(decoded.states[:, 0]), state
        # the hypotheses of a sentence become positions of one row
        rows = len(state["sentences"]["memory"][1])
        states, crossed = (one.reshape(rows, -1, one.size(-1)) for one in decoded)
        context = replace(state["sentences"]["context"], own_crossed=crossed)
        return self.output(self.decoder_output(states, context).flatten(0, 1)), state


def source_states(source: Tensor, alone: Memory) -> SourceStates:
    """Source ids [N, S] and their encoding as later sentences see them."""
    return SourceStates(states=alone.states[-1], words=words_of(source))


def words_of(ids: Tensor) -> Tensor:
    """Which ids [N, T] are units of the text."""
    return (ids != PADDING) & (ids != BEGIN) & (ids != END) & (ids != UNKNOWN)
