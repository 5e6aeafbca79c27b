"""Turn raw text into Moses tokens and back (sacremoses).

A language is named by its file suffix; en-GB has the rules of en. For an unknown name, sacremoses uses English
abbreviations and the rules for all languages. It does not segment Chinese or Japanese; a script can.
Tokens are not escaped: "&" stays "&", never "&amp;", so that detokenized text and references need no unescaping.
Tokens are separated by single spaces and contain no white space of any kind.

Moses' rules only know ASCII; other quotes, punctuation and marks are handled here.
"""
# ruff: noqa: RUF001

import re
import shlex
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryFile

from sacremoses import MosesDetokenizer, MosesDetruecaser, MosesPunctNormalizer, MosesTokenizer, MosesTruecaser
from sacremoses.corpus import NonbreakingPrefixes

from context_nmt.files import UserError, read_json, write_json
from context_nmt.settings.text import SideSettings, base_language

NO_RULES = "Moses has no rules for the language {!r}; English ones are used"

INNER_MARKS = "’·׳״־"  # between letters, they belong to the word
QUOTES = {"«": "»", "»": "«»", "‹": "›", "›": "‹", "„": "“”", "“": "”", "”": "”", "‚": "‘’", "‘": "’", "״": "״"}
OPENING_QUOTES = "“„‘"  # these open even if nothing closes them
OPENING_BRACKETS = "([{¿¡"  # Moses joins them to the next word
ELISION = re.compile(r"\d\ds\b|[Tt](?:was|is)\b|em\b|n ’")  # what follows an apostrophe at the start of a word
TRAILING_MARKS = frozenset("»›”’…‰٪،؛؟۔।॥։․՛՜՝՞׳׃፣።។៖၊။")  # they have no space before them
SPACED_MARK = re.compile(f" [{''.join({*QUOTES, *TRAILING_MARKS})}]")
WIDE_MARK = re.compile(" ?([\u3001-\u303f\uff01-\uff65]) ?")  # has no space on either side
CURRENCY = re.compile(r"(?<=\d )([\u20a0-\u20c0£¥])(?=[^\s\d])")  # after its number, but joined to the next word


def has_rules(language: str) -> bool:
    """Return whether Moses has rules of its own for a language; en-GB has those of en."""
    return base_language(language) in NonbreakingPrefixes().available_langs.values()


class _Normalizer(MosesPunctNormalizer):  # type: ignore[misc]
    """Moses' normalizer, made faster: it skips its 40 rules for the many lines to which none applies."""

    def __init__(self, language: str):
        super().__init__(language)
        patterns = dict.fromkeys(pattern for pattern, _ in self.substitutions)
        patterns["  "] = patterns.pop(" +")  # this rule writes one space, so it does not change a single space
        self._changes = re.compile("|".join(patterns))

    def normalize(self, text: str) -> str:
        return str(super().normalize(text)) if self._changes.search(text) else text.strip()


class _Tokenizer(MosesTokenizer):  # type: ignore[misc]
    """Moses' tokenizer, changed to keep combining marks, joiners and inner apostrophes with their letters.

    For speed, it collects the letters of Unicode once, not at every full stop.
    """

    def __init__(self, language: str):
        super().__init__(language)
        separate = rf"(?!(?<=\w)[{INNER_MARKS}](?=\w))[^{self.IsAlnum}{combining_marks()}\s\.'\`\,\-]"
        self.PAD_NOT_ISALNUM = re.compile(f"({separate})"), r" \1 "
        self._letters, self._lower_case = frozenset(self.IsAlpha), frozenset(self.IsLower)

    def isanyalpha(self, text: str) -> bool:
        return not self._letters.isdisjoint(text)

    def islower(self, text: str) -> bool:
        return self._lower_case.issuperset(text)


class _Detokenizer(MosesDetokenizer):  # type: ignore[misc]
    """Moses' detokenizer, restricted to ASCII quotes; it would take “ and „ for marks that open and close in turn."""

    IS_OPEN_QUOTE = re.compile("^['\"`]+$")


class MosesSide:
    """The tokenizer and detokenizer of one language, without truecasing."""

    def __init__(self, language: str, settings: SideSettings):
        self.language = language
        self.settings = settings
        base = base_language(language)
        self._normalizer = _Normalizer(base)
        self._tokenizer = _Tokenizer(base)
        self._detokenizer = _Detokenizer(base)

    def prepare(self, lines: Iterable[str]) -> Iterable[str]:
        """Compose raw lines (NFC) and map them with the side's script, if any; raise UserError if the script fails."""
        lines = map(partial(unicodedata.normalize, "NFC"), lines)
        return lines if self.settings.script is None else run_script(self.settings.script, lines)

    def tokens(self, line: str) -> str:
        """Turn a prepared line into a line of tokens; in pre-tokenized text, change only white space."""
        if not self.settings.pretokenized:
            line, hyphens = self._normalize_punctuation(line), self.settings.aggressive_hyphens
            line = self._tokenizer.tokenize(line, aggressive_dash_splits=hyphens, return_str=True, escape=False)
        return " ".join(line.split())

    def normalize(self, line: str) -> str:
        """Normalize the punctuation of a prepared line as `tokens` does, and replace white space by single spaces."""
        return " ".join((line if self.settings.pretokenized else self._normalize_punctuation(line)).split())

    def _normalize_punctuation(self, line: str) -> str:
        return self._normalizer.normalize(line) if self.settings.normalize_punctuation else line

    def text(self, line: str) -> str:
        """Turn a line of tokens into raw text; changes by a script are not undone."""
        if self.settings.pretokenized:
            return line
        text = str(self._detokenizer.detokenize(line.split(), unescape=False))
        return join_punctuation(text, self.language)


