"""Claims of papers: their verdicts over seeds, what cannot be tested, and the rows that all pages show."""

import fnmatch
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from made_up_experiment import evaluate_all
from measured import assert_golden, read_claims
from scipy import stats
from shown import texts
from test_figures import legend_of
from test_report import PAPER, changed, changed_columns, made_up

from context_nmt.files import read_json, write_lines
from context_nmt.measures.rows import Measure, Row
from context_nmt.report import further_verdicts, verdicts
from context_nmt.report.claim_rows import (
    JUDGED_ELSEWHERE,
    ClaimRow,
    claim_rows,
    counts_of,
    write_claims,
)
from context_nmt.report.further_verdicts import read_pilot
from context_nmt.report.outcomes import outcomes_of
from context_nmt.report.pictures import draw_claims
from context_nmt.report.published import Claim, MeasureSpec, Preregistration, papers_judged_by, read_papers
from context_nmt.report.verdicts import (
    VERDICTS,
    Confound,
    answers_claim,
    read_confounds,
    without_invalid_p,
)
from context_nmt.report.writing import Chapter
from context_nmt.results import seed_tests
from context_nmt.results.reading import read_all
from context_nmt.results.seed_tests import Sample, estimate_prior, holm
from context_nmt.results.speeds import Speeds, architecture
from context_nmt.settings.parameters import Experiment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
CASES = yaml.safe_load((ROOT / "tests/claims.yaml").read_text(encoding="utf-8"))

CLEAR, MIXED = (0.9, 1.0, 1.1, 1.0, 0.9), (0.5, -0.6, 0.9, -0.4, 0.2)
WEAK, LOW = (0.2, 1.6, 0.9, 1.4, 0.4), (-0.9, -1.0, -1.1, -1.0, -0.9)
GATE = Measure("test", "gate", 1)
GATES = MeasureSpec(metric="gate", layer=1)
OPENS = Claim(says="it opens", where="here", variant="dual_context_encoder", measure=GATES)
BLEU = Measure("test", "bleu_made_up")
SCORES = replace(OPENS, says="it scores", measure=MeasureSpec(metric="bleu_made_up"))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    (results,) = read_all(evaluate_all(made_up(tmp_path_factory.mktemp("experiment"))))
    return results


def opened(results, gate=GATE, **values):
    """The same experiment with a gate for some variants: one number, or a number for each seed."""
    rows = dict(results.rows)
    for variant, numbers in values.items():
        by_seed = numbers if isinstance(numbers, tuple) else (numbers,) * len(results.settings.seeds)
        for seed, value in zip(results.settings.seeds, by_seed, strict=True):
            rows[variant, seed] = [*rows.get((variant, seed), ()), Row(gate, value)]
    return replace(results, rows=rows)


def five_seeds(results, gate=GATE, **differences):
    """The same experiment with five seeds, in which a measure differs from the Transformer's 4 by these numbers."""
    values = {variant: tuple(4.0 + value for value in values) for variant, values in differences.items()}
    results = changed(results, seeds=tuple(range(1, 6)))
    return opened(results, gate=gate, transformer=4.0, **values)


def in_folder(first, results):
    """The same experiment, as one of experiments/."""
    inside = changed(results, root="../..")
    object.__setattr__(inside.experiment, "folder", first.experiment.folder)
    return inside


def judged(experiments, *claims, **paper):
    """The rows of one paper's claims, in one experiment or several."""
    paper = replace(PAPER, tables=(), claims=claims, experiment="", **paper)
    return claim_rows({"paper": paper}, experiments if isinstance(experiments, list) else [experiments])


def words(results, *claims, **paper):
    return [row.verdict for row in judged(results, *claims, **paper)]


OTHERS = ("lexical_shortcuts_fusion", "han_joint")


def cases(section):
    """The cases of claims.yaml, with tuples as settings have them."""

    def settings(value):
        return {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}

    return [[settings(value) if isinstance(value, dict) else value for value in case] for case in CASES[section]]


@pytest.mark.parametrize(("measure", "differences", "claim", "word"), cases("judged"))
def test_a_claim_is_judged_by_its_differences_over_seeds(first, measure, differences, claim, word):
    by_variant = dict(zip(("dual_context_encoder", *OTHERS), differences, strict=False))
    results = five_seeds(first, BLEU if measure == "bleu" else GATE, **by_variant)
    assert words(results, replace(SCORES if measure == "bleu" else OPENS, **claim)) == [word]


def test_a_document_system_has_the_control_that_continues_the_same_system_as_its_rival(first):
    results = opened(first, transformer=4.0, lexical_shortcuts_fusion=4.5, dual_context_encoder=5.0)
    variants, train = results.settings.variants, results.settings.train
    slots = {"encoder_output": {"mechanism": "hierarchical_attention"}}
    encoder = replace(variants["dual_context_encoder"], slots=slots)

    def rivals(*document, **control):
        bitext = tuple(name for name in variants if name not in document)
        in_documents = replace(
            train, bitext=bitext, distilled=(), document=document, continued=(), document_start="transformer"
        )
        changed_control = replace(variants["lexical_shortcuts_fusion"], **{"slots": {}, "training": {}} | control)
        changed_variants = variants | {"dual_context_encoder": encoder, "lexical_shortcuts_fusion": changed_control}
        changes = {"variants": changed_variants, "train": in_documents}
        (outcome,) = outcomes_of(PAPER, replace(OPENS, against=("transformer",)), [changed(results, **changes)])
        return [rival.variant for rival in outcome.rivals]

    both = ("dual_context_encoder", "lexical_shortcuts_fusion")
    assert rivals(*both) == ["lexical_shortcuts_fusion"]
    assert rivals(*both, slots=slots) == ["transformer"]  # not a control
    assert rivals(*both, training={"maximum_updates": 7}) == ["transformer"]  # continues in another way
    assert rivals("dual_context_encoder") == ["transformer"]  # the other one continues nothing
    assert rivals() == ["transformer"]


