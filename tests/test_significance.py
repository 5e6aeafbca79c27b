"""Significance tests on made-up outputs whose verdict is known."""

import os
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from context_nmt.files import UserError, write_lines
from context_nmt.measures.bleu import score_raw_and_tokenized, score_tokenized
from context_nmt.measures.rows import TESTS
from context_nmt.results.file_comparison import compare_files, file_settings
from context_nmt.results.significance import compare
from context_nmt.settings.evaluation import SignificanceSettings
from context_nmt.settings.parameters import SignificanceTest

REFERENCE = [f"the {number} small birds sing in tree {number % 7} today" for number in range(60)]
WORSE = [line if number % 3 else line.replace("small birds", "big fish") for number, line in enumerate(REFERENCE)]
OTHER = [line.replace("sing in", "sit on") if number % 3 == 1 else line for number, line in enumerate(REFERENCE)]
SETTINGS = SignificanceSettings(metric="bleu_tokenized", resamples=200)
METRICS = get_args(SignificanceSettings.__annotations__["metric"])


def test_a_system_can_name_each_test():
    assert get_args(SignificanceTest) == TESTS


def compared(system, baseline, settings=SETTINGS, references=(REFERENCE,)):
    return compare(system, baseline, references, settings, tokenizer="13a", text="as-given")


@pytest.mark.parametrize(("system", "baseline"), [(WORSE, list(WORSE)), (["x y z"] * 60, ["u v w"] * 60)])
def test_equal_outputs_and_those_that_both_score_0_are_never_significant(system, baseline):
    result = compared(system, baseline)
    assert result["difference"] == 0
    assert [result[test]["p"] for test in TESTS] == [1] * len(TESTS)
    assert result["sign"] == {"p": 1, "better": 0, "worse": 0, "equal": 60}


def test_a_clearly_better_or_worse_system_is_significant_by_all_tests():
    result = compared(REFERENCE, WORSE)
    assert (result["system"], result["difference"] > 5) == (100, True)
    assert (result["bootstrap"]["wins"], result["sign"]["better"]) == (1, 20)
    assert result["sign"]["p"] == pytest.approx(2 * 0.5**20, rel=1e-4)
    assert result["sacrebleu"]["p"] == pytest.approx(1 / 201, abs=1e-6)  # the smallest that it knows
    assert "bs:200|seed:12345" in result["sacrebleu"]["signature"]
    assert result["randomization"] == {"p": pytest.approx(1 / 10001, abs=1e-6), "trials": 10000, "seed": 12345}
    result = compared(WORSE, REFERENCE)
    assert result["difference"] < -5
    assert (result["bootstrap"]["p"], result["bootstrap"]["losses"]) == (0, 1)
    assert (result["sign"]["better"], result["sign"]["worse"]) == (0, 20)


def test_gains_and_losses_that_cancel_are_not_significant():
    result = compared(WORSE, OTHER)
    assert result["sign"] == {"p": 1, "better": 20, "worse": 20, "equal": 20}
    assert min(result[test]["p"] for test in ("bootstrap", "sacrebleu", "randomization")) > 0.05


def test_the_bootstrap_is_as_two_sided_as_the_sign_test():
    """The resamples choose the better system, so its tail alone would be half of what the sign test gives."""
    reference, ratios = [REFERENCE[number % 60] + f" {number}" for number in range(200)], list[float]()
    for seed in range(8):
        random = np.random.default_rng(seed)
        better, worse = (
            [line if one else line.replace("small", "big") for line, one in zip(reference, kept, strict=True)]
            for kept in (random.random(200) > 0.12, random.random(200) > 0.18)
        )
        result = compared(better, worse, replace(SETTINGS, resamples=500), (reference,))
        if min(result[test]["p"] for test in ("bootstrap", "sign")) > 0.01:
            ratios.append(result["bootstrap"]["p"] / result["sign"]["p"])
    assert len(ratios) > 3
    assert 0.75 < np.exp(np.mean(np.log(ratios))) < 1.33


def test_half_size_resamples_spread_wider():
    other = [line if number % 4 else line.replace("small birds", "big fish") for number, line in enumerate(REFERENCE)]
    full, half = (compared(other, WORSE, replace(SETTINGS, sample_ratio=ratio)) for ratio in (1.0, 0.5))
    assert full["bootstrap"]["p"] < half["bootstrap"]["p"]
    with pytest.raises(UserError, match=r"sample_ratio 0\.5 of 1 sentences leaves none"):
        compared(["a b"], ["a c"], replace(SETTINGS, sample_ratio=0.5), [["a b"]])


def test_the_metric_decides_what_counts_as_a_difference():
    upper = [line.upper() for line in REFERENCE]
    for metric, difference in (("bleu_tokenized", -100), ("bleu_lowercased", 0)):
        assert compared(upper, REFERENCE, replace(SETTINGS, metric=metric, resamples=10))["difference"] == difference


