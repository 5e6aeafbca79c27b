"""The miniature corpus as a whole: what its files promise, and what they agree on."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

from context_nmt.corpus.catalogue import read_entry
from context_nmt.corpus.moses import MosesSide
from context_nmt.files import UserError, read_lines, write_json
from context_nmt.miniature.generation import generate
from context_nmt.miniature.lexicon import load_lexicon
from context_nmt.settings.miniature import ContrastiveSettings, MiniatureSettings, ProbingSettings, RateSettings
from context_nmt.settings.text import SideSettings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DIRECTIONS = ("en-de", "de-en")
SMALL = MiniatureSettings(
    train=2000,
    valid=200,
    test=300,
    contrastive=ContrastiveSettings(within=40, cross_pairs=60, beside=40, far=40, previous_pairs=60),
    probing=ProbingSettings(documents=1500, training=40, validation=20, test=20, words=5),
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "miniature"
    generate(SMALL, folder)
    return folder


def gold(corpus, split):
    return [json.loads(line) for line in read_lines(corpus / f"{split}.gold.jsonl")]


def documents(corpus):
    """The gold records of each training document."""
    return [list(records) for _, records in groupby(gold(corpus, "train"), key=itemgetter("document"))]


def items(corpus, name):
    return [json.loads(line) for line in read_lines(corpus / f"{name}.jsonl")]


def replaced(item):
    """(right, wrong) words of an item that differ, without punctuation."""
    pairs = zip(re.findall(r"\w+", item["right"].lower()), re.findall(r"\w+", item["wrong"][0].lower()), strict=True)
    return {pair for pair in pairs if pair[0] != pair[1]}


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed_is(tmp_path):
    sizes = {"train": 200, "valid": 50, "test": 50}
    sizes["contrastive"] = {"within": 9, "cross_pairs": 9, "beside": 9, "far": 9, "previous_pairs": 9}
    sizes["probing"] = {"documents": 1500, "training": 40, "validation": 20, "test": 20, "words": 5}
    for name, seed, hash_seed in (("one", 7, "1"), ("two", 7, "2"), ("other", 8, "1")):
        write_json(tmp_path / f"metrics/plans/data.{name}.json", {"entry": {"seed": seed, **sizes}})
        subprocess.run(
            [sys.executable, "-m", "stages.download", name, "checksums.json"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PYTHONHASHSEED": hash_seed},
            check=True,
        )
    one, two, other = (files(tmp_path / "data" / name) for name in ("one", "two", "other"))
    assert one == two
    assert one.keys() == other.keys()
    assert all(one[path] != other[path] for path in one if "documents" not in path.name)


@pytest.mark.parametrize("language", ["en", "de"])
def test_gold_tokens_are_what_moses_makes_of_the_raw_line_and_back(corpus, language):
    side = MosesSide(language, SideSettings())
    for split in ("train", "test"):
        lines = read_lines(corpus / f"{split}.{language}")
        records = gold(corpus, split)
        assert len(lines) == len(records)
        for line, record in zip(lines, records, strict=True):
            tokens = side.tokens(line)
            assert tokens == " ".join(record[language]["tokens"])
            assert side.text(tokens) == line


def test_documents_are_of_4_to_10_sentences_and_the_index_says_where_they_begin(corpus):
    for split in ("train", "valid", "test"):
        records = gold(corpus, split)
        begins = [line for line, record in enumerate(records) if record["sentence"] == 0]
        assert read_lines(corpus / f"{split}.documents") == [str(line) for line in begins]
        sizes = Counter(record["document"] for record in records)
        assert set(sizes.values()) <= set(range(4, 11))
        assert getattr(SMALL, split) <= len(records) < getattr(SMALL, split) + 10


def test_nothing_that_is_tested_occurs_in_training(corpus):
    for source, target in (("en", "de"), ("de", "en")):
        tested = [line for split in ("valid", "test") for line in read_lines(corpus / f"{split}.{target}")]
        for name in ("pronouns", "senses"):
            tested += [item["source"] for item in items(corpus, f"{name}.{target}-{source}")]
            translated = items(corpus, f"{name}.{source}-{target}")
            tested += [line for item in translated for line in (item["right"], *item["wrong"])]
        training = set(read_lines(corpus / f"train.{target}"))
        assert training.isdisjoint(line for line in tested if len(line.split()) > 4)


def test_trees_have_the_tokens_as_leaves_and_the_tags_above_them(corpus):
    for record in gold(corpus, "test"):
        leaves = re.findall(r"\((\S+) ([^()\s]+)\)", record["tree"])
        assert leaves == list(zip(record["en"]["tags"], record["en"]["tokens"], strict=True))
        assert record["tree"].count("(") == record["tree"].count(")")


def test_the_alignment_covers_all_but_words_that_one_language_alone_needs(corpus):
    unaligned = {"en": set(), "de": set()}
    for record in gold(corpus, "train"):
        for language, aligned in zip(("en", "de"), zip(*record["alignment"], strict=True), strict=True):
            tokens = dict(enumerate(record[language]["tokens"]))
            assert tokens.keys() >= set(aligned)
            unaligned[language] |= {tokens[place] for place in tokens.keys() - set(aligned)}
    # commas, the articles that the other language leaves out, and "to" before a recipient
    assert unaligned["de"] <= {","}
    assert unaligned["en"] <= {",", "to"}


def test_every_pronoun_agrees_with_its_antecedent(corpus):
    nominative = {"he": {"er"}, "she": {"sie"}, "they": {"sie"}, "it": {"er", "sie", "es"}}
    seen = Counter()
    for document in documents(corpus):
        for index, record in enumerate(document):
            for pronoun in record["pronouns"]:
                antecedent = pronoun["antecedent"]
                assert antecedent["sentence"] == index - pronoun["distance"]
                assert 0 <= pronoun["distance"] <= 9
                if pronoun["distance"] == 0:
                    assert antecedent["en"] < pronoun["en"]
                seen[pronoun["distance"]] += 1
                english = record["en"]["tokens"][pronoun["en"]].lower()
                german = record["de"]["tokens"][pronoun["de"]].lower()
                if german in {"er", "es"} or (german == "sie" and english in nominative):
                    assert german in nominative.get(english, {"sie", "es"}), (english, german)
    assert min(seen[distance] for distance in range(4)) > 20


def test_ambiguous_words_have_their_cue_where_the_record_says(corpus):
    lexicon = load_lexicon()
    seen = Counter()
    for document in documents(corpus):
        for index, record in enumerate(document):
            for use in record["senses"]:
                noun = lexicon.senses[use["sense"]]
                target = "de" if use["side"] == "en" else "en"
                assert use["word"] in record[use["side"]]["tokens"][use[use["side"]]]
                assert use["cue_word"]["sentence"] == index - (use["cue"] == "previous")
                cue = document[use["cue_word"]["sentence"]]["en"]["tokens"][use["cue_word"]["en"]].lower()
                words = {form for name in noun.cues for word in lexicon.nouns[name].en for form in word.forms.values()}
                words |= {lexicon.adjectives[name].en for name in noun.adjectives}
                assert cue in words
                right = MosesSide(target, SideSettings()).text(" ".join(record[target]["tokens"]))
                assert use["distractor"] != right
                seen[use["side"], use["cue"]] += 1
    assert min(seen[side, cue] for side in ("en", "de") for cue in ("beside", "far", "previous")) > 5


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_items_that_need_an_earlier_sentence_have_their_mirror(corpus, direction):
    for name in ("pronouns", "senses"):
        tested = items(corpus, f"{name}.{direction}")
        mirrored = [(item, tested[item["mirror"]]) for item in tested if "mirror" in item]
        assert len(mirrored) == 2 * 60
        assert all("cross" in item["categories"] for item, _ in mirrored)
        for item, mirror in mirrored:
            assert tested[mirror["mirror"]] == item
            assert item["source"] == mirror["source"]
            assert [item["right"]] == mirror["wrong"]
            assert [mirror["right"]] == item["wrong"]
            assert item["context"]["source"] != mirror["context"]["source"]
            assert item["context"]["target"] != mirror["context"]["target"]
        assert not any(item["context"]["source"] for item in tested if "mirror" not in item)
        sources = [item["source"] for item in tested]
        assert len(sources) - len(set(sources)) == 60
        assert all(len(source.split()) > 4 for source in sources)


def test_a_wrong_pronoun_differs_in_nothing_but_gender(corpus):
    genders = [{"er", "sie", "es"}, {"ihn", "sie", "es"}, {"ihm", "ihr"}]
    for item in items(corpus, "pronouns.en-de"):
        assert replaced(item)
        assert all(any(row.issuperset(pair) for row in genders) for pair in replaced(item))
    for item in items(corpus, "pronouns.de-en"):
        assert replaced(item)
        assert all("it" in pair and {"he", "she", "him", "her", "it"}.issuperset(pair) for pair in replaced(item))


def test_nothing_else_could_be_meant(corpus):
    nouns = load_lexicon().nouns.values()
    genders = {word.lemma: noun.de[0].gender for noun in nouns for word in noun.en if noun.kind != "person"}
    forms = {"er": "masculine", "ihn": "masculine", "sie": "feminine", "es": "neuter"}
    for item in items(corpus, "pronouns.en-de"):
        others = {genders.get(word) for word in re.findall(r"\w+", item["source"])} - {None}
        if "within" in item["categories"]:
            assert others.isdisjoint(forms.get(wrong) for _, wrong in replaced(item))
        for sentence in item["context"]["source"][1:]:
            assert genders.keys().isdisjoint(re.findall(r"\w+", sentence))
    times = {word.en.split()[-1] for word in load_lexicon().adverbs.values() if word.kind == "time"}
    for document in documents(corpus):
        for record in document:
            tokens = record["en"]["tokens"]
            if tokens[0] == '"':
                assert tokens[-2] not in tokens[1 : tokens.index('"', 1)]
            if "(WDT that)" in record["tree"]:  # a time behind it would be that of the relative clause
                assert tokens[-2] not in times
            for pronoun in record["pronouns"]:
                before = document[pronoun["antecedent"]["sentence"]]["en"]
                place = pronoun["antecedent"]["en"]
                while place > 0 and before["tags"][place - 1] == "JJ":
                    place -= 1
                assert before["tokens"][place - 1].lower() != "no" or place == 0


def test_the_bound_errs_in_words_that_the_sentence_leaves_open_and_nowhere_else(corpus):
    records = gold(corpus, "test")
    for source, target in (("en", "de"), ("de", "en")):
        references = read_lines(corpus / f"test.{target}")
        bound = read_lines(corpus / f"test.bound.{target}")
        wrong = [
            record
            for record, line, guess in zip(records, references, bound, strict=True)
            if line != guess
            and not any(use["side"] == source and use["cue"] == "previous" for use in record["senses"])
            and not any(use["side"] == target for use in record["synonyms"])
            and not any(not pronoun["within"] for pronoun in record["pronouns"])
        ]
        assert wrong == []
        errors = sum(line != guess for line, guess in zip(references, bound, strict=True))
        assert 0.02 * len(records) < errors < 0.5 * len(records)


def test_the_bound_keeps_what_german_verbs_and_prepositions_tell(corpus):
    agreeing = re.compile(r"\b(was|were|is|are|has|have)")
    references, bound = (read_lines(corpus / f"test.{name}en") for name in ("", "bound."))
    assert [agreeing.findall(line) for line in bound] == [agreeing.findall(line) for line in references]
    assert not re.search(r"\babout (it|them)\b", " ".join(bound))  # "darüber"; "über ihn" is a man


def test_rates_change_what_they_name(corpus, tmp_path):
    rates = RateSettings(pronoun_cross=0, pronoun_within=0, sense=0, people=1, speech=0, question=0, present=0)
    generate(replace(SMALL, train=300, rates=rates), tmp_path / "people")
    usual, changed = (" ".join(read_lines(folder / "train.en")) for folder in (corpus, tmp_path / "people"))
    for sign in (" it", "?", '"', " is ", " will "):
        assert sign in usual
        assert sign not in changed


def test_german_order_is_free_where_it_is_told_to_be_and_the_bound_keeps_the_source_s_order(tmp_path):
    rates = RateSettings(
        pronoun_cross=0, pronoun_within=0, sense=0, people=1, person_pronoun=0, time=0.9, reordered=0.5
    )
    generate(replace(SMALL, train=300, rates=rates), tmp_path / "free")
    records = gold(tmp_path / "free", "test")
    for target in ("en", "de"):
        lines, bound = (read_lines(tmp_path / f"free/test.{name}") for name in (target, f"bound.{target}"))
        moved = [
            [sorted(re.findall(r"\w+", text.lower())) for text in (line, guess)]
            for record, line, guess in zip(records, lines, bound, strict=True)
            if line != guess
            and not any(use["side"] == target for use in record["synonyms"])
            and all(pronoun["within"] for pronoun in record["pronouns"])
        ]
        assert len(moved) > 0.1 * len(lines)
        assert all(line == guess for line, guess in moved)
    starts = Counter(
        (record["en"]["tokens"][0] in ("On", "In", "At"), record["de"]["tags"][0].startswith("APPR"))
        for record in records
    )
    assert len(starts) == 4
    assert min(starts.values()) > 0.02 * len(records)


def test_too_few_sentences_for_a_task_are_named_and_nothing_is_left(tmp_path):
    with pytest.raises(UserError, match=r"probing task .* raise probing\.documents \(3\)"):
        generate(replace(SMALL, probing=replace(SMALL.probing, documents=3)), tmp_path / "few")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{train: 0}", "generated.miniature: train: input should be greater than or equal to 1, not 0"),
        (
            "{rates: {pronoun_cros: 0.1}}",
            "generated.miniature: rates.pronoun_cros: unknown key; did you mean 'pronoun_cross'",
        ),
        ("{rates: {plural: 1.5}}", "rates.plural: input should be less than or equal to 1, not 1.5"),
        ("{rates: {reordered: 0.7}}", "rates.reordered: input should be less than or equal to 0.5, not 0.7"),
        ("{rates: {distance_1: 0, distance_2: 0, distance_3: 0}}", "distance_1, distance_2, distance_3 are all 0"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, entry, message):
    (tmp_path / "params.yaml").write_text(f"generated: {{miniature: {entry}}}", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_entry(tmp_path / "params.yaml", "miniature")
