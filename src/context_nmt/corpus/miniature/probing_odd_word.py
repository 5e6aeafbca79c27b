"""The probing task SOMO: whether a noun or verb was replaced by one that does not fit."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

from context_nmt.corpus.miniature.probing_samples import (
    SPLITS,
    Example,
    ParsedSentence,
    ProbingSettings,
    Row,
    Task,
    flatten,
    too_few,
)
from context_nmt.corpus.miniature.probing_trees import BE

TARGETS = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
HELPERS = BE | {"have", "has", "had", "having", "do", "does", "did", "don", "doesn", "didn", "hasn", "haven", "hadn"}
RAREST, COMMONEST = 0.001, 0.05  # sentences with a target or replacement, of all
BIGRAMS = 2.0  # greatest ratio between the bigrams' frequencies with the target and with its replacement
MEETINGS = 3.0  # sentences that chance alone would give two words that never meet
SHARES = ("tr", "va", "te", "tr", "tr")  # the forms that replace others, dealt out in turn


class OddWords:
    """What the pool says about nouns and verbs: how often they occur, beside which words, and with which others."""

    def __init__(self, sentences: Sequence[ParsedSentence], random: Random):
        self._sentences = len(sentences)
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._frequency: Counter[tuple[str, str]] = Counter()  # of (tag, word)
        self._together: Counter[tuple[tuple[str, str], tuple[str, str]]] = Counter()
        for sentence in sentences:
            words = [token.lower() for token in sentence.tokens]
            self._bigrams.update(pairwise(words))
            content = sorted({(sentence.tags[place], words[place]) for place in _places(sentence)})
            self._frequency.update(content)
            self._together.update((one, other) for one in content for other in content)
        usable = [word for word, found in self._frequency.items() if RAREST <= found / self._sentences <= COMMONEST]
        self._usable = set(usable)
        self._replacements: dict[tuple[str, str], list[str]] = defaultdict(list)  # by split and tag
        for tag in TARGETS:
            words = sorted(word for own, word in usable if own == tag)
            random.shuffle(words)
            for place, word in enumerate(words):
                self._replacements[SHARES[place % len(SHARES)], tag].append(word)

    def replace(self, sentence: ParsedSentence, split: str, random: Random) -> str | None:
        """The sentence with one word replaced by one of the split's forms; None where none is comparable and odd."""
        content = list(_places(sentence))
        for place in random.sample(content, len(content)):
            tag, word = self._word(sentence, place)
            if place == 0 or (tag, word) not in self._usable:
                continue
            others = [self._word(sentence, other) for other in content if other != place]
            replacements = self._replacements[split, tag]
            for replacement in random.sample(replacements, len(replacements)):
                odd = replacement != word and any(self._never_meet((tag, replacement), other) for other in others)
                if odd and self._are_comparable(sentence, place, replacement):
                    return " ".join([*sentence.tokens[:place], replacement, *sentence.tokens[place + 1 :]])
        return None

    def _word(self, sentence: ParsedSentence, place: int) -> tuple[str, str]:
        return sentence.tags[place], sentence.tokens[place].lower()

    def _never_meet(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        by_chance = self._frequency[one] * self._frequency[other] / self._sentences
        return by_chance >= MEETINGS and self._together[one, other] == 0

    def _are_comparable(self, sentence: ParsedSentence, place: int, replacement: str) -> bool:
        before, word = (token.lower() for token in sentence.tokens[place - 1 : place + 1])
        following = [token.lower() for token in sentence.tokens[place + 1 : place + 2]]
        pairs = [((before, word), (before, replacement))]
        pairs += [((word, after), (replacement, after)) for after in following]
        counts = [(self._bigrams[old], self._bigrams[new]) for old, new in pairs]
        return all(new > 0 and 1 / BIGRAMS <= new / old <= BIGRAMS for old, new in counts)


def _places(sentence: ParsedSentence) -> Iterator[int]:
    """Where the sentence has a noun or a verb that is no auxiliary."""
    for place, (token, tag) in enumerate(zip(sentence.tokens, sentence.tags, strict=True)):
        if tag in TARGETS and token.lower() not in HELPERS:
            yield place


def odd_man_out(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """Whether a noun or verb was replaced (C) or not (O)."""
    words = OddWords(sentences, random)
    taken = {sentence.text for sentence in sentences}
    waiting = random.sample(sentences, len(sentences))
    task: Task = {}
    for split, size in reversed(list(zip(SPLITS, settings.per_class(2), strict=True))):
        original: Example | None = None
        rows: list[Row] = []
        while len(rows) < size:
            if not waiting:
                raise too_few(settings, f"{split} gets {len(rows)} of {size} sentences per class")
            sentence = waiting.pop()
            changed = words.replace(sentence, split, random)
            if changed is None or changed in taken:
                continue
            if original is None:  # every second one stays, so that both classes are drawn alike
                original = Example("O", sentence.text)
            else:
                rows.append((original, Example("C", changed)))
                taken.add(changed)
                original = None
        task[split] = flatten(rows, random)
    return task
