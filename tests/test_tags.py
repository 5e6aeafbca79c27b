"""Parts of speech: gold tags where they are those of the tokens, else NLTK's of English, else none."""

import json

import nltk
import pytest
from tiny_training import make_experiment

from context_nmt.files import write_lines
from context_nmt.measures.parts_of_speech import find_tags

TOKENS = [["Ann", "sees", "birds", "."], ["Birds", "sing", "."]]
GOLD = [["NNP", "VBZ", "NNS", "."], ["NNS", "VBP", "."]]


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    made = make_experiment(tmp_path, pairs=12)
    for language in ("en", "de"):
        write_lines(made.tokenized / f"valid.{language}.cased", map(" ".join, TOKENS))
    monkeypatch.setattr(nltk, "pos_tag_sents", lambda rows: [[(token, "FW") for token in row] for row in rows])
    return made


def write_gold(experiment, tokens):
    records = [{"en": {"tokens": row, "tags": tags}} for row, tags in zip(tokens, GOLD, strict=True)]
    experiment.corpus.mkdir(parents=True, exist_ok=True)
    write_lines(experiment.corpus / "valid.gold.jsonl", map(json.dumps, records))


def test_gold_tags_come_first(experiment):
    write_gold(experiment, TOKENS)
    found = find_tags(experiment, "valid", "en")
    assert (found.name, found.sentences) == ("gold-tags", GOLD)
    assert found.universal() == [["NOUN", "VERB", "NOUN", "SYM"], ["NOUN", "VERB", "SYM"]]


def test_gold_tags_of_other_tokens_are_not_taken(experiment):
    write_gold(experiment, [["Anne", *TOKENS[0][1:]], TOKENS[1]])
    assert find_tags(experiment, "valid", "en").sentences == [["FW"] * 4, ["FW"] * 3]


def test_english_is_tagged_by_nltk_and_german_is_not(experiment):
    found = find_tags(experiment, "valid", "en")
    assert found.name == f"nltk-{nltk.__version__}-perceptron-tagger"
    assert found.universal() == [["X"] * 4, ["X"] * 3]
    assert find_tags(experiment, "valid", "de") is None


def test_there_are_none_without_the_tagger_s_data(experiment, monkeypatch):
    def without_data(_):
        raise LookupError

    monkeypatch.setattr(nltk, "pos_tag_sents", without_data)
    assert find_tags(experiment, "valid", "en") is None
