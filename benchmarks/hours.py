"""Measure how long the trainings of an experiment take on this machine."""

import itertools
import os
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer

from context_nmt.command_line import run
from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.corpus.vocabulary import SPECIALS
from context_nmt.corpus.workers import in_parallel, usable_cores
from context_nmt.files import UserError
from context_nmt.models.building import build
from context_nmt.models.counting import SENTENCE_LENGTH
from context_nmt.models.devices import device_named
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.descriptions import vocabulary_sizes
from context_nmt.pipeline.planning import plan
from context_nmt.progress import say
from context_nmt.settings.layout import Layout
from context_nmt.settings.parameters import read_parameters
from context_nmt.training.batches import EXAMPLES, Pairs
from context_nmt.training.updating import Updater

MEASURED_SECONDS = 5.0  # of updates of each model, after an update that does not count
MEASURED_BATCHES = 20
POOL_BATCHES = 500  # in the sampled text, so that sentences of a batch have lengths as similar as in a training
DOCUMENT_SENTENCES = 10  # for models that look back
SECONDS_PER_HOUR = 3600


class _RandomSentences(TokenFile):
    """Sentences of random ids with given lengths [N]."""

    def __init__(self, lengths: np.ndarray[Any, Any], vocabulary: int, random: np.random.Generator) -> None:
        self._offsets = np.concatenate([[0], lengths.cumsum()])
        self._tokens = random.integers(min(len(SPECIALS), vocabulary - 1), vocabulary, self._offsets[-1])


def hours(parameters: Path, units: int | None, jobs: int, tokens_per_second: float | None = None) -> pd.DataFrame:
    """Measure the trainings of a params.yaml: a row for each variant, and a row for all, `jobs` at a time.

    `tokens_per_second` is the speed of GPUs in target tokens. Raise UserError if params.yaml is not valid, or if there
    are neither vocabularies nor `units`.
    """
    settings, layout = read_parameters(parameters), Layout(parameters.parent)
    runs = len(settings.seeds)
    jobs = min(jobs, len(settings.variants) * runs)
    sizes, lengths = vocabulary_sizes(layout, units), _lengths(layout, units)
    measured: dict[str, tuple[float, float]] = {}  # each distinct model once
    rows = dict[str, dict[str, float]]()
    for variant in settings.variants:
        training_plan = plan(settings, variant).training
        training = training_plan.training
        key = repr((training_plan.model, training.batch_tokens, training.maximum_sentence_length, training.precision))
        if key not in measured:
            say(f"{variant}: measuring")
            work = partial(_batch, training_plan, sizes, lengths, max(1, usable_cores() // jobs))
            measured[key] = tuple(np.mean(list(in_parallel(work, range(jobs), jobs)), axis=0))
        tokens, seconds = measured[key]
        batches = training.maximum_updates * training.accumulation
        if training.maximum_epochs and units is None:
            epoch = (lengths[1, lengths.max(0) <= training.maximum_sentence_length] + 1).sum() / tokens
            batches = min(batches, training.maximum_epochs * epoch)
        batches *= runs
        rows[variant] = {
            "runs": runs,
            "updates": round(batches / training.accumulation),
            "target_tokens": round(batches * tokens),
            "tokens_per_second": tokens / seconds,
            "hours": batches * seconds / SECONDS_PER_HOUR,
        }
        if tokens_per_second is not None:
            rows[variant]["gpu_hours"] = batches * tokens / tokens_per_second / SECONDS_PER_HOUR
    frame = pd.DataFrame.from_dict(rows, orient="index")
    total = frame.drop(columns="tokens_per_second").sum()
    total["hours"] /= jobs
    return pd.concat([frame, total.to_frame(f"in all, {jobs} at a time").T])


def _lengths(layout: Layout, units: int | None) -> np.ndarray[Any, Any]:
    """Return the lengths [2, N] of the training sentences, or random ones around the length that FLOPs assume."""
    if units is None:
        corpus = BinarizedCorpus(layout.binarized)
        return np.stack([side.lengths for side in corpus.parallel(corpus.train)])
    random = np.random.default_rng(1)
    lengths = random.gamma(4, SENTENCE_LENGTH / 4, 10_000) * random.lognormal(0, 0.15, (2, 10_000))
    return np.maximum(1, lengths.round()).astype(np.int64)


def _batch(
    training_plan: TrainingPlan, sizes: tuple[int, int], lengths: np.ndarray[Any, Any], threads: int, _: int
) -> tuple[float, float]:
    """Return the mean target tokens of a batch and the mean seconds of an update."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(threads)
    torch.manual_seed(1)
    random, settings, device = np.random.default_rng(1), training_plan.training, device_named("auto")
    model = build(training_plan.model, source_vocabulary=sizes[0], target_vocabulary=sizes[1]).to(device)
    fitting = lengths[:, lengths.max(0) <= settings.maximum_sentence_length]
    if not fitting.size:
        raise UserError(f"no sentence pair of at most {settings.maximum_sentence_length} units")
    count = max(2, int(POOL_BATCHES * settings.batch_tokens / fitting.max(0).mean()))
    sampled = fitting[:, random.integers(0, fitting.shape[1], count)]
    starts = range(0, count, DOCUMENT_SENTENCES)
    pairs = Pairs(
        *(_RandomSentences(side, size, random) for side, size in zip(sampled, sizes, strict=True)),
        maximum_length=None,
        documents=[range(start, min(start + DOCUMENT_SENTENCES, count)) for start in starts]
        if model.needs_documents
        else None,
        context_sentences=model.context_sentences,
        receptive_sentences=model.receptive_sentences,
        previous_sources=model.previous_sources,
        previous_targets=model.previous_targets,
    )
    batch_indices = itertools.islice(pairs.batches(tokens=settings.batch_tokens, random=random), MEASURED_BATCHES)
    examples = EXAMPLES[training_plan.model.model.kind]
    batches = [examples(pairs.load(indices), settings, random).to(device) for indices in batch_indices]
    updater = Updater(training_plan, model, seed=1)
    updater.update(1, batches[:1])
    start = _now(device)
    for number, batch in enumerate(itertools.cycle(batches), start=1):
        updater.update(number, [batch])
        if (passed := _now(device) - start) > MEASURED_SECONDS:
            break
    return sum(batch.tokens for batch in batches) / len(batches), passed / number


def _now(device: torch.device) -> float:
    """Return the time in seconds when a device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def main(
    parameters: Annotated[Path, typer.Argument(help="The params.yaml with the variants.")] = Path("params.yaml"),
    vocabulary: Annotated[
        int | None, typer.Option(min=1, help="Units per side, if the experiment has no binarized corpus yet.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time, each with its share of the cores.")] = 1,
    tokens_per_second: Annotated[
        float | None, typer.Option(min=1, help="Measured target tokens/s of all GPUs together, to show hours there.")
    ] = None,
) -> None:
    """Measure a few updates of each model of an experiment, and show how long its trainings take on this machine.

    Sentences are random, with the lengths of the training text, or of about 25 units with --vocabulary. Each training
    is assumed to make all its updates, without early stopping. Hours of a variant are the sum over its runs;
    validation, decoding and all other stages are left out. The speed of GPUs is the same for every model.

    Example: python -m benchmarks.hours params.yaml --jobs 2
    """
    frame = hours(parameters, vocabulary, jobs, tokens_per_second)
    two_digits = dict.fromkeys(["hours", "gpu_hours"], "{:,.2f}".format)
    typer.echo(frame.astype(float).to_string(formatters=two_digits, float_format="{:,.0f}".format, na_rep=""))


if __name__ == "__main__":
    run(main, "python -m benchmarks.hours")
