"""The classifiers of both kinds of probes, their training and its early stopping.

Of the sizes of sentence probes, Ampomah et al. (2021) name two layers, RMSprop, the L2 of 1e-4, the rate of 2.5e-4, 64
sentences a batch and up to 100 epochs. They do not name the rest, which is decided here: 512 hidden units with ReLU,
patience of 5 epochs, L2 as weight decay of the hidden layer alone, and the weights of the best epoch.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.settings.evaluation import SentenceClassifierSettings, WordClassifierSettings


class EarlyStopping:
    """Keeps a classifier's weights of the best epoch, the first of equal ones."""

    def __init__(self, classifier: nn.Module, patience: int) -> None:
        self.classifier, self.patience = classifier, patience
        self._best, self._since = -1.0, 0
        self._kept = deepcopy(classifier.state_dict())

    @property
    def goes_on(self) -> bool:
        """Whether it has improved in its last `patience` epochs."""
        return self._since < self.patience

    def validated(self, accuracy: float) -> None:
        """Note the accuracy after an epoch."""
        self._since += 1
        if accuracy > self._best:
            self._best, self._since, self._kept = accuracy, 0, deepcopy(self.classifier.state_dict())

    def restore(self) -> None:
        """Load the weights of the best epoch."""
        self.classifier.load_state_dict(self._kept)


@dataclass(frozen=True)
class Examples:
    """Features [N, D] and the numbers of their classes [N]."""

    features: Tensor
    labels: Tensor


def train_sentence_probe(
    training: Examples, validation: Examples, *, classes: int, settings: SentenceClassifierSettings, seed: int
) -> nn.Module:
    """Train one classifier of sentences, [N, D] -> logits [N, classes]; equal seeds give equal weights."""
    torch.manual_seed(seed)
    hidden = nn.Linear(training.features.size(1), settings.hidden_width)
    output = nn.Linear(settings.hidden_width, classes)
    classifier = nn.Sequential(hidden, nn.ReLU(), output)
    groups: list[dict[str, Any]] = [
        {"params": hidden.parameters(), "weight_decay": settings.weight_decay},
        {"params": output.parameters()},
    ]
    optimizer = torch.optim.RMSprop(groups, lr=settings.learning_rate)
    stopping = EarlyStopping(classifier, settings.patience)
    for _ in range(settings.epochs):
        for batch in torch.split(torch.randperm(len(training.labels)), settings.batch_sentences):
            _update(classifier, optimizer, training.features[batch], training.labels[batch])
        stopping.validated(accuracy(classifier, validation))
        if not stopping.goes_on:
            break
    stopping.restore()
    return classifier


@torch.no_grad()
def accuracy(classifier: nn.Module, examples: Examples) -> float:
    """Return the per cent of the examples whose class has the highest logit."""
    right = classifier(examples.features).argmax(-1) == examples.labels
    return 100 * float(right.double().mean())


class WordProbe:
    """The classifier of the words of one layer, [N, D] -> logits [N, classes] (Emelin et al. 2019)."""

    def __init__(self, width: int, classes: int, settings: WordClassifierSettings, device: torch.device) -> None:
        self.classifier = nn.Sequential(
            nn.Linear(width, settings.hidden_width),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.hidden_width, classes, bias=False),
        ).to(device)
        self.optimizer = torch.optim.Adam(self.classifier.parameters(), lr=settings.learning_rate)
        self.stopping = EarlyStopping(self.classifier, settings.patience)

    def update(self, states: Tensor, labels: Tensor) -> None:
        """Learn from states [N, D] of classes [N]."""
        _update(self.classifier.train(), self.optimizer, states, labels)

    @torch.no_grad()
    def right(self, states: Tensor, labels: Tensor) -> Tensor:
        """Return whether the class of each state [N, D] is found, bool [N]."""
        return self.classifier.eval()(states).argmax(-1) == labels


def _update(classifier: nn.Module, optimizer: torch.optim.Optimizer, features: Tensor, labels: Tensor) -> None:
    optimizer.zero_grad()
    functional.cross_entropy(classifier(features), labels).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
