"""Measure the cost of mechanisms: variants of the Transformer's size against it, in training and in decoding."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import machine
from benchmarks.models import DOCUMENT, RUN, batches, batches_in_documents, documents, plan_of
from benchmarks.report import FOLDER, ROUNDS, Part, Rounds, keep, show
from benchmarks.rounds import Contender, Measured, Work, ratio, running
from benchmarks.setting import EXPERIMENT, corpus, prepared
from benchmarks.training import fresh_updater
from context_nmt.command_line import run
from context_nmt.corpus.vocabulary import END
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import write_json
from context_nmt.models.counting import describe
from context_nmt.models.devices import Processes
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.progress import Progress, say
from context_nmt.results.speeds import architecture
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.model import output_slots
from context_nmt.training.batches import EXAMPLES
from context_nmt.transformer.layers import Memory

UNITS = {"training": "target tokens", "decoding": "sentences"}
TURNS = 3  # rounds for each round of other parts; short, so that the Transformer's turn is close in time
SENTENCES = 80  # in a turn of decoding
MASKED_SENTENCES = 20  # the first of them, since each has a hypothesis per length and all their units in each iteration
SENTENCES_IN_DOCUMENTS = 160  # as many documents side by side as a batch holds
LENGTH = 20  # units of each translation, since untrained models do not know when to end
SEARCH = DecodingSettings(beam=4, maximum_length_ratio=0.0, maximum_length_offset=LENGTH, batch_tokens=2048)
TRANSFORMER = RUN[0]
IN_DOCUMENTS = f"{TRANSFORMER}, in documents"  # on the text of variants that look at previous sentences


def variants(rounds: int) -> Part:
    """Compare every variant of the Transformer's size with the Transformer."""
    prepared()
    base = plan_of(TRANSFORMER)
    width, tokens = base.model.model.width, base.training.batch_tokens
    names = [name for name in EXPERIMENT.settings.variants if plan_of(name).model.model.width == width]
    bases = {name: IN_DOCUMENTS if output_slots(plan_of(name).model.slots) else TRANSFORMER for name in names}
    measured = _measured([*names, IN_DOCUMENTS], TURNS * rounds)
    flops = {name: _flops(name) / _flops(TRANSFORMER) for name in names}
    speeds = {name: {work: ratio(measured[work], name, bases[name]) for work in UNITS} for name in names}
    costs = {name: ratio(measured["training"], name, bases[name], factor=flops[name]) for name in names}
    return Part(
        title="Variants",
        variants={
            name: {
                **architecture(_described(name)),
                **{work: _spread(speeds[name][work]) for work in UNITS},
                "flops": round(flops[name], 3),
                "time_over_flops": round(1 / costs[name]["median"], 3),
            }
            for name in names
        },
        notes=[
            f"{_size()}. Speeds and FLOPs are relative to those of the Transformer; time / FLOPs is that of training.",
            f"{TURNS * rounds} rounds in one process; in each, every variant has a turn. A turn of training is an"
            f" update in fp32 on a batch of at most {tokens} target tokens; a turn of decoding is {SENTENCES} sentences"
            f" of {_test()} with beam {SEARCH.beam} in fp32 on one thread, hypotheses of {LENGTH} units: the models are"
            " untrained, and only the cost of a step is compared.",
            f"Document systems read text cut into documents of {DOCUMENT} sentences,"
            f" {SENTENCES_IN_DOCUMENTS} sentences in a turn of decoding; their speeds are relative to the Transformer"
            " on the same batches and sentences. Only predicted tokens are counted, not those of previous sentences.",
            f"Masked systems decode {MASKED_SENTENCES} sentences with {SEARCH.iterations} iterations and"
            f" {SEARCH.length_beam} lengths of about {LENGTH} units. In training, unmasked tokens count, too.",
            f"The Transformer: {_speeds(measured, TRANSFORMER)}; in documents, {_speeds(measured, IN_DOCUMENTS)}.",
        ],
    )


def write(part: Part) -> None:
    """Write variants.json, which the tables of experiments read."""
    hardware = machine.machine_line(machine.describe(packages=("torch",))).removesuffix(".")
    write_json(FOLDER / "variants.json", {"hardware": hardware, "size": _size(), "variants": part.variants})


