"""Measure decoding: this project against CTranslate2 with the same weights."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch

from benchmarks.models import trained
from benchmarks.report import Part, part_command
from benchmarks.rounds import CORES, Contender, Measured, Work, measure, ratio
from benchmarks.setting import EXPERIMENT, corpus
from context_nmt.corpus.vocabulary import join_units
from context_nmt.decoding.in_batches import usable
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import read_lines
from context_nmt.measures.bleu import bleu_metric
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import Processes, has_fast_bf16
from context_nmt.models.exporting import export
from context_nmt.settings.decoding import DecodingSettings

BEAM = 6
WEIGHT = 1.0  # scores are divided by the length
LONGEST = 80  # units of a translation: one limit for all sentences, since CTranslate2 has no other
OURS_TOKENS = {BEAM: 8192, 1: 4096}  # the fastest batches of each: source tokens times beam,
THEIR_SENTENCES = {BEAM: 125, 1: 125}  # and sentences
WARM_UP = 64  # sentences before the first round

THEIRS, OURS, OURS_BF16 = "CTranslate2", "context-nmt", "context-nmt, bf16"


def decoding(rounds: int) -> Part:
    """Compare beam search and greedy search on the sentences of test_2016_flickr."""
    folder = trained()
    precisions: dict[str, Literal["fp32", "bf16"]] = {OURS: "fp32"}
    if has_fast_bf16(torch.device("cpu")):
        precisions[OURS_BF16] = "bf16"
    contenders = []
    for beam in (BEAM, 1):
        contenders.append(
            Contender(name=_name(THEIRS, beam), prepare=_theirs, arguments=(folder, beam), unit="sentences", threads=1)
        )
        contenders += [
            Contender(
                name=_name(name, beam),
                prepare=_ours,
                arguments=(folder, _settings(beam, precision)),
                unit="sentences",
            )
            for name, precision in precisions.items()
        ]
    measured = measure("decoding", contenders, rounds)
    return Part(
        title="Decoding",
        measured=measured,
        ratios=[ratio(measured, _name(name, beam), _name(THEIRS, beam)) for beam in (BEAM, 1) for name in precisions],
        notes=[
            f"{len(_references()):,} sentences of {_test()}. CTranslate2: {CORES} workers of one thread, batches of"
            f" {THEIR_SENTENCES[BEAM]} sentences (greedy {THEIR_SENTENCES[1]}); ours: batches of {OURS_TOKENS[BEAM]:,}"
            f" source tokens times beam (greedy {OURS_TOKENS[1]:,}).",
            f"Both stop when {BEAM} hypotheses have ended, or at {LONGEST} units, and divide log-probabilities by the"
            " length (ours counts END). Loading the model is not included.",
            *(_agreement(measured, list(precisions), beam) for beam in (BEAM, 1)),
        ],
    )


def _name(program: str, beam: int) -> str:
    return f"{program}, {'greedy' if beam == 1 else f'beam {beam}'}"


def _settings(beam: int, precision: Literal["fp32", "bf16"]) -> DecodingSettings:
    return DecodingSettings(
        beam=beam,
        length_penalty="fairseq",
        length_penalty_weight=WEIGHT,
        stop="beam",
        maximum_length_ratio=0.0,
        maximum_length_offset=LONGEST,
        batch_tokens=OURS_TOKENS[beam],
        precision=precision,
    )


@contextmanager
def _ours(folder: Path, settings: DecodingSettings) -> Iterator[Work]:
    device = torch.device("cpu")
    model = load_run(folder, device)
    source = corpus().side(_test(), corpus().source)
    vocabulary = corpus().target_vocabulary

    def work(sentences: int = len(source)) -> tuple[float, list[str]]:
        sample = [source[number] for number in range(sentences)]
        translations = translate_ids(model, sample, settings, processes=Processes(workers=usable(device)))
        return sentences, [vocabulary.text(hypotheses[0].tokens) for hypotheses in translations]

    work(WARM_UP)
    yield work


@contextmanager
def _theirs(folder: Path, beam: int) -> Iterator[Work]:
    import ctranslate2  # only `make speed` installs it

    lines = [line.split(" ") for line in read_lines(EXPERIMENT.subwords / f"{_test()}.{corpus().source}")]
    with tempfile.TemporaryDirectory() as temporary:
        converted = Path(temporary) / "model"
        export(folder, converted)
        translator = ctranslate2.Translator(
            str(converted), device="cpu", compute_type="float32", inter_threads=CORES, intra_threads=1
        )

    def work(sentences: int = len(lines)) -> tuple[float, list[str]]:
        results = translator.translate_batch(
            lines[:sentences],
            max_batch_size=THEIR_SENTENCES[beam],
            beam_size=beam,
            length_penalty=WEIGHT,
            max_decoding_length=LONGEST,
        )
        return sentences, [" ".join(result.hypotheses[0]) for result in results]

    work(WARM_UP)
    yield work


def _agreement(measured: dict[str, Measured], names: list[str], beam: int) -> str:
    theirs = measured[_name(THEIRS, beam)].output
    statements = [f"BLEU of {_name(THEIRS, beam)} {_bleu(theirs):.2f}, {_units(theirs):.1f} units per line"]
    for name in names:
        ours = measured[_name(name, beam)].output
        same = sum(our_line == their_line for our_line, their_line in zip(ours, theirs, strict=True)) / len(theirs)
        statements.append(f"of {name} {_bleu(ours):.2f}, {_units(ours):.1f} units, {same:.1%} of the lines identical")
    return "; ".join(statements) + "."


def _bleu(lines: list[str]) -> float:
    return float(
        bleu_metric("bleu_tokenized", "none").corpus_score([join_units(line) for line in lines], [_references()]).score
    )


def _units(lines: list[str]) -> float:
    return sum(len(line.split(" ")) for line in lines) / len(lines)


def _references() -> list[str]:
    return read_lines(EXPERIMENT.tokenized / f"{_test()}.{corpus().target}")


def _test() -> str:
    return corpus().tests[0]


if __name__ == "__main__":
    part_command("python -m benchmarks.decoding", decoding)
