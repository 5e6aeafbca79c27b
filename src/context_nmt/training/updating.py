"""One update: losses and gradients of a group of batches, the learning rate, and a step of Adam."""

import importlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from context_nmt.files import UserError
from context_nmt.models.devices import Processes, resolve_precision
from context_nmt.models.model import Model
from context_nmt.models.plans import CAPTURING, TrainingPlan
from context_nmt.settings.model import ScheduleSettings
from context_nmt.training.batches import Batch
from context_nmt.training.losses import Objective

COMPILED_UPDATES = 50_000  # of a training that repays the minutes of compiling, of 2 to 10 ms per update
AddGradients = Callable[[Batch, float], Tensor]  # batch, tokens of the update -> sums of the losses, see Updater


@dataclass(frozen=True)
class Totals:
    """Sums over real target tokens; reading the losses waits for the GPU."""

    losses: Tensor  # float64 [2] on the model's device, in nats: smoothed loss and negative log-likelihood
    tokens: int = 0

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(self.losses + other.losses, self.tokens + other.tokens)

    def means(self, name: str) -> tuple[float, float]:
        """Return the mean losses per token; raise UserError with the loss's `name` if the training has diverged."""
        smoothed, likelihood = (loss / self.tokens for loss in self.losses.tolist())
        if not math.isfinite(smoothed):
            raise UserError(
                f"the training has diverged: {name} is {smoothed}; lower the rate or lengthen the warmup in"
                " training.schedule, or clip gradients with training.clip_norm"
            )
        return smoothed, likelihood


class Updater:
    """A model and its optimiser; each process computes its share of an update's batches."""

    def __init__(
        self,
        plan: TrainingPlan,
        model: Model,
        *,
        seed: int,
        last_update: int | None = None,  # if unset, that of the plan
        processes: Processes | None = None,
    ) -> None:
        self.plan, self.model, self.seed = plan, model, seed
        self.last_update = last_update or plan.training.maximum_updates
        self.processes = processes or Processes()
        self.device = model.device
        self.objective = Objective(model, plan)
        self.objective.precision = resolve_precision(plan.training.precision, self.device)
        self.update_buffers = [buffer for name, buffer in model.named_buffers() if name.rpartition(".")[2] == "update"]
        self.prepare: Callable[[Batch], Batch] = lambda batch: batch.to(self.device)
        self.add_gradients: AddGradients = self._add_gradients
        self.is_compiled = False
        if self.device.type == "cuda":
            compiled = plan.training.compile
            self.is_compiled = compiled == "always" or (compiled == "auto" and self.last_update >= COMPILED_UPDATES)
            if self.is_compiled:
                self.objective.compile_parts()
            if plan.training.cuda_graphs:
                captured = importlib.import_module(CAPTURING).CapturedGradients(self.add_gradients, model)
                self.add_gradients, self.prepare = captured.add_gradients, captured.prepare
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            betas=(plan.training.adam_beta1, plan.training.adam_beta2),
            eps=plan.training.adam_epsilon,
            weight_decay=plan.training.weight_decay,
            fused=True,
        )

    def update(self, number: int, batches: list[Batch]) -> Totals:
        """Make a step on the mean loss per target token of all processes' batches; return the sums without waiting."""
        if not self.model.training:  # train() visits all modules, which takes milliseconds
            self.model.train()
        for buffer in self.update_buffers:
            buffer.fill_(number)
        losses = self.zero_totals().losses
        (tokens,) = self.processes.sum([sum(batch.tokens for batch in batches)])
        for index, batch in enumerate(batches):
            # Dropout depends on the batch's position in the update, not on earlier updates or the process.
            position = index * self.processes.count + self.processes.rank
            torch.manual_seed(self.seed * 1_000_003 + number + position * 2_654_435_761)  # a CPU uses the low 32 bits
            losses = losses + self.add_gradients(batch, tokens)
        self.processes.sum_gradients(self.model)
        if self.plan.training.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.training.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(number)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=self.device.type != "cuda")  # graphs add to the same tensors
        return Totals(self.processes.sum_on_device(losses), int(tokens))

    def _add_gradients(self, batch: Batch, tokens: float | Tensor) -> Tensor:
        """Add the gradients of a batch's loss, divided by the update's `tokens`; return the sums of its losses."""
        loss = self.objective(batch)
        (loss.smoothed / tokens).backward()  # type: ignore[no-untyped-call]
        return loss.sums()

    def warm_up(self, batch: Batch) -> None:
        """Compute gradients and drop them, so that kernels are compiled."""
        self.model.train()
        self._add_gradients(batch, batch.tokens)
        self.optimizer.zero_grad(set_to_none=False)

    @torch.no_grad()
    def evaluate(self, batches: Iterable[Batch]) -> Totals:
        """Return the sums over the batches of all processes, without dropout."""
        self.model.eval()
        for buffer in self.update_buffers:
            buffer.fill_(math.inf)
        totals = self.zero_totals()
        for batch in batches:
            totals += Totals(self.objective(batch).sums(), batch.tokens)
        (tokens,) = self.processes.sum([totals.tokens])
        return Totals(self.processes.sum_on_device(totals.losses), int(tokens))

    def zero_totals(self) -> Totals:
        """Return sums of 0, over no tokens."""
        return Totals(torch.zeros(2, dtype=torch.float64, device=self.device))

    def rate(self, number: int) -> float:
        """Return the learning rate of an update."""
        settings, width = self.plan.training, self.plan.model.model.width
        return learning_rate(number, settings.schedule, width=width, last_update=self.last_update)

    def moments(self) -> dict[str, Tensor]:
        """Return Adam's state by `parameter/name`."""
        return {
            f"{name}/{key}": value
            for name, parameter in self.model.named_parameters()
            for key, value in self.optimizer.state[parameter].items()
        }

    def restore(self, moments: dict[str, Tensor]) -> None:
        """Restore Adam's state as returned by `moments`."""
        for name, parameter in self.model.named_parameters():
            keys = ("step", "exp_avg", "exp_avg_sq")
            self.optimizer.state[parameter] = {key: moments[f"{name}/{key}"].to(parameter.device) for key in keys}


def learning_rate(update: int, schedule: ScheduleSettings, *, width: int, last_update: int) -> float:
    """Return the learning rate of an update, counted from 1."""
    progress = update / schedule.warmup
    peak = schedule.peak_rate
    if peak is None or schedule.kind == "vaswani":
        peak = schedule.factor * width**-0.5 * schedule.warmup**-0.5
    match schedule.kind:
        case "vaswani":  # Vaswani et al. (2017) eq. 3
            return peak * min(progress, progress**-0.5)
        case "inverse_square_root":  # fairseq
            if progress <= 1:
                return schedule.initial_rate + (peak - schedule.initial_rate) * progress
            return float(peak * progress**-0.5)
        case "cosine":  # one cycle with warm-up, So et al. (2019)
            decay = schedule.decay_updates or max(1, last_update - schedule.warmup)
            done = min(1.0, max(0, update - schedule.warmup) / decay)
            return peak * min(1.0, progress) * (0.5 + 0.5 * math.cos(math.pi * done))
