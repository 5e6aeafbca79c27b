"""The way from raw text to a model's units and back, from the files in a run's own folder.

    moses.json  truecaser.LANGUAGE.json                      of the tokenize stage
    units.json  codes.joint or codes.LANGUAGE  vocabulary.LANGUAGE   of the bpe stage
    corpus.json  vocabulary.LANGUAGE.txt                     of the bpe stage

Importing this module imports no text tools: training copies the files, and runs without them.
"""

import shutil
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.corpus.vocabulary import Vocabulary
from context_nmt.corpus.workers import map_lines
from context_nmt.files import UserError, iterate_lines, read_json, write_json
from context_nmt.settings.text import SideSettings


def copy_text_files(tokenized: Path, subwords: Path, binarized: Path, destination: Path) -> None:
    """Copy what `TextChain` needs into the folder `destination`; raises UserError for a folder that lacks it."""
    names = BinarizedCorpus(binarized)
    languages = (names.source, names.target)
    required = [tokenized / "moses.json", subwords / "units.json"]
    required += [names.training_folder / f"vocabulary.{language}.txt" for language in languages]
    optional = [subwords / "codes.joint"]
    for language in languages:
        optional += [tokenized / f"truecaser.{language}.json"]
        optional += [subwords / f"codes.{language}", subwords / f"vocabulary.{language}"]
    destination.mkdir(parents=True, exist_ok=True)
    for path in required + [path for path in optional if path.is_file()]:
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        shutil.copyfile(path, destination / path.name)
    write_json(destination / "corpus.json", names.names())


class TextChain:
    """The chain of one run; raises UserError for a folder that `copy_text_files` did not write."""

    def __init__(self, folder: Path):
        from context_nmt.corpus.moses import MosesSide, Truecaser
        from context_nmt.corpus.subwords import Segmenter

        self.corpus = BinarizedCorpus(folder)
        sides = read_json(folder / "moses.json")
        self._moses: list[MosesSide] = []
        self._truecasers: list[Truecaser | None] = []
        self._segmenters: list[Segmenter] = []
        for role in ("source", "target"):
            language = sides[role].pop("language")
            settings = SideSettings(**sides[role])
            truecaser = Truecaser.load(folder / f"truecaser.{language}.json") if settings.truecase else None
            self._moses.append(MosesSide(language, settings))
            self._truecasers.append(truecaser)
            self._segmenters.append(Segmenter(folder, language))

    @cached_property
    def source_vocabulary(self) -> Vocabulary:
        return self.corpus.source_vocabulary

    @cached_property
    def target_vocabulary(self) -> Vocabulary:
        return self.corpus.target_vocabulary

    def source_subwords(self, lines: Iterable[str]) -> list[str]:
        """Turn raw source lines into lines of units; raises UserError for a script that fails."""
        tokens = map(self._moses[0].tokens, self._moses[0].prepared(lines))
        truecaser = self._truecasers[0]
        return [self._segmenters[0].units(truecaser.truecase(line) if truecaser else line) for line in tokens]

    def target_tokens(self, lines: Iterable[str]) -> Iterator[str]:
        """Turn lines of target units into Moses tokens, with capitals at the start of sentences."""
        tokens = map(self._segmenters[1].tokens, lines)
        truecaser = self._truecasers[1]
        return map(truecaser.detruecase, tokens) if truecaser else tokens

    def target_text(self, lines: Iterable[str]) -> Iterator[str]:
        """Turn lines of Moses tokens into raw text."""
        return map_lines(self._moses[1].text, lines)


def write_tokens(text: Path, binarized: Path, decoded: Path, destination: Path) -> None:
    """Write the tokens of the `TEST.subwords.txt` of every test set, see hypotheses.py.

    `text` is a run's folder for `TextChain`. Raises UserError when a line is missing or too many.
    """
    chain = TextChain(text)
    corpus = BinarizedCorpus(binarized)
    tests = {}
    for test in corpus.tests:
        units = decoded / f"{test}.subwords.txt"
        tests[test] = list(chain.target_tokens(iterate_lines(units)))
        expected = len(corpus.side(test, corpus.source))
        if len(tests[test]) != expected:
            raise UserError(f"{units}: {len(tests[test])} translations for {expected} sentences; decode again")
    write_hypotheses(destination, tests)
