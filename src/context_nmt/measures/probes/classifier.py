"""The classifier of sentence probes (Ampomah et al. 2021): two layers, RMSprop, stopped when validation gets no better.

Of its sizes the paper names the L2 of 1e-4, the rate of 2.5e-4, 64 sentences a batch and up to 100 epochs. What it does
not say is decided here: 512 hidden units with ReLU, patience of 5 epochs, L2 as weight decay of the hidden layer alone,
and the weights of the best epoch, the first of equal ones.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from context_nmt.measures.probes.early_stopping import EarlyStopping
from context_nmt.settings.evaluation import SentenceClassifierSettings


@dataclass(frozen=True)
class Examples:
    """Features [N, D] and the numbers of their classes [N]."""

    features: Tensor
    labels: Tensor


def train_classifier(
    training: Examples, validation: Examples, *, classes: int, settings: SentenceClassifierSettings, seed: int
) -> nn.Module:
    """Train one classifier, [N, D] -> logits [N, classes]; equal seeds give equal weights."""
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
            optimizer.zero_grad()
            logits = classifier(training.features[batch])
            functional.cross_entropy(logits, training.labels[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        stopping.validated(accuracy(classifier, validation))
        if not stopping.goes_on:
            break
    stopping.restore()
    return classifier


@torch.no_grad()
def accuracy(classifier: nn.Module, examples: Examples) -> float:
    """Per cent of the examples whose class has the highest logit."""
    right = classifier(examples.features).argmax(-1) == examples.labels
    return 100 * float(right.double().mean())
