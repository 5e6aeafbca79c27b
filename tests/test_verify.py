"""Claims that anyone can check: faults in a results tree are named, and statistics agree with another library."""

import csv
import os
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from itertools import accumulate, combinations
from math import sqrt
from pathlib import Path

import mpmath
import numpy as np
import pytest
import yaml
from made_up_experiment import PARAMETERS, evaluate_all, make_experiment, output, write_output
from measured import write_flat

from context_nmt.code_closure import digest_of_module, write_code_files
from context_nmt.files import UserError, read_json, write_json, write_lines
from context_nmt.measures.pairs import write_pairs
from context_nmt.measures.rows import Measure
from context_nmt.pipeline import retraining
from context_nmt.report import recomputation, verification
from context_nmt.report.claim_rows import claim_rows, write_claims
from context_nmt.report.power import pairs_of_paper, power_of, seeds_needed
from context_nmt.report.published import Claim, MeasureSpec, Preregistration, read_papers
from context_nmt.results.out_of_date import digest_of
from context_nmt.results.reading import read_all, write_results
from context_nmt.results.seed_tests import estimate_prior
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
SEEDS = [1, 2, 3, 4, 5]
BETTER = Claim(says="gauss is better", where="here", variant="gauss", primary=True)
SAME = Claim(says="again is better", where="here", variant="again", primary=True)
LOCAL = replace(BETTER, says="gauss is local", primary=False, measure=MeasureSpec(metric="locality_entropy"))
PAPER = replace(
    read_papers()["dual_contextual"],
    experiment="",
    tables=(),
    claims=(BETTER, SAME, LOCAL),
    shares_variance=False,
    preregistration=None,
)


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """An experiment with five seeds, its claims and its dvc.lock, as in git."""
    experiment = make_experiment(tmp_path_factory.mktemp("committed"), seeds=SEEDS)
    for variant in experiment.settings.variants:
        for seed in SEEDS:
            run = run_name(variant, seed)
            write_output(experiment, run, output({"transformer": 3, "gauss": 9}.get(variant, 4) + seed % 2, seed))
            write_flat(experiment.contrastive(run), {})
            write_json(experiment.contrastive_outcomes(run), {})
    evaluate_all(experiment)
    write_lock(experiment)
    (results,) = read_all(experiment)
    write_results(results)
    write_claims(experiment, claim_rows({"made_up": PAPER}, [results]))
    return experiment


def write_lock(experiment):
    """Write a dvc.lock in which every stage has run on the present files."""

    def entry(dependency, *outs):
        files = {path: digest_of(path) for path in (dependency, *outs)}
        named = [{"path": str(path.relative_to(experiment.folder)), "md5": digest} for path, digest in files.items()]
        return {"cmd": "python", "deps": named[:1], "outs": named[1:]}

    settings = yaml.safe_load(experiment.parameters.read_text())
    plan = {"params": {"params.yaml": {key: settings[key] for key in settings.keys() - {"seeds", "focus"}}}}
    stages = {"plan": plan, "tokenize": entry(experiment.stage_plan("text"), experiment.corpus)}
    stages["describe"] = entry(experiment.stage_plan("models"), experiment.models)
    for variant in experiment.settings.variants:
        pairs, scores = experiment.pairs(variant), experiment.scores(run_name(variant, 1)).parent
        stages[f"significance@{variant}"] = entry(pairs, scores)
        for run in (run_name(variant, seed) for seed in SEEDS):
            of_run = (experiment.hypotheses, experiment.contrastive, experiment.contrastive_outcomes)
            paths = [path(run) for path in (*of_run, experiment.analyses, experiment.curve)]
            stages[f"decode@{run}"] = entry(experiment.plan(variant, "decoding"), *paths)
    experiment.lock.write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")


