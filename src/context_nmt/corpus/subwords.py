"""Segment text into units and join them again.

Moses tokens become whole words or the units of byte pair encoding (Sennrich et al. 2016, subword-nmt). Raw text becomes
the pieces of sentencepiece (Kudo and Richardson 2018). All bytes are pieces, so the text can be restored, except for
U+2581, which stands for a space in the pieces. Sentencepiece's own normalization (NFKC) is off: with it, a system could
not produce all characters of its references.

For merges of two scripts, Russian letters are transliterated to Latin ones (ISO 9:1995). As in Sennrich et al. (2016,
"Neural Machine Translation of Rare Words with Subword Units"), only the merges are learned from them; the text stays
Cyrillic.
"""

import io
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from context_nmt.corpus.documents import copy_documents
from context_nmt.corpus.vocabulary import (
    BEGIN,
    END,
    JOINER,
    PADDING,
    SPECIALS,
    UNKNOWN,
    Vocabulary,
    count_units,
    join_units,
)
from context_nmt.corpus.workers import in_parallel
from context_nmt.files import UserError, iterate_lines, read_json, read_lines, replacing_folder, write_json, write_lines
from context_nmt.progress import Progress, say, tracked
from context_nmt.settings.text import CorpusSettings, UnitSettings

SENTENCEPIECE_THREADS = 16  # a model depends on their number, but not on the cores that run them

HARD_SIGN, SOFT_SIGN = "\u02ba", "\u02b9"  # as Latin characters
_LATIN = f"abvgdeëžzijklmnoprstufhcčšŝ{HARD_SIGN}y{SOFT_SIGN}èûâ"
_PAIRS = tuple(zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", _LATIN, strict=True))
# ISO 9 writes a capital sign (ЪЬ) like a small one. Capital signs stay as they are, so that every word can be restored.
_CAPITALS = tuple((cyrillic.upper(), latin.upper()) for cyrillic, latin in _PAIRS if latin.islower())
_TO_LATIN = str.maketrans(dict(_PAIRS + _CAPITALS))
_TO_CYRILLIC = str.maketrans({latin: cyrillic for cyrillic, latin in _PAIRS + _CAPITALS})


def segment_corpus(tokenized: Path, destination: Path, corpus: CorpusSettings, units: UnitSettings) -> None:
    """Learn merges or pieces from the training text, and write all splits in units to the folder `destination`.

    The folder is written whole or not at all; stages/bpe.py lists its files. Raise UserError for a missing file, for
    documents that do not fit their split, and if `units.pieces` is too low for the training text.
    """
    languages = (corpus.source, corpus.target)
    splits = tuple(dict.fromkeys((corpus.train, corpus.validation, *corpus.tests, *corpus.contrastive)))
    training = {language: tokenized / f"{corpus.train}.{language}" for language in languages}
    word_counts = {language: count_units(path) for language, path in training.items()} if units.kind == "bpe" else {}
    with replacing_folder(destination) as folder:
        write_json(folder / "units.json", units.values())
        if units.kind == "sentencepiece":
            texts = {"joint": [*training.values()]} if units.joint else {name: [training[name]] for name in languages}
            # In other processes, because Ctrl-C does not interrupt sentencepiece.
            models = in_parallel(partial(learn_pieces, units), texts.values(), workers=2)
            for name, model in zip(texts, models, strict=True):
                path = folder / f"sentencepiece.{name}.model"
                path.write_bytes(model)
                if (size := _load_pieces(path).get_piece_size()) < units.pieces:
                    say(f"note: {path.name}: the text has only {size:,} pieces of the {units.pieces:,} (units.pieces)")
        elif units.kind == "bpe":
            counts_by_name = word_counts
            if units.joint:
                counts_by_name = {"joint": word_counts[corpus.source] + word_counts[corpus.target]}
            learn = learn_merges_of_two_scripts if units.joint == "transliterated" else learn_merges
            for name, counts in counts_by_name.items():
                write_lines(folder / f"codes.{name}", learn(counts, units.merges))
        for language in languages:
            segmenter = Segmenter(folder, language, threshold=False)
            if units.kind == "bpe":
                _write_unit_counts(folder / f"vocabulary.{language}", segmenter, word_counts.pop(language))
                if units.vocabulary_threshold:
                    segmenter = Segmenter(folder, language)
            elif units.kind == "sentencepiece":
                segmenter.vocabulary().save(folder / f"vocabulary.{language}")
            for split in splits:
                name = f"{split}.{language}"
                count = sum(1 for _ in iterate_lines(tokenized / name))
                lines = map(segmenter.units, tracked(iterate_lines(tokenized / name), name, count, "lines"))
                sentences = write_lines(folder / name, lines)
                if language == corpus.source:
                    copy_documents(tokenized, folder, split, sentences)


class _Codes(io.StringIO):
    """A file for subword-nmt's codes that advances a progress bar with each code and discards other messages."""

    def learn(self, words: Counter[str], merges: int) -> None:
        """Learn merges from word counts in any order."""
        self._terminal = sys.stderr
        with Progress("merges", merges, "merges") as self._progress, redirect_stderr(io.StringIO()):
            learn_bpe([f"{word} {count}" for word, count in sorted(words.items())], self, merges, is_dict=True)

    def write(self, code: str, /) -> int:
        with redirect_stderr(self._terminal):
            self._progress.advance(not code.startswith("#version"))
        return super().write(code)


def learn_merges(words: Counter[str], merges: int) -> list[str]:
    """Learn up to `merges` merges from word counts in any order; return the lines of a subword-nmt codes file."""
    codes = _Codes("#version: 0.2", newline="")
    if any(len(word) > 1 for word in words):  # subword-nmt cannot learn from single characters
        codes.learn(words, merges)
    return codes.getvalue().removesuffix("\n").split("\n")


def learn_merges_of_two_scripts(words: Counter[str], merges: int) -> list[str]:
    """Learn merges from words with Russian letters transliterated, and add after each merge its Cyrillic version.

    There are at most 2 * `merges`, in the same order in both scripts. Emelin et al. (2019) put all Cyrillic merges
    first, which matters only for words in both scripts and for English words with digits or symbols.
    """
    latin_words: Counter[str] = Counter()
    for word, count in words.items():
        latin_words[to_latin(word)] += count
    header, *latin = learn_merges(latin_words, merges)
    return [header, *dict.fromkeys(version for merge in latin for version in (merge, to_cyrillic(merge)))]


def to_latin(text: str) -> str:
    """Replace each Russian letter of a text by a Latin one; other characters stay as they are."""
    return text.translate(_TO_LATIN)


def to_cyrillic(text: str) -> str:
    """Undo `to_latin`; characters that are not transliterations of Russian letters stay as they are."""
    return text.translate(_TO_CYRILLIC)


def learn_pieces(units: UnitSettings, paths: list[Path]) -> bytes:
    """Learn the sentencepiece model of a text, deterministically; raise UserError if `units.pieces` is too low."""
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    lines = chain.from_iterable(map(iterate_lines, paths))
    try:
        SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            model_type=units.model_type,
            vocab_size=max(units.pieces, len(SPECIALS)),  # with fewer, its error lacks the number that it needs
            hard_vocab_limit=False,  # a short text has fewer pieces
            byte_fallback=True,
            normalization_rule_name="identity",
            pad_id=PADDING,
            bos_id=BEGIN,
            eos_id=END,
            unk_id=UNKNOWN,
            num_threads=SENTENCEPIECE_THREADS,
            minloglevel=2,  # errors, which are raised
        )
    except RuntimeError as error:
        needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
        reason = f"this text needs at least {needed[1]}" if needed else f"sentencepiece fails: {error}"
        raise UserError(f"units.pieces is {units.pieces}; {reason}") from None
    return model.getvalue()


