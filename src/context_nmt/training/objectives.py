"""A model up to its loss, as one module: several processes share the gradients of all that lies inside."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.building import Model
from context_nmt.models.document_model import DocumentModel
from context_nmt.models.masked_language_model import MaskedLanguageModel
from context_nmt.models.plans import TrainingPlan
from context_nmt.models.translation_model import TranslationModel
from context_nmt.training.losses import Loss, cross_entropy

Predictions = tuple[Tensor, Tensor | None]  # decoder states [B, T, D], and what else is to be minimised, in nats


class Objective(nn.Module):
    """The loss of a batch; see `examples` for what is predicted from what."""

    def __init__(self, model: Model, plan: TrainingPlan) -> None:
        super().__init__()
        self.model = model
        self.predict = PREDICTIONS[type(model)]
        self.smoothing = plan.training.label_smoothing
        self.lower_precision = plan.training.precision == "bf16"

    def forward(self, source: Tensor, target_inputs: Tensor, targets: Tensor, previous: Tensor | None = None) -> Loss:
        """A batch's ids [B, S], [B, T] and [B, T], PADDING where nothing is predicted -> its loss; see `Batch`."""
        with self._precision(source.device.type):
            states, more = self.predict(self.model, source, target_inputs, previous)
            weight = self.model.output.weight
            loss = cross_entropy(states, weight, targets, smoothing=self.smoothing, padding=PADDING)
        return loss if more is None else replace(loss, smoothed=loss.smoothed + more)

    def _precision(self, device: str) -> AbstractContextManager[Any]:
        return torch.autocast(device, dtype=torch.bfloat16) if self.lower_precision else nullcontext()


def _units(model: TranslationModel, source: Tensor, target_inputs: Tensor, _: Tensor | None) -> Predictions:
    return model(source, target_inputs), None


def _units_in_documents(
    model: DocumentModel, source: Tensor, target_inputs: Tensor, previous: Tensor | None
) -> Predictions:
    return model(source, target_inputs, previous), None


def _units_and_length(
    model: MaskedLanguageModel, source: Tensor, target_inputs: Tensor, _: Tensor | None
) -> Predictions:
    """The length's negative log-likelihood is summed over sentences, with weight 1, as Mask-Predict has it."""
    memory, logits = model.encode_with_length(source)
    lengths = (target_inputs != PADDING).sum(1).clamp(max=logits.size(1) - 1)
    return model.decode(target_inputs, memory), functional.cross_entropy(logits.float(), lengths, reduction="sum")


PREDICTIONS: dict[type, Callable[[Any, Tensor, Tensor, Tensor | None], Predictions]] = {
    TranslationModel: _units,
    DocumentModel: _units_in_documents,
    MaskedLanguageModel: _units_and_length,
}