@pytest.fixture
def tree(committed, tmp_path, monkeypatch):
    """A copy of it, which the papers' claims are replaced for, as the current folder."""
    folder = tmp_path / "tree"
    shutil.copytree(committed.folder, folder)
    monkeypatch.chdir(folder)
    for module in (verification, retraining):
        monkeypatch.setattr(module, "read_papers", lambda: {"made_up": PAPER})
    return Experiment(Path())


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_what_is_committed_agrees(tree, call):
    status, printed, _ = call("verify")
    assert status == 0
    lines = printed.splitlines()
    assert [line.split(":")[1] for line in lines[:3]] == [" agrees"] * 3
    assert lines[0] == "made_up/gauss-is-better: agrees: supported"
    assert lines[-1] == "not recomputed, taken from their rows: locality_entropy"


def change_translation(tree):
    lines = ["This is another translation.", *output(9, 1)[1:]]
    write_output(tree, "gauss-1", lines)
    return ["metrics/hypotheses/gauss-1.zip: its MD5", "metrics/scores/gauss/1.csv: gauss-1, sacrebleu on dev"]


def change_score(tree):
    path = tree.scores("gauss-1")
    row = next(line for line in path.read_text().splitlines() if line.startswith("gauss-1,dev,sacrebleu,"))
    edit(path, row, row.replace(row.split(",")[5], "99.5"))
    return ["metrics/scores/gauss/1.csv: gauss-1, sacrebleu on dev: 99.5 there"]


def change_analysis(tree):
    edit(tree.analyses("gauss-1"), "dev,locality_entropy,,,", "dev,locality_entropy,,,1")
    return ["metrics/analyses/gauss-1.csv: its MD5", "metrics/results.csv: gauss, locality_entropy on dev, mean"]


def change_mean(tree):
    lines = tree.results_table.read_text(encoding="utf-8").splitlines()
    row = next(line for line in lines if line.startswith("gauss,dev,sacrebleu,"))
    edit(tree.results_table, row, row.replace(row.split(",")[5], "99.5"))
    return ["metrics/results.csv: gauss, sacrebleu on dev, mean: 99.5 there"]


def change_reference(tree):
    lines = (tree.corpus / "dev.de").read_text(encoding="utf-8").splitlines()
    write_lines(tree.corpus / "dev.de", ["Another reference.", *lines[1:]])
    return ["data/birds: its MD5", "metrics/scores/gauss/1.csv: gauss-1, sacrebleu on dev"]


def change_verdict(tree):
    path = tree.metrics / "claims.json"
    content = read_json(path)
    content["claims"][0]["verdict"] = "against"
    write_json(path, content)
    return ["claims.json: made_up/gauss-is-better, verdict: against there, supported recomputed"]


def change_unread_system(tree):
    """The claim does not compare it, but the variance of all systems counts."""
    write_output(tree, "again-1", ["This is another translation.", *output(9, 1)[1:]])
    return ["metrics/hypotheses/again-1.zip: its MD5"]


def drop_from_lock(tree):
    lock = yaml.safe_load(tree.lock.read_text(encoding="utf-8"))
    del lock["stages"]["decode@gauss-1"]
    tree.lock.write_text(yaml.safe_dump(lock), encoding="utf-8")
    return ["metrics/hypotheses/gauss-1.zip: its MD5 in dvc.lock: no file there"]


CHANGES = [
    *(change_translation, change_score, change_analysis, change_mean, change_reference, change_verdict),
    *(change_unread_system, drop_from_lock),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found_and_named(tree, call, change):
    claim = "gauss-is-local" if change is change_analysis else "gauss-is-better"
    named = change(tree)
    status, printed, errors = call("verify", "made_up", claim)
    assert status == 1
    assert errors.splitlines()[-1].startswith("error: 1 of 1 claims differ")
    assert printed.startswith(f"made_up/{claim}: differs")
    for text in named:
        assert any(text in line for line in printed.splitlines()), (text, printed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "nobody"], "PAPER is 'nobody'; there are made_up"),
        (["verify", "made_up", "nothing"], "CLAIM is 'nothing'; made_up has gauss-is-better"),
        (["verify", "made_up", "--train", "--copy", "x"], "--train needs PAPER and CLAIM"),
        (["verify", "made_up", "--seeds", "1"], "--seeds and --copy need --train"),
        (["verify", "made_up", "gauss-is-better", "--train", "--copy", "x", "--seeds", "one"], "--seeds is 'one'"),
        (["verify", "made_up", "gauss-is-better", "--train"], "--train needs PAPER and CLAIM, and --copy"),
        (["power", "--difference", "0"], "--difference is 0"),
        (["power", "--difference", "nan"], "--difference is nan"),
        (["why", "train@nobody-1"], "STAGE is 'train@nobody-1'"),
    ],
)
@pytest.mark.usefixtures("tree")
def test_wrong_arguments_are_refused(call, arguments, message):
    status, _, errors = call(*arguments)
    assert status == 1
    assert message in errors.splitlines()[-1]


