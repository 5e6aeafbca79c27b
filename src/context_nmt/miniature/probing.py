"""The ten probing tasks of Conneau et al. (2018), "What you can cram into a single vector", from gold trees.

Files, labels and format are those of SentEval (data/probing). As in the original, no sentence occurs twice in a task,
or both unchanged and changed. README.md defines each task and lists the differences from the original.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise, permutations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from context_nmt.files import UserError, write_lines
from context_nmt.miniature.grammar import Leaf, Node, Realised
from context_nmt.settings.miniature import ProbingTaskSizes

SPLITS = ("tr", "va", "te")
LENGTH_BINS = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))  # tokens; classes 0 to 5
MIN_WORD_LETTERS = 4
QUOTES = frozenset({'"', "``", "''", "&quot;"})
MAX_TOP_CLASSES = 20
OTHER = "OTHER"
TENSE_OF_TAG = {"VBZ": "PRES", "VBP": "PRES", "VBD": "PAST"}
NOUNS = ("NN", "NNS", "NNP", "NNPS")
BE = frozenset({"be", "am", "is", "are", "was", "were", "been", "being", "'m", "'s", "'re"})

# For odd_man_out
TARGET_TAGS = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
AUXILIARIES = BE.union(
    ["have", "has", "had", "having", "do", "does", "did", "don", "doesn", "didn", "hasn", "haven", "hadn"]
)
MIN_WORD_SHARE, MAX_WORD_SHARE = 0.001, 0.05  # of the sentences, with a target or replacement
MAX_BIGRAM_RATIO = 3  # between the bigrams' frequencies with the target and with its replacement
MAX_COMPANION_DISTANCE = 3  # in tokens, between two nouns or verbs that keep company
MIN_COSINE_PERCENT = 50  # between the company of two words of the same kind
MIN_EXPECTED_MEETINGS = 2  # by chance: if a word still never meets a kind, it does not go with it
REPLACEMENT_SPLITS = ("tr", "va", "te", "tr", "tr")  # replacements are assigned to these splits in turn

TaggedWord = tuple[str, str]  # tag, lower-cased token


class Tree(NamedTuple):
    """A node over the tokens from `first` to `end` (exclusive); a leaf is a tag over one token."""

    label: str
    children: tuple["Tree", ...]
    first: int
    end: int

    @property
    def depth(self) -> int:
        """The number of edges on the longest path down to a word; 1 for a tag."""
        return 1 + max((child.depth for child in self.children), default=0)

    def children_labelled(self, label: str) -> list["Tree"]:
        """Return the children with a label."""
        return [child for child in self.children if child.label == label]


def number_tokens(node: Node | Leaf, first: int = 0) -> Tree:
    """Return a tree of the grammar with its tokens numbered from `first`."""
    if isinstance(node, Leaf):
        return Tree(node.tag, (), first, first + 1)
    children, end = list[Tree](), first
    for child in node.children:
        children.append(number_tokens(child, end))
        end = children[-1].end
    return Tree(node.label, tuple(children), first, end)


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """English Moses tokens in their original case, their Penn Treebank tags, and the constituency tree above them."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    tree: Tree

    @classmethod
    def of(cls, sentence: Realised) -> "ParsedSentence":
        """Return the English side of a sentence."""
        return cls(tuple(sentence.tokens("en")), tuple(sentence.tags("en")), number_tokens(sentence.tree))

    @property
    def text(self) -> str:
        """The tokens, separated by spaces."""
        return " ".join(self.tokens)

    @property
    def top(self) -> Tree:
        """The child of ROOT."""
        return self.tree.children[0]

    @property
    def verb_phrase(self) -> Tree | None:
        """The verb phrase of the main clause, if it is the only one."""
        phrases = self.top.children_labelled("VP")
        return phrases[0] if self.top.label == "S" and len(phrases) == 1 else None


def main_verb(sentence: ParsedSentence) -> Tree | None:
    """Return the finite verb of the main clause; None for a modal verb and for coordinated clauses or verb phrases."""
    phrase = sentence.verb_phrase
    if phrase is None or phrase.children_labelled("CC"):
        return None
    verbs = [child for child in phrase.children if child.label.startswith(("VB", "MD")) and not child.children]
    return verbs[0] if verbs and verbs[0].label in TENSE_OF_TAG else None


