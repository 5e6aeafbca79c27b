"""Reads the results of experiments, and writes those of one."""

from collections.abc import Iterator
from pathlib import Path

from context_nmt.files import read_json, replacing, write_json
from context_nmt.measures.rows import Row, read_rows
from context_nmt.results.out_of_date import out_of_date
from context_nmt.results.speeds import read_speeds
from context_nmt.results.table import Results
from context_nmt.settings.folder import Experiment
from context_nmt.settings.layout import run_name

OLDER = {"kind": "autoregressive"}  # what models.json did not say before there were others


def read_results(experiment: Experiment, name: str = "", command: str = "") -> Results:
    """Read metrics/ of an experiment, however much of it has run; raises UserError for a broken file."""
    settings, path = experiment.settings, experiment.models
    models = read_json(path) if path.is_file() else {}
    runs = [(variant, seed) for variant in settings.variants if variant in models for seed in settings.seeds]
    return Results(
        experiment=experiment,
        models={variant: OLDER | models[variant] for variant in settings.variants if variant in models},
        speeds=read_speeds(experiment.speeds),
        rows={run: list(_read_run(experiment, run_name(*run))) for run in runs},
        name=name,
        command=command,
        out_of_date=tuple(one for one in out_of_date(experiment) if one in models) if name else (),
    )


def read_all(experiment: Experiment) -> list[Results]:
    """Read an experiment and those in experiments/ below it, of which the default one, at the root, has some."""
    place = experiment.parameters.resolve().parent
    root = (place / experiment.settings.root).resolve()
    first = read_results(experiment, "", _command(place, root))
    others = sorted(path.parent for path in (experiment.folder / "experiments").glob("*/params.yaml"))
    return [first, *(read_results(Experiment(folder), folder.name, _command(folder, root)) for folder in others)]


def _command(folder: Path, root: Path) -> str:
    inside = folder.resolve().relative_to(root)
    return f"make repro NAME={inside.name}" if inside.parts else "make repro"


def _read_run(experiment: Experiment, run: str) -> Iterator[Row]:
    """All rows of a run, those of other sets than params.yaml names left out."""
    settings, variant = experiment.settings, run.rpartition("-")[0]
    corpus, probing = settings.corpus, settings.probing
    tests, sets = {*corpus.tests, *corpus.groups}, set(corpus.contrastive)
    places = [(experiment.scores(run), tests), (experiment.contrastive(run), sets), (experiment.analyses(run), tests)]
    if variant in probing.words:
        places.append((experiment.word_probes(run), tests))
    if variant in probing.sentences:
        places.append((experiment.sentence_probes(run), {str(probing.tasks)}))
    for path, names in places:
        if path.is_file():
            yield from (row for row in read_rows(path) if row.measure.test_set in names)


def write_results(results: Results) -> None:
    """Write metrics/results.json and results.csv."""
    write_json(results.experiment.results, results.as_json())
    with replacing(results.experiment.results_table) as temporary:
        results.as_frame().to_csv(temporary, index=False, lineterminator="\n")


def write_focus(experiment: Experiment) -> None:
    """Write the means of the variant that params.yaml names under `focus`, for `dvc metrics diff` between revisions."""
    results = read_json(experiment.results)[experiment.settings.focus]
    focus = {
        test_set: {metric: summary["mean"] for metric, summary in metrics.items()}
        for test_set, metrics in results.items()
        if test_set != "model"
    }
    write_json(experiment.focus, focus | {"model": results["model"]})
