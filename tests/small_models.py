"""Models of two layers in float64, none of whose weights has its neutral initial value."""

import math
from typing import get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.corpus.vocabulary import BEGIN, PADDING
from context_nmt.models.building import build
from context_nmt.models.kinds.autoregressive import DecodingState, TranslationModel
from context_nmt.models.kinds.document import DocumentModel, context_of
from context_nmt.models.mechanisms import plain
from context_nmt.models.plans import Filling, ModelPlan
from context_nmt.settings.model import AttentionSlot, LayerSlot, ModelSettings, OutputSlot
from context_nmt.transformer.layers import Memory
from context_nmt.transformer.sentence_context import SentenceContext

WIDTH, HEADS, LAYERS, VOCABULARY = 8, 2, 2, 11
SLOTS: tuple[str, ...] = get_args(AttentionSlot)
LAYER_SLOTS: tuple[str, ...] = get_args(LayerSlot)
OUTPUT_SLOTS: tuple[str, ...] = get_args(OutputSlot)
SIZES = {
    "width": WIDTH,
    "feed_forward_width": 12,
    "heads": HEADS,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "dropout": 0.0,
    "embedding_dropout": 0.0,
}


def small_plan(slots: dict[str, tuple[Filling, ...]] | None = None, **settings: object) -> ModelPlan:
    """A plan with plain mechanisms in all slots that `slots` does not have."""
    model = ModelSettings(**(SIZES | settings))
    counts = {
        slot: model.encoder_layers if slot.startswith("encoder") else model.decoder_layers for slot in LAYER_SLOTS
    }
    fillings = {slot: (Filling(mechanism=plain(slot)),) * count for slot, count in (counts | {"norm": 1}).items()}
    return ModelPlan(model=model, slots=fillings | (slots or {}))


def small_model(
    slots: dict[str, tuple[Filling, ...]] | None = None, *, vocabulary: int = VOCABULARY, **settings: object
) -> TranslationModel:
    """A model in evaluation mode; equal arguments give equal weights."""
    torch.manual_seed(1)
    model = build(small_plan(slots, **settings), source_vocabulary=vocabulary, target_vocabulary=vocabulary)
    return shake(model.double()).eval()


class InADocument(nn.Module):
    """A document model in which every sentence has the same two previous sentences."""

    source, targets = torch.tensor([[4, 5, 6, 2], [7, 8, 2, 0]]), torch.tensor([[1, 9, 10], [1, 4, 0]])
    previous = torch.tensor([[-1, -1], [-1, 0]])

    def __init__(self, model: DocumentModel) -> None:
        super().__init__()
        self.model = model
        self.encoder, self.decoder, self.output = model.encoder, model.decoder, model.output

    def forward(self, source: Tensor, targets: Tensor) -> Tensor:
        previous = torch.cat([self.previous, torch.tensor([[0, 1]]).expand(len(source), 2)])
        return self.model(_stacked(self.source, source), _stacked(self.targets, targets), previous)[
            2:, : targets.size(1)
        ]

    def context(self, count: int) -> SentenceContext:
        memory_without_context = self.model.encode_without_context(self.source)
        encoded = self.model.source_states(self.source, memory_without_context)
        memory = self.model.with_context(memory_without_context, context_of(encoded, self.previous))
        encoded |= self.model.target_states(self.targets, memory)
        return context_of(encoded, torch.tensor([[0, 1]]).expand(count, 2))

    def encode(self, source: Tensor) -> Memory:
        return self.model.with_context(self.model.encode_without_context(source), self.context(len(source)))

    def start(self, memory: Memory) -> DecodingState:
        return self.model.start(memory, self.context(len(memory.real_tokens)))

    def step(self, tokens: Tensor, state: DecodingState) -> tuple[Tensor, DecodingState]:
        return self.model.step(tokens, state)


def _stacked(first: Tensor, second: Tensor) -> Tensor:
    width = max(first.size(1), second.size(1))
    return torch.cat([functional.pad(ids, (0, width - ids.size(1)), value=PADDING) for ids in (first, second)])


def shake(model: nn.Module) -> nn.Module:
    """Add noise to all weights: biases of 0, norms of 1 and neutral gates would hide their effects."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def sentences(*lengths: int, seed: int) -> Tensor:
    """Random sentences of ids, padded [B, max(lengths)]."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(BEGIN, VOCABULARY, (len(lengths), max(lengths)), generator=generator)
    return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PADDING)


def step_by_step(model: TranslationModel, source: Tensor, targets: Tensor) -> Tensor:
    """Logits [B, T, V], computed in decoding steps."""
    state, logits = model.start(model.encode(source)), []
    for tokens in targets.T:
        step, state = model.step(tokens, state)
        logits.append(step)
    return torch.stack(logits, dim=1)


def slow_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Vaswani et al. (2017) eq. 1 position by position and head by head: [T, D], [S, D] twice, [T, S] -> [T, D]."""
    size, output = WIDTH // HEADS, []
    for query, allowed in zip(queries, mask, strict=True):
        seen = [position for position in range(len(keys)) if allowed[position]]
        for head in (slice(start, start + size) for start in range(0, WIDTH, size)):
            scores = [query[head] @ keys[position][head] / math.sqrt(size) for position in seen]
            weights = torch.stack(scores).softmax(0)
            output.append(sum(weight * values[position][head] for weight, position in zip(weights, seen, strict=True)))
    return torch.stack(output).view(queries.shape)
