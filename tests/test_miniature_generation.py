"""The files of the miniature corpus: their bytes stay the same, and text, annotation and contrastive sets agree."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest
from measured import assert_golden

from context_nmt.corpus.catalogue import read_entry
from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.moses import MosesSide
from context_nmt.files import UserError, read_lines, write_json
from context_nmt.miniature.generation import generate
from context_nmt.miniature.lexicon import load_lexicon
from context_nmt.settings.miniature import ContrastiveSettings, MiniatureSettings, ProbingTaskSizes, RateSettings
from context_nmt.settings.text import SideSettings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DIRECTIONS = (("en", "de"), ("de", "en"))
LEXICON = load_lexicon()
SMALL = MiniatureSettings(
    train=2000,
    valid=200,
    test=300,
    contrastive=ContrastiveSettings(within=40, cross_pairs=60, beside=40, far=40, previous_pairs=60),
    probing=ProbingTaskSizes(documents=1500, training=40, validation=20, test=20, words=5),
)
RARE = RateSettings(
    present=0.6, plural=0.5, relative=0.6, reordered=0.4, frequency=0.3, manner=0.3, negated=0.4, modal=0.3,
    subordinate=0.3, opening=0.2, question=0.2, speech=0.2,
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "small"
    generate(SMALL, folder)
    return folder


def gold(corpus, split):
    return [json.loads(line) for line in read_lines(corpus / f"{split}.gold.jsonl")]


def documents(corpus):
    """The gold records of each training document."""
    return [list(records) for _, records in groupby(gold(corpus, "train"), key=itemgetter("document"))]


def items(corpus, name):
    return [json.loads(line) for line in read_lines(corpus / f"{name}.jsonl")]


def differing_words(item):
    """The (right, wrong) words of an item that differ, without punctuation."""
    pairs = zip(re.findall(r"\w+", item["right"].lower()), re.findall(r"\w+", item["wrong"][0].lower()), strict=True)
    return {pair for pair in pairs if pair[0] != pair[1]}


def digests(folder):
    """Lines of the golden file: the hash and the path of each file of a corpus."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder.parent)}" for path in paths]


def test_the_same_settings_give_the_same_bytes_for_every_hash_seed(corpus, tmp_path):
    entry, code = asdict(replace(SMALL, seed=5, rates=RARE)), {"context_nmt.miniature.generation": ""}
    write_json(tmp_path / "metrics/plans/data.rare.json", {"entry": entry, "code": code})
    subprocess.run(
        [sys.executable, "-m", "stages._run", "download", "rare", "checksums.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONHASHSEED": "1"},
        check=True,
    )
    lines = digests(tmp_path / "data/rare") + digests(corpus)
    assert_golden("".join(f"{line}\n" for line in lines), "miniature.sha256")


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_gold_tokens_are_those_of_moses_and_detokenize_to_the_raw_line(corpus, split):
    records = gold(corpus, split)
    for language in ("en", "de"):
        side = MosesSide(language, SideSettings())
        for line, record in zip(read_lines(corpus / f"{split}.{language}"), records, strict=True):
            assert side.tokens(line) == " ".join(record[language]["tokens"])
            assert side.text(side.tokens(line)) == line
    starts = [str(line) for line, record in enumerate(records) if record["sentence"] == 0]
    assert read_lines(corpus / f"{split}.documents") == starts
    assert set(Counter(record["document"] for record in records).values()) <= set(range(4, 11))
    assert getattr(SMALL, split) <= len(records) < getattr(SMALL, split) + 10


def test_no_sentence_of_a_test_occurs_in_training(corpus):
    for source, target in DIRECTIONS:
        tested = [line for split in ("valid", "test") for line in read_lines(corpus / f"{split}.{target}")]
        for name in ("pronouns", "senses"):
            tested += [item["source"] for item in items(corpus, f"{name}.{target}-{source}")]
            translated = items(corpus, f"{name}.{source}-{target}")
            tested += [line for item in translated for line in (item["right"], *item["wrong"])]
        training = set(read_lines(corpus / f"train.{target}"))
        assert training.isdisjoint(line for line in tested if len(line.split()) > 4)


