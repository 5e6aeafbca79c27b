"""Process batches of sentences with a model: shared by several processes, with their progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from context_nmt.corpus.batching import pad
from context_nmt.corpus.previous import Sentences
from context_nmt.corpus.vocabulary import END
from context_nmt.corpus.workers import in_parallel
from context_nmt.decoding.workers import gathered, one_thread
from context_nmt.files import UserError
from context_nmt.models.processes import Processes
from context_nmt.progress import Progress, say

Lengths = NDArray[np.int64]
Result = TypeVar("Result")

ALONE = Processes()
SHORT_OF_MEMORY = "; a smaller decoding.batch_tokens needs less, and with OMP_NUM_THREADS=1 there are no workers"


def lengths_of(sentences: Sentences) -> Lengths:
    """Return the number of units of every sentence [N], without END."""
    return np.array([len(sentences[number]) for number in range(len(sentences))], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Text:
    """Sentences to translate, with their documents."""

    sentences: Sentences  # as the encoder reads them: joined with previous ones, if the model concatenates
    translated_lengths: Lengths  # source units to translate, without END: also previous sentences', if translated again
    previous_targets: Lengths  # for each sentence, the number of previous ones that are translated again with it
    before: Lengths  # for each sentence, the number of sentences that precede it in its document
    references: Sentences | None  # shown to later sentences instead of translations
    device: torch.device

    def ids(self, batch: Lengths) -> Tensor:
        """Return the sentences of a batch [B, S], END after each."""
        return torch.from_numpy(pad([self.sentences[number] for number in batch], last=END)).to(self.device)


def split_documents(numbers: Lengths, before: Lengths) -> list[Lengths]:
    """Split the numbers of sentences where a document begins; see `Text.before`."""
    return np.split(numbers, np.flatnonzero(before[numbers] == 0)[1:]) if len(numbers) else []


def in_batches(
    work: Callable[[Lengths], list[Result]],
    batches: list[Lengths],
    lengths: Lengths,
    *,
    progress: str | None,
    workers: int | None,
    processes: Processes,
) -> dict[int, Result]:
    """Return the result of `work` for each sentence, by its number; a batch is an array of sentence numbers.

    `progress` is the name under which progress is shown, measured in `lengths`; without it nothing is printed.
    `workers` processes share the work, with one thread each, and the result does not depend on their number; without
    it, this process works alone, with all its threads. If torchrun started several `processes`, each takes its part
    of the batches and gets the results of all.
    """
    share = processes.share(batches)
    results: dict[int, Result] = {}
    with nullcontext() if workers is None else one_thread(), _shown(progress, lengths, share) as advance:
        count = min(workers or 1, len(share))
        finished = in_parallel(lambda batch: (batch, work(batch)), share, count, ordered=False, advice=SHORT_OF_MEMORY)
        for batch, batch_results in finished:
            results.update(zip(batch.tolist(), batch_results, strict=True))
            advance(batch)
    return gathered(results, processes)


def check_positions(positions: nn.Embedding | None, lengths: Lengths, name: str) -> None:
    """Raise UserError for a sentence that is longer than a model's learned positions, if it has them."""
    if positions is not None and len(lengths) and lengths.max() >= positions.num_embeddings:
        raise UserError(
            f"{name} {lengths.argmax() + 1} has {lengths.max()} units, but the model was trained with"
            f" model.maximum_positions {positions.num_embeddings}, END included; shorten or split the sentence"
        )


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Turn dropout and gradients off within a block."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


@contextmanager
def _shown(name: str | None, lengths: Lengths, work: list[Lengths]) -> Iterator[Callable[[Lengths], None]]:
    """Show progress in source tokens, which predict the time left better than sentences do, and a line at the end.

    Yield a function that counts one batch.
    """
    done, since, count = 0, time.perf_counter(), sum(map(len, work))

    def speed() -> str:
        return f"{done / max(1e-9, time.perf_counter() - since):,.1f} sentences/s"

    def tokens(batch: Lengths) -> int:
        return int((lengths[batch] + 1).sum())

    def advance(batch: Lengths) -> None:
        nonlocal done
        done += len(batch)
        progress.advance(tokens(batch), f"{done:,}/{count:,} sentences, {speed()}")

    with Progress(name, sum(map(tokens, work))) as progress:
        yield advance
    if name is not None:
        say(f"{name}: {done:,} sentences, {speed()}")
