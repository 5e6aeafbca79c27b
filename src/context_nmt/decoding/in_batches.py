"""Process batches of sentences with a model, in worker processes and with progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from context_nmt.corpus.batching import Indices, Sentences, pad
from context_nmt.corpus.vocabulary import END
from context_nmt.corpus.workers import CAN_FORK, in_parallel
from context_nmt.files import UserError
from context_nmt.models.devices import Processes, join_processes
from context_nmt.progress import Progress, say

Lengths = NDArray[np.int64]
Key = TypeVar("Key")
Result = TypeVar("Result")

MEMORY_ADVICE = "; a smaller decoding.batch_tokens needs less memory, and with OMP_NUM_THREADS=1 there are no workers"


def lengths_of(sentences: Sentences) -> Lengths:
    """Return the number of units of each sentence [N], without END."""
    return np.array([len(sentences[number]) for number in range(len(sentences))], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class TranslationInput:
    """Sentences to translate, with the positions in their documents."""

    sentences: Sentences  # as the encoder reads them: joined with previous ones if the model concatenates
    translated_lengths: Lengths  # source units to translate, without END, including previous sentences translated again
    previous_targets: Lengths  # for each sentence, the number of previous sentences that are translated again with it
    before: Lengths  # for each sentence, the number of sentences before it in its document
    references: Sentences | None  # context of later sentences, instead of translations
    device: torch.device

    def ids(self, batch: Indices) -> Tensor:
        """Return the ids of a batch of sentences [B, S], with END after each."""
        return torch.from_numpy(pad([self.sentences[number] for number in batch], last=END)).to(self.device)


def split_documents(numbers: Indices, before: Lengths) -> list[Indices]:
    """Split sentence numbers at the starts of documents; for `before` see `TranslationInput`."""
    return np.split(numbers, np.flatnonzero(before[numbers] == 0)[1:]) if len(numbers) else []


def process_batches(
    work: Callable[[Indices], list[Result]],
    batches: list[Indices],
    lengths: Lengths,
    *,
    progress: str | None,
    processes: Processes | None,
) -> dict[int, Result]:
    """Return the result of `work` for each sentence, by its number; a batch is an array of sentence numbers.

    Progress, measured in `lengths`, is shown under the name `progress`; without a name nothing is printed. Each of the
    `processes` that torchrun started works on its share of the batches and returns all results, which do not depend on
    the number of workers.
    """
    processes = processes or Processes()
    share = processes.share(batches)
    results: dict[int, Result] = {}
    count, since = sum(map(len, share)), time.perf_counter()

    def speed() -> str:
        return f"{len(results) / max(1e-9, time.perf_counter() - since):,.1f} sentences/s"

    def tokens(batch: Indices) -> int:  # predict the remaining time better than the number of sentences
        return int((lengths[batch] + 1).sum())

    with (
        nullcontext() if processes.workers is None else single_thread(),
        Progress(progress, sum(map(tokens, share))) as shown,
    ):
        finished = in_parallel(
            lambda batch: (batch, work(batch)),
            share,
            min(processes.workers or 1, len(share)),
            ordered=False,
            advice=MEMORY_ADVICE,
        )
        for batch, batch_results in finished:
            results.update(zip(batch.tolist(), batch_results, strict=True))
            shown.advance(tokens(batch), f"{len(results):,}/{count:,} sentences, {speed()}")
    if progress is not None:
        say(f"{progress}: {len(results):,} sentences, {speed()}")
    return gather_results(results, processes)


def check_positions(positions: nn.Embedding | None, lengths: Lengths, name: str) -> None:
    """Raise UserError if the model has learned positions and a sentence is longer; errors start with `name`."""
    if positions is not None and len(lengths) and lengths.max() >= positions.num_embeddings:
        raise UserError(
            f"{name} {lengths.argmax() + 1} has {lengths.max()} units, but the model was trained with"
            f" model.maximum_positions {positions.num_embeddings}, including END; shorten or split the sentence"
        )


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Turn dropout and gradients off inside the block."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


@contextmanager
def join_processes_with_workers(device: torch.device) -> Iterator[Processes]:
    """Join the processes that torchrun started, each with `decode_workers` workers."""
    with join_processes(device) as joined:
        yield replace(joined, workers=decode_workers(device))


def decode_workers(device: torch.device) -> int:
    """Return how many processes decode at once: PyTorch's number of threads (`OMP_NUM_THREADS`) on a CPU, otherwise 1.

    A second thread gains little with small matrices; a second process works on another batch.
    """
    return torch.get_num_threads() if device.type == "cpu" and CAN_FORK else 1


@contextmanager
def single_thread() -> Iterator[None]:
    """Compute with one thread inside the block, so that results do not depend on the machine's number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def gather_results(results: dict[Key, Result], processes: Processes) -> dict[Key, Result]:
    """Return the results of all processes that torchrun started, in every process."""
    return {key: result for share in processes.gather(results) for key, result in share.items()}
