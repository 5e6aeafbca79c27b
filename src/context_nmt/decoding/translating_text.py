"""Translate raw text with a trained run, outside of experiments."""

import dataclasses
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from context_nmt.corpus.text_chain import TextChain, without_invisible
from context_nmt.decoding.in_batches import decode_workers
from context_nmt.decoding.search import Hypothesis
from context_nmt.decoding.translating import translate_ids
from context_nmt.files import UserError, decoded_lines
from context_nmt.models.checkpoints import load_run, run_weights_path
from context_nmt.models.devices import Processes, device_named
from context_nmt.models.kinds.masked import MaskedLanguageModel
from context_nmt.progress import tracked
from context_nmt.settings import read_plan
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.run_layout import RunLayout, split_run_name

LONG_LINE_UNITS = 1000  # the cost of attention is quadratic in a line's length


def search_settings(run: Path) -> DecodingSettings:
    """Read the search settings of the run in folder `run`: its decoding.json if it has one, else its variant's plan.

    A copy of the folder has no plans beside it: raise UserError if it has no decoding.json either.
    """
    paths = [run / "decoding.json"]
    for folder in (Path(os.path.normpath(run.absolute())), run.resolve()):  # `runs`, or the run, may be a link
        variant, _ = split_run_name(folder.name)
        paths.append(RunLayout(folder.parent.parent.parent).plan(variant, "decoding"))
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise UserError(
            f"{run}: no search settings; copy metrics/plans/{variant}/decoding.json of its experiment into this folder"
        )
    return read_plan(DecodingSettings, path)


def translate_text(
    folder: Path, source: BinaryIO, target: BinaryIO, *, beam: int | None, device: str, n_best: int | None = None
) -> None:
    """Translate UTF-8 text with the run in `folder`, from raw text to raw text, line by line.

    With `n_best`, write the best hypotheses of each line as `INDEX ||| hypothesis ||| score`, best first; indices count
    from 0, and an empty translation has the score 0.

    A line without words gives an empty line, although the model translates empty sentences of test sets. For a model
    that reads previous sentences, empty lines separate documents. A line with more units than the model has positions
    also gives an empty line, and an error after all lines are translated. Raise UserError for a folder without a run,
    for a beam below 1, for an `n_best` that the search does not have, and for input that is not UTF-8.
    """
    run_weights_path(folder)  # first, because without weights the other files are also missing
    settings = dataclasses.replace(search_settings(folder), n_best=1)
    if beam is not None:
        if beam < 1:
            raise UserError(f"--beam is {beam}; it must be at least 1")
        settings = dataclasses.replace(settings, beam=beam, length_beam=beam)
    if n_best is not None:
        if not 1 <= n_best <= settings.beam:
            raise UserError(f"--nbest is {n_best}; it must be from 1 to the beam, {settings.beam}; see --beam")
        settings = dataclasses.replace(settings, n_best=n_best)
    chain = TextChain(folder / "text")
    model = load_run(folder, device_named(device), chain.corpus)
    if n_best is not None and isinstance(model, MaskedLanguageModel):
        raise UserError(f"--nbest is {n_best}, but {folder} is a masked model, which has no n-best list; leave it out")
    lines = list(without_invisible(decoded_lines(source, "standard input")))
    subwords = chain.source_subwords(tracked(lines, f"{folder.name}, source text", len(lines), "lines"))
    sentences = [np.array(chain.corpus.source_vocabulary.ids(line), dtype=np.int64) for line in subwords]
    documents, positions, too_long = split_paragraphs(sentences), model.source_embedding.positions, 0
    for number, sentence in enumerate(sentences, start=1):
        note = f"note: line {number} has {len(sentence)} units"
        if positions is not None and len(sentence) >= positions.num_embeddings:
            maximum = positions.num_embeddings - 1
            print(f"{note}; it is left empty, because this model reads at most {maximum}", file=sys.stderr)
            sentences[number - 1], too_long = sentence[:0], too_long + 1
        elif len(sentence) > LONG_LINE_UNITS:
            print(f"{note}, which takes much time and memory", file=sys.stderr)
    results = translate_ids(
        model,
        sentences,
        settings,
        documents=documents,
        progress=folder.name,
        processes=Processes(workers=decode_workers(model.device)),
    )
    best = [
        (index, hypothesis)
        for index, (sentence, hypotheses) in enumerate(zip(sentences, results, strict=True))
        for hypothesis in (hypotheses if len(sentence) else [Hypothesis((), 0.0, 0.0)])
    ]
    units = [chain.corpus.target_vocabulary.text(hypothesis.tokens) for _, hypothesis in best]
    tracked_units = tracked(units, f"{folder.name}, target text", len(units), "lines")
    for line, (index, hypothesis) in zip(chain.target_text(chain.target_tokens(tracked_units)), best, strict=True):
        written = line if n_best is None else f"{index} ||| {line} ||| {hypothesis.score:.6f}"
        target.write(written.encode("utf-8") + b"\n")
    target.flush()
    if too_long:
        raise UserError(
            f"{too_long} of {len(lines)} lines are too long for this model; split them (see the notes above)"
        )


def split_paragraphs(sentences: list[NDArray[np.int64]]) -> list[range]:
    """Split a text into documents at its empty lines; each empty line is a document of its own."""
    empty = [len(sentence) == 0 for sentence in sentences]
    starts = [number for number in range(len(empty)) if number == 0 or empty[number] or empty[number - 1]]
    return [range(start, end) for start, end in pairwise([*starts, len(sentences)])]