def subject_noun(sentence: ParsedSentence) -> Tree | None:
    """Return the common noun that heads the subject of the main clause."""
    phrase = sentence.verb_phrase
    noun_phrases = [child for child in sentence.top.children_labelled("NP") if phrase and child.end <= phrase.first]
    return _common_noun(noun_phrases[-1]) if noun_phrases else None


def object_noun(sentence: ParsedSentence) -> Tree | None:
    """Return the common noun that heads the direct object of the main clause: the last object if there are two."""
    phrase = sentence.verb_phrase
    while phrase is not None and not phrase.children_labelled("CC"):
        inner = phrase.children_labelled("VP")
        if not inner:
            verbs = [child for child in phrase.children if child.label.startswith("VB")]
            objects = [child for child in phrase.children if child.label == "NP"]
            is_copula = bool(verbs) and sentence.tokens[verbs[0].first].lower() in BE
            return _common_noun(objects[-1]) if verbs and objects and not is_copula else None
        phrase = inner[0]
    return None


def _common_noun(phrase: Tree) -> Tree | None:
    if phrase.children_labelled("CC"):
        return None
    nouns = [child for child in phrase.children if child.label in NOUNS]
    if nouns:
        return nouns[-1] if nouns[-1].label in ("NN", "NNS") else None
    inner = phrase.children_labelled("NP")
    return _common_noun(inner[0]) if inner else None


class Example(NamedTuple):
    """A line of a task, without its split."""

    label: str
    text: str


Row = tuple[Example, ...]  # one example of each class
Task = dict[str, list[Example]]  # by split
Sentences = Sequence[ParsedSentence]


class BalancedSampler:
    """Draws the splits of a task with equally many sentences of each class; raises UserError if there are too few."""

    def __init__(self, settings: ProbingTaskSizes, random: Random):
        self.settings, self.random = settings, random

    def too_few_error(self, problem: str) -> UserError:
        """Return the error for a pool of sentences that cannot fill a task's splits."""
        settings = self.settings
        sizes = f"training {settings.training}, validation {settings.validation}, test {settings.test}"
        return UserError(f"{problem}; raise probing.documents ({settings.documents}) or lower its sizes ({sizes})")

    def has_enough(self, sentences: int, classes: int) -> bool:
        """Return whether this many sentences are enough to fill each split, for one of this many classes."""
        sizes = self.settings.per_class(classes)
        return min(sizes) >= 1 and sentences >= sum(sizes)

    def shuffled(self, rows: Sequence[Row]) -> list[Example]:
        """Return the examples of rows, shuffled."""
        examples = [example for row in rows for example in row]
        self.random.shuffle(examples)
        return examples

    def split_rows(self, rows: Sequence[Row]) -> Task:
        """Divide rows among the splits at random, as many as the settings say."""
        sizes = self.settings.per_class(len(rows[0]) if rows else 2)
        if len(rows) < sum(sizes):
            raise self.too_few_error(f"{len(rows)} sentences per class, {sum(sizes)} are needed")
        drawn = self.random.sample(rows, sum(sizes))
        return {
            split: self.shuffled([drawn.pop() for _ in range(size)]) for split, size in zip(SPLITS, sizes, strict=True)
        }

    def split_classes(self, texts: Mapping[str, Sequence[str]]) -> Task:
        """Draw from as many classes as have enough sentences, the most frequent first, and at least two."""
        labels = sorted(texts, key=lambda label: (-len(texts[label]), label))
        for count in range(len(labels), 1, -1):
            if self.has_enough(len(texts[labels[count - 1]]), count):
                size = sum(self.settings.per_class(count))
                return self.split_rows(self.rows({label: texts[label] for label in sorted(labels[:count])}, size))
        counts = ", ".join(f"{label}: {len(texts[label])}" for label in labels[:4]) or "none"
        needed = sum(self.settings.per_class(2))
        raise self.too_few_error(f"fewer than two classes have {needed} sentences ({counts})")

    def rows(self, texts: Mapping[Any, Sequence[str]], size: int) -> list[Row]:
        """Return rows of random texts, one of each label."""
        columns = [
            [Example(str(label), text) for text in self.random.sample(label_texts, size)]
            for label, label_texts in texts.items()
        ]
        return list(zip(*columns, strict=True))

    def split_forms(self, texts: Mapping[str, Mapping[str, Sequence[str]]]) -> Task:
        """Divide sentences, by label and target word form, among the splits, so that no form occurs in two splits.

        The forms of a split give equally many sentences, as far as possible, so that no form dominates the split.
        """
        if len(texts) < 2:
            raise self.too_few_error(f"fewer than two classes ({', '.join(texts) or 'none'})")
        task: Task = {split: [] for split in SPLITS}
        sizes = self.settings.per_class(len(texts))
        for label in sorted(texts):
            forms_by_split = self._divide(list(texts[label].values()), sizes)
            for split, size, forms in zip(SPLITS, sizes, forms_by_split, strict=True):
                available = sum(map(len, forms))
                if available < size:
                    description = f"class {label}, {len(texts[label])} word forms"
                    raise self.too_few_error(f"{description}: {split} gets {available} of {size} sentences")
                task[split] += [Example(label, text) for text in self._take_evenly(forms, size)]
        for examples in task.values():
            self.random.shuffle(examples)
        return task

    def _divide(self, forms: list[Sequence[str]], sizes: Sequence[int]) -> list[list[Sequence[str]]]:
        """Give the sentences of each form, longest lists first, to the split that lacks most sentences."""
        forms_by_split: list[list[Sequence[str]]] = [[] for _ in sizes]
        lacking = list(sizes)
        for texts in sorted(forms, key=lambda texts: (-len(texts), self.random.random())):
            split_index = lacking.index(max(lacking))
            forms_by_split[split_index].append(texts)
            lacking[split_index] -= len(texts)
        return forms_by_split

    def _take_evenly(self, lists: Sequence[Sequence[str]], count: int) -> list[str]:
        """Take texts from the lists in turn, at random from each."""
        remaining = [self.random.sample(texts, len(texts)) for texts in lists]
        taken: list[str] = []
        while len(taken) < count:
            self.random.shuffle(remaining)
            remaining = [texts for texts in remaining if texts]
            taken += [texts.pop() for texts in remaining[: count - len(taken)]]
        return taken