def test_a_file_that_is_cut_short_is_named_where_it_is(tree, call):
    path = tree.hypotheses("gauss-1")
    path.write_bytes(path.read_bytes()[:100])
    status, _, errors = call("verify")
    assert status == 1
    assert errors.splitlines()[-1].startswith(f"error: {path}: ")


def test_a_row_of_no_claim_is_found(tree, call):
    path = tree.metrics / "claims.json"
    content = read_json(path)
    write_json(path, content | {"claims": [*content["claims"], content["claims"][0] | {"id": "made_up/more"}]})
    status, printed, _ = call("verify")
    assert status == 1
    assert "made_up/more: differs" in printed


def test_nested_values_may_differ_in_rounding_only(tree, call):
    path = tree.metrics / "claims.json"
    content = read_json(path)
    loss = dict.fromkeys(("difference", "low", "high", "p", "adjusted_p"), 0.123456789) | {"verdict": "open"}
    recomputed = [{**row, "loss": loss} for row in content["claims"]]
    for change, is_same in ((1e-9, True), (1e-3, False)):
        rows = [{**row, "loss": loss | {"low": loss["low"] + change}} for row in recomputed]
        assert recomputation.is_same(rows, recomputed) is is_same


def test_nothing_to_check_is_an_error(tree, call, monkeypatch):
    none = replace(BETTER, variant="nobody", experiment="elsewhere")
    monkeypatch.setattr(verification, "read_papers", lambda: {"made_up": replace(PAPER, claims=(none,))})
    monkeypatch.setattr(verification, "claim_rows", lambda *_: [])
    status, _, errors = call("verify")
    assert status == 1
    assert "can test no claim" in errors


def test_outcomes_of_another_contrastive_set_are_found(committed, tmp_path):
    items = recomputation.Items("new", [[((), 0), ((), 1)]], [{"all"}])
    (results,) = read_all(committed)
    check = recomputation.Recomputation(results, tmp_path, set())
    path = committed.contrastive_outcomes("gauss-1")
    before = path.read_bytes()
    try:
        write_json(path, {"pronouns": ["old", {"accuracy": "1"}]})
        check._score_items(items, "gauss", 1, "pronouns")
    finally:
        path.write_bytes(before)
    (fault,) = check.faults("gauss", Measure("pronouns", "accuracy", tag="all"))
    assert (fault.path, fault.there, fault.recomputed) == (path, "old", "new")


def student_p(differences):
    """The two-sided p of Student's t test, as an incomplete beta function."""
    df = len(differences) - 1
    statistic = np.mean(differences) / np.std(differences, ddof=1) * sqrt(len(differences))
    return float(mpmath.betainc(df / 2, 0.5, 0, df / (df + statistic**2), regularized=True))


def student_quantile(df, tail):
    """The positive t whose upper tail is `tail`."""
    inverse = mpmath.findroot(
        lambda x: mpmath.betainc(df / 2, 0.5, 0, x, regularized=True) - 2 * tail, (1e-9, 1), solver="bisect"
    )
    return float(mpmath.sqrt(df / inverse - df))


