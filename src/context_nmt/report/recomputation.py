"""Numbers that claims need, recomputed from translations, references and outcomes, beside those in the files."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.documents import read_documents, reference_names
from context_nmt.corpus.download import read_data_plan
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.workers import in_parallel, usable_cores
from context_nmt.files import UserError, read_lines, write_json, write_lines
from context_nmt.measures.bleu import OTHER_METRICS, metric_named, score_documents, score_tokenized
from context_nmt.measures.contrastive import Items, read_items, read_outcomes
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import MCNEMAR, Measure
from context_nmt.measures.scores import read_scoring_inputs
from context_nmt.miniature.generation import Generation
from context_nmt.progress import tracked
from context_nmt.results.out_of_date import LockFile, digest_of
from context_nmt.results.reading import as_frame
from context_nmt.results.table import Results
from context_nmt.settings.miniature import MiniatureSettings
from context_nmt.settings.run_layout import run_name

OF_TOKENS = ("bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "ngram_accuracy")
OF_TRANSLATIONS = ("sacrebleu", "d_bleu", *OTHER_METRICS, *OF_TOKENS)
NO_FILE = "no file"
LAST_DECIMAL = 1.01e-4  # of rows, which other libraries may round to the other side


@dataclass(frozen=True)
class Fault:
    """A number in a file, and the number that its inputs give."""

    path: Path
    what: str
    there: object
    recomputed: object

    def __str__(self) -> str:
        return f"{self.path}: {self.what}: {self.there} there, {self.recomputed} recomputed"


class Recomputation:
    """An experiment, and the numbers of it that claims need."""

    def __init__(self, results: Results, folder: Path, needed: set[tuple[str, Measure]]) -> None:
        self.results, self.folder, self.needed = results, EvaluationFolder(folder), needed
        self.recomputed: dict[tuple[str, Measure], dict[int, float]] = {}  # by seed
        self.other_sets: dict[tuple[str, str], list[Fault]] = {}  # by variant and contrastive set

    @property
    def needed_metrics(self) -> set[str]:
        return {measure.metric for _, measure in self.needed}

    @property
    def miniature(self) -> MiniatureSettings | None:
        """The miniature whose references must be generated, because they are needed and not here."""
        experiment = self.results.experiment
        plan = experiment.data_plan(self.results.settings.corpus.name)
        is_needed = self.needed_metrics & {*OF_TRANSLATIONS, *MCNEMAR} and not experiment.corpus.is_dir()
        entry = read_data_plan(plan)[0] if is_needed and plan.is_file() else None
        return entry if isinstance(entry, MiniatureSettings) else None

    def link_text(self, corpus: Path) -> None:
        """Collect what scores read in a folder, with the corpus in `corpus`."""
        folder, settings = self.folder, self.results.settings
        folder.folder.mkdir()
        folder.metrics.symlink_to(self.results.experiment.metrics.resolve())
        folder.corpus.parent.mkdir(parents=True)
        folder.corpus.symlink_to(corpus.resolve())
        side = MosesSide(settings.corpus.target, settings.text.target)
        needs_tokens = side.settings.pretokenized or self.needed_metrics & {*OF_TOKENS}
        for test in settings.corpus.tests if needs_tokens else ():
            for name in reference_names(folder.corpus, test, settings.corpus.target):
                lines = side.prepare(read_lines(folder.corpus / name))
                write_lines(folder.tokenized / f"{name}.cased", map(side.tokens, lines))

    def runs(self) -> list[tuple[str, int, str]]:
        """Return what can be scored: variant, seed and test set."""
        experiment, settings = self.results.experiment, self.results.settings
        needed = {(name, of.test_set) for name, of in self.needed if of.metric in OF_TRANSLATIONS}
        return [
            (name, seed, test)
            for name, test in sorted(needed)
            for seed in settings.seeds
            if test in settings.corpus.tests and experiment.hypotheses(run_name(name, seed)).is_file()
        ]

    def score(self, name: str, seed: int, test: str) -> dict[Measure, float]:
        """Return the scores of a run's translations of a test set that claims need."""
        metrics = {of.metric for needed, of in self.needed if (needed, of.test_set) == (name, test)}
        scores = (_scores(self.folder, run_name(name, seed), test, metric) for metric in metrics & {*OF_TRANSLATIONS})
        return {measure: value for values in scores for measure, value in values.items()}

    def score_items(self) -> None:
        """Compute the accuracies that claims need from the outcomes of contrastive items."""
        corpus = self.results.settings.corpus
        for test in corpus.contrastive if self.needed_metrics & {*MCNEMAR} else ():
            _, items = read_contrastive_set(self.folder.corpus / f"{test}.{corpus.direction}.jsonl")
            path = self.folder.tokenized / f"{test}.items.json"
            write_json(path, items)
            contrastive_set = read_items(path)
            for name in {name for name, of in self.needed if of.metric in MCNEMAR and of.test_set == test}:
                for seed in self.results.settings.seeds:
                    self._score_items(contrastive_set, name, seed, test)

    def _score_items(self, items: Items, name: str, seed: int, test: str) -> None:
        path = self.results.experiment.contrastive_outcomes(run_name(name, seed))
        if not path.is_file():
            return
        outcomes = read_outcomes(path).get(test)
        if outcomes is None or outcomes.sha256 != items.sha256:
            fault = Fault(path, f"{test}, its SHA-256", outcomes.sha256 if outcomes else "no outcomes", items.sha256)
            self.other_sets.setdefault((name, test), []).append(fault)
            return
        # rows are of margins, whose sign is the outcome
        margins = {metric: [right - 0.5 for right in of_items] for metric, of_items in outcomes.by_metric.items()}
        for row in items.rows(test, margins):
            self.recomputed.setdefault((name, row.measure), {})[seed] = row.value

    @cached_property
    def corrected(self) -> Results:
        """The results with the recomputed numbers in place of the committed ones that differ."""
        rows = {
            (name, seed): [
                replace(row, value=value)
                if not row.subject
                and (value := self.recomputed.get((name, row.measure), {}).get(seed)) is not None
                and not is_same(row.value, value, LAST_DECIMAL)
                else row
                for row in rows
            ]
            for (name, seed), rows in self.results.rows.items()
        }
        return self.results if rows == self.results.rows else replace(self.results, rows=rows)

    def faults(self, name: str, measure: Measure) -> Iterator[Fault]:
        """Yield what differs in the rows of a variant and measure, and in its row of results.csv."""
        yield from self.other_sets.get((name, measure.test_set), ()) if measure.metric in MCNEMAR else ()
        experiment = self.results.experiment
        for seed, value in self.recomputed.get((name, measure), {}).items():
            run = run_name(name, seed)
            is_of_model = measure.metric in MCNEMAR
            path = experiment.contrastive(run) if is_of_model else experiment.scores(run)
            path = experiment.analyses(run) if measure.metric == "ngram_accuracy" else path
            for row in self.results.rows[name, seed]:
                if row.measure == measure and not row.subject and not is_same(row.value, value, LAST_DECIMAL):
                    yield Fault(path, f"{run}, {_words(measure)}", row.value, value)
        there, recomputed = (tables.get((name, measure), {}) for tables in self._tables)
        for column in {**there, **recomputed}:
            if not is_same(there.get(column), recomputed.get(column)):
                what = f"{name}, {_words(measure)}, {column}"
                yield Fault(experiment.results_table, what, there.get(column), recomputed.get(column))

    @cached_property
    def file_faults(self) -> list[Fault]:
        """The files of all systems, and the text, whose hashes are not those that dvc.lock records."""
        experiment, lock = self.results.experiment, LockFile(self.results.experiment)
        inputs = {one["path"]: one["md5"] for stage in lock.stages.values() for one in stage.get("deps", ())}
        of_run = (
            *(experiment.hypotheses, experiment.contrastive, experiment.contrastive_outcomes, experiment.analyses),
            *(experiment.sentence_probes, experiment.word_probes, experiment.curve),
        )
        paths = [experiment.corpus, experiment.models]
        for name in self.results.systems:
            runs = [run_name(name, seed) for seed in self.results.settings.seeds]
            paths += [experiment.scores(runs[0]).parent, *(path(run) for run in runs for path in of_run)]
        faults = []
        for path in paths:
            name = path.relative_to(experiment.folder).as_posix()
            recorded = lock.outputs[name][1] if name in lock.outputs else inputs.get(name, NO_FILE)
            digest = digest_of(path) if path.exists() else NO_FILE
            if digest != recorded and not (path == experiment.corpus and digest == NO_FILE):
                faults.append(Fault(path, "its MD5 in dvc.lock", recorded, digest))
        return faults

    @cached_property
    def _tables(self) -> tuple[dict[Any, dict[str, str]], ...]:
        """The rows of results.csv, as committed and as the corrected results give them."""
        text = as_frame(self.corrected).to_csv(index=False, lineterminator="\n")
        tables = read_table(self.results.experiment.results_table), csv.DictReader(StringIO(text))
        return tuple(
            {
                (
                    row["variant"],
                    Measure(row["test_set"], row["metric"], int(layer) if layer else None, row["tag"]),
                ): row
                for row in table
                for layer in (row["layer"],)
            }
            for table in tables
        )


