"""Measure speed and BLEU of mask-predict, with few and with many iterations, against beam search."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks import machine, report
from benchmarks.page import picture
from benchmarks.pictures import draw_searches
from benchmarks.report import ROUNDS, Rounds
from benchmarks.rounds import CORES, Contender, Measured, Work, measure, ratio
from context_nmt.command_line import run
from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.text_chain import TextChain
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, read_parallel
from context_nmt.measures.bleu import Score, score_sacrebleu
from context_nmt.models.checkpoints import RUN_WEIGHTS, load_run
from context_nmt.models.devices import Processes
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
SENTENCES = 100  # translated one at a time, spread over the test set
WARM_UP = 8  # sentences before the first round
PACKAGES = ("torch", "numpy", "sacrebleu")


@dataclass(frozen=True)
class Systems:
    """The teacher of an experiment and its first masked students, at most two, by the names of their variants."""

    experiment: Experiment
    teacher: str
    students: list[str]
    test: str

    @property
    def corpus(self) -> BinarizedCorpus:
        return BinarizedCorpus(self.experiment.binarized)

    @property
    def references(self) -> list[str]:
        """Return the raw target side of the test set; raise UserError if it is missing or shorter than the source."""
        corpus = self.experiment.settings.corpus
        sides = (self.experiment.corpus / f"{self.test}.{language}" for language in (corpus.source, corpus.target))
        return read_parallel(*sides)[1]

    def folder(self, system: str) -> Path:
        """Return the folder of a system's run."""
        return self.experiment.model(run_name(system, SEED))

    def search(self, system: str) -> DecodingSettings:
        """Return the search settings of a system's plan, for the best hypothesis only."""
        return dataclasses.replace(read_plan(DecodingSettings, self.folder(system) / "decoding.json"), n_best=1)


def systems_of(experiment: Experiment) -> Systems:
    """Return what takes part; the test set is the first that is not the validation set.

    Raise UserError if the experiment has no teacher or no masked student, or has not trained or prepared them.
    """
    settings, folder = experiment.settings, experiment.folder.resolve()
    corpus, train = settings.corpus, settings.train
    students = [name for name in train.distilled if plan(settings, name).training.model.model.kind == "masked"][:2]
    if not students:
        raise UserError(f"{experiment.parameters}: train.distilled names no masked variant")
    test = next((name for name in corpus.tests if name != corpus.validation), corpus.tests[0])
    systems = Systems(experiment, train.teachers[0], students, test)
    remedy = f"run `make repro{'' if folder == ROOT else f' NAME={folder.name}'}` first"
    weights = [systems.folder(system) / RUN_WEIGHTS for system in (systems.teacher, *students)]
    for path in (*weights, experiment.binarized / "training/corpus.json"):
        if not path.is_file():
            raise UserError(f"{path.parent}: not there; {remedy}")
    if len(systems.references) != len(systems.corpus.side(test, systems.corpus.source)):
        raise UserError(f"{experiment.binarized}: {test} is not that of {experiment.corpus}; {remedy}")
    return systems


@dataclass(frozen=True)
class Search:
    """A system with its search settings."""

    system: str
    name: str
    settings: DecodingSettings


def searches(systems: Systems) -> list[Search]:
    """Return beam search, greedy search, mask-predict and, for the second masked system, its most iterations."""
    compared = []
    for beam in BEAMS:
        settings = dataclasses.replace(systems.search(systems.teacher), beam=beam)
        compared.append(Search(systems.teacher, "greedy" if beam == 1 else f"beam {beam}", settings))
    for system, numbers in zip(systems.students, (ITERATIONS, ITERATIONS[-1:]), strict=False):
        for number in numbers:
            settings = dataclasses.replace(systems.search(system), iterations=number)
            compared.append(Search(system, f"{number} iteration{'s' if number > 1 else ''}", settings))
    return compared


def iterations(rounds: int, systems: Systems, sentences: int = SENTENCES) -> dict[str, Any]:
    """Compare the searches, one sentence at a time and in batches."""
    total = len(systems.references)
    modes = {
        "alone": {"sentences": min(sentences, total), "threads": 1},
        "batched": {"sentences": total, "threads": CORES},
    }
    compared = searches(systems)
    contenders = [
        _contender(systems, search, mode, **mode_settings)
        for mode, mode_settings in modes.items()
        for search in compared
    ]
    measured = measure("iterations", contenders, rounds)
    scores = [_score(systems, search.system, measured[_name(search, "batched")].output) for search in compared]
    corpus = systems.experiment.settings.corpus
    return {
        "corpus": f"{corpus.name} {corpus.source}-{corpus.target}",
        "test_set": systems.test,
        "machine": machine.describe(PACKAGES),
        "rounds": rounds,
        "modes": modes,
        "systems": {
            system: _described(systems, system) for system in dict.fromkeys(entry.system for entry in compared)
        },
        "signature": scores[0]["signature"],
        "searches": [
            {"system": search.system, "search": search.name, "bleu": score["score"]}
            | {mode: _speed(measured, search, compared[0], mode) for mode in modes}
            for search, score in zip(compared, scores, strict=True)
        ],
        "notes": _notes(systems, compared, measured),
    }


