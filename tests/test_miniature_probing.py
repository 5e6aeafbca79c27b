"""The ten probing tasks: SentEval's format, classes of equal size, and no cues to the class."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from random import Random

import nltk
import pytest

from context_nmt.files import UserError
from context_nmt.miniature.clauses import LexiconIndex
from context_nmt.miniature.documents import Document
from context_nmt.miniature.grammar import Leaf, Node, realise
from context_nmt.miniature.lexicon import load_lexicon
from context_nmt.miniature.probing import (
    TASKS,
    BalancedSampler,
    ParsedSentence,
    main_verb,
    number_tokens,
    object_noun,
    subject_noun,
    write_probing_tasks,
)
from context_nmt.settings.miniature import MiniatureSettings, ProbingTaskSizes

pytestmark = pytest.mark.slow

SETTINGS = ProbingTaskSizes(training=300, validation=60, test=60, words=12)
BINARY = {
    "bigram_shift": {"I", "O"},
    "past_present": {"PAST", "PRES"},
    "subj_number": {"NN", "NNS"},
    "obj_number": {"NN", "NNS"},
    "odd_man_out": {"C", "O"},
    "coordination_inversion": {"I", "O"},
}


def parsed(brackets):
    """The sentence of a tree, with a capital at its start."""
    tree = nltk.Tree.fromstring(brackets)
    tokens, tags = zip(*tree.pos(), strict=True)
    return ParsedSentence((tokens[0].capitalize(), *tokens[1:]), tags, number_tokens(nodes(tree)))


def nodes(tree):
    """A tree of the grammar."""
    return Leaf(tree.label(), tree[0]) if tree.height() == 2 else Node(tree.label(), tuple(map(nodes, tree)))


@pytest.fixture(scope="module")
def pool():
    index, rates = LexiconIndex(load_lexicon()), MiniatureSettings().probing_rates
    documents = [Document(index, rates, Random(f"probing {number}")).plan() for number in range(1600)]
    return [ParsedSentence.of(realise(sentence)) for document in documents for sentence in document]


@pytest.fixture(scope="module")
def folder(pool, tmp_path_factory):
    """The tasks of a pool that has some sentences twice."""
    path = tmp_path_factory.mktemp("probing")
    write_probing_tasks([*pool, *pool[:500]], path, SETTINGS, Random(1))
    return path


@pytest.fixture(scope="module")
def originals(pool):
    return {sentence.text: sentence for sentence in pool}


def read(folder, task):
    """Lists of (label, tokens) by split."""
    splits = defaultdict(list)
    for line in (folder / f"{task}.txt").read_text(encoding="utf-8").split("\n")[:-1]:
        split, label, text = line.split("\t")
        splits[split].append((label, text.split(" ")))
    return splits


def read_all(folder, task):
    """All (label, tokens) of a task."""
    return [pair for pairs in read(folder, task).values() for pair in pairs]


def draw(task, pool, **sizes):
    """The labels and texts that a task draws from a small pool."""
    splits = TASKS[task](pool, BalancedSampler(ProbingTaskSizes(**sizes), Random(1)))
    return [example for examples in splits.values() for example in examples]


@pytest.mark.parametrize("task", TASKS)
def test_every_split_has_equally_many_of_each_class_shuffled_and_no_sentence_twice(folder, task):
    assert sorted(path.stem for path in folder.iterdir()) == sorted(TASKS)
    splits, classes = read(folder, task), {label for label, _ in read_all(folder, task)}
    assert list(splits) == ["tr", "va", "te"]
    assert classes == BINARY.get(task, classes)
    assert len(classes) >= 2
    for split, size in (("tr", 300), ("va", 60), ("te", 60)):
        assert Counter(label for label, _ in splits[split]) == dict.fromkeys(classes, size // len(classes))
    texts = [" ".join(tokens) for _, tokens in read_all(folder, task)]
    assert len(texts) == len(set(texts))
    labels = [label for label, _ in splits["tr"]]
    assert sum(label != following for label, following in pairwise(labels)) > len(labels) / 4
    blocks = [labels[first : first + len(classes)] for first in range(0, len(labels), len(classes))]
    assert any(len(set(block)) < len(classes) for block in blocks)


def test_one_task_can_have_more_training_sentences(pool, tmp_path):
    write_probing_tasks(pool, tmp_path, replace(SETTINGS, training_of={"bigram_shift": 900}), Random(1))
    assert [len(pairs) for pairs in read(tmp_path, "bigram_shift").values()] == [900, 60, 60]
    assert len(read(tmp_path, "subj_number")["tr"]) == 300
    with pytest.raises(UserError, match=r"training_of.bigrams: no such task; there are .*bigram_shift"):
        write_probing_tasks(pool, tmp_path, replace(SETTINGS, training_of={"bigrams": 900}), Random(1))


def test_lengths_words_and_constituents_are_those_of_the_sentence(folder, originals):
    bins = {"0": range(5, 9), "1": range(9, 13), "2": range(13, 17), "3": range(17, 21)}
    bins |= {"4": range(21, 26), "5": range(26, 29)}
    assert all(len(tokens) in bins[label] for label, tokens in read_all(folder, "sentence_length"))
    words = {label for label, _ in read_all(folder, "word_content")}
    assert len(words) == 12
    for label, tokens in read_all(folder, "word_content"):
        assert [token.lower() for token in tokens if token.lower() in words] == [label]
    sequences = {label for label, _ in read_all(folder, "top_constituents")}
    assert {"NP_VP_.", "S_CC_S_.", "PP_NP_VP_.", "OTHER"} <= sequences
    for label, tokens in read_all(folder, "top_constituents"):
        children = originals[" ".join(tokens)].tree.children[0].children
        sequence = "_".join(child.label for child in children if child.label != ",")
        assert label == sequence or (label == "OTHER" and sequence not in sequences)


def test_depth_does_not_depend_on_length(folder, originals):
    for pairs in read(folder, "tree_depth").values():
        lengths = defaultdict(Counter)
        for label, tokens in pairs:
            assert str(originals[" ".join(tokens)].tree.depth) == label
            lengths[label][len(tokens)] += 1
        first, *rest = lengths.values()
        assert all(counts == first for counts in rest)


def test_shifted_bigrams_do_not_contain_the_first_word_or_punctuation(folder, originals):
    for label, tokens in read_all(folder, "bigram_shift"):
        assert (" ".join(tokens) in originals) == (label == "O")
        if label == "I":
            words = [index for index in range(1, len(tokens) - 1) if tokens[index] != ","]
            pairs = [index for index in words if index + 1 in words]
            back = [[*tokens[:at], tokens[at + 1], tokens[at], *tokens[at + 2 :]] for at in pairs]
            assert any(" ".join(restored) in originals for restored in back)


@pytest.mark.parametrize(
    ("task", "find"), [("past_present", main_verb), ("subj_number", subject_noun), ("obj_number", object_noun)]
)
def test_no_target_form_is_in_two_splits(folder, originals, task, find):
    seen = {}
    for split, pairs in read(folder, task).items():
        for label, tokens in pairs:
            target = find(originals[" ".join(tokens)])
            assert {"VBD": "PAST", "VBP": "PRES", "VBZ": "PRES"}.get(target.label, target.label) == label
            assert seen.setdefault(tokens[target.first].lower(), split) == split
    assert set(seen.values()) == {"tr", "va", "te"}


def gaps(tokens):
    """The sentence with a gap in place of each word."""
    return [(*tokens[:index], None, *tokens[index + 1 :]) for index in range(len(tokens))]


def meetings(tokens, tags, index):
    """The pairs of a noun with each verb near it, or of a verb with each noun near it."""
    near = [other for other in range(len(tags)) if abs(other - index) <= 3]
    companions = [other for other in near if {tags[other][0], tags[index][0]} == {"N", "V"}]
    return {(tags[index], tokens[index].lower(), tags[other], tokens[other].lower()) for other in companions}


def test_a_replacement_is_odd_is_used_in_one_split_and_makes_known_bigrams(folder, originals):
    seen = {}
    rests = {rest: sentence for text, sentence in originals.items() for rest in gaps(text.split(" "))}
    bigrams = {pair for text in originals for pair in pairwise(text.lower().split(" "))}
    usual = {
        pair
        for sentence in originals.values()
        for index in range(len(sentence.tags))
        for pair in meetings(sentence.tokens, sentence.tags, index)
    }
    for split, pairs in read(folder, "odd_man_out").items():
        for label, tokens in pairs:
            assert (" ".join(tokens) in originals) == (label == "O")
            assert bigrams >= set(pairwise(token.lower() for token in tokens))
            changed = [index for index, rest in enumerate(gaps(tokens)) if rest in rests]
            assert changed
            if label == "C" and len(changed) == 1:
                assert seen.setdefault(tokens[changed[0]], split) == split
                tags = rests[gaps(tokens)[changed[0]]].tags
                assert meetings(tokens, tags, changed[0]) - usual  # with a word that it never meets
    assert set(seen.values()) == {"tr", "va", "te"}


def test_inverted_clauses_start_with_a_capital_and_are_as_long_as_original_ones(folder, originals):
    relations, lowered = Counter(), {text.lower() for text in originals}
    conjunctions = {word.en for word in load_lexicon().conjunctions.values()}
    for label, tokens in read_all(folder, "coordination_inversion"):
        (middle,) = (index for index, token in enumerate(tokens) if token in conjunctions and tokens[index - 1] == ",")
        first, second = tokens[: middle - 1], tokens[middle + 1 : -1]
        relations[label, (len(first) > len(second)) - (len(first) < len(second))] += 1
        assert (" ".join(tokens) in originals) == (label == "O")
        assert tokens[0][0].isupper()
        assert label == "O" or " ".join([*second, ",", tokens[middle], *first, "."]).lower() in lowered
    for relation in (-1, 0, 1):
        assert relations["O", relation] == relations["I", relation]
    assert relations["O", 1] > 0


def test_names_keep_their_capital_and_sentences_with_two_conjunctions_their_order():
    ran, slept = "(S (NP (PRP we)) (VP (VBD ran)))", "(S (NP (NNP Anna) (CD {})) (VP (VBD slept)))"
    hid, met = "(S (NP (NN cat)) (VP (VBD hid) (NP (CD {}))))", "(S (NP (PRP we)) (VP (VBD met) (NP (CD {}) (CC and))))"
    line = "(ROOT (S {} (, ,) (CC but) {} (. .)))"
    pool = [parsed(line.format(slept.format(number), ran)) for number in range(40)]
    pool += [parsed(line.format(ran, hid.format(number))) for number in range(40)]
    examples = draw("coordination_inversion", pool, training=20, validation=4, test=4)
    inverted = [example.text for example in examples if example.label == "I"]
    assert any(text.startswith("We ran , but Anna ") for text in inverted)
    assert any(text.startswith("Cat hid ") and text.endswith(" , but we ran .") for text in inverted)
    with pytest.raises(UserError, match="0 sentences per class"):
        draw("coordination_inversion", [parsed(line.format(met.format(number), ran)) for number in range(40)])


@pytest.mark.parametrize("task", TASKS)
def test_the_error_for_a_small_pool_names_the_sizes(pool, tmp_path, task):
    advice = r"raise probing\.documents \(9\) or lower its sizes \(training 2000, validation 400, test 300\)$"
    sizes = {"documents": 9, "training": 2000, "validation": 400, "test": 300}
    with pytest.raises(UserError, match=advice) as error:
        draw(task, pool[:40], **sizes)
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"^probing task sentence_length: fewer than two classes"):
        write_probing_tasks(pool[:40], tmp_path, ProbingTaskSizes(**sizes), Random(1))


def test_a_tree_is_as_deep_as_its_deepest_word():
    sentence = parsed("(ROOT (S (NP (DT The) (NN man)) (VP (VBD bought) (NP (DT the) (NN table))) (. .)))")
    assert sentence.tree.depth == 5


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        ("(NP (DT the) (NN man)) (VP (VBD gave) (NP (NNS boys)) (NP (DT a) (NN pear)))", "VBD gave, NN man, NN pear"),
        ("(NP (DT the) (NNS men)) (VP (VBP are) (NP (NNS kings)))", "VBP are, NNS men, -"),
        ("(NP (PRP he)) (VP (VBD ran) (CC and) (VBD sang))", "-, -, -"),
        ("(NP (PRP he)) (VP (VP (VBD ran)) (CC and) (VP (VBD ate) (NP (NN cake))))", "-, -, -"),
        ("(NP (NP (NN man)) (CC and) (NP (NN dog))) (VP (MD can) (VP (VB see) (NP (NN cake))))", "-, -, NN cake"),
        ("(NP (NN day)) (NP (NP (NNS cats)) (PP (IN of) (NP (NN gold)))) (VP (VBZ eat))", "VBZ eat, NNS cats, -"),
        ("(NP (NP (DT the) (NN king) (POS 's)) (NNS sons)) (VP (VBD sat))", "VBD sat, NNS sons, -"),
        ("(NP (NNP Anna)) (VP (VBD saw) (NP (NNP Otto)))", "VBD saw, -, -"),
    ],
)
def test_parts_of_the_main_clause(children, expected):
    sentence = parsed(f"(ROOT (S {children} (. .)))")
    parts = [find(sentence) for find in (main_verb, subject_noun, object_noun)]
    assert ", ".join((node and f"{node.label} {sentence.tokens[node.first]}") or "-" for node in parts) == expected