def recompute(checks: Sequence[Recomputation], folder: Path) -> None:
    """Score the translations and the contrastive outcomes that claims need, in all cores."""
    miniatures: dict[str, MiniatureSettings] = {}  # by settings, which several experiments may share
    for check in checks:
        if entry := check.miniature:
            miniatures[repr(entry)] = entry
    folders = {name: folder / f"miniature-{number}" for number, name in enumerate(miniatures)}

    def generate(name: str) -> None:
        folders[name].mkdir()
        # the test sets do not depend on the size of the training text
        Generation(replace(miniatures[name], train=1), folders[name]).run()

    list(in_parallel(generate, miniatures, usable_cores()))
    jobs = []
    for number, check in enumerate(checks):
        entry, corpus = check.miniature, check.results.experiment.corpus
        if check.needed and (entry or corpus.is_dir()):
            check.link_text(folders[repr(entry)] if entry else corpus)
            check.score_items()
            jobs += [(number, *run) for run in check.runs()]

    def work(job: tuple[int, str, int, str]) -> dict[Measure, float]:
        number, name, seed, test = job
        return checks[number].score(name, seed, test)

    found = tracked(in_parallel(work, jobs, usable_cores()), "scores", len(jobs), "runs")
    for (number, name, seed, _), values in zip(jobs, found, strict=True):
        for measure, value in values.items():
            checks[number].recomputed.setdefault((name, measure), {})[seed] = value


