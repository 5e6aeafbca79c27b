"""Measure training and beam search at base size on a GPU; not part of `make speed`, as most machines have no GPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import torch
import typer

from benchmarks import report, setting
from benchmarks.machine import describe, products
from benchmarks.models import LENGTH, described, never_end, plan_of, test_sentences, translating, updater_of
from benchmarks.report import ROUNDS, Part, Rounds
from benchmarks.rounds import Contender, Work, measure, ratio, speeds_and_memory
from benchmarks.training import ours
from context_nmt.command_line import run
from context_nmt.files import UserError
from context_nmt.models.devices import device_named, processor_name, resolve_precision
from context_nmt.settings.decoding import DecodingSettings

TITLE = "A Transformer of base size on GPUs"
SEARCH = DecodingSettings(beam=5, maximum_length_ratio=0.0, maximum_length_offset=LENGTH, batch_tokens=65_536)
TORCH_TYPES = {"fp32": "float32", "bf16": "bfloat16"}


def gpu(rounds: int, device: str, *, compiled: bool, tiny: bool) -> Part:
    """Compare updates with matrix products in the fast precision, and measure beam search."""
    precision = resolve_precision("auto", device_named(device))
    variant, updates, size, count = ("small", 3, 64, 2) if tiny else ("transformer_base", 50, 8192, 50)
    training = ours(
        f"training, {precision}{', torch.compile' * compiled}", variant, precision, updates, device, compiled
    )
    peak = products(TORCH_TYPES[precision], device, size, count)
    contenders = [peak, training]
    if not compiled:
        arguments = (variant, precision, device, 8 if tiny else None)
        contenders.append(Contender(f"beam {SEARCH.beam}, {precision}", "sentences", _untrained, arguments))
    measured = measure("gpu", contenders, rounds)
    model, batch = described(variant), plan_of(variant).training.batch_tokens
    flops = model["flops_per_target_token"] / 1e9
    share = ratio(measured, training.name, peak.name, factor=flops)
    return Part(
        TITLE,
        speeds_and_memory(measured) | {"ratio": {f"{training.name} / {peak.name}": share}},
        [
            f"A Transformer of base size ({model['parameters']:,} parameters) on Multi30k: a round is {updates} updates"
            f" of at most {batch:,} target tokens with padding, on batches prepared in advance, and a translation of"
            f" the test set by an untrained model, with {LENGTH} units per sentence.",
        ],
    )


@contextmanager
def _untrained(variant: str, precision: Literal["fp32", "bf16"], device: str, sentences: int | None) -> Iterator[Work]:
    model = updater_of(variant, precision, device).model
    model.output.register_forward_hook(never_end)
    settings = DecodingSettings(**{**vars(SEARCH), "precision": precision})
    source = test_sentences()[:sentences]
    with translating(model, source, setting.corpus().target_vocabulary, settings, 1) as work:
        yield work


def main(
    device: Annotated[str, typer.Option(help="cuda, cuda:1, …; cpu only with --tiny.")] = "cuda",
    rounds: Rounds = ROUNDS,
    tiny: Annotated[
        bool, typer.Option(help="Only test that it runs, with a small model, and print its figures.")
    ] = False,
    compile: Annotated[bool, typer.Option(help="Train with torch.compile, and measure no search.")] = False,
) -> None:
    """Measure this machine's GPU: large matrix products, training, and beam 5, in a few minutes.

    Writes the figures of this kind of GPU to benchmarks/results/, and benchmarks/README.md. A second call, such as with
    --compile, adds its figures if machine and commit are the same, and else replaces the earlier ones.

    Example: python -m benchmarks.gpu --rounds 3
    """
    torch_device = device_named(device)
    if torch_device.type != "cuda" and not tiny:
        raise UserError(f"--device {device}: not a GPU; allowed only with --tiny")
    setting.prepare()
    part = gpu(rounds, device, compiled=compile, tiny=tiny)
    if not tiny:
        this_machine = describe() | {"gpu": processor_name(torch_device), "CUDA": torch.version.cuda}
        report.keep(report.with_earlier(part, this_machine), this_machine)
    report.show(part)


if __name__ == "__main__":
    run(main, "python -m benchmarks.gpu")
