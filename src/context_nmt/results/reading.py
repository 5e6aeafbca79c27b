"""Read the results of experiments from metrics/, and write their tables there."""

from collections.abc import Collection, Iterator
from typing import Any

import pandas as pd

from context_nmt.files import UserError, read_json, replacing, write_json
from context_nmt.measures.rows import TEXT, Row, read_rows
from context_nmt.measures.rows import row as make_row
from context_nmt.results.metrics import is_score, measure_name
from context_nmt.results.out_of_date import earlier_code, variants_out_of_date
from context_nmt.results.speeds import read_speeds
from context_nmt.results.table import Results
from context_nmt.settings.layout import RESCORED
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name, split_run_name

NUMBER_COLUMNS = ("update", "epoch", "learning_rate", "train_", "valid_")  # of learning curves: names or prefixes
RESULT_COLUMNS = (  # of results.csv
    *("variant", "test_set", "metric", "layer", "tag", "mean", "deviation", "seeds"),
    *("baseline", "difference", "interval_low", "interval_high", "p"),
)


def read_results(experiment: Experiment, name: str = "", out_of_date: Collection[str] = ()) -> Results:
    """Read metrics/ of an experiment, which may have run only in part; `out_of_date` lists systems.

    If `earlier_code` still accepts their results, they are marked with its commit instead. Raise UserError for a broken
    file.
    """
    settings, path = experiment.settings, experiment.models
    commit, then = earlier_code(experiment)
    described = read_json(path) if path.is_file() else {}
    variants = [variant for variant in settings.variants if variant in described]
    runs = {}
    for variant in variants:
        for system in (variant, *([variant + RESCORED] if variant in settings.rescored else [])):
            for seed in settings.seeds:
                runs[system, seed] = list(_run_rows(experiment, run_name(system, seed)))
    for system in settings.external:
        runs |= {(system, seed): list(_run_rows(experiment, run_name(system, seed))) for seed in settings.seeds}
    curves = {variant: dict(_read_curves(experiment, variant)) for variant in settings.variants}
    for (system, seed), rows in runs.items():
        if rows and seed in curves.get(system, {}):
            rows += _fall_rows(curves[system][seed][0], settings.corpus.validation)
    return Results(
        experiment=experiment,
        models={variant: described[variant] for variant in variants},
        speeds=read_speeds(experiment.speeds),
        rows=runs,
        curves={variant: [curve for curve, _ in runs.values()] for variant, runs in curves.items()},
        processors={
            (name, seed): processors for name, runs in curves.items() for seed, (_, processors) in runs.items()
        },
        name=name,
        out_of_date=tuple(
            name for name in (*variants, *settings.external) if name in out_of_date and (not commit or name in then)
        ),
        earlier_code=commit if not set(out_of_date) <= set(then) else "",
    )


def read_all(experiment: Experiment, out_of_date: Collection[str] = ()) -> list[Results]:
    """Read an experiment, of which some systems are out of date, and, if it is the one in the root, all others."""
    own = read_results(experiment, out_of_date=out_of_date)
    if own.folder:
        return [own]
    others = (Experiment(path.parent) for path in sorted(experiment.folder.glob("experiments/*/params.yaml")))
    return [own, *(read_results(other, other.folder.name, variants_out_of_date(other)) for other in others)]


def _read_curves(experiment: Experiment, variant: str) -> Iterator[tuple[int, tuple[pd.DataFrame, str]]]:
    """Yield each seed of a variant with a learning curve: its columns of numbers, by update, and its processors."""
    for seed in experiment.settings.seeds:
        path = experiment.curve(run_name(variant, seed))
        if path.is_file():
            try:
                table = pd.read_csv(path, index_col="update")
                numbers = table[[name for name in table if str(name).startswith(NUMBER_COLUMNS)]].astype(float)
                processors = table["processor"].dropna().astype(str) if "processor" in table else ()
                yield seed, (numbers, ", ".join(sorted(set(processors))))
            except (TypeError, ValueError) as error:
                text = f"{path}: not a learning curve ({error}); restore it from git, or train again"
                raise UserError(text) from None


