"""Raw text to Moses tokens and back (sacremoses).

A language is named by its file suffix. Where Moses knows none of that name, sacremoses falls back to English
abbreviations and to the rules that hold for every language. It does not segment Chinese or Japanese: a script does.
Tokens are not escaped: "&" stays "&", never "&amp;", so that detokenized text and references need no unescaping.
A token holds no white space of any kind, and tokens stand between single spaces.
"""

import re
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sacremoses import MosesDetokenizer, MosesDetruecaser, MosesPunctNormalizer, MosesTokenizer, MosesTruecaser

from context_nmt.files import UserError, read_json, write_json
from context_nmt.settings.text import SideSettings


class _Normalizer(MosesPunctNormalizer):  # type: ignore[misc]
    """Moses' normalizer, which asks once whether any of its 40 rules applies to a line: mostly none does."""

    def __init__(self, language: str):
        super().__init__(language)
        patterns = dict.fromkeys(pattern for pattern, _ in self.substitutions)
        patterns["  "] = patterns.pop(" +")  # this rule writes one space, so that one space is no change
        self._changes = re.compile("|".join(patterns))

    def normalize(self, text: str) -> str:
        return str(super().normalize(text)) if self._changes.search(text) else text.strip()


class _Tokenizer(MosesTokenizer):  # type: ignore[misc]
    """Moses' tokenizer, which does not gather all letters of Unicode anew at every full stop."""

    def __init__(self, language: str):
        super().__init__(language)
        self._letters, self._lower_case = frozenset(self.IsAlpha), frozenset(self.IsLower)

    def isanyalpha(self, text: str) -> bool:
        return not self._letters.isdisjoint(text)

    def islower(self, text: str) -> bool:
        return self._lower_case.issuperset(text)


class MosesSide:
    """One language's way from raw lines to tokens and back, without truecasing."""

    def __init__(self, language: str, settings: SideSettings):
        self.language = language
        self.settings = settings
        self._normalizer = _Normalizer(language)
        self._tokenizer = _Tokenizer(language)
        self._detokenizer = MosesDetokenizer(language)

    def prepared(self, lines: Iterable[str]) -> Iterable[str]:
        """Give the raw lines as the side's script maps them; raises UserError for a script that fails."""
        return lines if self.settings.script is None else run_script(self.settings.script, lines)

    def tokens(self, line: str) -> str:
        """Turn a prepared line into a line of tokens.

        Pre-tokenized text passes through; of each run of white space one space stays.
        """
        return " ".join(self._tokenize(line).split())

    def _tokenize(self, line: str) -> str:
        if self.settings.pretokenized:
            return line
        if self.settings.normalize_punctuation:
            line = self._normalizer.normalize(line)
        hyphens = self.settings.aggressive_hyphens
        tokens: str = self._tokenizer.tokenize(line, aggressive_dash_splits=hyphens, return_str=True, escape=False)
        return tokens

    def text(self, line: str) -> str:
        """Turn a line of tokens into raw text; what a script did to the raw text is not undone."""
        if self.settings.pretokenized:
            return line
        text: str = self._detokenizer.detokenize(line.split(), unescape=False)
        return text


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

    def __init__(self, best: dict[str, str], known: Iterable[str]):
        self._moses = _Truecaser()
        self._moses.model = {"best": best, "known": set(known)}
        self._detruecaser = MosesDetruecaser()

    @classmethod
    def learn(cls, casings: Counter[str]) -> "Truecaser":
        """Take the most frequent casing of each word, and know the other ones that occur; ties go to lower case."""
        best: dict[str, str] = {}
        known = []
        for token in sorted(casings, key=lambda token: (-casings[token], token.swapcase(), token)):
            if best.setdefault(token.lower(), token) != token:
                known.append(token)
        return cls(best, known)

    def save(self, path: Path) -> None:
        """Write the model as JSON."""
        write_json(path, {"best": self._moses.model["best"], "known": sorted(self._moses.model["known"])})

    @classmethod
    def load(cls, path: Path) -> "Truecaser":
        """Read what `save` wrote."""
        model = read_json(path)
        return cls(model["best"], model["known"])

    def truecase(self, line: str) -> str:
        """Truecase a line of tokens."""
        return str(self._moses.truecase(line, return_str=True, use_known=True))

    def detruecase(self, line: str) -> str:
        """Capitalise the first words of the sentences in a line of tokens."""
        return str(self._detruecaser.detruecase(line, return_str=True))


def count_casings(lines: Iterable[str]) -> Counter[str]:
    """Count the words inside sentences, as they are cased, in lines of tokens."""
    moses = _Truecaser()
    return Counter(token for line in lines for _, token, _ in moses.learn_truecase_weights(line.split()))