def test_an_equivalence_is_tested_at_its_own_level(first):
    """There are two one-sided tests at 5%, as in scipy: p is not doubled."""
    differences = (0.3, -0.2, 0.25, -0.1, 0.2)
    (row,) = judged(five_seeds(first, BLEU, dual_context_encoder=differences), replace(SCORES, direction="equal"))
    above = stats.ttest_1samp(differences, -0.5, alternative="greater").pvalue
    below = stats.ttest_1samp(differences, 0.5, alternative="less").pvalue
    assert row.p == pytest.approx(max(above, below), rel=1e-9)
    assert row.verdict == "supported"


@pytest.mark.parametrize(("seeds", "named"), [((1, 2, 3, 4, 5, 6, 7), "6, 7"), ((1, 2, 3), "4, 5")])
def test_a_preregistered_claim_is_judged_on_its_seeds_alone(first, seeds, named):
    results = five_seeds(first, dual_context_encoder=CLEAR)
    (row,) = judged(results, OPENS, preregistration=Preregistration(commit="c", seeds=seeds, level=0.04))
    assert (row.verdict, row.adjusted_p, row.kind) == ("open", None, "seeds")
    assert row.reason.endswith(named)
    right = Preregistration(commit="c", seeds=(1, 2, 3, 4, 5), level=0.04)
    assert words(results, OPENS, preregistration=right) == ["supported"]


def test_a_rerun_judges_the_claims_on_its_systems_by_its_own_seeds(first):
    results = in_folder(first, five_seeds(first, dual_context_encoder=CLEAR))
    plan = Preregistration(commit="c", seeds=tuple(range(1, 11)), level=0.04, reruns=(results.folder,))
    second_look = Preregistration(commit="d", seeds=(1, 2), level=0.01)
    claims = {
        "here": OPENS,
        "without its rival": replace(OPENS, against=("lacking",)),
        "with other systems": replace(OPENS, variant="lacking", smaller=("dual_context_encoder", "transformer")),
        "in a second look": replace(OPENS, experiment="more", preregistration=second_look),
        "judged elsewhere": replace(OPENS, experiment="another"),
        "cost": replace(OPENS, measure=MeasureSpec(metric="training_speed")),
    }
    claims = tuple(replace(claim, says=name) for name, claim in claims.items())
    paper = replace(PAPER, tables=(), experiment="whole", claims=claims, preregistration=plan)
    again = papers_judged_by(results, {"paper": paper})["paper"]
    here = [claim.says for claim in again.claims if claim.experiment == results.folder]
    assert here == ["here", "with other systems"]
    assert again.claims[3:] == paper.claims[3:]

    rows = claim_rows({"paper": again}, [results])
    judged_here = [row for row in rows if row.kind != JUDGED_ELSEWHERE]
    found = [(row.verdict, row.seeds, row.preregistered) for row in judged_here]
    assert found == [("supported", [1, 2, 3, 4, 5], False)] * 2
    assert all(row.adjusted_p == pytest.approx(2 * row.p) for row in judged_here)  # of four tests, two have p = 1
    chapter = Chapter("paper", again, rows, [])
    assert not chapter.preregistered
    assert {"whole", "2"} <= {*chapter.rerun.replace("(", " ").split()}

    for wrong in (first, changed(results, seeds=(1, 11))):  # another experiment, and seeds that are not preregistered
        assert papers_judged_by(wrong, {"paper": paper})["paper"] == paper


def test_preregistered_claims_are_counted_even_if_they_cannot_be_tested(first):
    plan = Preregistration(commit="c", seeds=(1, 2, 3, 4, 5), level=0.04)
    cost = replace(OPENS, says="cost", measure=MeasureSpec(metric="training_speed"))
    for primary in (True, False):
        claims = [replace(OPENS, says=says, primary=primary) for says in ("tested", "not run")]
        claims[1] = replace(claims[1], variant="never")
        results = five_seeds(first, dual_context_encoder=WEAK)
        tested, not_run, _ = judged(results, *claims, cost, preregistration=plan)
        assert tested.adjusted_p == pytest.approx(2 * tested.p)
        assert (not_run.verdict, not_run.adjusted_p) == ("open", None)
        tested, not_run, _ = judged(results, *claims, cost)
        assert tested.adjusted_p == tested.p
        assert not_run.verdict == "cannot be tested here"


