"""The ten probing tasks of Conneau et al. (2018), "What you can cram into a single vector", from gold trees.

Files, labels and format are SentEval's (data/probing). As published, no sentence occurs twice in a task, or unchanged
and changed. README.md has the definition of each task and the differences from the original.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from context_nmt.files import UserError, write_lines
from context_nmt.miniature.probing_odd_word import odd_man_out
from context_nmt.miniature.probing_samples import SPLITS, Dealer, Example, ParsedSentence, Row, Task
from context_nmt.miniature.probing_trees import Tree, coordinated_clauses, main_verb, object_noun, subject_noun, top
from context_nmt.settings.miniature import ProbingSettings

Sentences = Sequence[ParsedSentence]

LENGTHS = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))  # tokens, of the classes 0 to 5
SHORTEST_WORD = 4  # letters
QUOTES = frozenset({'"', "``", "''", "&quot;"})
TOP_CLASSES = 20
OTHER = "OTHER"
TENSES = {"VBZ": "PRES", "VBP": "PRES", "VBD": "PAST"}


def sentence_length(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by the bin of their number of tokens."""
    bins: dict[str, list[str]] = defaultdict(list)
    for sentence in sentences:
        for number, (least, greatest) in enumerate(LENGTHS):
            if least <= len(sentence.tokens) <= greatest:
                bins[str(number)].append(sentence.text)
    return dealer.deal_classes(bins)


def word_content(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by the only target word that they contain.

    Choose as many targets as have enough sentences without the others, the rarest first: these co-occur least.
    """
    words = [
        [word for word in map(str.lower, sentence.tokens) if len(word) >= SHORTEST_WORD and word.isalpha()]
        for sentence in sentences
    ]
    frequency = Counter(word for sentence_words in words for word in sentence_words)
    rarest = sorted(frequency, key=lambda word: (frequency[word], word))
    for count in range(min(dealer.settings.words, len(rarest)), 1, -1):
        frequent = [word for word in rarest if dealer.has_enough(frequency[word], count)]
        while len(frequent) >= count:
            holding: dict[str, list[str]] = {word: [] for word in frequent[:count]}
            for sentence, sentence_words in zip(sentences, words, strict=True):
                targets = [word for word in sentence_words if word in holding]
                if len(targets) == 1:
                    holding[targets[0]].append(sentence.text)
            rare = {word for word in holding if not dealer.has_enough(len(holding[word]), count)}
            if not rare:
                return dealer.deal_classes(holding)
            frequent = [word for word in frequent if word not in rare]
    raise dealer.too_few("no two words have enough sentences with one of them alone")


def tree_depth(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by the edges from the root to the deepest word, over the widest range with enough sentences.

    Each split has, at every length, equally many sentences of every depth: the length says nothing about the depth.
    """
    texts: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))  # by depth and length
    for sentence in sentences:
        texts[sentence.tree.depth][len(sentence.tokens)].append(sentence.text)
    depths = sorted(texts)
    for count in range(len(depths), 1, -1):
        windows = [depths[first : first + count] for first in range(len(depths) - count + 1)]
        lengths = [  # each with the number of sentences that every one of the depths has at least
            {length: min(len(texts[depth][length]) for depth in window) for length in sorted(texts[window[0]])}
            for window in windows
        ]
        counts = [sum(least.values()) for least in lengths]
        best = counts.index(max(counts))
        if dealer.has_enough(counts[best], count):
            rows: list[Row] = []
            for length, least in lengths[best].items():
                drawn = [(depth, dealer.random.sample(texts[depth][length], least)) for depth in windows[best]]
                columns = [[Example(str(depth), text) for text in column] for depth, column in drawn]
                rows += zip(*columns, strict=True)
            return dealer.deal(rows)
    raise dealer.too_few("no two neighbouring depths have enough sentences of equal length")


