"""The analyses of a run, and those of its translations on small input."""

import json
from dataclasses import asdict
from statistics import fmean

import pytest
import sacrebleu
import torch
from hypothesis import given
from hypothesis import strategies as st
from measured import flat
from tiny_training import RUN, make_experiment

from context_nmt.corpus.binarized import BinarizedCorpus
from context_nmt.corpus.hypotheses import write_hypotheses
from context_nmt.decoding.decoding_run import decode_run
from context_nmt.files import UserError, read_lines, write_json, write_lines
from context_nmt.measures.analyses import (
    analyse_run,
    bleu_by_length,
    equal_groups,
    length_classes,
    ngram_accuracy,
    tokenized_bleu_by_length,
)
from context_nmt.measures.attention import attention_measures
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.recording import AnalysisInput
from context_nmt.measures.rows import read_rows
from context_nmt.models.averaging import average_run
from context_nmt.models.checkpoints import load_run
from context_nmt.settings.decoding import DecodingSettings
from context_nmt.settings.text import SideSettings, UnitSettings
from context_nmt.training.trainer import train_run

MASKED = {"kind": "masked", "norm": "post", "positions": "learned", "maximum_positions": 16}


def trained(folder, **options):
    """A tiny run, and a test set of 40 equal lines, raw and in tokens, of which one word in three is wrong."""
    experiment = make_experiment(folder, **{"pairs": 12} | options)
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    for path in (experiment.corpus / "valid.yy", experiment.tokenized / "valid.yy.cased"):
        write_lines(path, ["1 2 3"] * 40)
    write_hypotheses(experiment.hypotheses(RUN), {"valid": ["1 2 4"] * 40})
    for name in ("valid.xx", "valid.xx.cased"):
        write_lines(experiment.tokenized / name, ["1 2 3 4 5 6 7"] * 40)
    return experiment


def analysed(experiment):
    analyse_run(EvaluationFolder(experiment.folder), "plain", 1, device="cpu")
    return flat(read_rows(experiment.analyses(RUN)))


def test_a_run_s_analyses_are_those_of_its_model_and_of_its_translations(tmp_path):
    experiment = trained(tmp_path)
    corpus = BinarizedCorpus(experiment.binarized)
    model = load_run(experiment.model(RUN), torch.device("cpu"), corpus)
    units = corpus.side("valid", "xx").lengths.tolist()
    lengths = flat(bleu_by_length("valid", ["1 2 4"] * 40, [["1 2 3"] * 40], units, [7] * 40, tokenizer="13a"))
    assert lengths["words_of_tenth_10"] == 7
    lengths |= flat(tokenized_bleu_by_length("valid", ["1 2 4"] * 40, [["1 2 3"] * 40], [7] * 40))
    assert lengths["sentences_of_words_5"] == 40
    expected = flat(attention_measures(AnalysisInput(model, corpus, "valid", DecodingSettings()), {})) | lengths
    accuracies = {"ngram_accuracy_1": 66.666667, "ngram_accuracy_2": 50.0, "ngram_accuracy_3": 0.0}
    assert analysed(experiment) == expected | accuracies
    write_hypotheses(experiment.hypotheses(RUN), {"valid": ["1 2 4"] * 39})
    with pytest.raises(UserError, match="valid has 39 lines, its references have 40"):
        analysed(experiment)


def test_the_gates_of_a_run_are_read_word_by_word_where_gold_tags_are_known(tmp_path):
    slots = {"encoder_self_attention": {"mechanism": "context_aware_self_attention", "context": "global"}}
    experiment = trained(tmp_path, variants={"plain": {"slots": slots}})
    untagged = analysed(experiment)
    corpus = BinarizedCorpus(experiment.binarized)
    sources = [corpus.source_vocabulary.text(ids) for ids in corpus.parallel("valid")[0]]
    tagged = [{"xx": {"tokens": line.split(), "tags": ["CD"] * len(line.split())}} for line in sources]
    write_lines(experiment.tokenized / "valid.xx.cased", sources)
    write_lines(experiment.subwords / "valid.xx", sources)
    write_lines(experiment.corpus / "valid.gold.jsonl", map(json.dumps, tagged))
    with_tags = analysed(experiment)
    gates = {name for name in set(with_tags) - set(untagged) if "of_words" not in name}  # sources are shorter, too
    assert gates == {"gate_encoder_key_NUM", "gate_encoder_query_NUM"}
    assert with_tags["gate_encoder_key_NUM"] != with_tags["gate_encoder_key"]  # that is with END


