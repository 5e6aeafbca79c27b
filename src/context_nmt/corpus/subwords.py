"""Moses tokens to subword units and back: byte pair encoding (Sennrich et al. 2016, subword-nmt), or whole words.

The folder that `segment_corpus` writes holds

    SPLIT.LANGUAGE                   units, contrastive sets too; one that a word goes on behind ends in "@@"
    codes.joint or codes.LANGUAGE    the merges, in subword-nmt's format; none with `kind: words`
    vocabulary.LANGUAGE              each unit of a side's training text with its count, before the threshold
    units.json                       the settings
    SPLIT.documents                  where documents start, for splits that say so
"""

import io
import sys
from collections import Counter
from contextlib import ExitStack, redirect_stderr
from dataclasses import asdict
from pathlib import Path

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from context_nmt.command_line import progress
from context_nmt.corpus.documents import copy_documents
from context_nmt.corpus.vocabulary import JOINER, count_units, join_units
from context_nmt.files import iterate_lines, read_json, replacing_folder, write_json, write_lines
from context_nmt.settings.text import CorpusSettings, UnitSettings


def segment_corpus(tokenized: Path, destination: Path, corpus: CorpusSettings, units: UnitSettings) -> None:
    """Learn the merges from the training text and write all splits in units, whole or not at all.

    Raises UserError for a missing file and for documents that do not fit their split.
    """
    languages = (corpus.source, corpus.target)
    splits = tuple(dict.fromkeys((corpus.train, corpus.validation, *corpus.tests, *corpus.contrastive)))
    words = {language: count_units(tokenized / f"{corpus.train}.{language}") for language in languages}
    with replacing_folder(destination) as folder:
        write_json(folder / "units.json", asdict(units))
        if units.kind == "bpe":
            if units.joint:
                write_lines(
                    folder / "codes.joint", learn_merges(words[corpus.source] + words[corpus.target], units.merges)
                )
            for language in languages:
                if not units.joint:
                    write_lines(folder / f"codes.{language}", learn_merges(words[language], units.merges))
        for language in languages:
            segmenter = Segmenter(folder, language, threshold=False)
            if units.kind == "bpe":
                _write_unit_counts(folder, language, segmenter, words.pop(language))
                if units.vocabulary_threshold:
                    segmenter = Segmenter(folder, language)
            for split in splits:
                name = f"{split}.{language}"
                lines = map(segmenter.units, progress(iterate_lines(tokenized / name), name))
                sentences = write_lines(folder / name, lines)
                if language == corpus.source:
                    copy_documents(tokenized, folder, split, sentences)


def learn_merges(words: Counter[str], merges: int) -> list[str]:
    """Learn at most `merges` merges from word counts, as the lines of a subword-nmt codes file.

    The order of the words does not matter. Fewer merges come back when no pair of units is left that occurs twice.
    """
    codes = io.StringIO("#version: 0.2", newline="")
    if any(len(word) > 1 for word in words):  # subword-nmt cannot learn from single characters
        with ExitStack() as quiet:
            if not sys.stderr.isatty():  # its progress bar would fill a log file
                quiet.enter_context(redirect_stderr(io.StringIO()))
            learn_bpe([f"{word} {count}" for word, count in sorted(words.items())], codes, merges, is_dict=True)
    return codes.getvalue().removesuffix("\n").split("\n")


def _write_unit_counts(folder: Path, language: str, segmenter: "Segmenter", words: Counter[str]) -> None:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for unit in segmenter.units(word).split(" "):
            counts[unit] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    write_lines(folder / f"vocabulary.{language}", (f"{unit} {count}" for unit, count in ordered))


class _Pieces(dict[str, str]):
    """Each word that was segmented, with its units."""

    def __init__(self, bpe: BPE):
        self._bpe = bpe

    def __missing__(self, word: str) -> str:
        pieces = self._bpe.segment_tokens([word])
        self._bpe.cache.clear()  # it would hold each word a second time
        if pieces[-1].endswith(JOINER):  # a word that ends so in the text would run into the next one
            pieces = [character + JOINER for character in word[:-1]] + [word[-1]]
        units = self[word] = " ".join(pieces)
        return units


class Segmenter:
    """One side's tokens to units and back, with the models of a folder that `segment_corpus` wrote."""

    def __init__(self, folder: Path, language: str, *, threshold: bool = True):
        settings = UnitSettings(**read_json(folder / "units.json"))
        self._pieces: _Pieces | None = None
        if settings.kind == "bpe":
            codes = folder / f"codes.{'joint' if settings.joint else language}"
            rare = settings.vocabulary_threshold if threshold else 0
            frequent = _frequent_units(folder / f"vocabulary.{language}", rare) if rare else None
            lines = list(iterate_lines(codes))
            # A codes file without merges is an error for subword-nmt unless it is told to read none.
            self._pieces = _Pieces(
                BPE(io.StringIO("\n".join(lines)), merges=len(lines) - 1, separator=JOINER, vocab=frequent)
            )

    def units(self, line: str) -> str:
        """Segment a line of tokens; each distinct word is segmented once."""
        return line if self._pieces is None else " ".join(map(self._pieces.__getitem__, filter(None, line.split(" "))))

    def tokens(self, line: str) -> str:
        """Put the tokens of a line of units together again; a line may end within a word."""
        return line if self._pieces is None else join_units(line)


def _frequent_units(path: Path, threshold: int) -> set[str]:
    counted = (line.rpartition(" ") for line in iterate_lines(path))
    # subword-nmt takes an empty set for none given: the empty unit, which no text holds, keeps it from that.
    return {""} | {unit for unit, _, count in counted if int(count) >= threshold}