def noisy(share, seed, lines=300):
    """Sentences, and a copy in which a share of the words is wrong."""
    random = np.random.default_rng(seed)
    reference = [" ".join(f"w{word}" for word in random.integers(50, size=12)) for _ in range(lines)]
    wrong = [[word if random.random() > share else "x" for word in line.split()] for line in reference]
    return reference, [" ".join(words) for words in wrong]


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_tested_and_better_is_better(metric):
    """Exchanging the outputs exchanges wins and losses, and changes no p."""
    (reference, better), (_, worse) = noisy(0.05, 1), noisy(0.12, 1)
    settings = replace(SETTINGS, metric=metric)
    result, exchanged = (compared(*both, settings, (reference,)) for both in ((better, worse), (worse, better)))
    assert result["difference"] == -exchanged["difference"]
    assert (result["difference"] < 0) == (metric == "ter")
    assert result["bootstrap"]["wins"] == exchanged["bootstrap"]["losses"] > 0.9
    assert result["sign"]["better"] > result["sign"]["worse"]
    for test in TESTS:
        assert 0 <= result[test]["p"] == exchanged[test]["p"] < 0.05
    scores = score_raw_and_tokenized(better, [reference], language="en", tokenizer="13a")
    assert result["system"] == scores[metric]["score"]  # no word has an inner mark, so tokens are the text


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("sacrebleu", sacrebleu.BLEU(force=True)),
        ("chrf_plus_plus", sacrebleu.CHRF(word_order=2)),
        ("ter", sacrebleu.TER()),
    ],
)
def test_p_values_are_those_of_sacrebleu(name, metric, monkeypatch):
    """But in the randomization, a trial as far apart as the outputs themselves counts; see `randomization`."""
    (reference, first), (_, second) = noisy(0.10, 2), noisy(0.11, 2)
    result = compared(first, second, replace(SETTINGS, metric=name), (reference,))
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    for ours, kind, count in (("sacrebleu", "bs", 200), ("randomization", "ar", 10000)):
        systems = [("baseline", second), ("system", first)]
        _, results = PairedTest(systems, {name: metric}, [reference], test_type=kind, n_samples=count)()
        ((_, theirs),) = (scores for key, scores in results.items() if key != "System")
        ties = 0.01 if (name, kind) == ("ter", "ar") else 0  # edits are few whole numbers
        assert theirs.p_value - 1e-6 < result[ours]["p"] < theirs.p_value + 1e-6 + ties


def test_outputs_that_differ_in_one_sentence_are_not_significant():
    """In each trial, the outputs are these two."""
    other = [REFERENCE[0].replace("small birds", "big fish"), *REFERENCE[1:]]
    result = compared(REFERENCE, other)
    assert (result["randomization"]["p"], result["sign"]["p"]) == (1, 1)


def test_compounds_are_split_on_all_three_sides_before_either_test():
    """The baseline errs in one half of a compound; the other half is right only where the compound is split."""
    reference = [line.replace("small birds", "bird-house") for line in REFERENCE]
    baseline = [line.replace("-house", "-cage") if number % 3 == 0 else line for number, line in enumerate(reference)]
    result = compared(reference, baseline, replace(SETTINGS, metric="bleu_compound_split"), references=(reference,))
    assert (result["metric"], result["system"]) == ("bleu_compound_split", 100)
    assert (result["sign"]["better"], result["bootstrap"]["wins"]) == (20, 1)
    whole = compared(reference, baseline, references=(reference,))
    assert (whole["system"], result["baseline"] > whole["baseline"]) == (100, True)
    for lines, name in ((reference, "system"), (baseline, "baseline")):
        score = score_tokenized(lines, [reference], text="as-given")["bleu_compound_split"]
        assert (result[name], result["signature"]) == (score["score"], score["signature"])


def test_further_references_are_used():
    result = compared(WORSE, REFERENCE, references=(REFERENCE, WORSE))
    assert result["system"] == result["baseline"] == 100


def test_same_bytes_again_and_nothing_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    for name, lines in {"system": OTHER, "baseline": WORSE, "reference": REFERENCE}.items():
        write_lines(tmp_path / name, lines)
    paths = [tmp_path / "system", tmp_path / "baseline", [tmp_path / "reference"]]
    np.random.seed(3)
    assert 0 < compare_files(*paths, SETTINGS, tmp_path / "first.json", language="en")["bootstrap"]["p"] < 1
    drawn = np.random.random(1000)[-1]
    compare_files(*paths, SETTINGS, tmp_path / "second.json", language="en")
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()
    np.random.seed(3)
    assert drawn == np.random.random(1000)[-1]
    assert os.environ["SACREBLEU_SEED"] == "7"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": "sacrebleu"}, "metric 'sacrebleu' is not for tokenized text; allowed: bleu_tokenized, bleu_comp"),
        ({"metric": "ter"}, "metric 'ter' is not for tokenized text"),
        (
            {"metric": "bleu_tokenized", "tokenized": False},
            "not for raw text; allowed: sacrebleu, chrf, chrf_plus",
        ),
        ({"resamples": 0}, "--resamples: .*, not 0"),
        ({"seed": 0}, "--seed: .*, not 0"),
        ({"sample_ratio": 1.5}, "--sample-ratio: .*, not 1.5"),
    ],
)
def test_bad_settings_are_refused(given, message):
    usual = {"tokenized": True, "metric": None, "resamples": 10, "sample_ratio": 1.0, "seed": 1}
    with pytest.raises(UserError, match=message):
        file_settings(**(usual | given))


def test_the_published_gain_of_hierarchical_attention_is_significant():
    folder = Path(os.environ.get("DATA_MIRROR", "")) / "han_outputs"
    if "DATA_MIRROR" not in os.environ or not folder.is_dir():
        pytest.skip("DATA_MIRROR has no han_outputs")
    names = ("TED_es-en_HA-enc-dec.en", "TED_es-en_baseline.en", "IWSLT14.TED.tst.tc.en")
    system, baseline, reference = ((folder / name).read_text(encoding="utf-8").split("\n")[:-1] for name in names)
    result = compared(system, baseline, references=(reference,))
    assert result["difference"] == pytest.approx(1.79, abs=0.005)
    assert all(result[test]["p"] < 0.01 for test in TESTS)