def _fall_rows(curve: pd.DataFrame, validation: str) -> Iterator[Row]:
    """Yield the mean fall of BLEU from one validation to the next; 0 for a curve that only rises."""
    if "valid_bleu" in curve and len(curve) > 1:
        falls = -curve["valid_bleu"].diff().dropna().clip(upper=0)
        yield make_row(validation, "validation_falls", round(float(falls.mean()), 4))


def _run_rows(experiment: Experiment, run: str) -> Iterator[Row]:
    """Yield a run's rows on the sets that params.yaml lists."""
    corpus, probing = experiment.settings.corpus, experiment.settings.probing
    variant, _ = split_run_name(run)
    tests, sets = {*corpus.tests, *corpus.groups}, {*corpus.tests, *corpus.groups, *corpus.contrastive}
    files = {experiment.scores(run): sets}
    if variant not in experiment.settings.external:  # a variant of this name may have left files
        files |= {experiment.contrastive(run): sets, experiment.analyses(run): tests}
    if variant in probing.words:
        files[experiment.word_probes(run)] = tests
    if variant in probing.sentences:
        files[experiment.sentence_probes(run)] = {str(probing.tasks)}
    for path, set_names in files.items():
        for row in read_rows(path) if path.is_file() else ():
            name = row.measure.test_set
            if name in set_names or (row.subject == TEXT and name in (corpus.train, corpus.validation)):
                yield row


def write_results(results: Results) -> None:
    """Write metrics/results.json, summary.json and results.csv."""
    write_json(results.experiment.results, scores_as_json(results))
    write_json(results.experiment.summary, main_scores(results))
    with replacing(results.experiment.results_table) as temporary:
        as_frame(results).to_csv(temporary, index=False, lineterminator="\n")


def scores_as_json(results: Results) -> dict[str, Any]:
    """Build {SYSTEM: {TEST_SET: {NAME: mean, deviation, seeds}, "model": {parameters, flops_per_target_token}}}.

    An external system has no model.
    """
    summaries: dict[str, Any] = {
        variant: {"model": {name: model[name] for name in ("parameters", "flops_per_target_token")}}
        for variant, model in results.models.items()
    }
    summaries |= {system: {} for system in results.settings.external if system in results.measured_systems}
    for (system, measure), estimate in results.estimates.items():
        if system in summaries and is_score(measure.metric):
            summary = {"mean": estimate.mean, "deviation": estimate.deviation, "seeds": estimate.seeds}
            summaries[system].setdefault(measure.test_set, {})[measure_name(measure)] = summary
    return summaries


def main_scores(results: Results) -> dict[str, dict[str, float]]:
    """Build {SYSTEM: {TEST_SET: mean over seeds}} of the tested metric, with two decimals."""
    scores: dict[str, dict[str, float]] = {}
    for (system, measure), estimate in results.estimates.items():
        is_main = measure.metric == results.settings.significance.metric
        if is_main and system in results.tested_systems:
            scores.setdefault(system, {})[measure.test_set] = round(estimate.mean, 2)
    return scores


def as_frame(results: Results) -> pd.DataFrame:
    """Build a table of RESULT_COLUMNS: a row per system and measure, then the numbers that belong to no run."""
    reference_rows = [
        (subject, measure.test_set, measure.metric, measure.layer, measure.tag, value, *(None,) * 7)
        for (subject, measure), value in results.reference_values.items()
    ]
    system_rows = []
    for (system, measure), estimate in results.estimates.items():
        gain = estimate.gain
        ends = (gain.interval if gain else None) or (None, None)
        numbers = (estimate.mean, estimate.deviation, estimate.seeds, results.baseline(system))
        tested = (gain and gain.mean, *ends, gain and gain.p)
        system_rows.append((system, measure.test_set, measure.metric, measure.layer, measure.tag, *numbers, *tested))
    return pd.DataFrame([*system_rows, *reference_rows], columns=list(RESULT_COLUMNS)).convert_dtypes()
