"""A classifier of states with early stopping, for sentence probes and word probes."""

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional


class Probe:
    """A classifier, [N, D] -> logits [N, classes], that keeps the weights of its first best epoch."""

    def __init__(self, classifier: nn.Module, optimizer: torch.optim.Optimizer, patience: int) -> None:
        self.classifier, self.optimizer, self.patience = classifier, optimizer, patience
        self._best_accuracy, self._epochs_since_best = -1.0, 0
        self._best_weights = deepcopy(classifier.state_dict())

    def update(self, states: Tensor, labels: Tensor) -> None:
        """Make one training step on states [N, D] with labels [N]."""
        self.classifier.train()
        self.optimizer.zero_grad()
        functional.cross_entropy(self.classifier(states), labels).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    @torch.no_grad()
    def is_correct(self, states: Tensor, labels: Tensor) -> Tensor:
        """Return whether the label of each state [N, D] has the highest logit, bool [N]."""
        return self.classifier.eval()(states).argmax(-1) == labels

    @property
    def is_improving(self) -> bool:
        """Whether the probe has improved in the last `patience` epochs."""
        return self._epochs_since_best < self.patience

    def record_accuracy(self, accuracy: float) -> None:
        """Record the validation accuracy of an epoch."""
        self._epochs_since_best += 1
        if accuracy > self._best_accuracy:
            self._best_accuracy, self._epochs_since_best = accuracy, 0
            self._best_weights = deepcopy(self.classifier.state_dict())

    def restore(self) -> None:
        """Load the weights of the best epoch."""
        self.classifier.load_state_dict(self._best_weights)