def scores_by_seed(experiment, variant, seeds, metric, test_set):
    values = []
    for seed in seeds:
        with experiment.scores(run_name(variant, seed)).open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if (row["metric"], row["test_set"]) == (metric, test_set)]
        values += [float(row["value"]) for row in rows if row["run"] == run_name(variant, seed)]
    return np.array(values)


def test_p_values_are_those_of_another_library(committed):
    rows = {row["id"].partition("/")[2]: row for row in read_json(committed.metrics / "claims.json")["claims"]}
    variants = committed.settings.variants
    values = {name: scores_by_seed(committed, name, SEEDS, "sacrebleu", "dev") for name in variants}
    p = [student_p(values[name] - values["transformer"]) for name in ("gauss", "again")]
    assert [rows[f"{name}-is-better"]["p"] for name in ("gauss", "again")] == pytest.approx(p, rel=1e-4)
    ranked = sorted(range(2), key=lambda number: p[number])
    holm = list(accumulate(((2 - rank) * p[number] for rank, number in enumerate(ranked)), max))
    adjusted = [rows[f"{name}-is-better"]["adjusted_p"] for name in ("gauss", "again")]
    assert [adjusted[number] for number in ranked] == pytest.approx(np.minimum(holm, 1), rel=1e-4)


def test_committed_intervals_are_those_of_another_library():
    checked, quantiles, papers = 0, {}, read_papers()

    @cache
    def scores(folder, name, seeds, test_set):
        return scores_by_seed(Experiment(folder), name, seeds, "sacrebleu", test_set)

    for row in read_json(ROOT / "metrics/claims.json")["claims"]:
        is_of_gains = row["numbers"].startswith("gain of")
        if row["measure"] != "sacrebleu" or row["low"] is None or not row["others"] or is_of_gains:
            continue
        experiment = Experiment(ROOT / "experiments" / row["experiment"] if row["experiment"] else ROOT)
        seeds, names = tuple(row["seeds"]), (row["system"], row["others"][0])
        first, second = (scores(experiment.folder, name, seeds, row["test_set"]) for name in names)
        differences = first - second
        variance, freedom = np.var(differences, ddof=1), len(seeds) - 1
        if row["p"] is not None and papers[row["id"].partition("/")[0]].shares_variance:
            train = experiment.settings.train
            groups = (train.bitext, train.distilled, train.document, train.continued)
            group = next((group for group in groups if {row["system"], *row["others"]} <= {*group}), ())
            values = [scores(experiment.folder, name, seeds, row["test_set"]) for name in group]
            variances = [np.var(one - other, ddof=1) for one, other in combinations(values, 2)]
            if prior := estimate_prior(variances, freedom):
                weighted = prior.degrees_of_freedom * prior.variance + freedom * variance
                freedom += prior.degrees_of_freedom
                variance = weighted / freedom
        error = sqrt(variance / len(seeds))
        half = quantiles.setdefault(freedom, student_quantile(freedom, 0.025)) * error
        expected = (differences.mean(), differences.mean() - half, differences.mean() + half)
        assert (row["difference"], row["low"], row["high"]) == pytest.approx(expected, abs=2e-4), row["id"]
        checked += 1
    assert checked > 10


@pytest.fixture
def again(committed, tmp_path, monkeypatch):
    """A copy of the experiment that takes the place of runs that are trained again, with two seeds."""
    again = Experiment(tmp_path / "again")
    shutil.copytree(committed.folder, again.folder)
    again.parameters.write_text(yaml.safe_dump(PARAMETERS | {"seeds": [1, 2]}), encoding="utf-8")
    monkeypatch.setattr(retraining, "train_again", lambda *_: again)
    return again


TRAIN = ("verify", "made_up", "gauss-is-better", "--train", "--seeds", "1,2", "--copy", "elsewhere")


def set_value(experiment, value):
    path = experiment.scores("gauss-1")
    row = next(line for line in path.read_text().splitlines() if line.startswith("gauss-1,dev,sacrebleu,"))
    edit(path, row, row.replace(f",{row.split(',')[5]},", f",{value:.4f},"))


