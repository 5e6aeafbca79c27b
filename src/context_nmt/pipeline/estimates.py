"""Show what the trainings of an experiment are asked to do: their learning rates, and the hours that they take."""

import itertools
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Column, Table

from context_nmt.corpus.binarized import BinarizedCorpus, TokenFile
from context_nmt.corpus.vocabulary import SPECIALS
from context_nmt.corpus.workers import in_parallel, usable_cores
from context_nmt.files import UserError
from context_nmt.models.building import build
from context_nmt.models.counting import SENTENCE_LENGTH
from context_nmt.models.devices import device_named
from context_nmt.models.plans import TrainingPlan
from context_nmt.pipeline.checks import experiments
from context_nmt.pipeline.descriptions import vocabulary_sizes
from context_nmt.pipeline.planning import plan
from context_nmt.progress import say
from context_nmt.settings.layout import Layout
from context_nmt.settings.parameters import ExperimentSettings, read_parameters
from context_nmt.training.batches import EXAMPLES, Pairs
from context_nmt.training.updating import Updater, learning_rate

SECONDS = 5.0  # of updates of each model, after one that does not count
BATCHES = 20  # that are measured
POOL = 500  # batches that the sentences fill, so that those of a batch are as alike in length as in a training
DOCUMENT = 10  # sentences, for models that look back
SECONDS_PER_HOUR = 3600
NOTE = """\
Each training makes all its updates, without early stopping. Validation, decoding and all other stages are left out.
Hours of a variant are the sum over its runs. The last line is for {jobs} trainings at a time, with no idle core."""
GPU_NOTE = "GPUs: the given speed for every model, in proportion to the number of GPUs."


def print_rates(parameters: Path, *, as_json: bool) -> None:
    """Print the peak learning rates of a params.yaml and, for that in a project's root, of all experiments.

    Raise UserError for a wrong params.yaml.
    """
    _, *others = experiments(parameters.parent)
    rates = {"": _rates(read_parameters(parameters))}
    rates |= {folder.name: _rates(read_parameters(folder / "params.yaml")) for folder in others}
    if as_json:
        print(json.dumps(rates, indent=2))
        return
    names = [Column(head, overflow="fold") for head in ("experiment", "variant")]
    table = Table(*names, "schedule", "warm-up", "peak rate", "/ baseline's", title="Learning rates")
    for experiment, variants in rates.items():
        for variant, values in variants.items():
            ratio = f"{values['over_baseline']:.2f}" if values["over_baseline"] else ""
            cells = (values["schedule"], f"{values['warmup']:,}", f"{values['peak']:.3g}", ratio)
            table.add_row(experiment, variant, *cells)
    Console().print(table)


def _rates(settings: ExperimentSettings) -> dict[str, dict[str, Any]]:
    """Return schedule, warm-up, peak and the peak over the baseline's, by variant."""
    rates, peaks = dict[str, dict[str, Any]](), dict[str, float]()
    for name in settings.variants:
        recipe = settings.recipe(name)
        schedule, updates = recipe.training.schedule, recipe.training.maximum_updates
        last = min(schedule.warmup, updates)  # of warm-up, or of the training if that comes first
        peaks[name] = learning_rate(last, schedule, width=recipe.model.width, maximum_updates=updates)
        rates[name] = {"schedule": schedule.kind, "warmup": schedule.warmup, "peak": float(f"{peaks[name]:.6g}")}
    for name, variant in settings.variants.items():
        ratio = round(peaks[name] / peaks[variant.baseline], 3) if variant.baseline else None
        rates[name]["over_baseline"] = ratio
    return rates


class _RandomSentences(TokenFile):
    """Sentences of given lengths [N]; their ids are random."""

    def __init__(self, lengths: np.ndarray[Any, Any], vocabulary: int, random: np.random.Generator) -> None:
        self._offsets = np.concatenate([[0], lengths.cumsum()])
        self._tokens = random.integers(min(len(SPECIALS), vocabulary - 1), vocabulary, self._offsets[-1])