def sentence_length(sentences: Sentences, sampler: BalancedSampler) -> Task:
    """Label sentences by the bin of their number of tokens."""
    bins: dict[str, list[str]] = defaultdict(list)
    for sentence in sentences:
        for number, (least, greatest) in enumerate(LENGTH_BINS):
            if least <= len(sentence.tokens) <= greatest:
                bins[str(number)].append(sentence.text)
    return sampler.split_classes(bins)


def word_content(sentences: Sentences, sampler: BalancedSampler) -> Task:
    """Label sentences by the only target word that they contain.

    Choose as many targets as have enough sentences without another target, rarest first: rare words co-occur least.
    """
    words = [
        [word for word in map(str.lower, sentence.tokens) if len(word) >= MIN_WORD_LETTERS and word.isalpha()]
        for sentence in sentences
    ]
    frequency = Counter(word for sentence_words in words for word in sentence_words)
    rarest = sorted(frequency, key=lambda word: (frequency[word], word))
    for count in range(min(sampler.settings.words, len(rarest)), 1, -1):
        frequent = [word for word in rarest if sampler.has_enough(frequency[word], count)]
        while len(frequent) >= count:
            holding: dict[str, list[str]] = {word: [] for word in frequent[:count]}
            for sentence, sentence_words in zip(sentences, words, strict=True):
                targets = [word for word in sentence_words if word in holding]
                if len(targets) == 1:
                    holding[targets[0]].append(sentence.text)
            rare = {word for word in holding if not sampler.has_enough(len(holding[word]), count)}
            if not rare:
                return sampler.split_classes(holding)
            frequent = [word for word in frequent if word not in rare]
    raise sampler.too_few_error("no two words have enough sentences with one of them alone")


def tree_depth(sentences: Sentences, sampler: BalancedSampler) -> Task:
    """Label sentences by the depth of their tree, over the widest range of depths with enough sentences.

    At every length, each split has equally many sentences of every depth, so the length is not a cue.
    """
    texts: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))  # by depth and length
    for sentence in sentences:
        texts[sentence.tree.depth][len(sentence.tokens)].append(sentence.text)
    depths = sorted(texts)
    for count in range(len(depths), 1, -1):
        windows = [depths[first : first + count] for first in range(len(depths) - count + 1)]
        lengths = [  # for each window, by length, the smallest number of sentences of one depth
            {length: min(len(texts[depth][length]) for depth in window) for length in sorted(texts[window[0]])}
            for window in windows
        ]
        counts = [sum(least.values()) for least in lengths]
        best = counts.index(max(counts))
        if sampler.has_enough(counts[best], count):
            rows: list[Row] = []
            for length, least in lengths[best].items():
                rows += sampler.rows({depth: texts[depth][length] for depth in windows[best]}, least)
            return sampler.split_rows(rows)
    raise sampler.too_few_error("no two neighbouring depths have enough sentences of equal length")