def _write_unit_counts(path: Path, segmenter: "Segmenter", words: Counter[str]) -> None:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for unit in segmenter.units(word).split(" "):
            counts[unit] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    write_lines(path, (f"{unit} {count}" for unit, count in ordered))


class Segmenter:
    """Segments one side's tokens into units and joins them again, with the files of a folder of `segment_corpus`.

    If `untokenized`, it segments raw text.
    """

    def __init__(self, folder: Path, language: str, *, threshold: bool = True):
        settings = UnitSettings(**read_json(folder / "units.json"))
        self.untokenized = settings.untokenized
        self._segment: Callable[[str], str] | None = None
        self._processor: Any = None
        if settings.kind == "sentencepiece":
            self._processor = _load_pieces(folder / f"sentencepiece.{'joint' if settings.joint else language}.model")
        if settings.kind == "bpe":
            codes = read_lines(folder / f"codes.{'joint' if settings.joint else language}")
            minimum_count = settings.vocabulary_threshold if threshold else 0
            frequent = _frequent_units(folder / f"vocabulary.{language}", minimum_count) if minimum_count else None
            # If a codes file has no merges, subword-nmt raises an error unless `merges` is 0.
            bpe = BPE(io.StringIO("\n".join(codes)), merges=len(codes) - 1, separator=JOINER, vocab=frequent)
            self._segment = cache(lambda word: _segment(bpe, word))

    def units(self, line: str) -> str:
        """Segment a line; BPE is applied to each distinct word only once."""
        if self._processor is not None:
            return " ".join(self._processor.encode(line, out_type=str))
        return line if self._segment is None else " ".join(map(self._segment, filter(None, line.split(" "))))

    def tokens(self, line: str) -> str:
        """Join the units of a line; a line may end within a word."""
        if self._processor is not None:
            text = self._processor.decode([unit for unit in line.split(" ") if unit])
            return " ".join(text.split())  # a model may write a line break
        return line if self._segment is None else join_units(line)

    def vocabulary(self) -> Vocabulary:
        """Return all pieces of the sentencepiece model in the order of their ids."""
        return Vocabulary(tuple(map(self._processor.id_to_piece, range(self._processor.get_piece_size()))))


def _load_pieces(path: Path) -> Any:
    from sentencepiece import SentencePieceProcessor

    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        return SentencePieceProcessor(model_proto=path.read_bytes())
    except RuntimeError:
        raise UserError(f"{path}: not a model of sentencepiece; run the bpe stage again") from None


def _segment(bpe: BPE, word: str) -> str:
    pieces = bpe.segment_tokens([word])
    bpe.cache.clear()  # `Segmenter` has its own cache
    if pieces[-1].endswith(JOINER):  # otherwise, a word that ends in JOINER would be joined to the next word
        pieces = [character + JOINER for character in word[:-1]] + [word[-1]]
    return " ".join(pieces)


def _frequent_units(path: Path, threshold: int) -> set[str]:
    counted = (line.rpartition(" ") for line in iterate_lines(path))
    # subword-nmt ignores an empty set, so the set always has the empty unit, which never occurs in a text.
    return {""} | {unit for unit, _, count in counted if int(count) >= threshold}
