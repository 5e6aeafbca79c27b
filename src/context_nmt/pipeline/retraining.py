"""Train the systems of a claim again in a copy of the project, and compare the runs with the committed ones."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from ruamel.yaml import YAML
from scipy.stats import t as student

from context_nmt.corpus.hypotheses import digests
from context_nmt.files import UserError, replacing
from context_nmt.measures.rows import read_rows
from context_nmt.pipeline.dvc import git
from context_nmt.report.outcomes import MINIMUM_SEEDS_OF_INTERVAL, Outcome, designated_of, outcomes_of
from context_nmt.report.published import papers_judged_by, read_papers
from context_nmt.report.verification import choose_claims
from context_nmt.results.reading import read_all, read_results
from context_nmt.results.table import Results
from context_nmt.settings.parameters import Experiment, with_lineage
from context_nmt.settings.run_layout import run_name

FALSE_ALARM_PROBABILITY = 0.01  # that any run of a claim lies outside its interval though nothing has changed
EQUAL, INSIDE = "equal in every byte", "inside the interval"


@dataclass(frozen=True)
class NewRun:
    """A run that was trained again."""

    name: str
    value: float
    interval: tuple[float, float] | None  # where a further run lies; None with too few committed seeds
    differing: tuple[str, ...] | None  # its files with other bytes; None if the seed is not among the committed ones
    processors: tuple[str, str]  # of the committed run and of the new one, with those that they depend on

    @property
    def verdict(self) -> str:
        """What the comparison says: EQUAL, INSIDE, or why the run does not pass."""
        before, now = self.processors
        if self.differing == ():
            return EQUAL
        if self.differing and before and before == now:
            return "differs on the same processor, where bytes should be equal"
        if self.interval is None:
            return "not checked, because fewer than three seeds are committed"
        return INSIDE if self.interval[0] <= self.value <= self.interval[1] else "outside the interval"

    @property
    def passes(self) -> bool:
        """Whether it is the committed run, or chance explains its value."""
        return self.verdict in (EQUAL, INSIDE)

    def __str__(self) -> str:
        text = f"{self.name}: {self.value:.4f}, {self.verdict}"
        if self.differing == ():
            return text
        interval = f" [{self.interval[0]:.4f}, {self.interval[1]:.4f}]" if self.interval else ""
        files = f"differs in {', '.join(self.differing)}" if self.differing else "no committed run with this seed"
        before, now = (processor or "unknown" for processor in self.processors)
        return f"{text}{interval}; {files}; processor: {now}, committed: {before}"


def designated_outcome(experiment: Experiment, paper: str, claim: str) -> Outcome:
    """Return a claim in the experiment that judges it; raise UserError if it has no numbers or needs no training."""
    experiments = read_all(experiment)
    (of_claim,) = choose_claims(papers_judged_by(experiments[0], read_papers()), paper, claim).values()
    outcome = designated_of(outcomes_of(*of_claim, experiments))
    if outcome is None:
        raise UserError(f"{claim}: there are no committed numbers to compare with; `{of_claim[1].command}` makes them")
    if outcome.claim.is_cost:
        raise UserError(f"{claim}: a speed does not depend on training; python -m benchmarks.variants measures it")
    return outcome


def train_again(outcome: Outcome, seeds: Sequence[int], copy: Path) -> Experiment:
    """Run the pipeline for the systems of a claim in a clone of the project; a second call continues the first.

    The clone has the committed code and settings, and no results in its cache, so everything is trained. Raise
    UserError if a stage fails, or if the folder belongs to the project or is not a clone of its present commit.
    """
    experiment = outcome.results.experiment
    root, copy = (experiment.folder / experiment.settings.root).resolve(), copy.resolve()
    folder = copy / experiment.folder.resolve().relative_to(root)
    if copy.is_relative_to(root):
        raise UserError(f"--copy is {copy}, in the project itself; it must be a folder outside {root}")
    if not copy.exists():
        _run(["git", "clone", "--quiet", str(root), str(copy)], root)
    if not (copy / ".git").exists() or git(copy, "rev-parse", "HEAD") != git(root, "rev-parse", "HEAD"):
        raise UserError(f"--copy is {copy}; it must be a new folder, or a clone of {root} at the same commit")
    corpus = experiment.settings.corpus.name
    if corpus not in experiment.settings.download and not (folder / "data" / corpus).exists():
        (folder / "data" / corpus).parent.mkdir(parents=True, exist_ok=True)
        (folder / "data" / corpus).symlink_to(experiment.corpus.resolve())
    yaml, path = YAML(), folder / "params.yaml"
    values = yaml.load(path.read_text(encoding="utf-8"))
    values["seeds"] = [*seeds]
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        yaml.dump(values, file)
    only = [word for name in sorted(outcome.trained_variants) for word in ("--only", name)]
    _run([sys.executable, "-m", "context_nmt", "repro", str(folder.relative_to(copy)), *only], copy)
    return Experiment(folder)


def compare_runs(outcome: Outcome, again: Experiment) -> list[NewRun]:
    """Compare runs with the prediction interval of a further run, Student's t over the committed seeds.

    A run with a committed seed on another processor is at most as far from the mean as a further seed, so the rate of
    false alarms is at most FALSE_ALARM_PROBABILITY, by Bonferroni over all values.
    """
    results, experiment = read_results(again), outcome.results.experiment
    systems = (outcome.system, *outcome.rivals)  # perhaps the same one, with another measure
    level = FALSE_ALARM_PROBABILITY / (len(systems) * len(results.settings.seeds))
    runs = []
    for system in systems:
        name, committed = system.variant, system.by_seed
        baseline = results.settings.variants[name].baseline if system.over_baseline else None
        interval = None
        if len(committed) >= MINIMUM_SEEDS_OF_INTERVAL:
            quantile = float(student.ppf(1 - level / 2, len(committed) - 1))
            half = quantile * stdev(committed) * sqrt(1 + 1 / len(committed))
            interval = fmean(committed) - half, fmean(committed) + half
        new_values = replace(system, results=results).by_seed
        for seed, value in zip(results.settings.seeds, new_values, strict=True):
            differing: tuple[str, ...] | None = None
            if seed in outcome.results.settings.seeds:
                counted = [run_name(variant, seed) for variant in (name, baseline) if variant]
                differing = tuple(path for run in counted for path in _differing(experiment, again, run))
            processors = _processors(outcome.results, name, seed), _processors(results, name, seed)
            runs.append(
                NewRun(f"{run_name(name, seed)}, {system.measure_name}", value, interval, differing, processors)
            )
    return runs


def _processors(results: Results, name: str, seed: int) -> str:
    """Return the processors of a run and of those that it starts from, learns from or is compared with."""
    systems = sorted(with_lineage(results.settings, [name]))
    return ", ".join(dict.fromkeys(filter(None, (results.processors.get((system, seed)) for system in systems))))


def _differing(committed: Experiment, again: Experiment, run: str) -> tuple[str, ...]:
    """Return the files of a run that differ; a zip may be compressed in another way."""

    def contents(experiment: Experiment) -> dict[str, object]:
        scores = experiment.scores(run)
        paths = [
            *(experiment.hypotheses(run), experiment.curve(run), scores, experiment.analyses(run)),
            *(experiment.contrastive(run), experiment.contrastive_outcomes(run)),
        ]
        found: dict[str, object] = {}
        for path in filter(Path.exists, paths):
            content: object = digests(path) if path.suffix == ".zip" else path.read_bytes()
            if path == scores:  # facts about the text are with the first seed, which may be another one now
                content = [row for row in read_rows(path) if not row.subject]
            found[str(path.relative_to(experiment.folder))] = content
        return found

    there, here = contents(committed), contents(again)
    return tuple(name for name, content in there.items() if here.get(name) != content)


def _run(command: list[str], folder: Path) -> None:
    status = subprocess.run(
        command, cwd=folder, check=False, env=os.environ | {"PYTHONPATH": str(folder / "src")}
    ).returncode
    if status:
        raise UserError(f"{' '.join(command)} in {folder} has ended with status {status}; its output is above")
