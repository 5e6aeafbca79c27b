"""Turn raw text into the units of a model and back, with the files in a run's folder.

    moses.json  truecaser.LANGUAGE.json                              from the tokenize stage
    units.json  codes.joint or codes.LANGUAGE  vocabulary.LANGUAGE   from the bpe stage
    sentencepiece.joint.model or sentencepiece.LANGUAGE.model        from the bpe stage
    corpus.json  vocabulary.LANGUAGE.txt                             from the bpe stage

The average stage copies the files.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from unicodedata import category

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.workers import map_lines
from context_nmt.files import read_json
from context_nmt.settings.text import SideSettings

INVISIBLE = ("Cc", "Cf", "Zl", "Zp", "Zs")  # in Unicode: control and format characters, and spaces


def without_invisible(lines: Iterable[str]) -> Iterator[str]:
    """Empty lines that have no visible character: a model would take U+200B, for example, for a word."""
    return (line if any(category(character) not in INVISIBLE for character in line) else "" for line in lines)


class TextChain:
    """The text processing of one run; raises UserError for a folder that lacks one of its files."""

    def __init__(self, folder: Path):
        from context_nmt.corpus.moses import MosesSide, Truecaser
        from context_nmt.corpus.subwords import Segmenter

        self.corpus = BinarizedCorpus(folder)
        self._moses: list[MosesSide] = []
        self._truecasers: list[Truecaser | None] = []
        self._segmenters: list[Segmenter] = []
        sides = read_json(folder / "moses.json")
        for side in (sides["source"], sides["target"]):
            language = side.pop("language")
            self._moses.append(MosesSide(language, SideSettings(**side)))
            self._truecasers.append(Truecaser.load(folder / f"truecaser.{language}.json") if side["truecase"] else None)
            self._segmenters.append(Segmenter(folder, language))

    def source_subwords(self, lines: Iterable[str]) -> list[str]:
        """Turn raw source lines into lines of units; raise UserError for a script that fails."""
        moses, truecaser, segmenter = self._moses[0], self._truecasers[0], self._segmenters[0]
        prepared = map(moses.normalize if segmenter.untokenized else moses.tokens, moses.prepare(lines))
        return [segmenter.units(truecaser.truecase(line) if truecaser else line) for line in prepared]

    def target_tokens(self, lines: Iterable[str]) -> Iterator[str]:
        """Turn lines of target units into Moses tokens, capitalised at the start of sentences, or into raw text."""
        tokens = map(self._segmenters[1].tokens, lines)
        truecaser = self._truecasers[1]
        return map(truecaser.detruecase, tokens) if truecaser else tokens

    def target_text(self, lines: Iterable[str]) -> Iterator[str]:
        """Turn lines of `target_tokens` into raw text."""
        return iter(lines) if self._segmenters[1].untokenized else map_lines(self._moses[1].text, lines)
