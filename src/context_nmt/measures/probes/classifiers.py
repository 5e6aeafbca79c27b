"""The classifiers of both kinds of probes, with training and early stopping.

For sentence probes, Ampomah et al. (2021) specify two layers, RMSprop, L2 regularisation of 1e-4, a learning rate of
2.5e-4, batches of 64 sentences and up to 100 epochs. The rest is our choice: 512 hidden units with ReLU, a patience of
5 epochs, L2 as weight decay of the hidden layer only, and the weights of the best epoch.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.progress import tracked
from context_nmt.settings.evaluation import SentenceClassifierSettings, WordClassifierSettings


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


@dataclass(frozen=True)
class Examples:
    """Features [N, D] and the numbers of their classes [N]."""

    features: Tensor
    labels: Tensor


def train_sentence_probe(
    training: Examples, validation: Examples, *, classes: int, settings: SentenceClassifierSettings, seed: int
) -> Probe:
    """Train one classifier of sentences; equal seeds give equal weights."""
    torch.manual_seed(seed)
    hidden = nn.Linear(training.features.size(1), settings.hidden_width)
    output = nn.Linear(settings.hidden_width, classes)
    groups: list[dict[str, Any]] = [
        {"params": hidden.parameters(), "weight_decay": settings.weight_decay},
        {"params": output.parameters()},
    ]
    optimizer = torch.optim.RMSprop(groups, lr=settings.learning_rate)
    probe = Probe(nn.Sequential(hidden, nn.ReLU(), output), optimizer, settings.patience)
    for _ in tracked(range(settings.epochs), "classifier", settings.epochs, "epochs"):
        for batch in torch.split(torch.randperm(len(training.labels)), settings.batch_sentences):
            probe.update(training.features[batch], training.labels[batch])
        probe.validated(accuracy(probe, validation))
        if not probe.goes_on:
            break
    probe.restore()
    return probe


def accuracy(probe: Probe, examples: Examples) -> float:
    """Return the accuracy on the examples, in per cent."""
    return 100 * float(probe.right(examples.features, examples.labels).double().mean())


def word_probe(width: int, classes: int, settings: WordClassifierSettings, device: torch.device) -> Probe:
    """Make the classifier of the words of one layer (Emelin et al. 2019)."""
    classifier = nn.Sequential(
        nn.Linear(width, settings.hidden_width),
        nn.ReLU(),
        nn.Dropout(settings.dropout),
        nn.Linear(settings.hidden_width, classes, bias=False),
    ).to(device)
    betas = (0.9, settings.adam_beta2)
    optimizer = torch.optim.Adam(classifier.parameters(), settings.learning_rate, betas, settings.adam_epsilon)
    return Probe(classifier, optimizer, settings.patience)
