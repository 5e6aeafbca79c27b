"""Stops a classifier that gets no better."""

from copy import deepcopy

from torch import nn


class EarlyStopping:
    """Keeps a classifier's weights of the best epoch, the first of equal ones."""

    def __init__(self, classifier: nn.Module, patience: int) -> None:
        self.classifier, self.patience = classifier, patience
        self._best, self._since = -1.0, 0
        self._kept = deepcopy(classifier.state_dict())

    @property
    def goes_on(self) -> bool:
        """Whether it has got better in its last `patience` epochs."""
        return self._since < self.patience

    def validated(self, accuracy: float) -> None:
        """Take note of an epoch."""
        self._since += 1
        if accuracy > self._best:
            self._best, self._since, self._kept = accuracy, 0, deepcopy(self.classifier.state_dict())

    def restore(self) -> None:
        """Load the weights of the best epoch."""
        self.classifier.load_state_dict(self._kept)
