"""The probing task SOMO: whether a noun or verb was replaced by one that does not fit."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, permutations
from random import Random

from context_nmt.miniature.probing_samples import (
    SPLITS,
    Example,
    ParsedSentence,
    Row,
    Task,
    flatten,
    too_few,
)
from context_nmt.miniature.probing_trees import BE
from context_nmt.settings.miniature import ProbingSettings

TARGETS = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
HELPERS = BE | {"have", "has", "had", "having", "do", "does", "did", "don", "doesn", "didn", "hasn", "haven", "hadn"}
RAREST, COMMONEST = 0.001, 0.05  # sentences with a target or replacement, of all
BIGRAMS = 3  # greatest ratio between the bigrams' frequencies with the target and with its replacement
NEARBY = 3  # tokens between which two nouns or verbs keep company
ALIKE = 50  # per cent: cosine of the company of two words from which on they are of one kind
MEETINGS = 2  # times that a word would meet a kind by chance; one that never does all the same does not go with it
SHARES = ("tr", "va", "te", "tr", "tr")  # the forms that replace others, dealt out in turn


Word = str  # TAG/token, lower-cased


class OddWords:
    """What the pool says about nouns and verbs: how often they occur, beside which words, and in which company."""

    def __init__(self, sentences: Sequence[ParsedSentence], random: Random):
        frequency: Counter[Word] = Counter()  # of sentences
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._company: dict[Word, Counter[Word]] = defaultdict(Counter)
        for sentence in sentences:
            self._bigrams.update(pairwise(token.lower() for token in sentence.tokens))
            places = list(_places(sentence))
            frequency.update({_word(sentence, place) for place in places})
            for one, other in permutations(places, 2):
                if abs(one - other) <= NEARBY:
                    self._company[_word(sentence, one)][_word(sentence, other)] += 1
        usable = [
            word
            for word, found in frequency.items()
            if RAREST <= found / len(sentences) <= COMMONEST and word in self._company
        ]
        self._usable = set(usable)
        self._replacements: dict[tuple[str, str], list[Word]] = defaultdict(list)  # by split and tag
        for tag in TARGETS:
            words = sorted(word for word in usable if word.startswith(f"{tag}/"))
            random.shuffle(words)
            for place, word in enumerate(words):
                self._replacements[SHARES[place % len(SHARES)], tag].append(word)
        self._sizes = {word: sum(company.values()) for word, company in self._company.items()}
        self._squares = {word: sum(count**2 for count in company.values()) for word, company in self._company.items()}
        self._total = sum(self._sizes.values())
        self._odd_beside = cache(self._find_odd_beside)
        self._company_of_kind = cache(self._add_company_of_kind)
        self._uses: Counter[Word] = Counter()

    def replace(self, sentence: ParsedSentence, split: str, random: Random) -> str | None:
        """The sentence with one word replaced by one of the split's forms; None where none is comparable and odd."""
        content = list(_places(sentence))
        for place in random.sample(content, len(content)):
            tag, word = sentence.tags[place], _word(sentence, place)
            near = [  # the verbs near a noun, or the nouns near a verb
                _word(sentence, other)
                for other in content
                if abs(other - place) <= NEARBY and sentence.tags[other][0] != tag[0]
            ]
            if place == 0 or word not in self._usable:
                continue
            odd = dict.fromkeys(replacement for other in near for replacement in self._odd_beside(split, tag, other))
            odd.pop(word, None)
            comparable = [found for found in odd if self._are_comparable(sentence, place, _token(found))]
            if comparable:
                replacement = min(comparable, key=lambda found: (self._uses[found], random.random()))
                self._uses[replacement] += 1  # all are used, and none much more than others
                return " ".join([*sentence.tokens[:place], _token(replacement), *sentence.tokens[place + 1 :]])
        return None

    def _find_odd_beside(self, split: str, tag: str, other: Word) -> list[Word]:
        """The replacements whose kind never meets a word."""
        return [replacement for replacement in self._replacements[split, tag] if self._never_meet(replacement, other)]

    def _never_meet(self, replacement: Word, other: Word) -> bool:
        company, size = self._company_of_kind(replacement)
        return company[other] == 0 and size * self._sizes.get(other, 0) >= MEETINGS * self._total

    def _add_company_of_kind(self, word: Word) -> tuple[Counter[Word], int]:
        """The company of a word and of those that keep the like, and its size."""
        company: Counter[Word] = Counter()
        for other in self._usable:
            if other.split("/")[0] == word.split("/")[0] and self._are_alike(word, other):
                company.update(self._company[other])
        return company, sum(company.values())

    def _are_alike(self, one: Word, other: Word) -> bool:
        """Whether the cosine is large enough; in whole numbers, so that all machines agree."""
        first, second = self._company[one], self._company[other]
        product = sum(first[word] * second[word] for word in first.keys() & second.keys())
        return 100**2 * product**2 >= ALIKE**2 * self._squares[one] * self._squares[other]

    def _are_comparable(self, sentence: ParsedSentence, place: int, replacement: str) -> bool:
        before, word = (token.lower() for token in sentence.tokens[place - 1 : place + 1])
        following = [token.lower() for token in sentence.tokens[place + 1 : place + 2]]
        pairs = [((before, word), (before, replacement))]
        pairs += [((word, after), (replacement, after)) for after in following]
        counts = [(self._bigrams[old], self._bigrams[new]) for old, new in pairs]
        return all(old <= BIGRAMS * new and new <= BIGRAMS * old for old, new in counts)


def _token(word: Word) -> str:
    return word.split("/", 1)[1]


def _word(sentence: ParsedSentence, place: int) -> Word:
    return f"{sentence.tags[place]}/{sentence.tokens[place].lower()}"


def _places(sentence: ParsedSentence) -> Iterator[int]:
    """Where the sentence has a noun or a verb that is no auxiliary."""
    for place, (token, tag) in enumerate(zip(sentence.tokens, sentence.tags, strict=True)):
        if tag in TARGETS and token.lower() not in HELPERS:
            yield place


def odd_man_out(sentences: Sequence[ParsedSentence], settings: ProbingSettings, random: Random) -> Task:
    """Whether a noun or verb was replaced (C) or not (O)."""
    words = OddWords(sentences, random)
    taken = {sentence.text for sentence in sentences}
    lacking = dict(zip(SPLITS, settings.per_class(2), strict=True))
    originals: dict[str, str] = {}  # by split, those that wait for a changed sentence
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for sentence in random.sample(sentences, len(sentences)):
        splits = [split for split in SPLITS if len(rows[split]) < lacking[split]]
        for split in random.sample(splits, len(splits)):
            changed = words.replace(sentence, split, random)
            if changed is None or changed in taken:
                continue
            if split in originals:  # every second one stays, so that both classes are drawn alike
                rows[split].append((Example("O", originals.pop(split)), Example("C", changed)))
                taken.add(changed)
            else:
                originals[split] = sentence.text
            break
    for split, size in lacking.items():
        if len(rows[split]) < size:
            raise too_few(settings, f"{split} gets {len(rows[split])} of {size} sentences per class")
    return {split: flatten(rows[split], random) for split in SPLITS}
