"""Models of two layers in float64, with weights that are nowhere at their neutral starting values."""

from typing import get_args

import torch
from torch import Tensor, nn

from context_nmt.corpus.vocabulary import BEGIN, PADDING
from context_nmt.models.building import build
from context_nmt.models.planning import PLAIN
from context_nmt.models.plans import Filling, ModelPlan
from context_nmt.models.translation_model import TranslationModel
from context_nmt.settings import ModelSettings, Slot

WIDTH, HEADS, LAYERS, VOCABULARY = 8, 2, 2, 11
SLOTS: tuple[str, ...] = get_args(Slot)
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
    """The plain attention in every slot that `slots` leaves out."""
    model = ModelSettings(**(SIZES | settings))
    counts = {slot: model.encoder_layers if slot.startswith("encoder") else model.decoder_layers for slot in SLOTS}
    plain = {slot: (Filling(mechanism=PLAIN),) * count for slot, count in counts.items()}
    return ModelPlan(model=model, slots=plain | (slots or {}))


def small_model(slots: dict[str, tuple[Filling, ...]] | None = None, **settings: object) -> TranslationModel:
    """In evaluation mode; equal arguments give equal weights."""
    torch.manual_seed(1)
    model = build(small_plan(slots, **settings), source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    return shake(model.double()).eval()


def shake(model: nn.Module) -> nn.Module:
    """Add noise to all weights: biases of 0, norms of 1 and neutral gates would hide what they do."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def sentences(*lengths: int, seed: int) -> Tensor:
    """Random sentences of ids [B, max(lengths)], padded."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(BEGIN, VOCABULARY, (len(lengths), max(lengths)), generator=generator)
    return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PADDING)


def step_by_step(model: TranslationModel, source: Tensor, targets: Tensor) -> Tensor:
    """Logits [B, T, V] from one decoding step after the other."""
    state, logits = model.start(model.encode(source)), []
    for tokens in targets.T:
        step, state = model.step(tokens, state)
        logits.append(step)
    return torch.stack(logits, dim=1)
