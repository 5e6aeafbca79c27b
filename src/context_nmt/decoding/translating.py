"""Translates sentences of ids: batches of like length, beam search, results in the order of the input."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from context_nmt.corpus.batching import pad
from context_nmt.corpus.vocabulary import BEGIN, END, PADDING
from context_nmt.decoding.linear_maps import prepared
from context_nmt.decoding.search import Hypothesis, beam_search
from context_nmt.decoding.workers import gathered, one_thread, side_by_side
from context_nmt.files import UserError
from context_nmt.models.processes import Processes
from context_nmt.models.translation_model import TranslationModel
from context_nmt.settings import DecodingSettings

Lengths = NDArray[np.int64]


ALONE = Processes()


class Sentences(Protocol):
    """A list of arrays of source ids without END, or a token file."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> NDArray[np.integer[Any]]: ...


def translate_ids(
    model: TranslationModel,
    sentences: Sentences,
    settings: DecodingSettings,
    *,
    device: torch.device,
    progress: str | None = None,
    workers: int | None = None,
    processes: Processes = ALONE,
) -> list[list[Hypothesis]]:
    """Return the `settings.n_best` best hypotheses of every sentence, best first, in the order of the input.

    `progress` names the work in a bar on standard error; without it nothing is shown. A sentence of no units is
    translated, too: the model then sees END alone. `workers` processes share the work, with one thread each, and the
    result does not depend on their number; without it, this process works alone, with the threads that it has.
    Where torchrun started several `processes`, each takes its part of the batches and gets the results of all.
    Raises UserError for a sentence that is longer than the model's learned positions.
    """
    lengths = np.array([len(sentences[number]) for number in range(len(sentences))], dtype=np.int64)
    _check_positions(model, lengths)
    own = processes.share(list(batches(lengths, settings)))

    def translate(job: int) -> list[list[Hypothesis]]:
        batch = own[job]
        source = torch.from_numpy(pad([sentences[number] for number in batch], last=END)).to(device)
        return _search(model, source, _maximum_lengths(model, lengths[batch], settings).to(device), settings)

    results: dict[int, list[Hypothesis]] = {}
    with (
        _evaluating(model),
        prepared(model, settings.precision),
        nullcontext() if workers is None else one_thread(),
        _Bar(progress, lengths, own) as bar,
    ):
        for job, found in side_by_side(translate, len(own), workers or 1):
            results.update(zip(own[job].tolist(), found, strict=True))
            bar.advance(own[job])
    everyones = gathered(results, processes)
    return [everyones[number] for number in range(len(lengths))]


def batches(lengths: Lengths, settings: DecodingSettings) -> Iterator[Lengths]:
    """Yield the numbers of the sentences in batches of at most `settings.batch_tokens` source tokens times the beam.

    The longest come first, so that memory runs out at once if it does. A sentence that is too long is alone.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        hypotheses = settings.batch_tokens // (int(lengths[order[start]]) + 1)  # END included
        end = start + max(1, hypotheses // settings.beam)
        yield order[start:end]
        start = end


def _search(
    model: TranslationModel, source: Tensor, maximum_lengths: Tensor, settings: DecodingSettings
) -> list[list[Hypothesis]]:
    return beam_search(
        model.step,
        model.start(model.encode(source)),
        batch=len(source),
        beam=settings.beam,
        length_penalty=settings.length_penalty,
        weight=settings.length_penalty_weight,
        maximum_lengths=maximum_lengths,
        n_best=settings.n_best,
        stop=settings.stop,
        begin=BEGIN,
        end=END,
        forbidden=(PADDING, BEGIN),
    )


def _maximum_lengths(model: TranslationModel, lengths: Lengths, settings: DecodingSettings) -> Tensor:
    """Units before END: ratio * source length + offset, as far as the model has positions."""
    maximum = (settings.maximum_length_ratio * lengths).astype(np.int64) + settings.maximum_length_offset
    if model.target_embedding.positions is not None:
        maximum = np.minimum(maximum, model.target_embedding.positions.num_embeddings - 1)
    return torch.from_numpy(maximum)


def _check_positions(model: TranslationModel, lengths: Lengths) -> None:
    positions = model.source_embedding.positions
    if positions is not None and len(lengths) and lengths.max() >= positions.num_embeddings:
        raise UserError(
            f"sentence {lengths.argmax() + 1} has {lengths.max()} units, but the model was trained with"
            f" model.maximum_positions {positions.num_embeddings}, END included; shorten or split the sentence"
        )


@contextmanager
def _evaluating(model: TranslationModel) -> Iterator[None]:
    """Turn dropout and gradients off for a while."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


class _Bar:
    """A progress bar in source tokens, which tell the time left better than sentences do; at the end, one line."""

    def __init__(self, name: str | None, lengths: Lengths, work: list[Lengths]) -> None:
        self.name, self.lengths, self.done, self.since = name, lengths, 0, time.perf_counter()
        count = sum(map(len, work))
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn(f"{{task.fields[done]:,}}/{count:,} sentences, {{task.fields[speed]:,.1f}} sentences/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=name is None,
        )
        self.task = self.progress.add_task(name or "", total=sum(map(self._tokens, work)), done=0, speed=0.0)

    def __enter__(self) -> "_Bar":
        self.progress.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.progress.stop()
        if self.name is not None and kind is None:
            line = f"{self.name}: {self.done:,} sentences, {self._speed():,.1f} sentences/s"
            self.progress.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def advance(self, batch: Lengths) -> None:
        """Count one batch, given as the numbers of its sentences."""
        self.done += len(batch)
        self.progress.update(self.task, advance=self._tokens(batch), done=self.done, speed=self._speed())

    def _tokens(self, batch: Lengths) -> int:
        return int((self.lengths[batch] + 1).sum())

    def _speed(self) -> float:
        return self.done / max(1e-9, time.perf_counter() - self.since)
