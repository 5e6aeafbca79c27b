"""Compare speed and BLEU of mask-predict, with few and many iterations, with beam search."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks import machine, report
from benchmarks.models import Sentence, translating
from benchmarks.pictures import draw_searches
from benchmarks.report import ROUNDS, Part, Rounds
from benchmarks.rounds import CORES, Contender, Work, measure, ratio, spread
from context_nmt.command_line import run
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.text_chain import TextChain
from context_nmt.decoding.translating import BATCH_TOKENS
from context_nmt.files import UserError, read_lines
from context_nmt.measures.bleu import score_sacrebleu
from context_nmt.models.checkpoints import RUN_WEIGHTS, load_run
from context_nmt.pipeline.planning import plan
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.evaluation import tokenizer_of
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name

ROOT = Path(__file__).parents[1]
SEED = 1
BEAMS = (4, 1)  # speeds are relative to the first
ITERATIONS = (1, 4, 10)
SINGLE_SENTENCES = 100  # translated one at a time, spread over the test set
ALONE, BATCHED = "one at a time", "batched"

Search = tuple[str, DecodingSettings]  # the variant of a system, and the settings of its search


def searches(experiment: Experiment) -> dict[str, Search]:
    """Return beam search, greedy search, mask-predict and, for a second masked system, only the most iterations.

    Raise UserError if the experiment has no masked student, or has not trained a system.
    """
    settings, folder = experiment.settings, experiment.folder.resolve()
    train = settings.train
    students = [name for name in train.distilled if plan(settings, name).training.model.model.kind == "masked"][:2]
    if not students:
        raise UserError(f"{experiment.parameters}: train.distilled names no masked variant")
    named = dict[str, Search]()

    def add(system: str, search: str, **changes: Any) -> None:
        run = experiment.model(run_name(system, SEED))
        if not (run / RUN_WEIGHTS).is_file():
            remedy = f"run `make repro{'' if folder == ROOT else f' NAME={folder.name}'}` first"
            raise UserError(f"{run}: not there; {remedy}")
        decoding = read_plan(DecodingSettings, experiment.plan(system, "decoding"))
        named[f"{settings.label(system)}, {search}"] = system, dataclasses.replace(decoding, n_best=1, **changes)

    for beam in BEAMS:
        add(train.teachers[0], "greedy" if beam == 1 else f"beam {beam}", beam=beam)
    for system, numbers in zip(students, (ITERATIONS, ITERATIONS[-1:]), strict=False):
        for number in numbers:
            add(system, f"{number} iteration{'s' if number > 1 else ''}", iterations=number)
    return named


def iterations(rounds: int, experiment: Experiment, sentences: int = SINGLE_SENTENCES) -> Part:
    """Compare the searches, one sentence at a time and in batches, on the first test set that is not validation."""
    compared, corpus = searches(experiment), experiment.settings.corpus
    test = next((name for name in corpus.tests if name != corpus.validation), corpus.tests[0])
    references = read_lines(experiment.corpus / f"{test}.{corpus.target}")
    counts, workers = {ALONE: min(sentences, len(references)), BATCHED: len(references)}, {ALONE: 1, BATCHED: CORES}
    contenders = []
    for mode, count in counts.items():
        for name, (system, search) in compared.items():
            mode_search = dataclasses.replace(search, batch_tokens=1) if mode == ALONE else search
            arguments = (experiment.folder, system, test, mode_search, count, workers[mode])
            contenders.append(Contender(f"{name}, {mode}", "sentences", _translating, arguments, threads=workers[mode]))
    measured = measure("iterations", contenders, rounds)
    first, systems = next(iter(compared)), dict.fromkeys(system for system, _ in compared.values())
    bleu, signature = {}, ""
    for name, (system, _) in compared.items():
        chain = TextChain(experiment.model(run_name(system, SEED)) / "text")
        text = list(chain.target_text(chain.target_tokens(measured[f"{name}, {BATCHED}"].output)))
        score = score_sacrebleu(text, [references], tokenizer=tokenizer_of(corpus.target))
        bleu[name], signature = round(score["score"], 2), score["signature"]
    tables: dict[str, dict[str, Any]] = {f"BLEU, {test}": bleu}
    for mode in counts:
        tables[f"sentences/s, {mode}"] = {name: spread(measured[f"{name}, {mode}"].speeds) for name in compared}
        tables[f"speed / {first}, {mode}"] = {
            name: ratio(measured, f"{name}, {mode}", f"{first}, {mode}") for name in compared
        }
    folder = experiment.folder.resolve()
    return Part(
        f"Iterations of mask-predict, {corpus.name} {corpus.source}-{corpus.target}"
        + ("" if folder == ROOT else f", experiment {folder.name}"),
        tables,
        [
            f"Runs (parameters): {', '.join(_described(experiment, system) for system in systems)}.",
            f"BLEU of the whole test set, translated in batches: {signature}.",
            f"A round is {counts[ALONE]:,} sentences one at a time, on one thread, and {counts[BATCHED]:,} sentences"
            f" batched, in {CORES} processes of one thread; {rounds} rounds.",
            *_notes(compared, {name: measurement.output for name, measurement in measured.items()}),
        ],
        picture="iterations" if folder == ROOT else f"iterations-{folder.name}",
    )


@contextmanager
def _translating(
    experiment_dir: Path, system: str, test: str, settings: DecodingSettings, sentences: int, workers: int
) -> Iterator[Work]:
    """Yield rounds that translate a number of sentences and return the units as text."""
    experiment = Experiment(experiment_dir)
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model(run_name(system, SEED)), torch.device("cpu"), corpus)
    source = corpus.side(test, corpus.source)
    sample: list[Sentence] = [source[number] for number in evenly_spread(len(source), sentences)]
    with translating(model, sample, corpus.target_vocabulary, settings, workers) as work:
        yield work


def evenly_spread(total: int, count: int) -> list[int]:
    """Return the numbers of `count` of `total` sentences, evenly spread."""
    return [number * total // count for number in range(count)]


def _described(experiment: Experiment, system: str) -> str:
    model, run = plan(experiment.settings, system).training.model.model, experiment.model(run_name(system, SEED))
    weights = sum(weight.numel() for weight in load_run(run, torch.device("cpu")).parameters())
    return f"{run.name} (d_model {model.width}, {model.encoder_layers}+{model.decoder_layers} layers, {weights:,})"


def _notes(compared: dict[str, Search], outputs: dict[str, list[str]]) -> list[str]:
    shares = []
    for name in compared:
        alone, batched = (outputs[f"{name}, {mode}"] for mode in (ALONE, BATCHED))
        pairs = zip(alone, [batched[number] for number in evenly_spread(len(batched), len(alone))], strict=True)
        shares.append(sum(line_alone == line_batched for line_alone, line_batched in pairs) / len(alone))
    settings = [search for _, search in compared.values()]
    lengths = settings[-1].length_beam
    return [
        f"Mask-predict tries {lengths} length{'s' if lengths > 1 else ''} per sentence and takes the most probable"
        " translation.",
        f"Batches hold {settings[0].batch_tokens or BATCH_TOKENS['cpu']:,} source tokens times beam or"
        " lengths, as in the plan."
        " Loading the model is not included.",
        f"At least {min(shares):.1%} of the lines are identical when translated one at a time and in batches.",
    ]


def main(
    rounds: Rounds = ROUNDS,
    experiment: Annotated[Path, typer.Option(help="The folder of an experiment that has been run.")] = Path(),
) -> None:
    """Measure speed and BLEU of mask-predict with 1, 4 and 10 iterations and of beam 4, in about five minutes.

    Reads runs/models, runs/binarized and the text of an experiment (`make repro`). Writes

        benchmarks/results/MACHINE.json             figures of this kind of machine
        benchmarks/results/MACHINE-iterations.svg   or MACHINE-iterations-NAME.svg for experiments/NAME
        benchmarks/README.md                        their table, after the tables of other parts

    Example: python -m benchmarks.iterations --experiment experiments/multi30k-en-de-masked --rounds 3
    """
    report.keep(iterations(rounds, Experiment(experiment)), machine.describe(), draw=draw_searches)


if __name__ == "__main__":
    run(main, "python -m benchmarks.iterations")
