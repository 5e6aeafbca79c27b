"""Measure the cost of mechanisms: training and decoding of variants with the Transformer's size, relative to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks import machine, setting
from benchmarks.models import (
    DOCUMENT_SENTENCES,
    LENGTH,
    TRAINED_RUN,
    batches,
    batches_in_documents,
    described,
    documents,
    never_end,
    plan_of,
    test_sentences,
    translating,
    updater_of,
)
from benchmarks.report import FOLDER, ROUNDS, Part, Rounds, keep, show
from benchmarks.rounds import Contender, Work, measure, ratio, spread
from benchmarks.setting import corpus
from context_nmt.command_line import run
from context_nmt.files import write_json
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.results.speeds import architecture
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.model import output_slots
from context_nmt.training.batches import EXAMPLES
from context_nmt.transformer.layers import Memory

UNITS = {"training": "target tokens", "decoding": "sentences"}
TURNS = 3  # rounds for each round of other parts; they are short, so that the Transformer's turn is close in time
SENTENCES = 80  # in a turn of decoding
MASKED_SENTENCES = 20  # fewer, since each has a hypothesis per length and predicts all units in each iteration
SENTENCES_IN_DOCUMENTS = 160  # as many documents in parallel as a batch holds
SEARCH = DecodingSettings(beam=4, maximum_length_ratio=0.0, maximum_length_offset=LENGTH, batch_tokens=2048)
TRANSFORMER = TRAINED_RUN[0]
IN_DOCUMENTS = f"{TRANSFORMER}, in documents"  # on the text of variants that look at previous sentences


def variants(rounds: int) -> Part:
    """Compare every variant of the Transformer's size with the Transformer."""
    setting.prepare()
    base = plan_of(TRANSFORMER)
    width, tokens = base.model.model.width, base.training.batch_tokens
    names = [name for name in sorted(setting.EXPERIMENT.settings.variants) if plan_of(name).model.model.width == width]
    contenders = [
        Contender(f"{name}, {work}", unit, WORKS[work], (name,), shared="variants")
        for name in [*names, IN_DOCUMENTS]
        for work, unit in UNITS.items()
    ]
    measured = measure("variants", contenders, TURNS * rounds)
    bases = {name: IN_DOCUMENTS if _in_documents(name) else TRANSFORMER for name in names}
    tables = {
        f"speed of {work}": {name: ratio(measured, f"{name}, {work}", f"{bases[name]}, {work}") for name in names}
        for work in UNITS
    }
    costs = {}
    for name, speed in tables["speed of training"].items():
        flops = described(name)["flops_per_target_token"] / described(TRANSFORMER)["flops_per_target_token"]
        costs[f"{name} (FLOPs: {flops:.3f})"] = spread([1 / relative / flops for relative in speed["rounds"]])
    speeds = {
        name: " and ".join(
            f"{median(measured[f'{name}, {work}'].speeds):,.1f} {unit}/s" for work, unit in UNITS.items()
        )
        for name in (TRANSFORMER, IN_DOCUMENTS)
    }
    return Part(
        "Variants",
        tables | {"time / FLOPs": costs},
        [
            f"{_size()}. Speeds and FLOPs are relative to those of the Transformer; time / FLOPs is that of training.",
            f"{TURNS * rounds} rounds in one process; in each, every variant has a turn. A turn of training is an"
            f" update in fp32 on a batch of at most {tokens} target tokens; a turn of decoding is {SENTENCES} sentences"
            f" of {corpus().tests[0]} with beam {SEARCH.beam} in fp32 on one thread, hypotheses of {LENGTH} units: the"
            " models are untrained, and only the cost of a step is compared.",
            f"Document systems read text cut into documents of {DOCUMENT_SENTENCES} sentences,"
            f" {SENTENCES_IN_DOCUMENTS} sentences in a turn of decoding; their speeds are relative to the Transformer"
            " on the same batches and sentences. Only predicted tokens are counted, not those of previous sentences.",
            f"Masked systems decode {MASKED_SENTENCES} sentences with {SEARCH.iterations} iterations and"
            f" {SEARCH.length_beam} lengths of about {LENGTH} units. In training, unmasked tokens count, too.",
            f"The Transformer: {speeds[TRANSFORMER]}; in documents, {speeds[IN_DOCUMENTS]}.",
        ],
    )


def write(part: Part, this_machine: dict[str, Any]) -> None:
    """Write variants.json, which the tables of experiments read."""
    speeds = {
        name: architecture(described(name)) | {work: part.tables[f"speed of {work}"][name] for work in UNITS}
        for name in part.tables["speed of training"]
    }
    hardware = f"{machine.hardware(this_machine)}; {machine.versions(this_machine)}"
    write_json(FOLDER / "variants.json", {"hardware": hardware, "size": _size(), "variants": speeds})


@contextmanager
def _training(name: str) -> Iterator[Work]:
    updater = updater_of(TRANSFORMER if name == IN_DOCUMENTS else name, "fp32")
    settings = updater.plan.training
    load = partial(batches_in_documents, updater.model) if _in_documents(name) else batches
    examples, random = EXAMPLES[updater.plan.model.model.kind], np.random.default_rng(1)
    numbered = cycle(
        [
            (number, batch.tokens, examples(batch, settings, random))
            for number, batch in enumerate(load(settings.batch_tokens, TURNS), start=1)
        ]
    )

    def train() -> tuple[float, None]:
        number, tokens, batch = next(numbered)
        updater.update(number, [batch])
        return tokens, None  # of a masked system, masked tokens and others

    train()
    yield train


@contextmanager
def _decoding(name: str) -> Iterator[Work]:
    model = updater_of(TRANSFORMER if name == IN_DOCUMENTS else name, "fp32").model
    model.output.register_forward_hook(never_end)
    count = SENTENCES_IN_DOCUMENTS if _in_documents(name) else SENTENCES
    if isinstance(model, MaskedLanguageModel):
        of_one_length(model)
        count = MASKED_SENTENCES
    sentences = test_sentences()[:count]
    cut = documents(len(sentences)) if _in_documents(name) else None
    with translating(model, sentences, corpus().target_vocabulary, SEARCH, 1, documents=cut) as work:
        yield work


WORKS = {"training": _training, "decoding": _decoding}


def _in_documents(name: str) -> bool:
    return name == IN_DOCUMENTS or bool(output_slots(plan_of(name).model.slots))


def of_one_length(model: MaskedLanguageModel) -> None:
    """Make a masked model predict lengths around LENGTH, as if it had been trained."""
    encode = model.encode_with_length

    def encode_with_length(source: Tensor) -> tuple[Memory, Tensor]:
        memory, logits = encode(source)
        if model.training:
            return memory, logits
        distances = (torch.arange(logits.size(1), device=logits.device) - LENGTH).abs()
        return memory, -distances.expand_as(logits).to(logits.dtype)

    model.__dict__["encode_with_length"] = encode_with_length


def _size() -> str:
    model = plan_of(TRANSFORMER).model.model
    return f"d_model {model.width}, {model.encoder_layers}+{model.decoder_layers} layers"


def main(rounds: Rounds = ROUNDS) -> None:
    """Compare every variant of the Transformer's size with the Transformer.

    Prints figures and ratios, and writes

        benchmarks/variants.json          the speeds, for the tables of experiments
        benchmarks/results/MACHINE.json   this part of the figures
        benchmarks/README.md
    """
    part, this_machine = variants(rounds), machine.describe()
    write(part, this_machine)
    keep(part, this_machine)
    show(part)


if __name__ == "__main__":
    run(main, "python -m benchmarks.variants")
