"""Probing tasks about the order and the structure of words: BShift, TreeDepth and TopConst."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from context_nmt.miniature.probing_samples import (
    Example,
    ParsedSentence,
    Row,
    Task,
    deal,
    deal_classes,
    has_enough,
    too_few,
)
from context_nmt.miniature.probing_trees import top
from context_nmt.settings.miniature import ProbingSettings

QUOTES = frozenset({'"', "``", "''", "&quot;"})
TOP_CLASSES = 20
OTHER = "OTHER"


def bigram_shift(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """Whether two neighbouring words are swapped (I) or not (O)."""
    taken = {sentence.text for sentence in sentences}
    originals: list[Example] = []
    rows: list[Row] = []
    for sentence in random.sample(sentences, len(sentences)):
        shifted = _shifted(sentence, random)
        if shifted is None or shifted in taken:
            continue
        if len(originals) == len(rows):  # every second one stays, so that both classes are drawn alike
            originals.append(Example("O", sentence.text))
        else:
            rows.append((originals[-1], Example("I", shifted)))
            taken.add(shifted)
    return deal(rows, settings, random)


def _shifted(sentence: ParsedSentence, random: Random) -> str | None:
    """The sentence with two words swapped, neither the first one nor punctuation; None where it has no such two."""
    tokens = list(sentence.tokens)
    if QUOTES.intersection(tokens):
        return None
    is_word = [any(letter.isalnum() for letter in token) for token in tokens]
    places = [
        place
        for place in range(1, len(tokens) - 1)
        if is_word[place] and is_word[place + 1] and tokens[place] != tokens[place + 1]
    ]
    if not places:
        return None
    place = random.choice(places)
    tokens[place : place + 2] = tokens[place + 1], tokens[place]
    return " ".join(tokens)


def tree_depth(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """Edges from the root to the deepest word, over as wide a range as has enough sentences.

    Each split has, at every length, equally many sentences of every depth: the length says nothing about the depth.
    """
    texts: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))  # by depth and length
    for sentence in sentences:
        texts[sentence.tree.depth][len(sentence.tokens)].append(sentence.text)
    depths = sorted(texts)
    for count in range(len(depths), 1, -1):
        windows = (depths[first : first + count] for first in range(len(depths) - count + 1))
        counted = [(sum(least for _, least in _lengths(texts, window)), window) for window in windows]
        rows, window = max(counted, key=lambda pair: pair[0])
        if has_enough(rows, count, settings):
            return deal(list(_rows(texts, window, random)), settings, random)
    raise too_few(settings, "no two neighbouring depths have enough sentences of equal length")


ByDepthAndLength = Mapping[int, Mapping[int, Sequence[str]]]


def _lengths(texts: ByDepthAndLength, depths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each length, with the number of sentences that every one of these depths has at least."""
    for length in sorted(texts[depths[0]]):
        yield length, min(len(texts[depth].get(length, ())) for depth in depths)


def _rows(texts: ByDepthAndLength, depths: Sequence[int], random: Random) -> Iterator[Row]:
    for length, least in _lengths(texts, depths):
        if least > 0:
            columns = [random.sample(texts[depth][length], least) for depth in depths]
            for row in zip(*columns, strict=True):
                yield tuple(Example(str(depth), text) for depth, text in zip(depths, row, strict=True))


def top_constituents(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """The labels below the topmost clause: the most frequent sequences, and OTHER for the rest."""
    sequences: dict[str, list[str]] = defaultdict(list)
    for sentence in sentences:
        labels = [child.category for child in top(sentence.tree).children]
        if labels[-1:] == ["."] and not QUOTES.intersection(sentence.tokens):
            sequences["_".join(label for label in labels if label not in (",", ":"))].append(sentence.text)
    ranked = sorted(sequences, key=lambda labels: (-len(sequences[labels]), labels))
    for count in range(min(TOP_CLASSES, len(ranked)), 1, -1):
        named = {labels: sequences[labels] for labels in ranked[: count - 1]}
        named[OTHER] = [text for labels in ranked[count - 1 :] for text in sequences[labels]]
        if all(has_enough(len(texts), count, settings) for texts in named.values()):
            return deal_classes(named, settings, random)
    return deal_classes(sequences, settings, random)
