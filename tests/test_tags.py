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


def write_gold(experiment, *tokens):
    sides = [{"tokens": row, "tags": tags} for row, tags in zip(tokens, GOLD, strict=True)]
    write_lines(experiment.corpus / "valid.gold.jsonl", [json.dumps({"en": side}) for side in sides])


def test_gold_tags_come_first(experiment):
    write_gold(experiment, *TOKENS)
    found = find_tags(experiment, "valid", "en")
    assert (found.name, found.sentences) == ("gold-tags", GOLD)
    assert found.universal() == [["NOUN", "VERB", "NOUN", "SYM"], ["NOUN", "VERB", "SYM"]]
    assert find_tags(experiment, "valid", "de") is None


def test_english_without_gold_tags_of_its_tokens_is_tagged_by_nltk(experiment, monkeypatch):
    write_gold(experiment, ["Anne", *TOKENS[0][1:]], TOKENS[1])
    found = find_tags(experiment, "valid", "en")
    assert (found.name, found.sentences) == (f"nltk-{nltk.__version__}-perceptron-tagger", [["FW"] * 4, ["FW"] * 3])
    assert found.universal() == [["X"] * 4, ["X"] * 3]
    monkeypatch.setattr(nltk, "pos_tag_sents", without_data)
    assert find_tags(experiment, "valid", "en") is None


def without_data(_):
    raise LookupError
