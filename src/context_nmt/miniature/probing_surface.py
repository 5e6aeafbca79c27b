"""Probing tasks about the words on the surface: SentLen and WC."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random

from context_nmt.miniature.probing_samples import (
    ParsedSentence,
    Task,
    deal_classes,
    has_enough,
    too_few,
)
from context_nmt.settings.miniature import ProbingSettings

LENGTHS = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))  # tokens, of the classes 0 to 5
SHORTEST_WORD = 4  # letters


def sentence_length(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """The bin of the number of tokens."""
    bins: dict[str, list[str]] = defaultdict(list)
    for sentence in sentences:
        for number, (least, greatest) in enumerate(LENGTHS):
            if least <= len(sentence.tokens) <= greatest:
                bins[str(number)].append(sentence.text)
    return deal_classes(bins, settings, random)


def word_content(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """Which of the target words the sentence holds.

    As many targets as have enough sentences with none of the others, the rarest first: they meet least.
    """
    words = [[word for token in sentence.tokens if is_target(word := token.lower())] for sentence in sentences]
    frequency = Counter(word for line in words for word in line)
    rarest = sorted(frequency, key=lambda word: (frequency[word], word))
    for count in range(min(settings.words, len(rarest)), 1, -1):
        often = [word for word in rarest if has_enough(frequency[word], count, settings)]
        while len(often) >= count:
            holding: dict[str, list[str]] = {word: [] for word in often[:count]}
            for sentence, line in zip(sentences, words, strict=True):
                found = [word for word in line if word in holding]
                if len(found) == 1:
                    holding[found[0]].append(sentence.text)
            lacking = {word for word in holding if not has_enough(len(holding[word]), count, settings)}
            if not lacking:
                return deal_classes(holding, settings, random)
            often = [word for word in often if word not in lacking]
    raise too_few(settings, "no two words have enough sentences with one of them alone")


def is_target(word: str) -> bool:
    """Whether a lower-case word can be a class of word_content."""
    return len(word) >= SHORTEST_WORD and word.isalpha()