def set_processor(experiment, name):
    for path in (experiment.metrics / "curves").glob("*.csv"):
        header, *rows = path.read_text(encoding="utf-8").splitlines()
        write_lines(path, [f"{header},processor", *(f"{row},{name}" for row in rows)])


def test_a_new_run_is_equal_or_inside_or_outside(committed, tree, again, call):
    values = scores_by_seed(committed, "gauss", SEEDS, "sacrebleu", "dev")
    half = student_quantile(4, 0.01 / 4 / 2) * np.std(values, ddof=1) * sqrt(1 + 1 / 5)  # four runs
    with again.scores("transformer-1").open("a", encoding="utf-8") as file:  # a row that belongs to no run
        file.write("text,dev,sentences_of_text,,,2,\n")
    status, printed, _ = call(*TRAIN)
    assert status == 0
    assert printed.count("equal in every byte") == 4

    for shift, status in ((0.99 * half, 0), (1.01 * half, 1)):
        again.scores("gauss-1").write_bytes(tree.scores("gauss-1").read_bytes())
        set_value(again, values.mean() + shift)
        found, printed, errors = call(*TRAIN)
        assert found == status
        line = next(line for line in printed.splitlines() if line.startswith("gauss-1,"))
        assert ("outside" if status else "inside") in line
        assert "differs in metrics/scores/gauss/1.csv" in line
        assert status == 0 or errors.startswith("error: gauss-1, ")


@pytest.mark.parametrize(("processor", "status"), [("one", 1), ("another", 0)])
def test_other_bytes_fail_on_the_same_processor(committed, tree, again, call, processor, status):
    set_processor(tree, "one")
    set_processor(again, processor)
    set_value(again, scores_by_seed(committed, "gauss", SEEDS, "sacrebleu", "dev").mean())
    found, printed, _ = call(*TRAIN)
    assert found == status
    line = next(line for line in printed.splitlines() if line.startswith("gauss-1,"))
    assert ("same processor" if status else "inside") in line


def test_a_run_without_an_interval_passes_only_if_it_is_equal(tree, again, call):
    tree.parameters.write_text(yaml.safe_dump(PARAMETERS | {"seeds": [1, 2]}), encoding="utf-8")
    assert call(*TRAIN)[0] == 0
    set_value(again, 1)
    status, printed, errors = call(*TRAIN)
    assert status == 1
    assert "not checked" in errors
    assert printed.count("equal in every byte") == 3


def test_both_measures_of_a_system_are_compared(tree, again, call, monkeypatch):
    lower = replace(BETTER, variant="gauss", measure=MeasureSpec(metric="bleu_lowercased"))
    claim = replace(lower, against_measure=MeasureSpec(metric="sacrebleu"))
    monkeypatch.setattr(retraining, "read_papers", lambda: {"made_up": replace(PAPER, claims=(claim,))})
    _, printed, _ = call(*TRAIN)
    assert len([line for line in printed.splitlines() if line.startswith("gauss-")]) == 4
    assert "any of 4" in printed


def test_a_rerun_is_checked_by_its_own_verdicts(call, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder, claim = "experiments/miniature-dual-contextual-avx2", "enc-dc-is-better-than-the-transformer"
    status, printed, errors = call("verify", "dual_contextual", claim, "--experiment", folder)
    assert status == 0, errors
    assert printed.startswith(f"dual_contextual/{claim}: agrees: supported\n")
    outcome = retraining.designated_outcome(Experiment(Path(folder)), "dual_contextual", claim)
    assert outcome.results.settings.seeds == (6, 7, 8, 9, 10)


@pytest.mark.parametrize("copy", [".", "metrics", "../clone", "../empty"])
def test_a_copy_is_outside_the_project_and_at_its_commit(tree, copy):
    git(".", "init", "--quiet")
    git(".", "add", "--all")
    git(".", "commit", "--quiet", "--message", "run")
    git(".", "clone", "--quiet", ".", "../clone")
    git(".", "commit", "--quiet", "--allow-empty", "--message", "later")
    Path("../empty").mkdir()
    before = tree.parameters.read_bytes()
    outcome = retraining.designated_outcome(tree, "made_up", "gauss-is-better")
    with pytest.raises(UserError, match="--copy"):
        retraining.train_again(outcome, [3], Path(copy))
    assert tree.parameters.read_bytes() == before


def git(folder, *arguments):
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=os.environ | identity)


