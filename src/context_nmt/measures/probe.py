"""A classifier of states, with training and early stopping, for probes of sentences and of words."""

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional


class Probe:
    """A classifier, [N, D] -> logits [N, classes], with early stopping at the first epoch of the highest accuracy."""

    def __init__(self, classifier: nn.Module, optimizer: torch.optim.Optimizer, patience: int) -> None:
        self.classifier, self.optimizer, self.patience = classifier, optimizer, patience
        self._best, self._since = -1.0, 0
        self._kept = deepcopy(classifier.state_dict())

    def update(self, states: Tensor, labels: Tensor) -> None:
        """Make one training step on states [N, D] with labels [N]."""
        self.classifier.train()
        self.optimizer.zero_grad()
        functional.cross_entropy(self.classifier(states), labels).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    @torch.no_grad()
    def right(self, states: Tensor, labels: Tensor) -> Tensor:
        """Return whether the label of each state [N, D] has the highest logit, bool [N]."""
        return self.classifier.eval()(states).argmax(-1) == labels

    @property
    def goes_on(self) -> bool:
        """Return whether the probe improved in the last `patience` epochs."""
        return self._since < self.patience

    def validated(self, accuracy: float) -> None:
        """Record the validation accuracy of an epoch."""
        self._since += 1
        if accuracy > self._best:
            self._best, self._since, self._kept = accuracy, 0, deepcopy(self.classifier.state_dict())

    def restore(self) -> None:
        """Load the weights of the best epoch."""
        self.classifier.load_state_dict(self._kept)