def _scores(folder: EvaluationFolder, run: str, test: str, metric: str) -> dict[Measure, float]:
    output, references = read_scoring_inputs(folder, run, test, tokenized=metric in OF_TOKENS)
    tokenizer = folder.settings.chosen_tokenizer
    if metric == "ngram_accuracy":
        from context_nmt.measures.analyses import ngram_accuracy  # loads torch

        return {row.measure: row.value for row in ngram_accuracy(test, output, references[0])}
    if metric in OF_TOKENS:
        scores = score_tokenized(output, references, text="")
    elif metric == "d_bleu":
        documents = read_documents(folder.corpus, test, len(output)) or ()
        scores = score_documents(output, references, documents, tokenizer=tokenizer)
    else:
        score = metric_named(metric, tokenizer).corpus_score(output, references).score
        return {Measure(test, metric): round(score, 4)}
    return {Measure(test, metric): scores[metric]["score"]}


def read_table(path: Path) -> list[dict[str, str]]:
    """Read a table that the stage report writes; raise UserError if there is none."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; the report stage writes it")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_same(there: Any, recomputed: Any, tolerance: float = 0.0) -> bool:
    """Return whether two values, or all values in two nested lists and dictionaries, are equal but for rounding."""
    if isinstance(there, dict) and isinstance(recomputed, dict):
        return there.keys() == recomputed.keys() and all(is_same(there[key], recomputed[key]) for key in there)
    if isinstance(there, list) and isinstance(recomputed, list):
        return len(there) == len(recomputed) and all(map(is_same, there, recomputed))
    try:
        return bool(there == recomputed) or isclose(float(there), float(recomputed), rel_tol=1e-6, abs_tol=tolerance)
    except (TypeError, ValueError):
        return False


def _words(measure: Measure) -> str:
    layer = "" if measure.layer is None else f" in layer {measure.layer}"
    return f"{measure.metric}{f' {measure.tag}' if measure.tag else ''}{layer} on {measure.test_set}"
