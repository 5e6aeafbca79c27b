"""Measure training and beam search at base size on a GPU; not part of `make speed`, as most machines have no GPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import torch
import typer

from benchmarks import report, setting
from benchmarks.machine import describe, products
from benchmarks.models import LENGTH, batches, described, longer_batches, never_end, translating, updater_of
from benchmarks.report import ROUNDS, Part, Rounds
from benchmarks.rounds import Contender, Work, measure, speeds_and_memory
from benchmarks.setting import corpus
from benchmarks.training import rounds_of, two_of
from context_nmt.command_line import run
from context_nmt.files import UserError
from context_nmt.models.devices import Precision, device_named, processor_name, resolve_precision
from context_nmt.progress import say
from context_nmt.settings.decoding import DecodingSettings

TITLE = "A Transformer of base size on GPUs"
TORCH_TYPES = {"fp32": "float32", "bf16": "bfloat16"}
MODES: dict[str, dict[str, Any]] = {  # keys under `training`
    "CUDA graphs": {"cuda_graphs": True},
    "kernels one by one": {},
    "CUDA graphs, compiled": {"cuda_graphs": True, "compile": "always"},
}
TEXTS = {"Multi30k": None, "news": 37_000}  # units of the vocabulary; None: as many as the text has
UPDATES = {3_072: 60, 25_000: 25}  # in a round, by tokens in a batch: of recipes for eight GPUs, and of Vaswani et al.
SENTENCES = 8_000
TINY_TOKENS, TINY_UPDATES, TINY_SENTENCES = 300, 3, 8
NOTES = [
    "Training: updates on batches that are prepared in advance, after two passes over them; only real target tokens are"
    " counted. News: random units in a vocabulary of 37,000, with 28 per sentence on average.",
    "A share of the peak is target tokens/s times the FLOPs per token, as counted by the describe stage, over the speed"
    " of large matrix products.",
    f"Beam 5: {SENTENCES:,} training sentences of Multi30k, translated by an untrained model to {LENGTH} units each.",
]


def contenders(precision: Precision, device: str, *, tiny: bool) -> list[list[Contender]]:
    """Return the contenders, in groups that are measured together, with the most important group first."""
    variant = "small" if tiny else "transformer_base"
    groups = []
    for mode, training in MODES.items():
        group = [products(TORCH_TYPES[precision], device, *((64, 2) if tiny else (8192, 50)))]
        for text, units in TEXTS.items():
            for tokens, updates in UPDATES.items():
                sizes = (TINY_TOKENS, TINY_UPDATES) if tiny else (tokens, updates)
                arguments = (variant, precision, device, units, *sizes, training)
                name = f"{text}, {tokens:,} tokens, {mode}"
                group.append(Contender(name, "target tokens", _updates, arguments, shared=mode))
        groups.append(group)
    single = Contender("beam 5", "sentences", _translations, (variant, precision, device, tiny))
    groups.insert(1, [single, Contender("beam 5, two processes", "sentences", two_of, (single,))])
    return groups


def flops(tiny: bool) -> dict[str, float]:
    """Return the GFLOP per target token of each text's model."""
    variant = "small" if tiny else "transformer_base"
    return {text: described(variant, units)["flops_per_target_token"] / 1e9 for text, units in TEXTS.items()}


@contextmanager
def _updates(
    variant: str,
    precision: Precision,
    device: str,
    units: int | None,
    tokens: int,
    updates: int,
    training: dict[str, Any],
) -> Iterator[Work]:
    updater = updater_of(variant, precision, device, units=units, **training)
    text = batches(tokens, updates) if units is None else longer_batches(tokens, updates, units=units)
    yield rounds_of(updater, text, warm_up=2 * updates)  # a graph is captured when a shape occurs for the second time


@contextmanager
def _translations(variant: str, precision: Precision, device: str, tiny: bool) -> Iterator[Work]:
    model = updater_of(variant, precision, device).model
    model.output.register_forward_hook(never_end)
    settings = DecodingSettings(beam=5, maximum_length_ratio=0.0, maximum_length_offset=LENGTH, precision=precision)
    side = corpus().side(corpus().train, corpus().source)
    source = [side[number] for number in range(TINY_SENTENCES if tiny else SENTENCES)]
    with translating(model, source, corpus().target_vocabulary, settings, 1) as work:
        yield work


def main(
    device: Annotated[str, typer.Option(help="cuda, cuda:1, …; cpu only with --tiny.")] = "cuda",
    rounds: Rounds = ROUNDS,
    tiny: Annotated[
        bool, typer.Option(help="Only test that it runs, with a small model, and print its figures.")
    ] = False,
) -> None:
    """Measure this machine's GPU: large matrix products, training, and beam 5.

    Writes the figures of this kind of GPU to benchmarks/results/, and benchmarks/README.md, after each group of
    programs. If it is stopped, the same command continues after the last group, for the same machine and commit.

    Example: python -m benchmarks.gpu --rounds 3
    """
    torch_device = device_named(device)
    if torch_device.type != "cuda" and not tiny:
        raise UserError(f"--device {device}: not a GPU; allowed only with --tiny")
    setting.prepare()
    this_machine = describe()
    if torch_device.type == "cuda":
        this_machine |= {"gpu": processor_name(torch_device), "CUDA": torch.version.cuda}
    part = Part(TITLE, {"GFLOP per target token": flops(tiny)}, NOTES)
    for group in contenders(resolve_precision("auto", torch_device), device, tiny=tiny):
        if not tiny:
            part = report.with_earlier(part, this_machine)
        unit, name = group[-1].unit, group[-1].name
        if name in part.tables.get(f"{unit}/s", {}):
            say(f"{name}: measured before")
            continue
        part = part.with_tables(speeds_and_memory(measure("gpu", group, rounds)))
        if not tiny:
            report.keep(part, this_machine)
    report.show(part)


if __name__ == "__main__":
    run(main, "python -m benchmarks.gpu")
