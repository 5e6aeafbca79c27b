"""What a batch asks of each kind of model: which target units it sees, and which it is to predict."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from context_nmt.corpus.vocabulary import MASK, PADDING
from context_nmt.settings.training import TrainingSettings
from context_nmt.training.batches import Batch

Random = np.random.Generator | None  # None: a validation, which draws nothing
Examples = Callable[[Batch, TrainingSettings, Random], Batch]


def next_units(batch: Batch, settings: TrainingSettings, random: Random) -> Batch:
    """Every unit from those before it, as batches are loaded."""
    return batch


def masked_units(batch: Batch, settings: TrainingSettings, random: Random) -> Batch:
    """Some units of each target, END among them, from all others; in a validation all of them from none.

    A target of N units has n masked, n drawn evenly from 1..N, or from 1..N-1 without `mask_whole_targets`, and then
    which ones (Ghazvininejad et al. 2019, section 3; their code draws from 1..N-1).
    """
    real = (batch.targets != PADDING).cpu().numpy()
    masked = real
    if random is not None:
        lengths = real.sum(1)
        most = lengths if settings.mask_whole_targets else np.maximum(lengths - 1, 1)
        count = random.integers(1, most, endpoint=True)
        order = np.where(real, random.random(real.shape), 2.0).argsort(1).argsort(1)  # padding comes last
        masked = order < count[:, None]
    hidden = torch.from_numpy(masked).to(batch.targets.device)
    return replace(
        batch,
        target_inputs=batch.targets.masked_fill(hidden, MASK),
        targets=batch.targets.masked_fill(~hidden, PADDING),
        tokens=int(masked.sum()),
    )


EXAMPLES: dict[str, Examples] = {"autoregressive": next_units, "masked": masked_units}
