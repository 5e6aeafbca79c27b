"""Score the runs of a variant and test them against the baseline's runs."""

from collections.abc import Iterator, Sequence
from typing import Any

from context_nmt.files import UserError
from context_nmt.measures.contrastive import read_items, read_outcomes
from context_nmt.measures.discourse import DocumentScorer
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import MCNEMAR, TESTS, Row, row, write_rows
from context_nmt.measures.scored_text import PRETOKENIZED_BY_SCRIPT, token_origin
from context_nmt.measures.scores import read_scoring_inputs, score_rows, size_rows
from context_nmt.progress import Progress
from context_nmt.results.significance import compare, count_signs
from context_nmt.settings import read_plan
from context_nmt.settings.evaluation import SignificanceSettings
from context_nmt.settings.run_layout import run_name


def evaluate_variant(experiment: EvaluationFolder, variant: str) -> None:
    """Write metrics/scores/VARIANT/SEED.csv: scores of sentences and documents, and tests against the baseline.

    A variant without a baseline has no tests. Only its first file has the sizes of the text, since counting the words
    of the training set takes long. Raise UserError for an unknown variant, missing files and unequal line counts.
    """
    settings = read_plan(SignificanceSettings, experiment.stage_plan("significance"))
    seeds, pairs = experiment.read_pairs(variant)
    documents = DocumentScorer(experiment)
    tests = experiment.settings.corpus.tests if pairs["baseline"] else ()
    contrastive = experiment.settings.corpus.contrastive
    with Progress(variant, len(seeds) * (1 + len(tests)), "steps") as progress:
        for seed in seeds:
            run = run_name(variant, seed)
            rows = [*score_rows(experiment, run), *documents.rows(run)]
            progress.advance()
            for test in tests:
                comparison = _compare_test(experiment, run, run_name(pairs["baseline"], seed), test, settings)
                rows += _test_rows(test, pairs["baseline"], comparison)
                progress.advance()
            compared = pairs["runs"][str(seed)]
            sets = [name for name in contrastive if all(name in (hashes or ()) for hashes in compared.values())]
            if sets:
                baseline_run = run_name(pairs["baseline"], seed)
                rows += _accuracy_test_rows(experiment, sets, run, pairs["baseline"], baseline_run)
            if seed == seeds[0] and not pairs["baseline"]:
                rows += size_rows(experiment)
            write_rows(experiment.scores(run), run, rows)


def _test_rows(test_set: str, baseline: str, comparison: dict[str, Any]) -> Iterator[Row]:
    """Yield the p-value of each test, tagged with the tested metric; of the bootstrap, at least 2 / resamples.

    The signature names the baseline and the settings of the test.
    """
    for test in TESTS:
        outcome = dict(comparison[test])
        p = max(outcome.pop("p"), 2 / outcome["resamples"]) if test == "bootstrap" else outcome.pop("p")
        signature = "|".join([baseline, *(f"{name}:{value}" for name, value in outcome.items())])
        yield row(test_set, f"p_{test}", p, tag=comparison["metric"], signature=signature)


def _accuracy_test_rows(
    experiment: EvaluationFolder, sets: Sequence[str], run: str, baseline: str, baseline_run: str
) -> Iterator[Row]:
    """Yield p-values of McNemar's exact test over the items of contrastive sets that both runs have scored.

    The tag is the category. Raise UserError if a run has scored another version of a set.
    """
    both = {name: read_outcomes(experiment.contrastive_outcomes(name)) for name in (run, baseline_run)}
    for name in sets:
        items = read_items(experiment.tokenized / f"{name}.items.json")
        for scored_run, outcomes in both.items():
            if outcomes[name].sha256 != items.sha256:
                raise UserError(
                    f"{experiment.contrastive_outcomes(scored_run)}: {name}: the set has changed; run contrast again"
                )
        for metric, p_metric in MCNEMAR.items():
            system, other = (outcomes[name].by_metric[metric] for outcomes in both.values())
            differences = [first - second for first, second in zip(system, other, strict=True)]
            for category, numbers in items.by_category().items():
                outcome = count_signs([differences[number] for number in numbers])
                p, counts = outcome.pop("p"), "|".join(f"{key}:{value}" for key, value in outcome.items())
                yield row(name, p_metric, p, tag=category, signature=f"{baseline}|{counts}")


def _compare_test(
    experiment: EvaluationFolder, run: str, baseline: str, test: str, settings: SignificanceSettings
) -> dict[str, Any]:
    tokenized = settings.is_of_tokens
    system_lines, references = read_scoring_inputs(experiment, run, test, tokenized=tokenized)
    baseline_lines, _ = read_scoring_inputs(experiment, baseline, test, tokenized=tokenized)
    text = token_origin(experiment.settings)
    return compare(
        system_lines,
        baseline_lines,
        references,
        settings,
        tokenizer=experiment.settings.chosen_tokenizer,
        text=text if tokenized or text.startswith(PRETOKENIZED_BY_SCRIPT) else "raw",
    )