def test_bleu_by_iterations_is_that_of_the_translations(tmp_path):
    variants = {"plain": {"model": MASKED, "decoding": {"iterations": 3, "length_beam": 2}}}
    training = {"maximum_updates": 150, "validate_every": 150, "maximum_sentence_length": 12}
    experiment = make_experiment(tmp_path, pairs=300, variants=variants, training=training)
    side = asdict(SideSettings(pretokenized=True, truecase=False))
    sides = {role: {"language": language} | side for role, language in (("source", "xx"), ("target", "yy"))}
    write_json(experiment.tokenized / "moses.json", sides)
    write_json(experiment.subwords / "units.json", asdict(UnitSettings(kind="words")))
    train_run(experiment, "plain", 1, device="cpu")
    average_run(experiment, "plain", 1)
    references = [f"{line} 7" for line in read_lines(experiment.subwords / "valid.yy")]
    for path in (experiment.corpus / "valid.yy", experiment.tokenized / "valid.yy.cased"):
        write_lines(path, references)
    for name in ("valid.xx", "valid.xx.cased"):
        write_lines(experiment.tokenized / name, references)

    def decoded(iterations):
        settings = asdict(DecodingSettings(iterations=iterations, length_beam=2))
        write_json(experiment.plan("plain", "decoding"), settings)
        decode_run(experiment, "plain", 1, device="cpu")
        return read_lines(experiment.decoded(RUN) / "valid.subwords.txt")

    translations = {number: decoded(number) for number in (1, 4, 10, 3)}
    write_hypotheses(experiment.hypotheses(RUN), {"valid": translations[3]})
    scores = {name: value for name, value in analysed(experiment).items() if "iterations" in name}
    assert scores == {
        f"bleu_of_iterations_{number}": pytest.approx(sacrebleu.corpus_bleu(lines, [references]).score, abs=1e-3)
        for number, lines in translations.items()
    }
    assert len(set(scores.values())) > 1


def test_ngrams_by_hand():
    """Of a b c, a a a right are a, b, a, a; a b, a a; nothing; and there is no 4-gram."""
    accuracies = flat(ngram_accuracy("test", ["a b c", "a a a"], ["a b d", "a a"], longest=4))
    assert list(accuracies) == ["ngram_accuracy_1", "ngram_accuracy_2", "ngram_accuracy_3"]
    assert list(accuracies.values()) == [pytest.approx(100 * 4 / 6, abs=1e-6), 50.0, 0.0]


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=12).map(" ".join), min_size=1, max_size=5))
def test_a_text_has_all_its_own_ngrams(lines):
    longest = max(len(line.split()) for line in lines)
    accuracies = flat(ngram_accuracy("test", lines, lines))
    assert accuracies == dict.fromkeys((f"ngram_accuracy_{n}" for n in range(1, min(longest, 10) + 1)), 100)


@given(st.lists(st.integers(0, 70), min_size=1, max_size=123))
def test_classes_and_tenths_of_lengths_have_every_sentence_once(lengths):
    classes, tenths = length_classes(lengths), equal_groups(lengths)
    for groups in (classes, tenths):
        assert sorted(line for lines in groups.values() for line in lines) == list(range(len(lengths)))
    assert all(min(lengths[line] // 10 * 10, 50) == first for first, lines in classes.items() for line in lines)
    assert all(abs(len(lines) - len(lengths) / 10) < 1 for lines in tenths.values())
    order = [(lengths[line], line) for _, lines in sorted(tenths.items()) for line in lines]
    assert order == sorted(order)


def test_empty_classes_and_tenths_are_left_out():
    assert length_classes([9, 50, 3]) == {0: [0, 2], 50: [1]}
    assert equal_groups([5, 3]) == {5: [1], 10: [0]}


def test_bleu_of_a_length_is_that_of_its_sentences():
    good, bad = "A man is eating a big cake .", "Nothing of this is ever right here ."
    lines, references = [good] * 30 + [bad] * 10, [[good] * 40, [good] * 40]
    scores = flat(
        bleu_by_length("test", lines, references, [5] * 20 + [15] * 20, [8] * 30 + [80] * 10, tokenizer="13a")
    )
    half = sacrebleu.corpus_bleu([good, bad], [[good, good]] * 2, force=True).score
    assert (scores["bleu_of_units_0"], scores["sentences_of_units_0"]) == (pytest.approx(100, abs=1e-3), 20)
    assert (scores["bleu_of_units_10"], scores["sentences_of_units_10"]) == (pytest.approx(half, abs=0.2), 20)
    assert [scores[f"bleu_of_tenth_{number}"] > 90 for number in (1, 7, 8, 10)] == [True, True, False, False]
    assert (scores["words_of_tenth_7"], scores["words_of_tenth_8"]) == (8, fmean([8] * 2 + [80] * 2))
    assert "bleu_of_units_20" not in scores


def test_tokenized_bleu_is_by_words_with_a_limit_at_twenty():
    good, bad = "ein Bild von Hamburg , das Dach ist neu .", "nichts davon ist hier richtig oder neu ."
    lines, references = [bad, bad, good, bad], [[good] * 4, [bad, bad, good, good]]
    scores = flat(tokenized_bleu_by_length("test", lines, references, [20, 16, 21, 99]))
    miss = sacrebleu.corpus_bleu([bad], [[good]], tokenize="none", smooth_method="none", force=True).score
    expected_scores = {15: 100, 20: 100, 45: miss}
    expected = {f"bleu_of_words_{limit}": pytest.approx(score, abs=1e-3) for limit, score in expected_scores.items()}
    assert scores == expected | {f"sentences_of_words_{limit}": 2 if limit == 15 else 1 for limit in expected_scores}
    (short,) = [row for row in tokenized_bleu_by_length("test", [good], [[good]], [0]) if not row.subject]
    assert short.measure.tag == "0"  # an empty source