def bigram_shift(sentences: Sentences, sampler: BalancedSampler) -> Task:
    """Label sentences by whether two neighbouring words are swapped (I) or not (O)."""
    used_texts = {sentence.text for sentence in sentences}
    originals: list[Example] = []
    rows: list[Row] = []
    for sentence in sampler.random.sample(sentences, len(sentences)):
        shifted = _shifted(sentence, sampler.random)
        if shifted is None or shifted in used_texts:
            continue
        if len(originals) == len(rows):  # every second sentence stays unchanged, so both classes are drawn alike
            originals.append(Example("O", sentence.text))
        else:
            rows.append((originals[-1], Example("I", shifted)))
            used_texts.add(shifted)
    return sampler.split_rows(rows)


def _shifted(sentence: ParsedSentence, random: Random) -> str | None:
    """Return the sentence with two words swapped, neither the first nor punctuation; None without two such words."""
    tokens = list(sentence.tokens)
    is_word = [any(letter.isalnum() for letter in token) for token in tokens]
    pairs = [
        index
        for index in range(1, len(tokens) - 1)
        if is_word[index] and is_word[index + 1] and tokens[index] != tokens[index + 1]
    ]
    if not pairs or QUOTES.intersection(tokens):
        return None
    index = random.choice(pairs)
    tokens[index : index + 2] = tokens[index + 1], tokens[index]
    return " ".join(tokens)


def top_constituents(sentences: Sentences, sampler: BalancedSampler) -> Task:
    """Label sentences by the constituents of the top clause: a frequent sequence, or OTHER."""
    sequences: dict[str, list[str]] = defaultdict(list)
    for sentence in sentences:
        labels = [child.label for child in sentence.top.children]
        if labels[-1:] == ["."] and not QUOTES.intersection(sentence.tokens):
            sequences["_".join(label for label in labels if label not in (",", ":"))].append(sentence.text)
    ranked = sorted(sequences, key=lambda labels: (-len(sequences[labels]), labels))
    for count in range(min(MAX_TOP_CLASSES, len(ranked)), 1, -1):
        named = {labels: sequences[labels] for labels in ranked[: count - 1]}
        named[OTHER] = [text for labels in ranked[count - 1 :] for text in sequences[labels]]
        if all(sampler.has_enough(len(texts), count) for texts in named.values()):
            return sampler.split_classes(named)
    return sampler.split_classes(sequences)


def _by_target(find: Callable[[ParsedSentence], Tree | None]) -> "TaskMaker":
    """Label sentences by the tense or number of a target word; no form of a target occurs in two splits."""

    def task(sentences: Sentences, sampler: BalancedSampler) -> Task:
        texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for sentence in sentences:
            if target := find(sentence):
                label = TENSE_OF_TAG.get(target.label, target.label)
                texts[label][sentence.tokens[target.first].lower()].append(sentence.text)
        return sampler.split_forms(texts)

    return task