def test_a_second_look_has_seeds_of_its_own_and_stays_in_the_family(first):
    plan, again = (Preregistration(commit="c", seeds=tuple(range(1, 4 + look)), level=0.04) for look in (1, 2))
    results = five_seeds(first, dual_context_encoder=CLEAR)
    more = replace(changed(results, root="elsewhere"), name="more")
    claims = [
        replace(OPENS, says="one", primary=True),
        replace(OPENS, says="two", primary=True, experiment=more.folder),
    ]
    once, twice = judged([results, more], claims[0], replace(claims[1], preregistration=again), preregistration=plan)
    assert (once.reason, twice.verdict) == ("not preregistered: seed 5", "supported")
    assert twice.adjusted_p == pytest.approx(2 * twice.p)
    paper = replace(PAPER, claims=(claims[0], replace(claims[1], preregistration=again)), preregistration=plan)
    told = Chapter("paper", paper, [once, twice], []).preregistered
    assert told.endswith(
        "seeds 1 to 4 (1 open), and in a second look at “two”, in commit c, seeds 1 to 5 (1 supported)"
    )


def test_a_second_look_changes_nothing_for_claims_without_one(first):
    plan, again = (Preregistration(commit=commit, seeds=(1, 2, 3, 4, 5), level=0.04) for commit in ("first", "second"))
    results = five_seeds(first, dual_context_encoder=WEAK)
    more = replace(five_seeds(changed(first, root="elsewhere"), dual_context_encoder=CLEAR), name="more")
    one, two = (replace(OPENS, says=says, primary=True) for says in ("one", "two"))
    once, twice = judged(
        [results, more], one, replace(two, experiment=more.folder, preregistration=again), preregistration=plan
    )
    assert once.adjusted_p == pytest.approx(2 * once.p)  # the first look at `two` has the same p
    assert twice.p < once.p
    assert twice.adjusted_p == pytest.approx(2 * twice.p)


def test_only_primary_claims_are_judged_at_the_preregistered_level(first):
    results = five_seeds(first, dual_context_encoder=WEAK)
    (row,) = judged(results, OPENS)
    assert row.adjusted_p < 0.05
    strict = Preregistration(commit="c", seeds=(1, 2, 3, 4, 5), level=row.adjusted_p / 2)
    assert words(results, OPENS, preregistration=strict) == ["supported"]
    assert words(results, replace(OPENS, primary=True), preregistration=strict) == ["leaning"]


def test_a_preregistered_claim_stands_beside_what_the_pilot_showed(first, tmp_path, monkeypatch):
    held, turned, undecided = (replace(OPENS, says=says) for says in ("held", "turned", "undecided"))
    pilot = ["claim,difference,low,high,verdict", "paper/held,0.5,0.1,0.9,supported"]
    pilot += ["paper/turned,-0.5,-0.9,-0.1,against", "paper/undecided,0.5,-0.1,1.1,open"]
    write_lines(tmp_path / "pilot.csv", pilot)
    monkeypatch.setattr(further_verdicts, "PILOT_FILE", tmp_path / "pilot.csv")
    read_pilot.cache_clear()
    plan = Preregistration(commit="c", seeds=(1, 2, 3, 4, 5), level=0.04)
    rows = judged(five_seeds(first, dual_context_encoder=CLEAR), held, turned, undecided, preregistration=plan)
    chapter = Chapter("paper", replace(PAPER, preregistration=plan), rows, [])
    assert (
        "2 of 3 differences have the same sign; it would have decided 2 of these claims, 1 of them"
        in chapter.after_pilot
    )
    assert rows[0].detail_cells[-1] == "pilot, seeds 1 to 5: +0.50 [+0.10 … +0.90], supported"
    (row,) = judged(five_seeds(first, dual_context_encoder=CLEAR), held)
    read_pilot.cache_clear()
    assert row.pilot is None


def test_a_primary_claim_is_tested_once_more_by_the_loss(first):
    results = five_seeds(first, BLEU, dual_context_encoder=MIXED, lexical_shortcuts_fusion=MIXED)
    results = five_seeds(results, Measure("test", "nll"), dual_context_encoder=LOW, lexical_shortcuts_fusion=MIXED)
    primary, secondary, of_a_gate = (
        replace(SCORES, primary=True),
        replace(SCORES, says="two"),
        replace(OPENS, primary=True),
    )
    other = replace(primary, says="three", variant="lexical_shortcuts_fusion")
    better, other, secondary, of_a_gate = judged(results, primary, other, secondary, of_a_gate)
    assert (better.verdict, better.loss.verdict, other.loss.verdict) == ("open", "supported", "open")
    assert better.loss.difference == -0.98
    assert better.loss.adjusted_p == 2 * better.loss.p  # Holm's correction for two losses
    assert better.loss.p == pytest.approx(stats.ttest_1samp(LOW, 0).pvalue)
    assert secondary.loss is None
    assert of_a_gate.loss is None


@given(st.lists(st.floats(-3, 3).map(lambda value: round(value, 2)), min_size=1, max_size=12))
def test_without_a_prior_the_test_is_student_s(differences):
    sample = Sample(tuple(differences))
    if len(differences) == 1:
        assert (sample.standard_error, sample.interval(), sample.p_above(0)) == (0.0, None, 1.0)
        return
    if np.ptp(differences) == 0:
        mean = round(differences[0], 4)
        assert (sample.standard_error, sample.interval(), sample.p_above(0)) == (0.0, (mean, mean), 1.0)
        return
    assert sample.p_above(0.1) == pytest.approx(stats.ttest_1samp(differences, 0.1, alternative="greater").pvalue)
    assert sample.p_below(0.1) == pytest.approx(stats.ttest_1samp(differences, 0.1, alternative="less").pvalue)
    interval = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert sample.interval() == pytest.approx((interval.low, interval.high), abs=1e-4)