def _contender(systems: Systems, search: Search, mode: str, *, sentences: int, threads: int) -> Contender:
    settings = dataclasses.replace(search.settings, batch_tokens=1) if mode == "alone" else search.settings
    arguments = (
        systems.folder(search.system),
        systems.experiment.binarized,
        systems.test,
        settings,
        sentences,
        threads,
    )
    name = _name(search, mode)
    return Contender(name=name, prepare=_translating, arguments=arguments, unit="sentences", threads=threads)


def _name(search: Search, mode: str) -> str:
    return f"{search.system}, {search.name}, {mode}"


@contextmanager
def _translating(
    run: Path, binarized: Path, test: str, settings: DecodingSettings, sentences: int, threads: int
) -> Iterator[Work]:
    """Yield rounds of `sentences` sentences; `threads` processes share the batches."""
    device, corpus = torch.device("cpu"), BinarizedCorpus(binarized)
    model = load_run(run, device, corpus)
    source = corpus.side(test, corpus.source)
    sample = [source[number] for number in chosen(len(source), sentences)]

    def work(count: int = sentences) -> tuple[float, list[str]]:
        translations = translate_ids(model, sample[:count], settings, processes=Processes(workers=threads))
        return count, [corpus.target_vocabulary.text(hypotheses[0].tokens) for hypotheses in translations]

    work(min(WARM_UP, sentences))
    yield work


def chosen(total: int, count: int) -> list[int]:
    """Return the numbers of `count` sentences, evenly spread."""
    return [number * total // count for number in range(count)]


def _score(systems: Systems, system: str, units: list[str]) -> Score:
    chain = TextChain(systems.folder(system) / "text")
    text = list(chain.target_text(chain.target_tokens(units)))
    return score_sacrebleu(text, [systems.references], tokenizer=tokenizer_of(systems.corpus.target))


def _speed(measured: dict[str, Measured], search: Search, base: Search, mode: str) -> dict[str, Any]:
    """Return the sentences per second, and their ratio to those of the base, round by round."""
    speeds = measured[_name(search, mode)]
    relative = ratio(measured, _name(search, mode), _name(base, mode))
    return speeds.to_dict() | {
        "milliseconds": round(1000 / speeds.median, 3),
        "relative": {key: relative[key] for key in ("median", "minimum", "maximum")},
    }


def _described(systems: Systems, system: str) -> dict[str, Any]:
    model = plan(systems.experiment.settings, system).training.model.model
    weights = load_run(systems.folder(system), torch.device("cpu"), systems.corpus).parameters()
    return {
        "label": systems.experiment.settings.label(system),
        "run": systems.folder(system).name,
        "seed": SEED,
        "size": f"d_model {model.width}, {model.encoder_layers}+{model.decoder_layers} layers",
        "parameters": sum(weight.numel() for weight in weights),
    }


def _notes(systems: Systems, compared: list[Search], measured: dict[str, Measured]) -> list[str]:
    shares = []
    for search in compared:
        alone, batched = (measured[_name(search, mode)].output for mode in ("alone", "batched"))
        pairs = zip(alone, [batched[number] for number in chosen(len(batched), len(alone))], strict=True)
        shares.append(sum(line_alone == line_batched for line_alone, line_batched in pairs) / len(alone))
    tried = compared[-1].settings.length_beam
    return [
        f"Mask-predict tries {tried} length{'s' if tried > 1 else ''} per sentence and takes the most probable"
        " translation.",
        f"Batches hold {compared[0].settings.batch_tokens:,} source tokens times beam or lengths, as in the plan."
        " Loading the model is not included.",
        f"At least {min(shares):.1%} of the lines are identical when translated one at a time and in batches.",
    ]


def write(values: dict[str, Any], folder: Path = report.FOLDER, name: str = "iterations") -> None:
    """Keep the figures in this machine's results, and draw their picture."""
    report.keep_other(values["machine"], "iterations", name, values, folder)
    draw_searches(values, folder / picture(values["machine"], name))


def main(
    rounds: Rounds = ROUNDS,
    experiment: Annotated[Path, typer.Option(help="The folder of an experiment that has been run.")] = Path(),
) -> None:
    """Measure speed and BLEU of mask-predict with 1, 4 and 10 iterations and of beam 4, in about five minutes.

    Reads runs/models, runs/binarized and the text of an experiment (`make repro`). Writes

        benchmarks/results/MACHINE.json             in this kind of machine's figures
        benchmarks/results/MACHINE-iterations.svg   MACHINE-iterations-NAME.svg for experiments/NAME
        benchmarks/README.md                        their table, after those of the other parts

    Example: python -m benchmarks.iterations --experiment experiments/multi30k-en-de-masked --rounds 3
    """
    folder = experiment.resolve()
    values = iterations(rounds, systems_of(Experiment(experiment)))
    write(values, name="iterations" if folder == ROOT else f"iterations-{folder.name}")


if __name__ == "__main__":
    run(main, "python -m benchmarks.iterations")
