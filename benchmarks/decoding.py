"""Measure decoding: this project against CTranslate2 with the same weights."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch

from benchmarks.models import test_sentences, trained, translating
from benchmarks.report import Part, part_command
from benchmarks.rounds import CORES, Contender, Work, measure, ratio, speeds_and_memory
from benchmarks.setting import EXPERIMENT, corpus
from context_nmt.corpus.vocabulary import join_units
from context_nmt.decoding.in_batches import decode_workers
from context_nmt.files import read_lines
from context_nmt.measures.bleu import bleu_metric
from context_nmt.models.checkpoints import load_run
from context_nmt.models.devices import has_fast_bf16
from context_nmt.models.exporting import export
from context_nmt.settings.decoding import DecodingSettings

BEAM = 6
WEIGHT = 1.0  # scores are divided by the length
MAXIMUM_UNITS = 80  # of a translation; CTranslate2 has only one limit for all sentences
OUR_TOKENS = {BEAM: 8192, 1: 4096}  # by beam: the fastest batches, in source tokens times beam
THEIR_SENTENCES = {BEAM: 125, 1: 125}  # by beam: the fastest batches, in sentences

THEIRS, OURS, OURS_BF16 = "CTranslate2", "context-nmt", "context-nmt, bf16"


def decoding(rounds: int) -> Part:
    """Compare beam search and greedy search on the sentences of test_2016_flickr."""
    folder = trained()
    precisions: dict[str, Literal["fp32", "bf16"]] = {OURS: "fp32"}
    if has_fast_bf16(torch.device("cpu")):
        precisions[OURS_BF16] = "bf16"
    contenders = []
    for beam in (BEAM, 1):
        contenders.append(Contender(_name(THEIRS, beam), "sentences", _theirs, (folder, beam), threads=1))
        contenders += [
            Contender(_name(name, beam), "sentences", _ours, (folder, beam, precision))
            for name, precision in precisions.items()
        ]
    measured = measure("decoding", contenders, rounds)
    pairs = [(_name(name, beam), _name(THEIRS, beam)) for beam in (BEAM, 1) for name in precisions]
    ratios = {f"{of} / {to}": ratio(measured, of, to) for of, to in pairs}
    return Part(
        "Decoding",
        speeds_and_memory(measured) | {"ratio": ratios},
        [
            f"{len(_references()):,} sentences of {_test()}. CTranslate2: {CORES} workers of one thread, batches of"
            f" {THEIR_SENTENCES[BEAM]} sentences (greedy {THEIR_SENTENCES[1]}); ours: batches of {OUR_TOKENS[BEAM]:,}"
            f" source tokens times beam (greedy {OUR_TOKENS[1]:,}).",
            f"Both stop when {BEAM} hypotheses have ended, or at {MAXIMUM_UNITS} units, and divide log-probabilities by"
            " the length (ours counts END). Loading the model is not included.",
            *(
                _agreement({name: measured[_name(name, beam)].output for name in (THEIRS, *precisions)}, beam)
                for beam in (BEAM, 1)
            ),
        ],
    )


def _name(program: str, beam: int) -> str:
    return f"{program}, {'greedy' if beam == 1 else f'beam {beam}'}"


@contextmanager
def _ours(folder: Path, beam: int, precision: Literal["fp32", "bf16"]) -> Iterator[Work]:
    settings = DecodingSettings(
        beam=beam,
        length_penalty="fairseq",
        length_penalty_weight=WEIGHT,
        stop="beam",
        maximum_length_ratio=0.0,
        maximum_length_offset=MAXIMUM_UNITS,
        batch_tokens=OUR_TOKENS[beam],
        precision=precision,
    )
    device = torch.device("cpu")
    model, vocabulary = load_run(folder, device), corpus().target_vocabulary
    with translating(model, test_sentences(), vocabulary, settings, decode_workers(device)) as work:
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

    def work() -> tuple[float, list[str]]:
        results = translator.translate_batch(
            lines,
            max_batch_size=THEIR_SENTENCES[beam],
            beam_size=beam,
            length_penalty=WEIGHT,
            max_decoding_length=MAXIMUM_UNITS,
        )
        return len(lines), [" ".join(result.hypotheses[0]) for result in results]

    work()
    yield work


def _agreement(outputs: dict[str, list[str]], beam: int) -> str:
    """Compare the translations of each program with CTranslate2's, the first, in one sentence."""
    (theirs, their_lines), *our_outputs = outputs.items()
    statements = [f"BLEU of {_name(theirs, beam)} {_bleu(their_lines):.2f}, {_units(their_lines):.1f} units per line"]
    for name, lines in our_outputs:
        same = sum(ours == their for ours, their in zip(lines, their_lines, strict=True)) / len(lines)
        statements.append(f"of {name} {_bleu(lines):.2f}, {_units(lines):.1f} units, {same:.1%} of the lines identical")
    return "; ".join(statements) + "."


def _bleu(lines: list[str]) -> float:
    metric = bleu_metric("bleu_tokenized", "none")
    return float(metric.corpus_score([join_units(line) for line in lines], [_references()]).score)


def _units(lines: list[str]) -> float:
    return sum(len(line.split(" ")) for line in lines) / len(lines)


def _references() -> list[str]:
    return read_lines(EXPERIMENT.tokenized / f"{_test()}.{corpus().target}")


def _test() -> str:
    return corpus().tests[0]


if __name__ == "__main__":
    part_command("python -m benchmarks.decoding", decoding)