def run_script(command: str, lines: Iterable[str]) -> Iterator[str]:
    """Run a command without a shell and yield its output lines; raise UserError if it fails or prints more or fewer."""
    with TemporaryFile() as input_file, TemporaryFile() as output_file:
        expected = 0
        for line in lines:
            input_file.write(line.encode() + b"\n")
            expected += 1
        input_file.seek(0)
        try:
            arguments = shlex.split(command)
            subprocess.run(arguments, stdin=input_file, stdout=output_file, stderr=subprocess.PIPE, check=True)
            output_file.seek(0)
            if (count := sum(1 for _ in output_file)) != expected:
                raise ValueError(f"{count} lines printed for {expected} lines given")
            output_file.seek(0)
            yield from (line.removesuffix(b"\n").decode() for line in output_file)
        except subprocess.CalledProcessError as error:
            last_line = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise UserError(f"text script {command!r}: exit status {error.returncode} {last_line}".rstrip()) from None
        except (OSError, ValueError, IndexError) as error:
            raise UserError(f"text script {command!r}: {error}") from None


class _Truecaser(MosesTruecaser):  # type: ignore[misc]
    """Moses' truecaser, which would treat "<b c>" as one XML tag and so change the number of tokens."""

    split_xml = staticmethod(str.split)


class Truecaser:
    """Casing statistics of a training text, by Moses' rules.

    At the start of a sentence, a word takes its most frequent casing; elsewhere, a casing seen in training stays. The
    model is stored as JSON: for equal counts, the format of sacremoses depends on the order of the text.
    """

    def __init__(self, best: dict[str, str], known: Iterable[str]):
        self._moses = _Truecaser()
        self._moses.model = {"best": best, "known": set(known)}
        self._detruecaser = MosesDetruecaser()

    @classmethod
    def learn(cls, casings: Counter[str]) -> "Truecaser":
        """Learn the most frequent casing of each word, and its other casings; lower case wins ties."""
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
        """Read a model that `save` wrote."""
        return cls(**read_json(path))

    def truecase(self, line: str) -> str:
        """Truecase a line of tokens."""
        return str(self._moses.truecase(line, return_str=True, use_known=True))

    def detruecase(self, line: str) -> str:
        """Capitalise the first words of the sentences in a line of tokens."""
        return str(self._detruecaser.detruecase(line, return_str=True))


def count_casings(lines: Iterable[str]) -> Counter[str]:
    """Count the casings of words inside sentences, in lines of tokens."""
    truecaser = _Truecaser()
    return Counter(token for line in lines for _, token, _ in truecaser.learn_truecase_weights(line.split()))


@cache
def combining_marks() -> str:
    """Return all characters that combine with a letter, and the invisible joiners of letters."""
    planes = map(chr, (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)))
    return "\u200c\u200d" + "".join(mark for mark in planes if unicodedata.category(mark).startswith("M"))


def join_punctuation(text: str, language: str) -> str:
    """Join quotes and punctuation that are not ASCII to their words; French keeps spaces in « »."""
    if SPACED_MARK.search(f" {text}"):
        text = _join_marks(text, spaced="«»" if base_language(language) == "fr" else "")
    return CURRENCY.sub(r"\1 ", WIDE_MARK.sub(r"\1", text))


def _join_marks(text: str, *, spaced: str) -> str:
    tokens, words, opened = text.split(" "), [""], True
    closing: list[str] = []  # for each open quote, the marks that close it
    for number, token in enumerate(tokens):
        mark, rest = token.lstrip(OPENING_BRACKETS), tokens[number + 1 :]
        is_spaced = token[0] in spaced
        closes = not is_spaced and (
            any(token[0] in quotes for quotes in closing) or (token in OPENING_QUOTES and not rest)
        )
        may_open = mark in QUOTES and not (is_spaced or closes)
        opens = may_open and bool(rest) and (mark in OPENING_QUOTES or any(later[0] in QUOTES[mark] for later in rest))
        elides = mark == "’" and not closes and (number == 0 or ELISION.match(" ".join(rest[:2])) is not None)
        if opened or closes or (token[0] in TRAILING_MARKS and not (is_spaced or opens or elides)):
            words[-1] += token
        else:
            words.append(token)
        if opens:
            closing.append(QUOTES[mark])
        while closes and closing and token[0] not in closing.pop():
            pass
        opened = opens or elides
    return " ".join(words)
