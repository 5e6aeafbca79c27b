"""The probing task SOMO: whether a noun or verb was replaced by one that does not fit."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, permutations
from random import Random

from context_nmt.miniature.probing_samples import SPLITS, Dealer, Example, ParsedSentence, Row, Task
from context_nmt.miniature.probing_trees import BE

TARGETS = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
HELPERS = BE | {"have", "has", "had", "having", "do", "does", "did", "don", "doesn", "didn", "hasn", "haven", "hadn"}
RAREST, COMMONEST = 0.001, 0.05  # sentences with a target or replacement, of all
BIGRAMS = 3  # greatest ratio between the bigrams' frequencies with the target and with its replacement
NEARBY = 3  # greatest distance, in tokens, between two nouns or verbs that keep company
ALIKE = 50  # per cent: least cosine between the company of two words of one kind
MEETINGS = 2  # expected by chance: a word that still never meets a kind does not go with it
SHARES = ("tr", "va", "te", "tr", "tr")  # the forms that replace others, dealt out in turn

Word = tuple[str, str]  # tag, lower-cased token


class OddWords:
    """Statistics of the nouns and verbs in the pool: frequencies, bigrams and company (nearby nouns and verbs)."""

    def __init__(self, sentences: Sequence[ParsedSentence], random: Random):
        self._random = random
        frequency: Counter[Word] = Counter()  # of sentences
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._company: dict[Word, Counter[Word]] = defaultdict(Counter)
        for sentence in sentences:
            self._bigrams.update(pairwise(token.lower() for token in sentence.tokens))
            content = _content(sentence)
            frequency.update(dict.fromkeys(content.values(), 1))
            for (place, word), (companion_place, companion) in permutations(content.items(), 2):
                if abs(place - companion_place) <= NEARBY:
                    self._company[word][companion] += 1
        self._usable = {word for word in self._company if RAREST <= frequency[word] / len(sentences) <= COMMONEST}
        self._replacements: dict[tuple[str, str], list[Word]] = defaultdict(list)  # by split and tag
        for tag in TARGETS:
            words = sorted(word for word in self._usable if word[0] == tag)
            random.shuffle(words)
            for place, word in enumerate(words):
                self._replacements[SHARES[place % len(SHARES)], tag].append(word)
        self._sizes = {word: company.total() for word, company in self._company.items()}
        self._squares = {word: sum(count**2 for count in company.values()) for word, company in self._company.items()}
        self._total = sum(self._sizes.values())
        self._odd_beside = cache(self._find_odd_beside)
        self._company_of_kind = cache(self._add_company_of_kind)
        self._uses: Counter[Word] = Counter()

    def replace(self, sentence: ParsedSentence, split: str) -> str | None:
        """Return the sentence with a word replaced by one of the split's; None if none is comparable and odd."""
        content = _content(sentence)
        for place in self._random.sample(list(content), len(content)):
            if place == 0 or content[place] not in self._usable:
                continue
            tag = content[place][0]
            neighbours = [  # the verbs near a noun, or the nouns near a verb
                word for neighbour, word in content.items() if abs(neighbour - place) <= NEARBY and word[0][0] != tag[0]
            ]
            odd = dict.fromkeys(
                replacement for neighbour in neighbours for replacement in self._odd_beside(split, tag, neighbour)
            )
            odd.pop(content[place], None)
            comparable = [candidate for candidate in odd if self._are_comparable(sentence, place, candidate[1])]
            if comparable:
                replacement = min(comparable, key=lambda candidate: (self._uses[candidate], self._random.random()))
                self._uses[replacement] += 1  # all are used, and none much more than others
                return " ".join([*sentence.tokens[:place], replacement[1], *sentence.tokens[place + 1 :]])
        return None

    def _find_odd_beside(self, split: str, tag: str, other: Word) -> list[Word]:
        """Return the replacements whose kind never meets a word."""
        return [replacement for replacement in self._replacements[split, tag] if self._never_meet(replacement, other)]

    def _never_meet(self, replacement: Word, other: Word) -> bool:
        company = self._company_of_kind(replacement)
        return company[other] == 0 and company.total() * self._sizes.get(other, 0) >= MEETINGS * self._total

    def _add_company_of_kind(self, word: Word) -> Counter[Word]:
        """Return the company of a word and of all words with similar company."""
        company: Counter[Word] = Counter()
        for candidate in self._usable:
            if candidate[0] == word[0] and self._are_alike(word, candidate):
                company.update(self._company[candidate])
        return company

    def _are_alike(self, one: Word, other: Word) -> bool:
        """Return whether the cosine is large enough; it is compared in whole numbers, so that all machines agree."""
        first, second = self._company[one], self._company[other]
        product = sum(first[word] * second[word] for word in first.keys() & second.keys())
        return 100**2 * product**2 >= ALIKE**2 * self._squares[one] * self._squares[other]

    def _are_comparable(self, sentence: ParsedSentence, place: int, replacement: str) -> bool:
        before, word, *after = (token.lower() for token in sentence.tokens[place - 1 : place + 2])
        pairs = [((before, word), (before, replacement)), *(((word, token), (replacement, token)) for token in after)]
        counts = [(self._bigrams[old], self._bigrams[new]) for old, new in pairs]
        return all(old <= BIGRAMS * new and new <= BIGRAMS * old for old, new in counts)


def _content(sentence: ParsedSentence) -> dict[int, Word]:
    """Return the nouns and verbs of a sentence, without auxiliaries, by position."""
    words = [(tag, token.lower()) for tag, token in zip(sentence.tags, sentence.tokens, strict=True)]
    return {index: word for index, word in enumerate(words) if word[0] in TARGETS and word[1] not in HELPERS}


def odd_man_out(sentences: Sequence[ParsedSentence], dealer: Dealer) -> Task:
    """Label sentences by whether a noun or verb was replaced (C) or not (O)."""
    random = dealer.random
    words = OddWords(sentences, random)
    taken = {sentence.text for sentence in sentences}
    lacking = dict(zip(SPLITS, dealer.settings.per_class(2), strict=True))
    originals: dict[str, str] = {}  # by split, those that still lack a changed sentence
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for sentence in random.sample(sentences, len(sentences)):
        splits = [split for split in SPLITS if len(rows[split]) < lacking[split]]
        for split in random.sample(splits, len(splits)):
            changed = words.replace(sentence, split)
            if changed is None or changed in taken:
                continue
            if split in originals:  # every second sentence stays unchanged, so that both classes are drawn alike
                rows[split].append((Example("O", originals.pop(split)), Example("C", changed)))
                taken.add(changed)
            else:
                originals[split] = sentence.text
            break
    for split, size in lacking.items():
        if len(rows[split]) < size:
            raise dealer.too_few(f"{split} gets {len(rows[split])} of {size} sentences per class")
    return {split: dealer.flatten(rows[split]) for split in SPLITS}