def test_the_prior_of_variances_is_limma_s():
    """Golden values from squeezeVar of R's limma 3.54.1: var.prior and df.prior."""
    variances = (0.12, 0.45, 0.08, 0.9, 0.31, 0.22, 0.05, 1.4)
    for freedom, golden in ((40, (0.1625641757, 2.360511362)), (4, (0.2509286512, 3.733515661))):
        prior = estimate_prior(variances, freedom)
        assert (prior.variance, prior.degrees_of_freedom) == pytest.approx(golden, rel=1e-8)
    equal = estimate_prior((0.3, 0.31, 0.29, 0.3, 0.3), 4)  # limma has infinitely many degrees of freedom
    assert (equal.variance, equal.degrees_of_freedom) == (pytest.approx(0.3), 4)
    assert estimate_prior((0.3, 0.31, 0.29, 0.3, 0.0), 4) is None  # so few say too little


def test_a_variance_is_drawn_towards_those_between_systems_that_are_trained_alike(first, monkeypatch):
    monkeypatch.setattr(seed_tests, "MINIMUM_PRIOR_VARIANCES", 3)
    noisy = {"lexical_shortcuts_fusion": (1.1, -0.8, 0.2, -1.0, 0.6)}
    results = five_seeds(first, dual_context_encoder=(0.7, 0.1, 0.5, 0.15, 0.4), **noisy)
    assert words(results, OPENS, shares_variance=False) == ["supported"]
    assert words(results, OPENS) == ["open"]  # so small a spread is luck
    (row,) = judged(results, OPENS)
    assert row.degrees_of_freedom > 4
    assert "supported without a shared variance" in row.caveat
    assert not judged(results, OPENS, shares_variance=False)[0].caveat
    still = five_seeds(first, dual_context_encoder=(1.0,) * 5, **noisy)
    assert words(still, OPENS) == ["open"]  # a prior alone is no test
    train = replace(
        first.settings.train, bitext=("transformer", "dual_context_encoder"), document=("han_joint", *noisy)
    )
    assert words(changed(results, train=train), OPENS) == ["supported"]
    monkeypatch.setattr(seed_tests, "MINIMUM_PRIOR_VARIANCES", 4)
    assert words(results, OPENS) == ["supported"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_p_values_are_corrected_for_their_number(p_values):
    corrected = holm(p_values)
    for p, corrected_p in zip(
        p_values, corrected, strict=True
    ):  # rejected if all smaller ones pass their own threshold
        smaller = sorted(other for other in p_values if other <= p)
        steps = [min(1.0, (len(p_values) - rank) * other) for rank, other in enumerate(smaller)]
        assert corrected_p == pytest.approx(max(steps[: smaller.index(p) + 1]))


def test_primary_claims_share_holm_s_correction_and_the_others_that_of_benjamini_and_hochberg(first):
    results = five_seeds(first, dual_context_encoder=WEAK, lexical_shortcuts_fusion=CLEAR)
    weak, clear = OPENS, replace(OPENS, variant="lexical_shortcuts_fusion")
    p_alone = judged(results, weak, shares_variance=False)[0].p
    assert 0.01 < p_alone < 0.05

    def adjusted(*claims):
        return [row.adjusted_p for row in judged(results, *claims, shares_variance=False)]

    primary = [replace(claim, primary=True) for claim in (weak, clear)]
    assert adjusted(*primary)[0] == pytest.approx(p_alone)  # the smallest p comes first and takes the larger factor
    assert adjusted(*[primary[0]] * 4) == pytest.approx([4 * p_alone] * 4)
    assert adjusted(*[weak] * 4) == pytest.approx([p_alone] * 4)
    assert adjusted(*primary, weak, weak)[2:] == pytest.approx([p_alone] * 2)  # families do not count each other
    against = replace(primary[0], direction="lower")
    for claim, verdict in ((primary[0], "leaning"), (against, "leaning against")):
        assert words(results, *[claim] * 4, shares_variance=False) == [verdict] * 4
    untested = [replace(weak, variant="never"), replace(weak, experiment="another")]
    assert adjusted(weak, *untested * 5)[0] == pytest.approx(p_alone)  # only tests that were made are counted


TRAINS = replace(OPENS, says="it trains", measure=MeasureSpec(metric="training_speed"), direction="lower")
SPEEDS = CASES["costs"][0][0]  # of the Transformer's, round by round


def with_rounds(results, **rounds):
    """The same experiment with speeds of training by variant, relative to the Transformer's, in each round."""
    count = len(next(iter(rounds.values())))
    measured = {
        name: {**architecture(results.models[name]), "training": {"median": 0.5, "rounds": values}}
        for name, values in ({"transformer": (1.0,) * count} | rounds).items()
    }
    return replace(results, speeds=Speeds("an abacus", "width 4", measured))


@pytest.mark.parametrize(("speeds", "claim", "word"), cases("costs"))
def test_a_cost_is_judged_by_the_rounds_of_its_measurement(first, speeds, claim, word):
    results = with_rounds(changed(first, seeds=(1,)), dual_context_encoder=speeds)
    (row,) = judged(results, replace(TRAINS, **claim))
    assert (row.verdict, row.caveat, row.seeds) == (word, "one machine", [])
    assert row.difference == pytest.approx(np.mean(speeds) - 1, abs=1e-4)
    interval = stats.ttest_1samp(np.array(speeds) - 1, 0).confidence_interval(0.95)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high), abs=1e-4)


