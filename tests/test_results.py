"""Scores of runs, their means over seeds, differences to baselines, tables and the focus."""

import csv
import json
import re
from dataclasses import replace

import pytest
from made_up_experiment import PARAMETERS, REFERENCE, evaluate_all, make_experiment, output, write_contrastive
from measured import write_flat

from context_nmt.files import UserError, read_json, read_lines, write_json, write_lines
from context_nmt.measures.evaluated import Evaluated
from context_nmt.measures.pairs import write_pairs
from context_nmt.measures.scores import score_run, score_variant
from context_nmt.report.markdown import format_results
from context_nmt.report.tables import write_tables
from context_nmt.results.flat import read_flat
from context_nmt.results.table import read_results, t_interval, write_focus
from context_nmt.settings.layout import run_name

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    experiment = evaluate_all(make_experiment(tmp_path_factory.mktemp("experiment")))
    write_tables(experiment)
    return experiment


def table_rows(page, title):
    section = page.split(f"\n## {title}")[1].split("\n## ")[0]
    return [line for line in section.split("\n") if line.startswith("|")]


def test_scores_of_a_run_cover_test_sets_and_groups(experiment):
    scores = read_flat(experiment.scores("transformer-1"))
    assert set(scores) == {"dev", "test", "both"}
    assert set(scores["dev"]) == {"sacrebleu", "chrf", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased"}
    assert "text:normalized+moses-de-sacremoses" in scores["dev"]["bleu_tokenized"]["signature"]
    assert scores["both"]["sacrebleu"]["signature"].startswith("mean of dev, test: nrefs:1")


def test_a_group_is_the_mean_of_its_members(tmp_path):
    experiment = make_experiment(tmp_path)
    lines = ["something else entirely"] * 40
    write_lines(experiment.hypotheses("alone-1") / "dev.detokenized.txt", lines)
    score_run(Evaluated(experiment.folder), "alone-1")
    scores = read_flat(experiment.scores("alone-1"))
    dev, test, both = (scores[name]["sacrebleu"]["score"] for name in ("dev", "test", "both"))
    assert dev < 1 < 90 < test
    assert both == pytest.approx((dev + test) / 2, abs=1e-4)


def test_a_bound_beside_the_test_set_is_scored_and_compared_with(tmp_path):
    experiment = make_experiment(tmp_path)
    bound = experiment.corpus / "test.bound.de"
    hypothesis = read_lines(experiment.hypotheses("gauss-1") / "test.detokenized.txt")
    write_lines(bound, hypothesis)
    score_run(Evaluated(experiment.folder), "gauss-1")
    scores = read_flat(experiment.scores("gauss-1"))
    assert scores["test"]["sacrebleu_bound"] == scores["test"]["sacrebleu"]
    assert scores["test"]["sacrebleu_of_bound"]["score"] == 100
    assert "sacrebleu_bound" not in scores["dev"]
    assert "sacrebleu_bound" not in scores["both"]
    write_lines(bound, read_lines(experiment.corpus / "test.de"))
    score_run(Evaluated(experiment.folder), "gauss-1")
    against = read_flat(experiment.scores("gauss-1"))["test"]
    assert against["sacrebleu_bound"]["score"] == 100
    assert against["sacrebleu_of_bound"]["score"] == scores["test"]["sacrebleu"]["score"]
    write_lines(bound, hypothesis[1:])
    with pytest.raises(UserError, match=r"test\.bound\.de has 39 lines for 40 sentences"):
        score_run(Evaluated(experiment.folder), "gauss-1")
    write_lines(bound, ["nothing"] * 40)
    with pytest.raises(UserError, match=r"test\.bound\.de scores 0 sacrebleu"):
        score_run(Evaluated(experiment.folder), "gauss-1")


def test_significance_follows_the_baseline_of_the_same_seed(experiment):
    first, second = (read_json(experiment.significance(f"gauss-{seed}"))["test"] for seed in (1, 2))
    assert first["baseline"] == read_flat(experiment.scores("transformer-1"))["test"]["sacrebleu"]["score"]
    assert second["baseline"] == read_flat(experiment.scores("transformer-2"))["test"]["sacrebleu"]["score"]
    assert (first["test"], first["p"]) == ("sign", first["sign"]["p"])
    again = read_json(experiment.significance("again-1"))["dev"]
    assert (again["test"], again["p"], again["difference"]) == ("bootstrap", 1, 0)
    assert read_json(experiment.significance("alone-1")) == {}


def test_results_are_means_and_deviations_over_seeds(experiment):
    results = read_json(experiment.metrics / "results.json")
    assert list(results) == sorted(PARAMETERS["variants"])
    values = [read_flat(experiment.scores(f"gauss-{seed}"))["test"]["chrf"]["score"] for seed in (1, 2)]
    summary = results["gauss"]["test"]["chrf"]
    assert summary["mean"] == pytest.approx(sum(values) / 2, abs=1e-4)
    assert summary["deviation"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5, abs=1e-4)
    assert summary["seeds"] == 2
    assert results["gauss"]["model"] == {"parameters": 2_000_000, "flops_per_target_token": 12_000_000}


def test_t_interval_of_known_values():
    assert t_interval([1.0, 3.0]) == pytest.approx((2 - 12.7062, 2 + 12.7062), abs=1e-3)  # t(0.975, 1) = 12.7062
    assert t_interval([1.0]) is None


def test_differences_only_where_there_is_a_baseline(experiment):
    results = read_results(experiment)
    gain = results.difference("gauss", "test", "sacrebleu")
    assert gain.mean > 5
    assert gain.interval[0] < gain.mean < gain.interval[1]
    assert gain.p < 0.01
    assert results.difference("gauss", "test", "chrf").p is None
    assert results.difference("gauss", "both", "sacrebleu").p is None
    assert results.difference("alone", "test", "sacrebleu") is None


def test_marks_need_significance_with_every_seed(experiment, tmp_path):
    assert read_results(experiment).difference("gauss", "dev", "sacrebleu").p == pytest.approx(2 * 0.5**9)
    other = evaluate_all(make_experiment(tmp_path))
    path = other.significance("gauss-2")
    comparison = read_json(path)
    comparison["dev"]["p"] = 0.03
    write_json(path, comparison)
    page = format_results(read_results(other))
    assert "†)" in table_rows(page, "dev")[3]
    assert "‡)" in table_rows(page, "test")[3]


@pytest.mark.parametrize("metric", ["sacrebleu", "bleu_tokenized", "bleu_compound_split", "bleu_lowercased"])
def test_the_tested_metric_has_the_mark_and_no_other(tmp_path, metric):
    settings = {"metric": metric, "resamples": 25, "seed": 1}
    results = read_results(evaluate_all(make_experiment(tmp_path, significance=settings, seeds=[1])))
    tested = [name for name in results.metrics("test") if results.difference("gauss", "test", name).p is not None]
    assert tested == [metric]
    comparison, score = results.comparisons["gauss"][0]["test"], results.scores["gauss"][0]["test"][metric]
    assert comparison["system"] == score["score"]
    assert comparison["signature"].removesuffix("|text:raw") == score["signature"]


def test_seeds_that_disagree_on_who_is_better_get_no_mark(tmp_path):
    """Both seeds differ significantly from the baseline, one up and one down."""
    experiment = make_experiment(tmp_path)
    better, worse = [REFERENCE, output(1, 1)]
    for seed, lines in ((1, better), (2, worse)):
        for test in experiment.settings.corpus.tests:
            for kind in ("tokenized", "detokenized"):
                write_lines(experiment.hypotheses(run_name("again", seed)) / f"{test}.{kind}.txt", lines)
    results = read_results(evaluate_all(experiment))
    assert all(run["dev"]["p"] < 0.05 for run in results.comparisons["again"])
    difference = results.difference("again", "dev", "sacrebleu")
    assert difference is not None
    assert difference.p == 1.0


def test_a_bootstrap_that_never_loses_is_as_small_as_its_resamples_allow(tmp_path):
    variants = PARAMETERS["variants"] | {"gauss": {"baseline": "transformer"}}
    settings = {"metric": "sacrebleu", "resamples": 25, "seed": 1}
    experiment = evaluate_all(make_experiment(tmp_path, variants=variants, significance=settings, seeds=[1]))
    difference = read_results(experiment).difference("gauss", "dev", "sacrebleu")
    assert (difference.p, difference.interval) == (1 / 25, None)
    page = format_results(read_results(experiment))
    assert "†)" in table_rows(page, "dev")[3]
    assert "**< 0.04**" in page
    assert " ± " not in table_rows(page, "dev")[3]


def test_markdown_shows_what_a_reader_needs(experiment):
    page = (experiment.metrics / "results.md").read_text(encoding="utf-8")
    rows = table_rows(page, "test\n")
    names = (
        "System | Parameters | MFLOPs | FLOPs / baseline | Training speed | Decoding speed | sacrebleu | bleu_tokenized"
    )
    assert rows[0].startswith(f"| {names} |")
    assert rows[2].startswith("| Transformer | 1,000,000 | 6.0 | - | 1.00 | 1.00 |")
    assert rows[3].startswith("| Gauss \\| half | 2,000,000 | 12.0 | 2.00 | 0.81 | - |")
    assert rows[4].startswith("| again | 3,000,000 | 18.0 | 3.00 | - | - |")
    assert "over those of a plain Transformer of equal size, width 4, an abacus, from benchmarks/variants.json" in page
    assert "(+0.00)" in rows[4]
    assert "(" not in rows[5]
    assert len({row.replace("\\|", "").count("|") for row in rows[:6]}) == 1
    assert "## both (mean of dev, test)" in page
    assert "Seeds: 1, 2." in page
    assert "100 resamples of 100%" in " ".join(page.split())
    assert page.count("`nrefs:1|") == 5


def test_a_masked_model_has_not_the_speed_of_an_autoregressive_one(experiment):
    results = read_results(experiment)
    masked = results.models["gauss"] | {"kind": "masked"}
    page = format_results(replace(results, models=results.models | {"gauss": masked}))
    assert table_rows(page, "test\n")[3].startswith("| Gauss \\| half | 2,000,000 | 12.0 | 2.00 | - | - |")


def test_a_score_with_another_signature_shows(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    scores = read_flat(experiment.scores("alone-2"))
    scores["dev"]["chrf"]["signature"] = "another|version"
    write_flat(experiment.scores("alone-2"), scores)
    assert "`another|version`, `nrefs:1|" in format_results(read_results(experiment))


def test_csv_has_a_row_per_variant_test_set_and_metric(experiment):
    with (experiment.metrics / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 3 * 5
    row = next(row for row in rows if row["variant"] == "gauss" and row["metric"] == "sacrebleu")
    assert row["baseline"] == "transformer"
    assert float(row["interval_low"]) < float(row["difference"]) < float(row["interval_high"])
    assert next(row for row in rows if row["variant"] == "alone")["difference"] == ""


def test_other_metrics_and_runs_that_lack_them(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    for seed in (1, 2):
        scores = read_flat(experiment.scores(f"gauss-{seed}"))
        scores["test"]["pronouns_cross"] = {"score": 60 + seed, "signature": "pairs:100"}
        write_flat(experiment.scores(f"gauss-{seed}"), scores)
    write_tables(experiment)
    results = read_json(experiment.metrics / "results.json")
    assert results["gauss"]["test"]["pronouns_cross"]["mean"] == 61.5
    assert "pronouns_cross" not in results["transformer"]["test"]
    rows = table_rows((experiment.metrics / "results.md").read_text(encoding="utf-8"), "test\n")
    assert rows[2].endswith("| - |")
    assert rows[3].endswith("| 61.50 ± 0.71 |")


def test_contrastive_sets_stand_beside_the_test_sets(tmp_path):
    corpus = PARAMETERS["corpus"] | {"contrastive": ["pronouns"]}
    experiment = evaluate_all(make_experiment(tmp_path, corpus=corpus))
    with pytest.raises(UserError, match=r"contrastive/transformer-1\.csv: no such file"):
        write_tables(experiment)
    write_contrastive(experiment)
    write_tables(experiment)
    summary = read_json(experiment.metrics / "results.json")["gauss"]["pronouns"]["pronouns_cross"]
    assert summary == {"mean": 71.0, "deviation": 0.7071, "seeds": 2}
    page = (experiment.metrics / "results.md").read_text(encoding="utf-8")
    summed, per_unit = page.split("\n## pronouns (contrastive)")[1].split("\n## ")[0].split("per unit:")
    assert "| System | all, 1,500 items | cross, 1,000 items |" in summed
    assert "| Gauss \\| half | 62.00 ± 0.00 (+2.00) | 71.00 ± 0.71 (+11.00) |" in summed
    assert "| Gauss \\| half | 52.00 ± 0.00 (+2.00) | 61.00 ± 0.71 (+11.00) |" in per_unit
    assert "- pronouns_cross: `items:1000|x`" in page
    with (experiment.metrics / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["variant"], row["metric"]): row for row in csv.DictReader(file) if row["test_set"] == "pronouns"}
    assert len(rows) == 4 * 4
    assert float(rows["gauss", "pronouns_cross"]["difference"]) == 11.0
    assert "pronouns" not in (experiment.metrics / "figures/bleu.svg").read_text(encoding="utf-8")
    write_flat(experiment.contrastive("gauss-2"), {})
    with pytest.raises(UserError, match=r"gauss-2\.csv has no scores of \['pronouns'\]; run the contrast stage again"):
        write_tables(experiment)


def test_measures_of_analyses_have_means_and_differences_as_scores_have(experiment):
    results = read_results(experiment)
    assert results.summary("gauss", "dev", "locality_entropy_2") == {"mean": 2.1, "deviation": 0.0141, "seeds": 2}
    assert results.difference("gauss", "dev", "locality_entropy_2").mean == 0.1
    assert results.difference("gauss", "dev", "locality_entropy_2").p is None
    assert results.difference("gauss", "dev", "local_share_1") is None  # the Transformer has no gate
    assert results.values("alone", "dev", "locality_entropy") == []
    assert results.values("gauss", "both", "locality_entropy") == []  # a group has no analyses
    assert results.numbers("dev", "locality_entropy") == [1, 2]
    assert results.numbers("dev", "ngram_accuracy") == list(range(1, 11))
    assert "locality_entropy" not in results.metrics("dev")


def test_a_page_shows_what_goes_on_inside(experiment):
    page = (experiment.metrics / "analyses.md").read_text(encoding="utf-8")
    entropy = table_rows(page, "Locality entropy")
    assert entropy[0] == "| System | all layers | all layers, mean map | layer 1 | layer 2 |"
    assert entropy[3] == (
        "| Gauss \\| half | 1.600 ± 0.014 (+0.100) | 2.600 ± 0.014 (+0.100)"
        " | 1.100 ± 0.014 (+0.100) | 2.100 ± 0.014 (+0.100) |"
    )
    assert entropy[5] == "| alone | - | - | 1.300 ± 0.014 | - |"
    local = table_rows(page, "Local cross-attention")
    assert local[2] == "| Gauss \\| half | 0.350 ± 0.014 | 0.600 ± 0.014 |"
    assert [row.split(" |")[0] for row in local] == ["| System", "| ---", "| Gauss \\| half"] * 2  # dev, test
    accuracy = table_rows(page, "N-gram accuracy")
    assert accuracy[0].endswith("| n = 9 | n = 10 |")
    assert accuracy[3].endswith("| 40.20 ± 0.03 (+0.20) |")
    for name in ("locality_entropy", "local_share", "ngram_accuracy"):
        assert f"(figures/{name}.svg)" in page
        assert (experiment.metrics / f"figures/{name}.svg").is_file()
    assert "[analyses.md](analyses.md)" in (experiment.metrics / "results.md").read_text(encoding="utf-8")
    with (experiment.metrics / "analyses.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["variant"], row["test_set"], row["metric"]): row for row in csv.DictReader(file)}
    assert len(rows) == 2 * (4 * 16 + 2 - 4)  # of `alone` 4 are not known, of `gauss` there are 2 more
    row = rows["gauss", "test", "locality_entropy"]
    assert (row["mean"], row["deviation"], row["seeds"], row["difference"]) == ("1.6", "0.0141", "2", "0.1")


def test_gates_have_a_row_for_each_of_their_sides_and_a_column_per_layer_or_tag(tmp_path):
    experiment = make_experiment(tmp_path)
    keys = {"": 0.5, "_1": 0.2, "_2": 0.8, "_VERB": 0.3, "_ADJ": 0.4}
    gates = {"gate_encoder_value_10": 0.9} | {f"gate_encoder_key{end}": value for end, value in keys.items()}
    lengths = {"bleu_of_units_0": 30, "bleu_of_units_50": 20.5, "sentences_of_units_0": 1234}
    lengths["sentences_of_units_50"] = 2
    for variant, measured in (("gauss", gates | lengths), ("transformer", lengths)):
        for seed in (1, 2):
            write_flat(experiment.analyses(f"{variant}-{seed}"), dict.fromkeys(("dev", "test"), measured))
    write_tables(evaluate_all(experiment))
    page = (experiment.metrics / "analyses.md").read_text(encoding="utf-8")
    rows = table_rows(page, "Gates")
    assert rows[0] == "| System | its layers | layer 1 | layer 2 | layer 10 |"
    assert rows[2:4] == [
        "| Gauss \\| half: encoder, keys | 0.500 ± 0.000 | 0.200 ± 0.000 | 0.800 ± 0.000 | - |",
        "| Gauss \\| half: encoder, values | - | - | - | 0.900 ± 0.000 |",
    ]
    rows = table_rows(page, "Gates by part of speech")
    assert rows[0] == "| System | ADJ | VERB |"
    assert rows[2] == "| Gauss \\| half: encoder, keys | 0.400 ± 0.000 | 0.300 ± 0.000 |"
    rows = table_rows(page, "BLEU by length")
    assert rows[0] == "| System | from 0, 1,234 sentences | from 50, 2 sentences |"
    assert rows[3] == "| Gauss \\| half | 30.00 ± 0.00 (+0.00) | 20.50 ± 0.00 (+0.00) |"
    pictures = {path.stem for path in (experiment.metrics / "figures").iterdir()}
    assert {"gates", "gates_by_tag", "bleu_of_units"} <= pictures
    texts = re.findall(r"<!-- (.*?) -->", (experiment.metrics / "figures/gates.svg").read_text(encoding="utf-8"))
    assert {"encoder, keys", "encoder, values", "Gates before attention, birds en-de, dev", "10"} <= set(texts)
    assert texts.index("1") < texts.index("2") < texts.index("10")


def test_what_no_system_has_is_said(tmp_path):
    """One system, without a baseline, a gate or attention that is shown."""
    variants = {"transformer": {}}
    experiment = make_experiment(tmp_path, variants=variants, train={"bitext": ["transformer"]}, focus="transformer")
    for seed in (1, 2):
        write_flat(
            experiment.analyses(f"transformer-{seed}"), {test: {"ngram_accuracy_1": 50} for test in ("dev", "test")}
        )
    write_tables(evaluate_all(experiment))
    page = (experiment.metrics / "analyses.md").read_text(encoding="utf-8")
    assert "No system shows its cross-attention." in page
    assert "No system has a gate between global and local cross-attention." in page
    assert "| Transformer" not in page
    assert table_rows(page, "N-gram accuracy")[2] == "| transformer | 50.00 ± 0.00 |"
    assert "figures/" not in page
    assert sorted(path.name for path in (experiment.metrics / "figures").iterdir()) == [
        "bleu.svg",
        "learning_curves.svg",
    ]


def test_what_one_run_lacks_its_system_lacks(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    write_flat(experiment.analyses("again-2"), {test: {"other": 1.0} for test in ("dev", "test")})
    write_tables(experiment)
    page = (experiment.metrics / "analyses.md").read_text(encoding="utf-8")
    assert table_rows(page, "Locality entropy")[4] == "| again | - | - | - | - |"


def test_analyses_that_are_missing_are_named(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    write_flat(experiment.analyses("gauss-2"), {"dev": {"other": 1.0}})
    with pytest.raises(UserError, match=r"gauss-2\.csv has no analyses of \['test'\]; run the analyse stage again"):
        write_tables(experiment)
    experiment.analyses("gauss-2").unlink()
    with pytest.raises(UserError, match=r"analyses/gauss-2\.csv: no such file"):
        write_tables(experiment)


def test_comparisons_that_are_missing_are_named(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    write_json(experiment.significance("again-2"), {"test": {}})
    with pytest.raises(UserError, match=r"again/2\.json has no comparisons of \['dev'\]; run the significance stage"):
        write_tables(experiment)


def test_focus_is_flat(experiment):
    write_focus(experiment)
    focus = json.loads((experiment.metrics / "focus.json").read_text(encoding="utf-8"))
    results = read_json(experiment.metrics / "results.json")
    assert set(focus) == {"dev", "test", "both", "model"}
    assert focus["test"]["chrf"] == results["gauss"]["test"]["chrf"]["mean"]
    assert focus["model"] == results["gauss"]["model"]


def test_same_bytes_on_a_second_run(experiment):
    def written():
        files = (path for path in experiment.metrics.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}

    before = written()
    evaluate_all(experiment)
    write_tables(experiment)
    assert written() == before


def test_runs_that_params_yaml_no_longer_has_are_left_out(tmp_path):
    experiment = evaluate_all(make_experiment(tmp_path))
    make_experiment(tmp_path, seeds=[2])
    changed = type(experiment)(tmp_path)
    write_tables(changed)
    assert read_json(changed.metrics / "results.json")["gauss"]["test"]["chrf"]["seeds"] == 1


def test_unknown_variants_and_missing_files_are_named(tmp_path):
    experiment = make_experiment(tmp_path)
    write_pairs(experiment)
    with pytest.raises(UserError, match=r"no variant 'gaus' in .*pairs; there are again, alone, gauss, transformer\. "):
        score_variant(Evaluated(experiment.folder), "gaus")
    with pytest.raises(UserError, match=r"transformer/1\.csv: no such file"):
        write_tables(experiment)
    write_json(experiment.metrics / "models.json", {"transformer": {}})
    with pytest.raises(UserError, match=r"does not describe \['gauss', 'again', 'alone'\]"):
        write_tables(experiment)
    write_lines(experiment.hypotheses("gauss-1") / "dev.detokenized.txt", ["only one"])
    with pytest.raises(UserError, match=r"dev\.de has 40 lines, .*dev\.detokenized\.txt has 1"):
        score_run(Evaluated(experiment.folder), "gauss-1")


def test_scores_without_a_new_test_set_are_named(tmp_path):
    evaluate_all(make_experiment(tmp_path))
    corpus = PARAMETERS["corpus"] | {"tests": ["dev", "test", "extra"]}
    with pytest.raises(UserError, match=r"transformer/1\.csv has no scores of \['extra'\]; run the evaluate stage"):
        write_tables(make_experiment(tmp_path, corpus=corpus))
