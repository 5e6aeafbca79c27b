"""From Moses tokens to units and back: byte pair encoding (Sennrich et al. 2016, subword-nmt) or whole words."""

import io
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from context_nmt.corpus.cyrillic import to_cyrillic, to_latin
from context_nmt.corpus.documents import copy_documents
from context_nmt.corpus.vocabulary import JOINER, count_units, join_units
from context_nmt.files import iterate_lines, read_json, read_lines, replacing_folder, write_json, write_lines
from context_nmt.progress import tracked
from context_nmt.settings.text import CorpusSettings, UnitSettings


def segment_corpus(tokenized: Path, destination: Path, corpus: CorpusSettings, units: UnitSettings) -> None:
    """Learn the merges from the training text, and write all splits in units to the folder `destination`.

    The folder is written whole or not at all; stages/bpe.py lists its files. Raise UserError for a missing file and for
    documents that do not fit their split.
    """
    languages = (corpus.source, corpus.target)
    splits = tuple(dict.fromkeys((corpus.train, corpus.validation, *corpus.tests, *corpus.contrastive)))
    words = {language: count_units(tokenized / f"{corpus.train}.{language}") for language in languages}
    with replacing_folder(destination) as folder:
        write_json(folder / "units.json", asdict(units))
        if units.kind == "bpe":
            learned_from = {"joint": words[corpus.source] + words[corpus.target]} if units.joint else words
            learn = learn_merges_of_two_scripts if units.joint == "transliterated" else learn_merges
            for name, counts in learned_from.items():
                write_lines(folder / f"codes.{name}", learn(counts, units.merges))
        for language in languages:
            segmenter = Segmenter(folder, language, threshold=False)
            if units.kind == "bpe":
                _write_unit_counts(folder / f"vocabulary.{language}", segmenter, words.pop(language))
                if units.vocabulary_threshold:
                    segmenter = Segmenter(folder, language)
            for split in splits:
                name = f"{split}.{language}"
                count = sum(1 for _ in iterate_lines(tokenized / name))
                lines = map(segmenter.units, tracked(iterate_lines(tokenized / name), name, count, "lines"))
                sentences = write_lines(folder / name, lines)
                if language == corpus.source:
                    copy_documents(tokenized, folder, split, sentences)


def learn_merges(words: Counter[str], merges: int) -> list[str]:
    """Learn at most `merges` merges from word counts; return them as the lines of a subword-nmt codes file.

    The order of the words does not matter. Learning stops early if no pair of units occurs twice.
    """
    codes = io.StringIO("#version: 0.2", newline="")
    if any(len(word) > 1 for word in words):  # subword-nmt cannot learn from single characters
        from unittest.mock import patch  # imports much, and translating needs none of it

        shown = partial(tracked, name="merges", total=merges, unit="merges")
        silent = SimpleNamespace(**vars(sys) | {"stderr": io.StringIO()})  # it says when it stops early
        with patch.multiple("subword_nmt.learn_bpe", tqdm=shown, sys=silent):
            learn_bpe([f"{word} {count}" for word, count in sorted(words.items())], codes, merges, is_dict=True)
    return codes.getvalue().removesuffix("\n").split("\n")


def learn_merges_of_two_scripts(words: Counter[str], merges: int) -> list[str]:
    """Learn merges like `learn_merges`, with Russian letters as Latin ones, and follow each by its Cyrillic version.

    So there are at most twice as many, and the order is the same in both scripts. Emelin et al. (2019) put all Cyrillic
    merges first, which matters only for words in both scripts, and for English ones with digits or symbols.
    """
    latin_words: Counter[str] = Counter()
    for word, count in words.items():
        latin_words[to_latin(word)] += count
    header, *latin = learn_merges(latin_words, merges)
    return [header, *dict.fromkeys(version for merge in latin for version in (merge, to_cyrillic(merge)))]


def _write_unit_counts(path: Path, segmenter: "Segmenter", words: Counter[str]) -> None:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for unit in segmenter.units(word).split(" "):
            counts[unit] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    write_lines(path, (f"{unit} {count}" for unit, count in ordered))


class Segmenter:
    """The segmentation of one side into units and back, by the models in a folder that `segment_corpus` wrote."""

    def __init__(self, folder: Path, language: str, *, threshold: bool = True):
        settings = UnitSettings(**read_json(folder / "units.json"))
        self._segment: Callable[[str], str] | None = None
        if settings.kind == "bpe":
            codes = read_lines(folder / f"codes.{'joint' if settings.joint else language}")
            minimum_count = settings.vocabulary_threshold if threshold else 0
            frequent = _frequent_units(folder / f"vocabulary.{language}", minimum_count) if minimum_count else None
            # For a codes file without merges, subword-nmt raises an error unless `merges` is 0.
            bpe = BPE(io.StringIO("\n".join(codes)), merges=len(codes) - 1, separator=JOINER, vocab=frequent)
            self._segment = cache(lambda word: _segment(bpe, word))

    def units(self, line: str) -> str:
        """Segment a line of tokens, each distinct word only once."""
        return line if self._segment is None else " ".join(map(self._segment, filter(None, line.split(" "))))

    def tokens(self, line: str) -> str:
        """Join the units of a line into tokens; a line may end within a word."""
        return line if self._segment is None else join_units(line)


def _segment(bpe: BPE, word: str) -> str:
    pieces = bpe.segment_tokens([word])
    bpe.cache.clear()  # `Segmenter` has its own cache
    if pieces[-1].endswith(JOINER):  # else a word that ends in JOINER would be joined to the next word
        pieces = [character + JOINER for character in word[:-1]] + [word[-1]]
    return " ".join(pieces)


def _frequent_units(path: Path, threshold: int) -> set[str]:
    counted = (line.rpartition(" ") for line in iterate_lines(path))
    # subword-nmt ignores an empty set; with the empty unit, which never occurs in a text, it is not empty.
    return {""} | {unit for unit, _, count in counted if int(count) >= threshold}