def test_two_costs_are_paired_by_round_and_differ_by_a_share_of_the_other(first):
    """Both are slow in the same rounds, so that their ratio is steady."""
    slow, others = (0.4, 0.8, 0.6, 0.5, 0.7), ("lexical_shortcuts_fusion",)
    results = with_rounds(
        first, dual_context_encoder=slow, lexical_shortcuts_fusion=[2.001 * speed for speed in slow[:4]] + [1.4]
    )
    (row,) = judged(results, replace(TRAINS, against=others))
    assert row.difference == pytest.approx(-0.5002, abs=1e-4)
    assert row.verdict == "supported"
    rounds = {"dual_context_encoder": (0.48, 0.49, 0.47, 0.48, 0.49), "lexical_shortcuts_fusion": (0.5,) * 5}
    near = {"against": others, "direction": "not_lower"}  # 4% less is 2% of the Transformer's speed
    claims = [replace(TRAINS, **near, margin=margin) for margin in (0.1, 0.03)]
    assert words(with_rounds(first, **rounds), *claims) == ["supported", "open"]


def claim_cases(first):
    """Yield a name, experiments, claims of one paper about them, and other keys of the paper."""
    system, fusion, joint = "dual_context_encoder", *OTHERS
    clear = five_seeds(first, dual_context_encoder=CLEAR)
    mixed = five_seeds(first, dual_context_encoder=CLEAR, lexical_shortcuts_fusion=MIXED, han_joint=LOW)
    four = [replace(OPENS, says=name, variant=name) for name in (system, fusion, joint, "never")]
    yield "each verdict", [mixed], four, {"shares_variance": False}
    for count in range(1, 6):
        yield f"{count} seeds", [changed(clear, seeds=tuple(range(1, count + 1)))], [OPENS], {}
    yield "judged by another experiment", [clear], [replace(OPENS, experiment="second")], {}
    yield "out of date", [replace(clear, out_of_date=(system,))], [OPENS], {}
    gains = replace(OPENS, against=(fusion,), gains=True)
    yield "a baseline is out of date", [replace(mixed, out_of_date=("transformer",))], [gains], {}
    yield "one system of several is missing", [clear], [replace(OPENS, against=(fusion, "transformer"))], {}
    yield "with a note", [clear], [replace(OPENS, note="by design")], {}
    other = replace(changed(clear, root="elsewhere"), name="other")
    yield "another experiment with the recipe", [clear, other], [OPENS], {}
    yield "it stands in for one that is out of date", [replace(clear, out_of_date=("transformer",)), other], [OPENS], {}
    chats = five_seeds(first, dual_context_encoder=LOW)
    chats = changed(chats, corpus=replace(first.settings.corpus, name="chats"), root="elsewhere")
    yield "another text disagrees", [clear, chats], [OPENS], {}
    train = {"bitext": ("transformer", fusion), "teachers": ("transformer",), "distilled": (system,)}
    distilled = changed(clear, train=replace(first.settings.train, **train))
    yield "different training text", [distilled], [OPENS], {}
    recipes = [replace(first.settings.training, label_smoothing=number / 9) for number in range(3)]
    others = [
        opened(changed(first, training=training, root="elsewhere"), transformer=4.0, han_joint=gate)
        for training, gate in zip(recipes, (5.0, 6.0, 3.0), strict=True)
    ]
    question = replace(OPENS, says="does it open?", where="", variant=joint, direction="lower")
    yield "our question, of a longer training", [*others, five_seeds(first, han_joint=CLEAR)], [question], {}
    signed_otherwise = {
        run: [replace(row, signature="another") if run[0] == "transformer" else row for row in rows]
        for run, rows in clear.rows.items()
    }
    yield "scored differently", [replace(clear, rows=signed_otherwise)], [OPENS], {}
    same = {(name, seed): "Xeon" for name in ("transformer", system) for seed in range(1, 6)}
    second = {("transformer", seed): "EPYC" for seed in range(1, 6)}
    yield "one processor", [replace(clear, processors=same)], [OPENS], {}
    yield "one seed on another", [replace(clear, processors=same | {("transformer", 4): "EPYC"})], [OPENS], {}
    stale = replace(clear, processors=same | second, out_of_date=("transformer",))
    yield "all seeds on another, out of date", [stale], [OPENS], {}

    tagged, tags = five_seeds(first), {"rare": (6.0, 6.1, 5.9, 6.0, 6.1), "some": (5.0, 5.1, 5.2, 4.9, 5.0)}
    for tag, values in tags.items():
        tagged = opened(tagged, gate=Measure("test", "hits", tag=tag), dual_context_encoder=values)
    rare = replace(OPENS, measure=MeasureSpec(metric="hits", tag="rare"), against_tags=("some", "many"))
    yield "a tag has no number", [tagged], [rare], {}
    tagged = opened(tagged, gate=Measure("test", "hits", tag="many"), dual_context_encoder=(5.9, 6.3, 5.8, 6.1, 6.0))
    equal = replace(rare, direction="equal", margin=0.5)
    claims = [replace(rare, against_tags=("some",)), rare, equal, replace(equal, against_tags=("many",))]
    yield "against other tags", [tagged], claims, {}

    human = [replace(OPENS, direction="lower", to="human"), replace(OPENS, direction="higher", to="human")]
    yield "no human translation", [clear], human[:1], {}
    measured = {("transformer", 1): [*clear.rows["transformer", 1], Row(GATE, 5.5, subject="human")]}
    yield "against the human translation", [replace(clear, rows=clear.rows | measured)], human, {}

    # the mean is nearest to the steady system, but only the other one is in doubt
    doubt = five_seeds(first, dual_context_encoder=(2.0,) * 5, han_joint=(-0.5, 1.9, 0.2, -1.5, 1.4), **{fusion: CLEAR})
    yield "the system whose p decides comes first", [doubt], [replace(OPENS, against=OTHERS)], {}
    half = {fusion: [curve[:10] for curve in first.curves[fusion]]}
    short = replace(five_seeds(first, dual_context_encoder=CLEAR, **{fusion: MIXED}), curves=first.curves | half)
    against = replace(OPENS, against=("transformer", fusion))  # with as many updates as the system, and with half
    yield "tokens are those of the system that is shown", [short], [against, replace(against, direction="lower")], {}

    speeds = with_rounds(first, dual_context_encoder=SPEEDS)
    elsewhere = replace(changed(speeds, root="elsewhere"), name="other")
    yield "costs depend on no training", [replace(speeds, out_of_date=(system,)), elsewhere], [TRAINS], {}
    yield "four rounds", [with_rounds(first, dual_context_encoder=SPEEDS[:4])], [TRAINS], {}
    yield "one round", [first], [TRAINS, replace(TRAINS, variant=joint)], {}


