"""Raw text to Moses tokens and back (sacremoses).

A language is named by its file suffix. Where Moses knows none of that name, sacremoses falls back to English
abbreviations and to the rules that hold for every language. It does not segment Chinese or Japanese: a script does.
Tokens are not escaped: "&" stays "&", never "&amp;", so that detokenized text and references need no unescaping.
A token holds no white space of any kind, and tokens stand between single spaces.
"""

import shlex
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from sacremoses import MosesDetokenizer, MosesDetruecaser, MosesPunctNormalizer, MosesTokenizer, MosesTruecaser

from context_nmt.files import UserError, read_json, write_json
from context_nmt.settings import SideSettings


class MosesSide:
    """One language's way from raw lines to tokens and back, without truecasing."""

    def __init__(self, language: str, settings: SideSettings):
        self.language = language
        self.settings = settings
        self._normalizer = MosesPunctNormalizer(language)
        self._tokenizer = MosesTokenizer(language)
        self._detokenizer = MosesDetokenizer(language)

    def tokens(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield a line of tokens for each raw line; raises UserError for a script that fails.

        Pre-tokenized text passes through; of each run of white space one space stays.
        """
        if self.settings.script is not None:
            lines = run_script(self.settings.script, lines)
        for line in lines:
            yield " ".join(self._tokenize(line).split())

    def _tokenize(self, line: str) -> str:
        if self.settings.pretokenized:
            return line
        if self.settings.normalize_punctuation:
            line = self._normalizer.normalize(line)
        hyphens = self.settings.aggressive_hyphens
        tokens: str = self._tokenizer.tokenize(line, aggressive_dash_splits=hyphens, return_str=True, escape=False)
        return tokens

    def text(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the raw text of each line of tokens; what a script did to the raw text is not undone."""
        for line in lines:
            yield line if self.settings.pretokenized else self._detokenizer.detokenize(line.split(), unescape=False)


def run_script(command: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield what a command, run without a shell, prints for lines on its standard input: one line for each.

    Raises UserError when it cannot be run, fails, or prints another number of lines.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        expected = printed = 0
        for line in lines:
            given.write(line.encode() + b"\n")
            expected += 1
        given.seek(0)
        try:
            arguments = shlex.split(command)
            with subprocess.Popen(arguments, stdin=given, stdout=subprocess.PIPE, stderr=complaints) as process:
                assert process.stdout is not None
                for output in process.stdout:
                    yield output.removesuffix(b"\n").decode()
                    printed += 1
        except (OSError, ValueError, IndexError) as error:
            raise UserError(f"text script {command!r}: {error}") from None
        if process.returncode != 0:
            complaints.seek(0)
            last = complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise UserError(f"text script {command!r}: exit status {process.returncode} {last}".rstrip())
        if printed != expected:
            raise UserError(f"text script {command!r}: {printed} lines printed for {expected} lines given")


class _Truecaser(MosesTruecaser):  # type: ignore[misc]
    """Moses' truecaser on tokens as they are: its own reading of "<b c>" as one XML tag changes their number."""

    split_xml = staticmethod(str.split)


class Truecaser:
    """Casing statistics of a training text, by Moses' rules.

    At the start of a sentence a word takes its most frequent casing; elsewhere a casing seen in training stays.
    The model is stored as JSON: sacremoses' own file depends on the order of the text where counts are equal.
    """

    def __init__(self) -> None:
        self._casing: dict[str, Counter[str]] = defaultdict(Counter)
        self._moses = _Truecaser()
        self._detruecaser = MosesDetruecaser()

    def observe(self, line: str) -> None:
        """Count the casings of one line of tokens."""
        for lower, token, weight in self._moses.learn_truecase_weights(line.split()):
            self._casing[lower][token] += weight

    def save(self, path: Path) -> None:
        """Write the most frequent casing of each word, and the other casings that were seen; ties go to lower case."""
        best, known = {}, []
        for lower, counts in self._casing.items():
            first, *others = sorted(counts, key=lambda token: (-counts[token], token.swapcase(), token))
            best[lower] = first
            known += others
        write_json(path, {"best": best, "known": sorted(known)})

    @classmethod
    def load(cls, path: Path) -> "Truecaser":
        """Read what `save` wrote."""
        model = read_json(path)
        truecaser = cls()
        truecaser._moses.model = {"best": model["best"], "known": set(model["known"])}
        return truecaser

    def truecase(self, line: str) -> str:
        """Truecase a line of tokens."""
        return str(self._moses.truecase(line, return_str=True, use_known=True))

    def detruecase(self, line: str) -> str:
        """Capitalise the first words of the sentences in a line of tokens."""
        return str(self._detruecaser.detruecase(line, return_str=True))