def test_training_again_runs_the_pipeline_in_a_clone_with_the_seeds(tree, tmp_path, monkeypatch):
    git(".", "init", "--quiet")
    git(".", "add", "--all")
    git(".", "commit", "--quiet", "--message", "run")
    commands, run = [], subprocess.run

    def without_training(command, **options):
        if command[0] == "git":
            return run(command, **options)
        commands.append((command[1:], options["cwd"]))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", without_training)
    copy = tmp_path / "copy"
    outcome = retraining.designated_outcome(tree, "made_up", "gauss-is-better")
    for _ in range(2):  # the second call continues in the same clone
        again = retraining.train_again(outcome, [3], copy)
        assert (again.folder, again.settings.seeds) == (copy, (3,))
        assert again.corpus.is_symlink() is False
    only = ["--only", "gauss", "--only", "transformer"]
    assert commands == [(["-m", "context_nmt", "repro", ".", *only], copy)] * 2
    assert tree.settings.seeds == tuple(SEEDS)


def test_why_names_changed_code_keys_and_data(tree, call):
    for name in ("__init__.py", "train.py"):
        write_lines(Path("stages") / name, ["steps = 1"])
    write_code_files(Path())
    shutil.copytree("data/birds", "data/own")
    code, plan = Path("src/code/train.json"), tree.plan("gauss", "training")
    write_json(plan, read_json(plan) | {"code": {}})
    stages = yaml.safe_load(tree.lock.read_text(encoding="utf-8"))["stages"]

    def record():
        deps = [{"path": str(path), "md5": digest_of(path)} for path in (code, plan, Path("data/own"))]
        stages["train@gauss-1"] = {"cmd": "python ./stages train gauss 1", "deps": deps, "outs": []}
        tree.lock.write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")

    record()
    assert "nothing has changed" in call("why", "train@gauss-1")[1]
    present = code.read_bytes()
    write_json(code, read_json(code) | {"stages/train.py": "earlier"})
    record()
    git(".", "init", "--quiet")
    git(".", "add", "src/code", "metrics/plans")
    git(".", "commit", "--quiet", "--message", "run")
    for content in (code.read_bytes(), present):  # also before src/code is written again
        code.write_bytes(content)
        assert call("why", "train@gauss-1")[1] == "src/code/train.json, read by train@gauss-1: stages/train.py\n"
    content = read_json(plan)
    content["training"] = content.get("training", {}) | {"seen": 7}
    write_json(plan, content)
    write_lines(Path("data/own/test.de"), ["else"])
    _, plan_line, data_line = call("why", "train@gauss-1")[1].splitlines()
    assert plan_line == f"{plan}, read by train@gauss-1: training.seen was None and is 7"
    assert data_line == "data/own, read by train@gauss-1: has changed"