def bigram_shift(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by whether two neighbouring words are swapped (I) or not (O)."""
    taken = {sentence.text for sentence in sentences}
    originals: list[Example] = []
    rows: list[Row] = []
    for sentence in dealer.random.sample(sentences, len(sentences)):
        shifted = _shifted(sentence, dealer.random)
        if shifted is None or shifted in taken:
            continue
        if len(originals) == len(rows):  # every second sentence stays unchanged, so that both classes are drawn alike
            originals.append(Example("O", sentence.text))
        else:
            rows.append((originals[-1], Example("I", shifted)))
            taken.add(shifted)
    return dealer.deal(rows)


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


def top_constituents(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by the constituents of the top clause: the most frequent sequences, and OTHER for the rest."""
    sequences: dict[str, list[str]] = defaultdict(list)
    for sentence in sentences:
        labels = [child.category for child in top(sentence.tree).children]
        if labels[-1:] == ["."] and not QUOTES.intersection(sentence.tokens):
            sequences["_".join(label for label in labels if label not in (",", ":"))].append(sentence.text)
    ranked = sorted(sequences, key=lambda labels: (-len(sequences[labels]), labels))
    for count in range(min(TOP_CLASSES, len(ranked)), 1, -1):
        named = {labels: sequences[labels] for labels in ranked[: count - 1]}
        named[OTHER] = [text for labels in ranked[count - 1 :] for text in sequences[labels]]
        if all(dealer.has_enough(len(texts), count) for texts in named.values()):
            return dealer.deal_classes(named)
    return dealer.deal_classes(sequences)


def past_present(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by the tense of the main verb."""
    return _by_target([(sentence, main_verb(sentence.tree)) for sentence in sentences], dealer)


def subj_number(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by the number of the main clause's subject."""
    return _by_target([(sentence, subject_noun(sentence.tree)) for sentence in sentences], dealer)


def obj_number(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by the number of the main clause's direct object."""
    return _by_target([(sentence, object_noun(sentence.tree, sentence.tokens)) for sentence in sentences], dealer)


def _by_target(targets: Sequence[tuple[ParsedSentence, Tree | None]], dealer: Dealer) -> Task:
    """Label sentences by the tag of their target word; no form of a target occurs in two splits."""
    texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for sentence, target in targets:
        if target is not None:
            label = TENSES.get(target.label, target.label)
            texts[label][sentence.tokens[target.first].lower()].append(sentence.text)
    return dealer.deal_forms(texts)


def coordination_inversion(sentences: Sentences, dealer: Dealer) -> Task:
    """Label sentences by whether two coordinated clauses are inverted (I) or not (O).

    Original and inverted sentences are paired, so that the lengths of the clauses say nothing about the label.
    """
    taken = {sentence.text for sentence in sentences}
    pairs: dict[int, list[tuple[str, str]]] = {-1: [], 0: [], 1: []}  # by which clause is longer: original, inverted
    for sentence in sentences:
        clauses = coordinated_clauses(sentence.tree)
        if clauses is None or sentence.tags.count("CC") != 1:
            continue
        first, second = clauses
        inverted = _inverted(sentence, first, second)
        if inverted not in taken:
            taken.add(inverted)
            longer = (second.end - second.first) - (first.end - first.first)
            pairs[(longer > 0) - (longer < 0)].append((sentence.text, inverted))
    for group in pairs.values():
        dealer.random.shuffle(group)
    opposite = list(zip(pairs[-1], pairs[1], strict=False))
    opposite = [pair if index % 2 else pair[::-1] for index, pair in enumerate(opposite)]
    equal = list(zip(pairs[0][::2], pairs[0][1::2], strict=False))
    return dealer.deal([(Example("O", kept[0]), Example("I", swapped[1])) for kept, swapped in opposite + equal])


def _inverted(sentence: ParsedSentence, first: Tree, second: Tree) -> str:
    """Return the sentence with its clauses in the other order, and the capital at its new start."""
    tokens = list(sentence.tokens)
    if not sentence.tags[first.first].startswith("NNP") and tokens[first.first] != "I":
        tokens[first.first] = tokens[first.first][:1].lower() + tokens[first.first][1:]
    tokens[second.first] = tokens[second.first][:1].upper() + tokens[second.first][1:]
    middle = tokens[first.end : second.first]
    tokens[first.first : second.end] = tokens[second.first : second.end] + middle + tokens[first.first : first.end]
    return " ".join(tokens)


TASKS: Mapping[str, Callable[[Sentences, Dealer], Task]] = {
    "sentence_length": sentence_length,
    "word_content": word_content,
    "tree_depth": tree_depth,
    "bigram_shift": bigram_shift,
    "top_constituents": top_constituents,
    "past_present": past_present,
    "subj_number": subj_number,
    "obj_number": obj_number,
    "odd_man_out": odd_man_out,
    "coordination_inversion": coordination_inversion,
}


def write_probing_tasks(sentences: Sentences, folder: Path, settings: ProbingSettings, random: Random) -> None:
    """Write FOLDER/TASK.txt for all ten tasks; raise UserError for too few sentences or sizes of an unknown task."""
    for name in settings.training_of:
        if name not in TASKS:
            raise UserError(f"probing.training_of.{name}: no such task; there are {', '.join(TASKS)}")
    distinct = list({sentence.text: sentence for sentence in sentences}.values())
    for name, task in TASKS.items():
        try:
            examples = task(distinct, Dealer(settings.of(name), random))
        except UserError as error:
            raise UserError(f"probing task {name}: {error}") from None
        lines = (f"{split}\t{example.label}\t{example.text}" for split in SPLITS for example in examples[split])
        write_lines(folder / f"{name}.txt", lines)