def test_tree_and_alignment_cover_the_tokens(corpus):
    unaligned = {"en": set(), "de": set()}
    for record in gold(corpus, "train"):
        leaves = re.findall(r"\((\S+) ([^()\s]+)\)", record["tree"])
        assert leaves == list(zip(record["en"]["tags"], record["en"]["tokens"], strict=True))
        for language, aligned in zip(("en", "de"), zip(*record["alignment"], strict=True), strict=True):
            tokens = dict(enumerate(record[language]["tokens"]))
            assert tokens.keys() >= set(aligned)
            unaligned[language] |= {tokens[index] for index in tokens.keys() - set(aligned)}
    assert unaligned == {"en": {",", "to"}, "de": {","}}  # "to" before a recipient


def test_every_pronoun_agrees_with_its_antecedent(corpus):
    nominative = {"he": {"er"}, "she": {"sie"}, "they": {"sie"}, "it": {"er", "sie", "es"}}
    distances = Counter()
    for document in documents(corpus):
        for index, record in enumerate(document):
            for pronoun in record["pronouns"]:
                antecedent = pronoun["antecedent"]
                assert antecedent["sentence"] == index - pronoun["distance"]
                assert pronoun["distance"] > 0 or antecedent["en"] < pronoun["en"]
                distances[pronoun["distance"]] += 1
                english, german = (record[side]["tokens"][pronoun[side]].lower() for side in ("en", "de"))
                if german in {"er", "es"} or (german == "sie" and english in nominative):
                    assert german in nominative.get(english, {"sie", "es"}), (english, german)
    assert min(distances[distance] for distance in range(4)) > 20


def test_ambiguous_words_have_their_cue_at_the_position_of_the_record(corpus):
    cues = Counter()
    for document in documents(corpus):
        for index, record in enumerate(document):
            for use in record["senses"]:
                noun, side = LEXICON.senses[use["sense"]], use["side"]
                assert use["word"] in record[side]["tokens"][use[side]]
                assert use["cue_word"]["sentence"] == index - (use["cue"] == "previous")
                cue = document[use["cue_word"]["sentence"]]["en"]["tokens"][use["cue_word"]["en"]].lower()
                words = {form for name in noun.cues for word in LEXICON.nouns[name].en for form in word.forms.values()}
                assert cue in words | {LEXICON.adjectives[name].en for name in noun.adjectives}
                target = "de" if side == "en" else "en"
                assert use["distractor"] != MosesSide(target, SideSettings()).text(" ".join(record[target]["tokens"]))
                cues[side, use["cue"]] += 1
    assert min(cues[side, cue] for side in ("en", "de") for cue in ("beside", "far", "previous")) > 5


@pytest.mark.parametrize("direction", ["en-de", "de-en"])
def test_items_that_depend_on_an_earlier_sentence_have_a_mirror(corpus, direction):
    for name in ("pronouns", "senses"):
        read_contrastive_set(corpus / f"{name}.{direction}.jsonl")  # checks that mirrors swap the translations
        tested = items(corpus, f"{name}.{direction}")
        mirrored = [(item, tested[item["mirror"]]) for item in tested if "mirror" in item]
        assert len(mirrored) == 2 * 60
        for item, mirror in mirrored:
            assert "cross" in item["categories"]
            assert all(item["context"][side] != mirror["context"][side] for side in ("source", "target"))
        assert not any(item["context"]["source"] for item in tested if "mirror" not in item)
        sources = [item["source"] for item in tested]
        assert len(sources) - len(set(sources)) == 60
        assert all(len(source.split()) > 4 for source in sources)


def test_a_wrong_pronoun_differs_only_in_gender(corpus):
    genders = [{"er", "sie", "es"}, {"ihn", "sie", "es"}, {"ihm", "ihr"}]
    for item in items(corpus, "pronouns.en-de"):
        assert differing_words(item)
        assert all(any(row.issuperset(pair) for row in genders) for pair in differing_words(item))
    for item in items(corpus, "pronouns.de-en"):
        assert differing_words(item)
        assert all(
            "it" in pair and {"he", "she", "him", "her", "it"}.issuperset(pair) for pair in differing_words(item)
        )