def test_claims_of_every_kind_have_the_rows_of_before(first):
    """Other tests here check the statistics; this test checks who is compared, and how a row describes it."""
    rows_by_case = {}
    for name, experiments, claims, paper in claim_cases(first):
        rows = judged(experiments, *claims, **paper)
        rows_by_case[name] = [" · ".join(counts_of(rows)), *map(said, rows)]
    assert_golden(
        yaml.safe_dump(rows_by_case, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None),
        "claims.yaml",
    )


def said(row):
    """Return the values of a row, except empty values and values that all rows share."""
    constant_fields = {
        "id",
        "paper",
        "says",
        "place",
        "family",
        "alike",
        "published",
        "published_decimals",
        "topic",
        "preregistered",
        "decimals",
        "level",
    }
    values = row.model_dump(exclude=constant_fields) | {"shown": " | ".join(row.detail_cells)}
    return {
        key: round(value, 6) if isinstance(value, float) else value
        for key, value in values.items()
        if value not in ("", None, [])
    }


@pytest.mark.parametrize(("value", "claim", "agrees"), cases("agrees"))
def test_a_claim_goes_one_way_or_the_other(first, value, claim, agrees):
    results = opened(first, transformer=4.0, dual_context_encoder=value)
    (outcome,) = outcomes_of(PAPER, replace(OPENS, table="Table 4", **claim), [results])
    assert outcome.agrees is agrees
    assert f"Both & <more> {value:.2f}, " in outcome.numbers()


def outcome_cases(first):
    """Yield a name, a paper, a claim and experiments."""
    fusion, three = OTHERS[0], opened(first, transformer=4.0, lexical_shortcuts_fusion=4.5, dual_context_encoder=5.0)
    against = replace(OPENS, against=("transformer", fusion, "never"))
    yield "the hardest", PAPER, against, three
    yield "the hardest for a lower value", PAPER, replace(against, direction="lower"), three
    yield "the hardest for equality", PAPER, replace(against, direction="equal", margin=0.2), three
    yield "gains", PAPER, replace(OPENS, against=(fusion,), gains=True), three

    tagged = first
    for layer, values in ((1, (4.0, 6.0)), (2, (1.0, 2.0))):
        for tag, value in zip(("A", "B"), values, strict=True):
            gate = Measure("test", "gate", layer, tag)
            tagged = opened(tagged, gate=gate, dual_context_encoder=value, transformer=value - layer)
    means = MeasureSpec(metric="gate", layer=(1, 2), tag=("A", "B", "C"))
    yield "a mean of the tags that there are", PAPER, replace(OPENS, measure=means), tagged
    top, bottom = (MeasureSpec(metric="gate", layer=layer, tag=("A", "B")) for layer in (-1, 1))
    two = replace(OPENS, measure=top, against_measure=bottom)
    yield "two layers", PAPER, two, tagged
    yield "a layer and itself", PAPER, replace(two, against_measure=top), tagged
    yield "no such tag", PAPER, replace(OPENS, measure=MeasureSpec(metric="gate", tag="C")), tagged

    better = replace(OPENS, measure=MeasureSpec(metric="sacrebleu"), table="Table 1")
    dev = {languages: _on(PAPER, "Table 1", test_set="dev", languages=languages) for languages in ("en-de", "fr-de")}
    yield "on the table's text", dev["en-de"], better, first
    yield "on text in other languages", dev["fr-de"], better, first
    yield "only on the table's text", dev["en-de"], replace(better, own_text=True), first
    yield "only on text in other languages", dev["fr-de"], replace(better, own_text=True), first
    elsewhere, replica = _on(PAPER, "Table 1", test_set="elsewhere"), replace(better, replica=GATES)
    yield "another measure on other text", elsewhere, replica, three
    yield "no other measure on the table's text", _on(PAPER, "Table 1", test_set="test"), replica, three
    column = replace(better, table="Table 2", columns=("vi_en",))
    table_2 = _on(PAPER, "Table 2", test_set="dev", languages="en-de")
    yield "a column", table_2, column, first
    yield "not on the text of other columns", _on(table_2, "Table 2", {"vi_en"}, test_set="elsewhere"), column, first

    filling = {"mechanism": "multi_head_attention"}
    deep = {name: model | {"slots": {"decoder_self_attention": [filling]}} for name, model in first.models.items()}
    deeper = deep | {"transformer": deep["transformer"] | {"slots": {"decoder_self_attention": [filling] * 2}}}
    yield "equally deep", PAPER, OPENS, replace(three, models=deep)
    yield "not equally deep", PAPER, OPENS, replace(three, models=deeper)
    smaller = replace(OPENS, smaller=(fusion, "dual_context_encoder"))
    yield "smaller systems", PAPER, smaller, replace(three, models=deeper)