class OddWords:
    """Statistics of the nouns and verbs in the pool: frequencies, bigrams and company (nearby nouns and verbs)."""

    def __init__(self, sentences: Sentences, random: Random):
        self._random = random
        frequency: Counter[TaggedWord] = Counter()  # of sentences
        self._bigrams: Counter[tuple[str, str]] = Counter()
        self._company: dict[TaggedWord, Counter[TaggedWord]] = defaultdict(Counter)
        for sentence in sentences:
            self._bigrams.update(pairwise(token.lower() for token in sentence.tokens))
            content = _content_words(sentence)
            frequency.update(dict.fromkeys(content.values(), 1))
            for (position, word), (companion_position, companion) in permutations(content.items(), 2):
                if abs(position - companion_position) <= MAX_COMPANION_DISTANCE:
                    self._company[word][companion] += 1
        self._usable = {
            word for word in self._company if MIN_WORD_SHARE <= frequency[word] / len(sentences) <= MAX_WORD_SHARE
        }
        self._replacements: dict[tuple[str, str], list[TaggedWord]] = defaultdict(list)  # by split and tag
        for tag in TARGET_TAGS:
            words = sorted(word for word in self._usable if word[0] == tag)
            random.shuffle(words)
            for position, word in enumerate(words):
                self._replacements[REPLACEMENT_SPLITS[position % len(REPLACEMENT_SPLITS)], tag].append(word)
        self._sizes = {word: company.total() for word, company in self._company.items()}
        self._squares = {word: sum(count**2 for count in company.values()) for word, company in self._company.items()}
        self._total = sum(self._sizes.values())
        self._odd_beside = cache(self._find_odd_beside)
        self._company_of_kind = cache(self._find_company_of_kind)
        self._uses: Counter[TaggedWord] = Counter()

    def replace(self, sentence: ParsedSentence, split: str) -> str | None:
        """Replace a word of the sentence by one of the split's replacements; None if none is comparable and odd."""
        content = _content_words(sentence)
        for position in self._random.sample(list(content), len(content)):
            if position == 0 or content[position] not in self._usable:
                continue
            tag = content[position][0]
            neighbours = [  # the verbs near a noun, or the nouns near a verb
                word
                for other_position, word in content.items()
                if abs(other_position - position) <= MAX_COMPANION_DISTANCE and word[0][0] != tag[0]
            ]
            odd = dict.fromkeys(chain(*(self._odd_beside(split, tag, neighbour) for neighbour in neighbours)))
            odd.pop(content[position], None)
            comparable = [candidate for candidate in odd if self._are_comparable(sentence, position, candidate[1])]
            if comparable:
                replacement = min(comparable, key=lambda candidate: (self._uses[candidate], self._random.random()))
                self._uses[replacement] += 1  # so that replacements are used about equally often
                return " ".join([*sentence.tokens[:position], replacement[1], *sentence.tokens[position + 1 :]])
        return None

    def _find_odd_beside(self, split: str, tag: str, neighbour: TaggedWord) -> list[TaggedWord]:
        """Return the replacements whose kind never meets the neighbour, although by chance they would meet."""
        companies = {word: self._company_of_kind(word) for word in self._replacements[split, tag]}
        least = MIN_EXPECTED_MEETINGS * self._total
        return [
            word
            for word, company in companies.items()
            if company[neighbour] == 0 and company.total() * self._sizes.get(neighbour, 0) >= least
        ]

    def _find_company_of_kind(self, word: TaggedWord) -> Counter[TaggedWord]:
        """Return the company of a word and of all words with similar company.

        Cosines are compared as integers, so that all machines agree.
        """
        total: Counter[TaggedWord] = Counter()
        word_company = self._company[word]
        for candidate in (candidate for candidate in self._usable if candidate[0] == word[0]):
            company = self._company[candidate]
            product = sum(word_company[common] * company[common] for common in word_company.keys() & company.keys())
            if 100**2 * product**2 >= MIN_COSINE_PERCENT**2 * self._squares[word] * self._squares[candidate]:
                total.update(company)
        return total

    def _are_comparable(self, sentence: ParsedSentence, position: int, replacement: str) -> bool:
        before, word, *after = (token.lower() for token in sentence.tokens[position - 1 : position + 2])
        pairs = [((before, word), (before, replacement)), *(((word, token), (replacement, token)) for token in after)]
        counts = [(self._bigrams[old], self._bigrams[new]) for old, new in pairs]
        return all(old <= MAX_BIGRAM_RATIO * new and new <= MAX_BIGRAM_RATIO * old for old, new in counts)


def _content_words(sentence: ParsedSentence) -> dict[int, TaggedWord]:
    """Return the nouns and verbs of a sentence, without auxiliaries, by position."""
    words = [(tag, token.lower()) for tag, token in zip(sentence.tags, sentence.tokens, strict=True)]
    return {index: word for index, word in enumerate(words) if word[0] in TARGET_TAGS and word[1] not in AUXILIARIES}


