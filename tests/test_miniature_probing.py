"""The ten probing tasks: SentEval's format, equal classes, and nothing that gives a class away."""

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
    vocabulary, rates = LexiconIndex(load_lexicon()), MiniatureSettings().probing_rates
    documents = [Document(vocabulary, rates, Random(f"probing {number}")).plan() for number in range(1600)]
    return [ParsedSentence.of(realise(sentence)) for document in documents for sentence in document]


@pytest.fixture(scope="module")
def folder(pool, tmp_path_factory):
    """The tasks of a pool; a sentence that it has twice is one."""
    path = tmp_path_factory.mktemp("probing")
    write_probing_tasks([*pool, *pool[:500]], path, SETTINGS, Random(1))
    return path


@pytest.fixture(scope="module")
def known(pool):
    return {sentence.text: sentence for sentence in pool}


def read(folder, task):
    """Lists of (label, tokens) by split."""
    splits = defaultdict(list)
    for line in (folder / f"{task}.txt").read_text(encoding="utf-8").split("\n")[:-1]:
        split, label, text = line.split("\t")
        splits[split].append((label, text.split(" ")))
    return splits


def inside(folder, task):
    """All (label, tokens) of a task."""
    return [pair for pairs in read(folder, task).values() for pair in pairs]


def drawn(task, pool, **sizes):
    """The labels and texts that a task draws from a small pool."""
    splits = TASKS[task](pool, BalancedSampler(ProbingTaskSizes(**sizes), Random(1)))
    return [example for examples in splits.values() for example in examples]