def print_hours(
    parameters: Path, units: int | None, *, jobs: int, gpus: int, tokens_per_second: float | None, as_json: bool
) -> None:
    """Measure and print how long each variant of a params.yaml and the experiment take, as JSON or as a table.

    `jobs` trainings, at most one per run, are side by side; `tokens_per_second` is the speed of one GPU in target
    tokens. Raise UserError for a wrong params.yaml or number, if there are no vocabularies yet, and for several GPUs
    without a speed.
    """
    if gpus > 1 and tokens_per_second is None:
        raise UserError(
            f"--gpus is {gpus}; it needs --tokens-per-second, the target tokens/s of one GPU, which has to be measured"
        )
    settings, experiment = read_parameters(parameters), Layout(parameters.parent)
    jobs = min(jobs, len(settings.variants) * len(settings.seeds))
    sizes, lengths = vocabulary_sizes(experiment, units), _lengths(experiment, units)
    measured: dict[str, tuple[float, float]] = {}  # distinct models only
    variants = {}
    for variant in settings.variants:
        training_plan = plan(settings, variant).training
        training = training_plan.training
        key = repr((training_plan.model, training.batch_tokens, training.maximum_sentence_length, training.precision))
        if key not in measured:
            say(f"{variant}: measuring")
            work = partial(_batch, training_plan, sizes, lengths, max(1, usable_cores() // jobs))
            measured[key] = tuple(np.mean(list(in_parallel(work, range(jobs), jobs)), axis=0))
        tokens, seconds = measured[key]
        batches_in_all = training.maximum_updates * training.accumulation * len(settings.seeds)
        variants[variant] = {
            "runs": len(settings.seeds),
            "updates": training.maximum_updates * len(settings.seeds),
            "target_tokens": round(batches_in_all * tokens),
            "tokens_per_second": tokens / seconds,
            "hours": batches_in_all * seconds / SECONDS_PER_HOUR,
        }
        if tokens_per_second is not None:
            target_tokens = variants[variant]["target_tokens"]
            variants[variant]["gpu_hours"] = target_tokens / (tokens_per_second * gpus) / SECONDS_PER_HOUR
    summed = [key for key in next(iter(variants.values())) if key != "tokens_per_second"]
    total = {key: sum(values[key] for values in variants.values()) for key in summed}
    total["hours"] /= jobs
    if as_json:
        print(json.dumps({"jobs": jobs, "gpus": gpus, "variants": variants, "experiment": total}, indent=2))
    else:
        _print_table(variants, total, jobs, gpus)


def _lengths(experiment: Layout, units: int | None) -> np.ndarray[Any, Any]:
    """Return the lengths [2, N] of the training sentences; without them, around those of FLOPs."""
    if units is None:
        corpus = BinarizedCorpus(experiment.binarized)
        return np.stack([side.lengths for side in corpus.parallel(corpus.train)])
    random = np.random.default_rng(1)
    lengths = random.gamma(4, SENTENCE_LENGTH / 4, 10_000) * random.lognormal(0, 0.15, (2, 10_000))
    return np.maximum(1, lengths.round()).astype(np.int64)


def _batch(
    training_plan: TrainingPlan, sizes: tuple[int, int], lengths: np.ndarray[Any, Any], threads: int, _: int
) -> tuple[float, float]:
    """Return the mean target tokens of a batch and the mean seconds of updates with one."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(threads)
    torch.manual_seed(1)
    random, settings, device = np.random.default_rng(1), training_plan.training, device_named("auto")
    model = build(training_plan.model, source_vocabulary=sizes[0], target_vocabulary=sizes[1]).to(device)
    fitting = lengths[:, lengths.max(0) <= settings.maximum_sentence_length]
    if not fitting.size:
        raise UserError(f"no sentence pair of at most {settings.maximum_sentence_length} units")
    count = max(2, int(POOL * settings.batch_tokens / fitting.max(0).mean()))
    drawn = fitting[:, random.integers(0, fitting.shape[1], count)]
    pairs = Pairs(
        *(_RandomSentences(side, size, random) for side, size in zip(drawn, sizes, strict=True)),
        maximum_length=None,
        documents=[range(start, min(start + DOCUMENT, count)) for start in range(0, count, DOCUMENT)]
        if model.needs_documents
        else None,
        sentences=model.sentences,
        reach=model.reach,
        previous_sources=model.previous_sources,
        previous_targets=model.previous_targets,
    )
    examples = EXAMPLES[training_plan.model.model.kind]
    batches = [
        examples(pairs.load(indices), settings, random).to(device)
        for indices in itertools.islice(pairs.batches(tokens=settings.batch_tokens, random=random), BATCHES)
    ]
    updater = Updater(training_plan, model, seed=1)
    updater.update(1, batches[:1])
    start = _now(device)
    for number, batch in enumerate(itertools.cycle(batches), start=1):
        updater.update(number, [batch])
        if (passed := _now(device) - start) > SECONDS:
            break
    return sum(batch.tokens for batch in batches) / len(batches), passed / number


def _now(device: torch.device) -> float:
    """Return the time in seconds at which a device has done its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _print_table(variants: dict[str, dict[str, Any]], total: dict[str, Any], jobs: int, gpus: int) -> None:
    columns = ["updates", "Mtokens", "tokens/s", "hours"]
    if "gpu_hours" in total:
        columns.append(f"on {gpus} GPU{'s' if gpus > 1 else ''}")
    summary = Table(title="Millions of target tokens, and hours on this machine")
    summary.add_column("variant", no_wrap=True)
    for column in columns:
        summary.add_column(column, justify="right")
    for name, values in {**variants, f"in all, {jobs} at a time": total}.items():
        speed = f"{values['tokens_per_second']:,.0f}" if "tokens_per_second" in values else ""
        cells = [f"{values['updates']:,}", f"{values['target_tokens'] / 1e6:,.1f}"]
        hours = [f"{values[key]:,.2f}" for key in ("hours", "gpu_hours") if key in values]
        summary.add_row(name, *cells, speed, *hours)
    console = Console()
    console.print(summary)
    for note in (NOTE.format(jobs=jobs), *([GPU_NOTE] if "gpu_hours" in total else [])):
        console.print(note, soft_wrap=True, highlight=False)
