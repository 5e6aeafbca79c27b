"""Read the results of experiments from their metrics/."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pandas as pd

from context_nmt.files import UserError, read_json
from context_nmt.measures.rows import TEXT, Row, read_rows, row
from context_nmt.results.out_of_date import earlier_code, out_of_date
from context_nmt.results.speeds import read_speeds
from context_nmt.results.table import RESCORED, Results
from context_nmt.settings.folder import Experiment
from context_nmt.settings.run_layout import run_name

NUMBERS = ("update", "epoch", "learning_rate", "train_", "valid_")  # columns of learning curves, or their beginnings


def read_results(experiment: Experiment, name: str = "", command: str = "", old: Collection[str] = ()) -> Results:
    """Read metrics/ of an experiment, even one that has run only in part; `old` are its variants that are out of date.

    Of these, what `earlier_code` says to count is only marked. Raise UserError for a broken file.
    """
    settings, path = experiment.settings, experiment.models
    commit, then = earlier_code(experiment)
    described = read_json(path) if path.is_file() else {}
    variants = [variant for variant in settings.variants if variant in described]
    runs = {}
    for variant in variants:
        for system in (variant, *([variant + RESCORED] if variant in settings.rescored else [])):
            for seed in settings.seeds:
                runs[system, seed] = list(_read_run(experiment, run_name(system, seed)))
    curves = {variant: dict(_read_curves(experiment, variant)) for variant in settings.variants}
    for (system, seed), rows in runs.items():
        if rows and seed in curves.get(system, {}):
            rows += _falls(curves[system][seed][0], settings.corpus.validation)
    return Results(
        experiment=experiment,
        models={variant: described[variant] for variant in variants},
        speeds=read_speeds(experiment.speeds),
        rows=runs,
        curves={variant: [curve for curve, _ in runs.values()] for variant, runs in curves.items()},
        processors={(name, seed): one for name, runs in curves.items() for seed, (_, one) in runs.items()},
        name=name,
        command=command,
        out_of_date=tuple(variant for variant in variants if variant in old and (not commit or variant in then)),
        earlier_code=commit if not set(old) <= set(then) else "",
    )


def read_all(experiment: Experiment, old: Collection[str] = ()) -> list[Results]:
    """Read an experiment, of which `old` is out of date, and, for the one in the project's root, all others."""
    own_folder = experiment.parameters.resolve().parent
    root = (own_folder / experiment.settings.root).resolve()
    first = read_results(experiment, "", _command(own_folder, root), old)
    if own_folder != root:
        return [first]
    others = [Experiment(path.parent) for path in sorted(experiment.folder.glob("experiments/*/params.yaml"))]
    return [
        first,
        *(read_results(other, other.folder.name, _command(other.folder, root), out_of_date(other)) for other in others),
    ]


def _command(folder: Path, root: Path) -> str:
    inside = folder.resolve().relative_to(root)
    return f"make repro NAME={inside.name}" if inside.parts else "make repro"


def _read_curves(experiment: Experiment, variant: str) -> Iterator[tuple[int, tuple[pd.DataFrame, str]]]:
    """Yield each seed of a variant that has a learning curve: its columns of numbers, by update, and its processors."""
    for seed in experiment.settings.seeds:
        path = experiment.curve(run_name(variant, seed))
        if path.is_file():
            try:
                table = pd.read_csv(path, index_col="update")
                numbers = table[[name for name in table if str(name).startswith(NUMBERS)]].astype(float)
                processors = table["processor"].dropna().astype(str) if "processor" in table else ()
                yield seed, (numbers, ", ".join(sorted(set(processors))))
            except (TypeError, ValueError) as error:
                text = f"{path}: not a learning curve ({error}); restore it from git, or train again"
                raise UserError(text) from None


def _falls(curve: pd.DataFrame, validation: str) -> Iterator[Row]:
    """Yield the mean fall of BLEU from one validation to the next, 0 for a curve that only rises."""
    if "valid_bleu" in curve and len(curve) > 1:
        falls = -curve["valid_bleu"].diff().dropna().clip(upper=0)
        yield row(validation, "validation_falls", round(float(falls.mean()), 4))


def _read_run(experiment: Experiment, run: str) -> Iterator[Row]:
    """Yield a run's rows on the sets that params.yaml names."""
    settings, variant = experiment.settings, run.rpartition("-")[0]
    corpus, probing = settings.corpus, settings.probing
    tests, sets = {*corpus.tests, *corpus.groups}, set(corpus.contrastive)
    texts = {corpus.train, corpus.validation}
    files = [(experiment.scores(run), tests), (experiment.contrastive(run), sets), (experiment.analyses(run), tests)]
    if variant in probing.words:
        files.append((experiment.word_probes(run), tests))
    if variant in probing.sentences:
        files.append((experiment.sentence_probes(run), {str(probing.tasks)}))
    for path, set_names in files:
        if path.is_file():
            for row in read_rows(path):
                name = row.measure.test_set
                if name in set_names or (row.subject == TEXT and name in texts):
                    yield row