def _measured(names: list[str], turns: int) -> dict[str, dict[str, Measured]]:
    """Give each variant its turns of training and decoding, and report each speed on standard error."""
    measured = {work: {name: Measured(unit) for name in names} for work, unit in UNITS.items()}
    say("variants: getting ready")
    contender = Contender(name="variants", prepare=_all, arguments=(names,), unit="turns")
    progress = Progress("variants", turns * len(names) * len(UNITS), "turns")
    with running(contender) as runner, progress:
        for number in range(1, turns + 1):
            for name in names:
                for work, unit in UNITS.items():
                    runner.begin()
                    amount, seconds, _ = runner.finish()
                    measured[work][name].speeds.append(amount / seconds)
                    say(f"variants: turn {number}/{turns}, {name}, {work}: {amount / seconds:,.1f} {unit}/s")
                    progress.advance()
    return measured


@contextmanager
def _all(names: list[str]) -> Iterator[Work]:
    """Yield work whose rounds are turns: training and decoding of each variant, over and over."""
    works = [work for name in names for work in _works(name)]
    for warm_up in works:
        warm_up()
    turns = cycle(works)
    yield lambda: next(turns)()


def _works(name: str) -> tuple[Work, Work]:
    updater = fresh_updater(TRANSFORMER if name == IN_DOCUMENTS else name, "fp32")
    tokens = updater.plan.training.batch_tokens
    in_documents = name == IN_DOCUMENTS or bool(output_slots(updater.plan.model.slots))
    training_batches = batches_in_documents(updater.model, tokens, TURNS) if in_documents else batches(tokens, TURNS)
    examples, random = EXAMPLES[updater.plan.model.model.kind], np.random.default_rng(1)
    numbered = [
        (number, batch.tokens, examples(batch, updater.plan.training, random))
        for number, batch in enumerate(training_batches, start=1)
    ]
    numbered_batches = cycle(numbered)
    source = corpus().side(_test(), corpus().source)
    count = SENTENCES_IN_DOCUMENTS if in_documents else SENTENCES
    if isinstance(updater.model, MaskedLanguageModel):
        of_one_length(updater.model)
        count = MASKED_SENTENCES
    sentences = [source[number] for number in range(count)]
    cut_documents = documents(len(sentences)) if in_documents else None
    updater.model.output.register_forward_hook(never_end)  # training takes the weights alone

    def train() -> tuple[float, None]:
        number, tokens, batch = next(numbered_batches)
        updater.update(number, [batch])
        return tokens, None  # of a masked system, those that are masked and the others

    def decode() -> tuple[float, None]:
        translate_ids(updater.model, sentences, SEARCH, documents=cut_documents, processes=Processes(workers=1))
        return len(sentences), None

    return train, decode


def never_end(_: nn.Module, __: Any, logits: Tensor) -> Tensor:
    """Leave the end to the maximum length."""
    logits[:, END] = -1e4
    return logits


def of_one_length(model: MaskedLanguageModel) -> None:
    """Let translations have lengths around LENGTH, as if the model were trained to predict them."""
    encode = model.encode_with_length

    def encode_with_length(source: Tensor) -> tuple[Memory, Tensor]:
        memory, logits = encode(source)
        if not model.training:
            numbers = torch.arange(logits.size(1), device=logits.device)
            logits = -(numbers - LENGTH).abs().expand_as(logits).to(logits.dtype)
        return memory, logits

    model.__dict__["encode_with_length"] = encode_with_length


def _flops(name: str) -> float:
    return float(_described(name)["flops_per_target_token"])


def _described(name: str) -> dict[str, Any]:
    vocabulary = len(corpus().target_vocabulary)
    return describe(plan_of(name).model, source_vocabulary=vocabulary, target_vocabulary=vocabulary)


def _speeds(measured: dict[str, dict[str, Measured]], name: str) -> str:
    training, decoding = (measured[work][name].median for work in UNITS)
    return f"{training:,.0f} target tokens/s and {decoding:.1f} sentences/s"


def _spread(speed: dict[str, Any]) -> dict[str, Any]:
    names = {"median": "median", "least": "minimum", "greatest": "maximum", "rounds": "rounds"}
    return {name: speed[key] for name, key in names.items()}


def _size() -> str:
    model = plan_of(TRANSFORMER).model.model
    return f"d_model {model.width}, {model.encoder_layers}+{model.decoder_layers} layers"


def _test() -> str:
    return corpus().tests[0]


def main(rounds: Rounds = ROUNDS) -> None:
    """Compare every variant of the Transformer's size with the Transformer.

    Prints figures and ratios, and writes

        benchmarks/variants.json          what the tables of experiments print of speeds
        benchmarks/results/MACHINE.json   this part of it
        benchmarks/README.md
    """
    part = variants(rounds)
    write(part)
    keep(machine.describe(packages=("torch",)), part)
    show(part)


if __name__ == "__main__":
    run(main, "python -m benchmarks.variants")