def _on(paper, name, columns=(), **changes):
    """The paper without claims, in which some or all columns of scores of a table are about other text."""
    return replace(changed_columns(paper, name, columns, **changes), claims=())


def test_who_is_compared_on_which_measure(first):
    """Outcomes are described by their numbers, and by whether they are on the text of the claim's table."""
    numbers_by_case = {}
    for name, paper, claim, results in outcome_cases(first):
        outcomes = outcomes_of(paper, claim, [results])
        numbers_by_case[name] = [
            outcome.numbers() + (", own text" if outcome.is_own_text else "") for outcome in outcomes
        ]
    assert_golden(yaml.safe_dump(numbers_by_case, sort_keys=False, allow_unicode=True, width=120), "outcomes.yaml")


def test_a_claim_is_counted_once_for_each_recipe(first):
    again = replace(changed(first, root="elsewhere"), name="again")
    longer = replace(changed(first, training=replace(first.settings.training, maximum_updates=7)), name="longer")
    claim = replace(OPENS, measure=None)
    for experiments, expected in (([again, first], [""]), ([first, longer], ["", "longer"])):
        assert [outcome.results.name for outcome in outcomes_of(PAPER, claim, experiments)] == expected


def with_confound(monkeypatch, keys):
    monkeypatch.setattr(verdicts, "read_confounds", lambda: [Confound(short="a fault", says="So.", **keys)])


@pytest.mark.parametrize(("keys", "fits"), cases("confounds"))
def test_a_confounded_comparison_has_no_verdict_and_its_numbers_are_in_brackets(monkeypatch, first, keys, fits):
    with_confound(monkeypatch, keys)
    results = five_seeds(first, dual_context_encoder=CLEAR)
    (row,) = judged(results, OPENS)
    assert row.verdict == ("cannot be tested here" if fits else "supported")
    (document,) = judged(five_seeds(first, han_joint=CLEAR), replace(OPENS, variant="han_joint"))
    assert document.kind != "confounded" or "from_scratch" not in keys  # it continues another system
    assert words(with_rounds(first, dual_context_encoder=SPEEDS), TRAINS) == ["supported"]  # no training changes it
    if fits:
        (old,) = judged(replace(results, out_of_date=("transformer",)), OPENS)
        assert old.caveat == "a fault; out of date"
        assert (row.kind, row.caveat, row.reason, row.p) == ("confounded", "a fault", "So.", None)
        assert row.result_text == "(+0.98 [+0.88 … +1.08])"
        assert row.verdict_text == "cannot be tested here: confounded, a fault"


def test_the_project_s_confounds_are_about_systems_and_corpora_that_there_are():
    settings = [Experiment(path.parent).settings for path in ROOT.glob("experiments/*/params.yaml")]
    variants = {name for experiment in settings for name in experiment.variants}
    for confound in read_confounds():
        assert set(confound.corpora) <= {experiment.corpus.name for experiment in settings}
        for pattern in (*confound.systems, *confound.against):
            assert fnmatch.filter(variants, pattern), pattern
        assert len(confound.short.split()) <= 6
        assert confound.systems or not confound.against


def test_every_claim_has_a_row_of_its_own_in_a_file_that_says_what_it_means(first, tmp_path):
    experiment = replace(first.experiment, folder=tmp_path)
    rows = claim_rows(read_papers(), [first])
    write_claims(experiment, rows)
    assert read_claims(experiment) == rows
    path = tmp_path / "metrics/claims.json"
    assert len({row.id for row in rows}) == len(rows) == sum(len(paper.claims) for paper in read_papers().values())
    content = read_json(path)
    assert set(content["schema"]["properties"]) == set(content["claims"][0])
    assert all(field["description"] for field in content["schema"]["properties"].values())
    table = pd.read_csv(path.with_suffix(".csv"))
    assert list(table.columns) == [name for name in ClaimRow.model_fields if name not in {"loss", "pilot", "elsewhere"}]
    assert table["verdict"].tolist() == [row.verdict for row in rows]
    assert {row.verdict for row in rows} <= set(VERDICTS)