def test_pronouns_are_unambiguous(corpus):
    nouns = LEXICON.nouns.values()
    genders = {word.lemma: noun.de[0].gender for noun in nouns for word in noun.en if noun.kind != "person"}
    forms = {"er": "masculine", "ihn": "masculine", "sie": "feminine", "es": "neuter"}
    for item in items(corpus, "pronouns.en-de"):
        in_source = {genders.get(word) for word in re.findall(r"\w+", item["source"])} - {None}
        wrong_genders = {forms.get(wrong) for _, wrong in differing_words(item)}
        assert "within" not in item["categories"] or in_source.isdisjoint(wrong_genders)
        for sentence in item["context"]["source"][1:]:
            assert genders.keys().isdisjoint(re.findall(r"\w+", sentence))
    times = {word.en.split()[-1] for word in LEXICON.adverbs.values() if word.kind == "time"}
    for document in documents(corpus):
        for record in document:
            tokens = record["en"]["tokens"]
            assert tokens[0] != '"' or tokens[-2] not in tokens[1 : tokens.index('"', 1)]
            # a time after a relative clause would belong to the relative clause
            assert "(WDT that)" not in record["tree"] or tokens[-2] not in times
            for pronoun in record["pronouns"]:
                sentence, start = document[pronoun["antecedent"]["sentence"]]["en"], pronoun["antecedent"]["en"]
                while start > 0 and sentence["tags"][start - 1] == "JJ":
                    start -= 1
                assert sentence["tokens"][start - 1].lower() != "no" or start == 0


def test_the_bound_is_wrong_only_in_words_that_the_sentence_leaves_open(corpus):
    records = gold(corpus, "test")
    for source, target in DIRECTIONS:
        lines = zip(read_lines(corpus / f"test.{target}"), read_lines(corpus / f"test.bound.{target}"), strict=True)
        wrong = [record for record, (line, guess) in zip(records, lines, strict=True) if line != guess]
        for record in wrong:
            assert (
                any(use["side"] == source and use["cue"] == "previous" for use in record["senses"])
                or any(use["side"] == target for use in record["synonyms"])
                or any(not pronoun["within"] for pronoun in record["pronouns"])
            )
        assert 0.02 * len(records) < len(wrong) < 0.5 * len(records)
    agreeing = re.compile(r"\b(was|were|is|are|has|have)")
    references, bound = (read_lines(corpus / f"test.{name}en") for name in ("", "bound."))
    assert [agreeing.findall(line) for line in bound] == [agreeing.findall(line) for line in references]
    assert not re.search(r"\babout (it|them)\b", " ".join(bound))  # "darüber"; "über ihn" is a man


def test_german_order_can_be_free_and_the_bound_keeps_the_order_of_the_source(tmp_path):
    rates = RateSettings(pronoun_cross=0, pronoun_within=0, sense=0, person_pronoun=0, time=0.9, reordered=0.5)
    generate(replace(SMALL, train=300, rates=rates), tmp_path / "free")
    records = gold(tmp_path / "free", "test")
    for target in ("en", "de"):
        lines, bound = (read_lines(tmp_path / f"free/test.{name}") for name in (target, f"bound.{target}"))
        moved = [
            [sorted(re.findall(r"\w+", text.lower())) for text in (line, guess)]
            for record, line, guess in zip(records, lines, bound, strict=True)
            if line != guess and not any(use["side"] == target for use in record["synonyms"])
            if all(pronoun["within"] for pronoun in record["pronouns"])
        ]
        assert len(moved) > 0.1 * len(lines)
        assert all(line == guess for line, guess in moved)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"probing": replace(SMALL.probing, documents=3)}, r"probing task .* raise probing\.documents \(3\)"),
        ({"rates": RateSettings(plural=1.0)}, r"cannot draw 1 different items of 'pronouns within' with these rates"),
    ],
)
def test_too_few_sentences_or_items_are_an_error_and_leave_no_files(tmp_path, changed, message):
    with pytest.raises(UserError, match=message):
        generate(replace(SMALL, **changed), tmp_path / "few")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{train: 0}", "generated.miniature: train: input should be greater than or equal to 1, not 0"),
        ("{rates: {pronoun_cros: 0.1}}", "miniature: rates.pronoun_cros: unknown key; did you mean 'pronoun_cross'"),
        ("{rates: {plural: 1.5}}", "rates.plural: input should be less than or equal to 1, not 1.5"),
        ("{rates: {reordered: 0.7}}", "rates.reordered: input should be less than or equal to 0.5, not 0.7"),
        ("{rates: {distance_1: 0, distance_2: 0, distance_3: 0}}", "distance_1, distance_2, distance_3 are all 0"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, entry, message):
    (tmp_path / "params.yaml").write_text(f"generated: {{miniature: {entry}}}", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_entry(tmp_path / "params.yaml", "miniature")