@pytest.mark.parametrize("task", TASKS)
def test_every_split_has_equally_many_of_each_class_shuffled_and_no_sentence_twice(folder, task):
    assert sorted(path.stem for path in folder.iterdir()) == sorted(TASKS)
    splits, classes = read(folder, task), {label for label, _ in inside(folder, task)}
    assert list(splits) == ["tr", "va", "te"]
    assert classes == BINARY.get(task, classes)
    assert len(classes) >= 2
    for split, size in (("tr", 300), ("va", 60), ("te", 60)):
        assert Counter(label for label, _ in splits[split]) == dict.fromkeys(classes, size // len(classes))
    texts = [" ".join(tokens) for _, tokens in inside(folder, task)]
    assert len(texts) == len(set(texts))
    found = [label for label, _ in splits["tr"]]
    assert sum(one != other for one, other in pairwise(found)) > len(found) / 4
    blocks = [found[first : first + len(classes)] for first in range(0, len(found), len(classes))]
    assert any(len(set(block)) < len(classes) for block in blocks)


def test_one_task_can_have_more_training_sentences(pool, tmp_path):
    write_probing_tasks(pool, tmp_path, replace(SETTINGS, training_of={"bigram_shift": 900}), Random(1))
    assert [len(pairs) for pairs in read(tmp_path, "bigram_shift").values()] == [900, 60, 60]
    assert len(read(tmp_path, "subj_number")["tr"]) == 300
    with pytest.raises(UserError, match=r"training_of.bigrams: no such task; there are .*bigram_shift"):
        write_probing_tasks(pool, tmp_path, replace(SETTINGS, training_of={"bigrams": 900}), Random(1))


def test_lengths_words_and_constituents_are_those_of_the_sentence(folder, known):
    bins = {"0": range(5, 9), "1": range(9, 13), "2": range(13, 17), "3": range(17, 21)}
    bins |= {"4": range(21, 26), "5": range(26, 29)}
    assert all(len(tokens) in bins[label] for label, tokens in inside(folder, "sentence_length"))
    words = {label for label, _ in inside(folder, "word_content")}
    assert len(words) == 12
    for label, tokens in inside(folder, "word_content"):
        assert [token.lower() for token in tokens if token.lower() in words] == [label]
    found = {label for label, _ in inside(folder, "top_constituents")}
    assert {"NP_VP_.", "S_CC_S_.", "PP_NP_VP_.", "OTHER"} <= found
    for label, tokens in inside(folder, "top_constituents"):
        children = known[" ".join(tokens)].tree.children[0].children
        sequence = "_".join(child.label for child in children if child.label != ",")
        assert label == sequence or (label == "OTHER" and sequence not in found)


def test_depth_cannot_be_told_from_length(folder, known):
    for pairs in read(folder, "tree_depth").values():
        lengths = defaultdict(Counter)
        for label, tokens in pairs:
            assert str(known[" ".join(tokens)].tree.depth) == label
            lengths[label][len(tokens)] += 1
        first, *others = lengths.values()
        assert all(other == first for other in others)


def test_shifted_bigrams_leave_the_first_word_and_punctuation(folder, known):
    for label, tokens in inside(folder, "bigram_shift"):
        assert (" ".join(tokens) in known) == (label == "O")
        if label == "I":
            words = [place for place in range(1, len(tokens) - 1) if tokens[place] != ","]
            pairs = [place for place in words if place + 1 in words]
            back = [[*tokens[:at], tokens[at + 1], tokens[at], *tokens[at + 2 :]] for at in pairs]
            assert any(" ".join(restored) in known for restored in back)


@pytest.mark.parametrize(
    ("task", "find"), [("past_present", main_verb), ("subj_number", subject_noun), ("obj_number", object_noun)]
)
def test_no_target_form_is_in_two_splits(folder, known, task, find):
    seen = {}
    for split, pairs in read(folder, task).items():
        for label, tokens in pairs:
            target = find(known[" ".join(tokens)])
            assert {"VBD": "PAST", "VBP": "PRES", "VBZ": "PRES"}.get(target.label, target.label) == label
            assert seen.setdefault(tokens[target.first].lower(), split) == split
    assert set(seen.values()) == {"tr", "va", "te"}


def gaps(tokens):
    """A sentence without each of its words."""
    return [(*tokens[:place], None, *tokens[place + 1 :]) for place in range(len(tokens))]


def meetings(tokens, tags, place):
    """The pairs of a word with each verb near it if it is a noun, and with each noun if it is a verb."""
    near = [other for other in range(len(tags)) if abs(other - place) <= 3]
    others = [other for other in near if {tags[other][0], tags[place][0]} == {"N", "V"}]
    return {(tags[place], tokens[place].lower(), tags[other], tokens[other].lower()) for other in others}


def test_what_replaces_a_word_is_odd_does_so_in_one_split_and_makes_known_bigrams(folder, known):
    seen = {}
    rests = {rest: sentence for text, sentence in known.items() for rest in gaps(text.split(" "))}
    bigrams = {pair for text in known for pair in pairwise(text.lower().split(" "))}
    usual = {
        pair
        for sentence in known.values()
        for place in range(len(sentence.tags))
        for pair in meetings(sentence.tokens, sentence.tags, place)
    }
    for split, pairs in read(folder, "odd_man_out").items():
        for label, tokens in pairs:
            assert (" ".join(tokens) in known) == (label == "O")
            assert bigrams >= set(pairwise(token.lower() for token in tokens))
            places = [place for place, rest in enumerate(gaps(tokens)) if rest in rests]
            assert places
            if label == "C" and len(places) == 1:
                assert seen.setdefault(tokens[places[0]], split) == split
                tags = rests[gaps(tokens)[places[0]]].tags
                assert meetings(tokens, tags, places[0]) - usual  # with a word that it never meets
    assert set(seen.values()) == {"tr", "va", "te"}


def test_inverted_clauses_start_with_a_capital_and_are_as_long_as_others(folder, known):
    relations, lowered = Counter(), {text.lower() for text in known}
    conjunctions = {word.en for word in load_lexicon().conjunctions.values()}
    for label, tokens in inside(folder, "coordination_inversion"):
        (middle,) = (place for place, token in enumerate(tokens) if token in conjunctions and tokens[place - 1] == ",")
        first, second = tokens[: middle - 1], tokens[middle + 1 : -1]
        relations[label, (len(first) > len(second)) - (len(first) < len(second))] += 1
        assert (" ".join(tokens) in known) == (label == "O")
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
    examples = drawn("coordination_inversion", pool, training=20, validation=4, test=4)
    turned = [example.text for example in examples if example.label == "I"]
    assert any(text.startswith("We ran , but Anna ") for text in turned)
    assert any(text.startswith("Cat hid ") and text.endswith(" , but we ran .") for text in turned)
    with pytest.raises(UserError, match="0 sentences per class"):
        drawn("coordination_inversion", [parsed(line.format(met.format(number), ran)) for number in range(40)])


@pytest.mark.parametrize("task", TASKS)
def test_too_small_a_pool_says_what_to_raise(pool, tmp_path, task):
    advice = r"raise probing\.documents \(9\) or lower its sizes \(training 2000, validation 400, test 300\)$"
    sizes = {"documents": 9, "training": 2000, "validation": 400, "test": 300}
    with pytest.raises(UserError, match=advice) as error:
        drawn(task, pool[:40], **sizes)
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"^probing task sentence_length: fewer than two classes"):
        write_probing_tasks(pool[:40], tmp_path, ProbingTaskSizes(**sizes), Random(1))


def test_a_tree_is_as_deep_as_its_deepest_word():
    sentence = parsed("(ROOT (S (NP (DT The) (NN man)) (VP (VBD bought) (NP (DT the) (NN table))) (. .)))")
    assert sentence.tree.depth == 5


@pytest.mark.parametrize(
    ("inside", "expected"),
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
def test_parts_of_the_main_clause(inside, expected):
    sentence = parsed(f"(ROOT (S {inside} (. .)))")
    found = [find(sentence) for find in (main_verb, subject_noun, object_noun)]
    assert ", ".join((node and f"{node.label} {sentence.tokens[node.first]}") or "-" for node in found) == expected
