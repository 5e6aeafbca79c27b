"""Measure a GPU: training and beam search at base size, and minutes of a training on Multi30k in bf16.

Not measured by `make speed`, since most machines have no GPU.
"""

import csv
import dataclasses
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

import torch
import typer

from benchmarks import machine
from benchmarks.page import GPUS, write_page
from benchmarks.setting import EXPERIMENT, prepared
from benchmarks.variants import LENGTH, never_end
from context_nmt.command_line import Unfinished, noticing, run
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_json, write_json
from context_nmt.models.building import build
from context_nmt.models.counting import describe
from context_nmt.models.devices import Processes, device_named, processor_of, resolved
from context_nmt.models.plans import ModelPlan, TrainingPlan
from context_nmt.pipeline.planning import plan
from context_nmt.progress import say
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.model import ScheduleSettings
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import RunLayout, run_name
from context_nmt.training.batches import Pairs, ahead
from context_nmt.training.trainer import train_run
from context_nmt.training.updating import Updater

Item = TypeVar("Item")

BASE: dict[str, Any] = {"width": 512, "feed_forward_width": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}
BATCH_TOKENS = 25_000  # of an update, as in Vaswani et al. (2017)
SEARCH = DecodingSettings(beam=5, maximum_length_ratio=0.0, maximum_length_offset=LENGTH, batch_tokens=65_536)
TRAINING_SECONDS = 300.0
# The training of five minutes does not come to its end.
ENDLESS: dict[str, Any] = {
    "maximum_updates": 1_000_000,
    "schedule": ScheduleSettings(kind="inverse_square_root", warmup=200, peak_rate=0.002),
}
SEED = 1
FOLDER = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is measured; `tiny` only shows that everything runs."""

    experiment: Experiment
    device: torch.device
    tiny: bool
    compiled: bool

    @property
    def corpus(self) -> BinarizedCorpus:
        return BinarizedCorpus(self.experiment.binarized)

    @property
    def sizes(self) -> dict[str, int]:
        source, target = len(self.corpus.source_vocabulary), len(self.corpus.target_vocabulary)
        return {"source_vocabulary": source, "target_vocabulary": target}

    def updater(self) -> Updater:
        """Return the trainer of a fresh Transformer of base size, in the precision that is fast."""
        chosen = plan(self.experiment.settings, self.experiment.settings.focus).training
        training, layers = chosen.training, chosen.model
        training = dataclasses.replace(training, precision=resolved("auto", self.device))
        if not self.tiny:
            training = dataclasses.replace(training, batch_tokens=BATCH_TOKENS)
            slots = {slot: fillings[:1] * BASE["encoder_layers"] for slot, fillings in layers.slots.items()}
            layers = ModelPlan(model=dataclasses.replace(layers.model, **BASE), slots=slots)
        torch.manual_seed(SEED)
        model = build(layers, **self.sizes).to(self.device)
        updater = Updater(TrainingPlan(model=layers, training=training), model, seed=SEED)
        if self.compiled:
            updater.objective.compile_parts()
        return updater

    def timed(self, work: Callable[[], Item]) -> tuple[float, Item]:
        """Return the seconds until the device has done the work, and what the work returns."""
        wait: Callable[[], Any] = torch.cuda.synchronize if self.device.type == "cuda" else time.perf_counter
        wait()
        start = time.perf_counter()
        result = work()
        wait()
        return time.perf_counter() - start, result


def peak(setting: Setting) -> dict[str, float]:
    """Measure square matrix products in bf16."""
    size, products = (64, 2) if setting.tiny else (8192, 50)
    left, right = (torch.randn(size, size, device=setting.device).bfloat16() for _ in range(2))

    torch.mm(left, right)
    seconds, _ = setting.timed(lambda: [torch.mm(left, right) for _ in range(products)])
    return {"size": size, "tflops": products * 2 * size**3 / seconds / 1e12}


def training(setting: Setting) -> dict[str, Any]:
    """Measure updates, with the loading of their batches."""
    updater, updates = setting.updater(), 3 if setting.tiny else 200
    source, target = setting.corpus.parallel(setting.corpus.train)
    pairs, settings = Pairs(source, target, maximum_length=None), updater.plan.training
    stream = pairs.endless(tokens=settings.batch_tokens, seed=SEED)
    batches = ahead((pairs.load(batch).to(setting.device) for _, batch in stream), setting.device)
    tokens = (updater.update(number, [batch]).tokens for number, batch in enumerate(batches, start=1))
    sum(islice(tokens, 2 if setting.tiny else 20))
    seconds, done = setting.timed(lambda: sum(islice(tokens, updates)))
    batches.close()
    described, speed = describe(updater.plan.model, **setting.sizes), done / seconds
    return {
        "parameters": described["parameters"],
        "precision": updater.objective.precision,
        "compiled": setting.compiled,
        "batch_tokens": settings.batch_tokens,
        "updates": updates,
        "target_tokens_per_second": speed,
        "tflops": speed * described["flops_per_target_token"] / 1e12,
        "memory_gb": torch.cuda.max_memory_allocated(setting.device) / 1e9 if setting.device.type == "cuda" else None,
    }


def decoding(setting: Setting) -> dict[str, Any]:
    """Measure beam search; the model is untrained, so that all translations have the same length."""
    updater = setting.updater()
    updater.model.output.register_forward_hook(never_end)
    source = setting.corpus.side(setting.corpus.tests[0], setting.corpus.source)
    sentences = [source[number] for number in range(min(len(source), 8 if setting.tiny else len(source)))]
    search = dataclasses.replace(SEARCH, precision=resolved("auto", setting.device))

    search_all = partial(translate_ids, updater.model, sentences, search, processes=Processes(workers=1))
    search_all()
    seconds, _ = setting.timed(search_all)
    speed = {"sentences": len(sentences), "sentences_per_second": len(sentences) / seconds}
    return {"beam": search.beam, "units": LENGTH, "precision": search.precision} | speed


def minutes(setting: Setting, spent: float, limit: float) -> dict[str, Any]:
    """Train for five minutes in all, `spent` seconds of which are over, and for at most `limit` seconds now."""
    variant, layout = setting.experiment.settings.focus, RunLayout(setting.experiment.folder / "runs/gpu")
    if not spent:
        shutil.rmtree(layout.folder, ignore_errors=True)
        layout.binarized.parent.mkdir(parents=True)
        layout.binarized.symlink_to(setting.experiment.binarized.resolve())
    chosen = plan(setting.experiment.settings, variant).training
    if not setting.tiny:
        chosen = dataclasses.replace(chosen, training=dataclasses.replace(chosen.training, **ENDLESS))
    chosen.write(layout.plan(variant, "training"), code={})
    start, finished = time.perf_counter(), False
    with noticing(signal.SIGTERM), suppress(Unfinished), sigterm_after(min(limit, TRAINING_SECONDS - spent)):
        train_run(layout, variant, SEED, device=str(setting.device))
        finished = True
    curve = layout.curve(run_name(variant, SEED))
    rows = list(csv.DictReader(curve.read_text(encoding="utf-8").splitlines())) if curve.is_file() else []
    seconds = spent + time.perf_counter() - start
    return {"seconds": seconds, "finished": finished, "last_validation": rows[-1] if rows else None}


@contextmanager
def sigterm_after(seconds: float) -> Iterator[None]:
    """Send this process SIGTERM after some seconds, and each second until the block ends."""
    over = threading.Event()

    def send() -> None:
        wait = seconds
        while not over.wait(wait):
            os.kill(os.getpid(), signal.SIGTERM)
            wait = 1.0  # a training that is still loading its data does not notice the first one

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()


def main(
    device: Annotated[str, typer.Option(help="cuda, cuda:1, …; cpu only with --tiny.")] = "cuda",
    tiny: Annotated[Path | None, typer.Option(help="Only show that it runs, in this prepared experiment.")] = None,
    compile: Annotated[bool, typer.Option(help="Train with torch.compile.")] = False,
    seconds: Annotated[float, typer.Option(min=30, help="Train at most so long in this call.")] = TRAINING_SECONDS,
) -> None:
    """Measure this machine's GPU: large matrix products, training, beam 5, and five minutes of Multi30k.

    Keeps the figures of this kind of GPU in benchmarks/results/gpus/ and writes benchmarks/README.md. Figures of this
    machine and commit are not measured again, and a training whose --seconds are over is continued by the next call;
    figures of another machine or commit are replaced.

    Example: python -m benchmarks.gpu --seconds 240
    """
    torch_device = device_named(device)
    if tiny is None:
        if torch_device.type != "cuda":
            raise UserError(f"--device {device}: not a GPU; allowed only with --tiny")
        prepared()
    setting = Setting(Experiment(tiny) if tiny else EXPERIMENT, torch_device, tiny is not None, compile)
    output = tiny / "gpu.json" if tiny else FOLDER / GPUS / f"{machine.hyphenated(processor_of(torch_device))}.json"
    hardware = {"device": processor_of(torch_device)} | machine.describe(("torch",)) | {"cuda": torch.version.cuda}
    figures = read_json(output) if output.is_file() else {"hardware": hardware}
    if figures["hardware"] != hardware:
        say(f"{output}: has the figures of another machine or commit; measuring anew")
        figures = {"hardware": hardware}
    name = "training_compiled" if compile else "training"
    for part, measure in {"peak": peak, name: training, "decoding": decoding}.items():
        if part not in figures:
            say(f"measuring {part}")
            figures[part] = measure(setting)
            write_json(output, figures)
    figures[name]["share_of_peak"] = figures[name]["tflops"] / figures["peak"]["tflops"]
    write_json(output, figures)
    done = figures.get("minutes", {"seconds": 0.0, "finished": False})
    if not done["finished"] and done["seconds"] < TRAINING_SECONDS:
        figures["minutes"] = minutes(setting, done["seconds"], seconds)
        write_json(output, figures)
    if tiny is None:
        write_page(FOLDER)
    typer.echo(output.read_text(encoding="utf-8"), nl=False)


if __name__ == "__main__":
    run(main, "python -m benchmarks.gpu")