def test_a_row_has_what_another_library_needs_to_compute_its_p(first):
    (row,) = judged([five_seeds(first, dual_context_encoder=WEAK)], OPENS)
    p = 2 * stats.t.sf(abs(row.difference / row.standard_error), row.degrees_of_freedom)
    assert row.p == pytest.approx(p, rel=1e-4)
    assert row.p == pytest.approx(stats.ttest_1samp(WEAK, 0).pvalue, rel=1e-4)
    half = stats.t.ppf(0.975, row.degrees_of_freedom) * row.standard_error
    assert (row.low, row.high) == pytest.approx((row.difference - half, row.difference + half), abs=1e-3)


def test_a_row_has_what_its_verdict_follows_from(first):
    plan = Preregistration(commit="c", seeds=(1, 2, 3, 4, 5), level=0.04)
    differences = (0.1, -0.1, 0.05, -0.05, 0.02)
    claim = replace(SCORES, primary=True, preregistration=plan)
    (row,) = judged([five_seeds(first, BLEU, dual_context_encoder=differences)], claim)
    above = stats.ttest_1samp(differences, -0.5, alternative="greater").pvalue
    below = stats.ttest_1samp(differences, 0.5, alternative="less").pvalue
    assert row.adjusted_p > row.level == 0.04
    assert row.p_no_difference == pytest.approx(max(above, below), rel=1e-4)
    assert (row.p_no_difference < 0.05, row.verdict) == (True, "no difference")
    (row,) = judged([five_seeds(first, dual_context_encoder=differences)], OPENS)
    assert (row.level, row.p_no_difference, row.verdict) == (0.05, None, "open")


def test_the_report_of_an_experiment_has_only_claims_that_it_judges_or_can_test(first):
    claims = [
        replace(OPENS, says=f"{variant} {experiment}", variant=variant, experiment=experiment)
        for variant, experiment in (("dual_context_encoder", "another"), ("never", "another"), ("never", "inside"))
    ]
    assert len(judged([five_seeds(first)], *claims)) == 3
    inside = in_folder(first, five_seeds(first, dual_context_encoder=CLEAR))
    assert inside.folder == first.experiment.folder.name
    plan = Preregistration(commit="c", seeds=(1, 2), level=0.04)
    claims = [
        replace(claim, experiment=claim.experiment.replace("inside", inside.folder), preregistration=plan)
        for claim in claims
    ]
    rows = judged(inside, *claims)
    assert [(row.says, row.kind, row.verdict, row.numbers) for row in rows] == [
        ("dual_context_encoder another", "judged elsewhere", "cannot be tested here", ""),
        ("never inside", "not run", "open", ""),
    ]
    assert [other.difference for other in rows[0].elsewhere] == [0.98]
    for shown, is_told in ((rows[:1], False), (rows, True)):
        chapter = Chapter("paper", replace(PAPER, claims=tuple(claims), preregistration=plan), shown, [])
        assert bool(chapter.preregistered) is is_told


def test_the_picture_is_linear_in_bleu_and_tells_verdicts_apart_without_colour(first, tmp_path):
    results = five_seeds(first, BLEU, dual_context_encoder=CLEAR, lexical_shortcuts_fusion=MIXED, han_joint=LOW)
    claims = [
        replace(SCORES, says=f"{variant} scores", variant=variant, primary=True, published=0.7)
        for variant in ("dual_context_encoder", "lexical_shortcuts_fusion", "han_joint")
    ]
    rows = judged(results, *claims, replace(OPENS, says="in another unit"))
    assert draw_claims({"A paper": rows, "Another": []}, tmp_path / "claims.svg")
    shown = texts(tmp_path / "claims.svg")
    assert {"A paper", *(claim.says for claim in claims)} <= set(shown)
    assert not {"Another", "in another unit"} & set(shown)
    assert {"supported", "against", "open", "published"} <= set(shown)
    _, shapes = legend_of(tmp_path / "claims.svg")
    assert len(set(shapes)) == len(shapes) == 4
    ticks = [float(text.replace("−", "-")) for text in shown if re.fullmatch(r"−?[\d.]+", text)]  # noqa: RUF001
    assert len({round(after - before, 6) for before, after in pairwise(ticks) if after > before}) == 1
    beyond = rows[0].model_copy(update={"difference": 43.8, "low": 20.0, "high": 68.0})
    assert draw_claims({"A paper": [beyond, *rows[1:]]}, tmp_path / "beyond.svg")
    shown = texts(tmp_path / "beyond.svg")
    assert "+43.8 →" in shown
    assert max(float(text) for text in shown if re.fullmatch(r"[\d.]+", text)) <= 8
    nothing = judged(first, replace(SCORES, variant="never", published=0.7))
    assert not draw_claims({"A paper": nothing}, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_a_difference_that_answers_no_claim_has_no_mark(monkeypatch, first):
    measure = Measure("test", "sacrebleu")
    assert without_invalid_p(first, "dual_context_encoder", measure) == first.estimate("dual_context_encoder", measure)
    assert first.estimate("dual_context_encoder", measure).gain.p is not None
    with_confound(monkeypatch, {"systems": ("dual_*",)})
    unmarked = without_invalid_p(first, "dual_context_encoder", measure)
    assert (unmarked.mean, unmarked.gain.p) == (first.estimate("dual_context_encoder", measure).mean, None)
    assert not answers_claim(first, "dual_context_encoder", measure)
