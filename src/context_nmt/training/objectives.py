"""A model up to its loss, as one module: several processes share the gradients of all that lies inside."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from context_nmt.corpus.vocabulary import PADDING
from context_nmt.models.model import Model
from context_nmt.models.plans import TrainingPlan
from context_nmt.training.losses import Loss, cross_entropy


class Objective(nn.Module):
    """The loss of a batch; see `examples` for what is predicted from what."""

    def __init__(self, model: Model, plan: TrainingPlan) -> None:
        super().__init__()
        self.model = model
        self.smoothing = plan.training.label_smoothing
        self.lower_precision = plan.training.precision == "bf16"

    def forward(self, source: Tensor, target_inputs: Tensor, targets: Tensor, previous: Tensor | None = None) -> Loss:
        """A batch's ids [B, S], [B, T] and [B, T], PADDING where nothing is predicted -> its loss; see `Batch`."""
        with self._precision(source.device.type):
            states, more = self.model.predict(source, target_inputs, previous)
            weight = self.model.output.weight
            loss = cross_entropy(states, weight, targets, smoothing=self.smoothing, padding=PADDING)
        return loss if more is None else replace(loss, smoothed=loss.smoothed + more)

    def _precision(self, device: str) -> AbstractContextManager[Any]:
        return torch.autocast(device, dtype=torch.bfloat16) if self.lower_precision else nullcontext()