def odd_man_out(sentences: Sentences, sampler: BalancedSampler) -> Task:
    """Label sentences by whether a noun or verb was replaced (C) or not (O)."""
    random = sampler.random
    words = OddWords(sentences, random)
    used_texts = {sentence.text for sentence in sentences}
    lacking = dict(zip(SPLITS, sampler.settings.per_class(2), strict=True))
    originals: dict[str, str] = {}  # by split, an unchanged sentence that still lacks a changed one
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for sentence in random.sample(sentences, len(sentences)):
        splits = [split for split in SPLITS if len(rows[split]) < lacking[split]]
        for split in random.sample(splits, len(splits)):
            changed = words.replace(sentence, split)
            if changed is None or changed in used_texts:
                continue
            if split in originals:  # every second sentence stays unchanged, so both classes are drawn alike
                rows[split].append((Example("O", originals.pop(split)), Example("C", changed)))
                used_texts.add(changed)
            else:
                originals[split] = sentence.text
            break
    for split, size in lacking.items():
        if len(rows[split]) < size:
            raise sampler.too_few_error(f"{split} gets {len(rows[split])} of {size} sentences per class")
    return {split: sampler.shuffled(rows[split]) for split in SPLITS}


def coordination_inversion(sentences: Sentences, sampler: BalancedSampler) -> Task:
    """Label sentences by whether two coordinated clauses are inverted (I) or not (O).

    Original and inverted sentences are paired, so the lengths of the clauses are not a cue.
    """
    used_texts = {sentence.text for sentence in sentences}
    pairs: dict[int, list[tuple[str, str]]] = {-1: [], 0: [], 1: []}  # (original, inverted), by which clause is longer
    for sentence in sentences:
        parts = [child for child in sentence.top.children if child.label not in (",", ".", ":")]
        categories = [part.label for part in parts]
        if sentence.top.label != "S" or categories != ["S", "CC", "S"] or sentence.tags.count("CC") != 1:
            continue
        first, _, second = parts
        inverted = _inverted(sentence, first, second)
        if inverted not in used_texts:
            used_texts.add(inverted)
            longer = (second.end - second.first) - (first.end - first.first)
            pairs[(longer > 0) - (longer < 0)].append((sentence.text, inverted))
    for group in pairs.values():
        sampler.random.shuffle(group)
    opposite = list(zip(pairs[-1], pairs[1], strict=False))
    opposite = [pair if index % 2 else pair[::-1] for index, pair in enumerate(opposite)]
    equal = list(zip(pairs[0][::2], pairs[0][1::2], strict=False))
    rows = [(Example("O", kept[0]), Example("I", swapped[1])) for kept, swapped in opposite + equal]
    return sampler.split_rows(rows)


def _inverted(sentence: ParsedSentence, first: Tree, second: Tree) -> str:
    """Return the sentence with its clauses in the other order and a capital at its new start."""
    tokens = list(sentence.tokens)
    if not sentence.tags[first.first].startswith("NNP") and tokens[first.first] != "I":
        tokens[first.first] = tokens[first.first][:1].lower() + tokens[first.first][1:]
    tokens[second.first] = tokens[second.first][:1].upper() + tokens[second.first][1:]
    middle = tokens[first.end : second.first]
    tokens[first.first : second.end] = tokens[second.first : second.end] + middle + tokens[first.first : first.end]
    return " ".join(tokens)


TaskMaker = Callable[[Sentences, BalancedSampler], Task]
TASKS: Mapping[str, TaskMaker] = {
    "sentence_length": sentence_length,
    "word_content": word_content,
    "tree_depth": tree_depth,
    "bigram_shift": bigram_shift,
    "top_constituents": top_constituents,
    "past_present": _by_target(main_verb),
    "subj_number": _by_target(subject_noun),
    "obj_number": _by_target(object_noun),
    "odd_man_out": odd_man_out,
    "coordination_inversion": coordination_inversion,
}


def write_probing_tasks(sentences: Sentences, folder: Path, settings: ProbingTaskSizes, random: Random) -> None:
    """Write FOLDER/TASK.txt for all ten tasks; raise UserError for too few sentences or sizes of an unknown task."""
    for name in settings.training_of:
        if name not in TASKS:
            raise UserError(f"probing.training_of.{name}: no such task; there are {', '.join(TASKS)}")
    distinct = list({sentence.text: sentence for sentence in sentences}.values())
    for name, task in TASKS.items():
        try:
            examples = task(distinct, BalancedSampler(settings.for_task(name), random))
        except UserError as error:
            raise UserError(f"probing task {name}: {error}") from None
        lines = (f"{split}\t{example.label}\t{example.text}" for split in SPLITS for example in examples[split])
        write_lines(folder / f"{name}.txt", lines)