def test_why_names_a_changed_mechanism_the_text_of_a_stage_and_changed_parameters(tree, call):
    """Code that a plan names, what an earlier stage wrote, and params.yaml before the plan stage runs again."""
    Path("ideas").mkdir()
    write_lines(Path("ideas/own.py"), ["steps = 1"])
    plan, text = tree.plan("gauss", "training"), Path("data/made")
    write_json(plan, {"code": {"ideas.own": "earlier", "ideas.missing": "earlier"}})
    shutil.copytree("data/birds", text)
    stages = yaml.safe_load(tree.lock.read_text(encoding="utf-8"))["stages"]
    made, inside = ({"path": str(path), "md5": digest_of(path)} for path in (text, text / "test.de"))
    stages["download@made"] = {"cmd": "python ./stages download made", "deps": [], "outs": [made]}
    deps = [made, {"path": str(plan), "md5": digest_of(plan)}, inside]
    stages["train@gauss-1"] = {"cmd": "python ./stages train gauss 1", "deps": deps, "outs": []}
    tree.lock.write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")
    lines = call("why", "train@gauss-1")[1].splitlines()
    assert [line.split(":")[1].split()[3] for line in lines] == ["ideas.missing", "ideas.own"]
    write_json(plan, {"code": {"ideas.own": digest_of_module("ideas.own", Path())}})
    deps[1]["md5"] = digest_of(plan)
    tree.lock.write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")
    assert "nothing has changed" in call("why", "train@gauss-1")[1]
    write_lines(text / "test.de", ["else"])
    parameters = yaml.safe_load(tree.parameters.read_text(encoding="utf-8"))
    parameters["variants"]["gauss"]["label"] = "Other"
    tree.parameters.write_text(yaml.safe_dump(parameters), encoding="utf-8")
    *text_lines, parameters_line = call("why", "train@gauss-1")[1].splitlines()
    assert text_lines == [f"{path}: has changed since train@gauss-1 read it" for path in (text, text / "test.de")]
    assert "repro plan" in parameters_line


@pytest.mark.parametrize(("difference", "deviation", "level"), [(1.0, 1.0, 0.05), (0.5, 0.6, 0.05), (1.0, 0.9, 0.0125)])
def test_the_number_of_seeds_has_the_power_in_a_simulation(difference, deviation, level):
    seeds = seeds_needed(difference, deviation, 0.8, level)
    random = np.random.default_rng(1)

    def share(count):
        samples = random.normal(difference, deviation, (20_000, count))
        statistics = samples.mean(axis=1) / samples.std(axis=1, ddof=1) * sqrt(count)
        return (abs(statistics) > student_quantile(count - 1, level / 2)).mean()

    assert share(seeds) > 0.79
    assert share(seeds - 1) < 0.81


def test_power_is_a_number_for_a_large_difference():
    assert all(power_of(difference, 0.05, 5, 0.0125) == pytest.approx(1) for difference in (1, 2, 5))
    assert seeds_needed(5, 0.05, 0.9, 0.0125) == 5


def test_the_level_is_that_of_primary_claims(committed):
    registered = Preregistration(commit="", seeds=(1,), level=0.04)
    paper = replace(PAPER, preregistration=registered)
    assert pairs_of_paper(paper, read_all(committed))[1] == pytest.approx(0.02)


def test_why_of_a_test_names_only_its_systems(tree, call):
    write_pairs(tree)
    stages = yaml.safe_load(tree.lock.read_text(encoding="utf-8"))["stages"]
    folders = [tree.metrics / "hypotheses", tree.metrics / "contrastive"]
    deps = [{"path": str(path), "md5": digest_of(path)} for path in folders]
    stages["pair"] = {
        "cmd": "python",
        "deps": deps,
        "outs": [{"path": "runs/pairs", "md5": digest_of(tree.runs / "pairs")}],
    }
    tree.lock.write_text(yaml.safe_dump({"stages": stages}), encoding="utf-8")
    assert "nothing has changed" in call("why", "significance@gauss")[1]
    plan = tree.plan("again", "decoding")
    plan.unlink()
    assert "nothing has changed" in call("why", "significance@gauss")[1]
    lines = call("why", "significance@again")[1].splitlines()
    assert lines == [f"{plan}, read by decode@again-{seed}: no file" for seed in SEEDS]
    write_output(tree, "gauss-1", output(2, 1))
    assert "runs/pairs/gauss.json, read by significance@gauss" in call("why", "significance@gauss")[1]


def test_power_is_shown_for_each_pair_and_pooled(tree, call):
    status, printed, _ = call("power", ".")
    assert status == 0
    lines = printed.splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == ["gauss - transformer", "again - transformer", "pooled"]
    values = [scores_by_seed(tree, name, SEEDS, "sacrebleu", "dev") for name in ("gauss", "transformer")]
    assert f"{np.std(values[0] - values[1], ddof=1):.2f}" in lines[2]
