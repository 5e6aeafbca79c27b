"""Check claims from the files in git: scores of translations, tables of results, differences and verdicts."""

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose
from pathlib import Path
from shutil import copyfile
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from context_nmt.corpus.contrastive import read_contrastive_set
from context_nmt.corpus.documents import read_documents, reference_names
from context_nmt.corpus.download import read_data_plan
from context_nmt.corpus.moses import MosesSide
from context_nmt.corpus.workers import in_parallel, usable_cores
from context_nmt.files import UserError, read_json, read_lines, write_json, write_lines
from context_nmt.measures.bleu import OTHER_METRICS, score_documents, score_raw, score_sacrebleu, score_tokenized
from context_nmt.measures.contrastive import read_items, read_outcomes
from context_nmt.measures.evaluation_folder import EvaluationFolder
from context_nmt.measures.rows import MCNEMAR, Measure
from context_nmt.measures.scores import read_scoring_inputs
from context_nmt.miniature.generation import Generation
from context_nmt.progress import tracked
from context_nmt.report.claim_rows import ClaimRow, claim_id, claim_rows, write_claims
from context_nmt.report.outcomes import Outcome, outcomes_of
from context_nmt.report.published import COST_METRICS, Claim, Paper, read_papers
from context_nmt.results.out_of_date import LockFile, digest_of, results_out_of_date
from context_nmt.results.reading import read_all, write_results
from context_nmt.results.table import Results
from context_nmt.settings import some_names
from context_nmt.settings.miniature import MiniatureSettings
from context_nmt.settings.parameters import Experiment
from context_nmt.settings.run_layout import run_name

OF_TOKENS = ("bleu_tokenized", "bleu_compound_split", "bleu_lowercased", "ngram_accuracy")
OF_TRANSLATIONS = ("sacrebleu", "d_bleu", *OTHER_METRICS, *OF_TOKENS)
LAST_DECIMAL = 1.01e-4  # of rows, which other libraries may round to the other side

Key = tuple[str, str, Measure]  # an experiment's folder, a variant and a measure


@dataclass(frozen=True)
class Fault:
    """A number in a file, and the number that its inputs give."""

    path: Path
    what: str
    there: object
    recomputed: object

    def __str__(self) -> str:
        return f"{self.path}: {self.what}: {self.there} there, {self.recomputed} recomputed"


@dataclass(frozen=True)
class CheckedClaim:
    """A claim with its verdict, as recomputed, and everything that differs."""

    id: str
    verdict: str
    faults: tuple[Fault, ...]
    scored: tuple[Key, ...]  # recomputed from translations or outcomes
    unscored: tuple[Key, ...]  # taken from their rows


def choose_claims(papers: dict[str, Paper], paper: str, claim: str) -> dict[str, tuple[Paper, Claim]]:
    """Return all claims, those of a paper or a single one, by id; raise UserError for an unknown name."""
    if paper and paper not in papers:
        raise UserError(f"PAPER is {paper!r}; there are {', '.join(papers)}")
    claims = {
        claim_id(name, candidate): (papers[name], candidate)
        for name in ([paper] if paper else papers)
        for candidate in papers[name].claims
    }
    chosen = f"{paper}/{claim.removeprefix(f'{paper}/')}"
    if claim and chosen not in claims:
        names = some_names(claim, [name.partition("/")[2] for name in claims])
        raise UserError(f"CLAIM is {claim!r}; {paper} has {names}")
    return {chosen: claims[chosen]} if claim else claims


def check_claims(experiment: Experiment, paper: str = "", claim: str = "") -> Iterator[CheckedClaim]:
    """Check the claims in an experiment's metrics/claims.json, or some of them.

    Raise UserError for an unknown name or a broken file.
    """
    papers = read_papers()
    claims = choose_claims(papers, paper, claim)
    papers = {name: papers[name] for name in dict.fromkeys(name.partition("/")[0] for name in claims)}
    with TemporaryDirectory() as directory:
        experiments = read_all(experiment, results_out_of_date(experiment))
        outcomes = {name: outcomes_of(*of_claim, experiments) for name, of_claim in claims.items()}
        generated: dict[str, Path] = {}  # the folder of a miniature, by its settings
        checks = [
            _Check(results, Path(directory) / str(number), generated) for number, results in enumerate(experiments)
        ]
        for check in checks:
            all_keys = (key for group in outcomes.values() for outcome in group for key in _keys(outcome))
            check.needed = {key[1:] for key in all_keys if key[0] == check.results.folder}
        _recompute(checks)
        rows = {row.id: row for row in claim_rows(papers, [check.corrected for check in checks])}
        by_file = _compare_claims(experiment, [*rows.values()], Path(directory))
        by_results = {check.results.folder: check for check in checks}
        for name, group in outcomes.items():
            if name in rows:
                keys = [*dict.fromkeys(key for outcome in group for key in _keys(outcome))]
                scored = tuple(key for key in keys if key[1:] in by_results[key[0]].recomputed)
                faults = [fault for key in keys for fault in by_results[key[0]].faults(*key[1:])]
                unique = {str(fault): fault for fault in [*faults, *by_file.get(name, ())]}.values()
                unscored = tuple(key for key in keys if key not in scored)
                yield CheckedClaim(name, rows[name].verdict, tuple(unique), scored, unscored)


def _keys(outcome: Outcome) -> Iterator[Key]:
    for name in sorted(outcome.trained_variants):
        for system in (outcome.system, *outcome.rivals):
            yield from ((outcome.results.folder, name, measure) for measure in system.measures)


def unscored_notes(checked: Sequence[CheckedClaim]) -> Iterator[str]:
    """Yield what was recomputed, and what was taken from rows, with a line for each reason."""
    scored = {key for one in checked for key in one.scored}
    unscored = {key for one in checked for key in one.unscored}
    systems = len({key[:2] for key in scored})
    yield f"{len(checked)} claims; {systems} systems scored again from translations or outcomes, of {_names(scored)}"
    costs = {key for key in unscored if key[2].metric in COST_METRICS}
    lack_text = {key for key in unscored if key[2].metric in (*OF_TRANSLATIONS, *MCNEMAR)}
    inside = unscored - costs - lack_text
    for keys, reason in (
        (costs, "need a clock: from the rounds in benchmarks/variants.json"),
        (lack_text, f"in {_names(lack_text)} lack text or outcomes, which are not in git: from their rows"),
        (inside, "need a model or the training text: from their rows"),
    ):
        if keys:
            yield f"{', '.join(sorted({key[2].metric for key in keys}))} {reason}"


def _names(keys: Collection[Key]) -> str:
    return ", ".join(sorted({key[0] or "the default experiment" for key in keys})) or "none"


class _Check:
    """An experiment, and the numbers of it that claims need."""

    def __init__(self, results: Results, folder: Path, generated: dict[str, Path]) -> None:
        self.results, self.folder, self.generated = results, EvaluationFolder(folder), generated
        self.needed: set[tuple[str, Measure]] = set()
        self.recomputed: dict[tuple[str, Measure], dict[int, float]] = {}  # by seed
        self.found: dict[tuple[str, Measure], list[Fault]] = {}

    def make_jobs(self) -> list[tuple["_Check", str, int, str, str]]:
        """Collect the text, and return what to recompute: variant, seed, test set, metric."""
        experiment, corpus = self.results.experiment, self.results.settings.corpus
        sets = dict.fromkeys(OF_TRANSLATIONS, corpus.tests) | dict.fromkeys(MCNEMAR, corpus.contrastive)
        jobs = [
            (self, name, seed, test, metric)
            for name, test, metric in sorted({(name, of.test_set, of.metric) for name, of in self.needed})
            for seed in self.results.settings.seeds
            for path in (experiment.contrastive_outcomes if metric in MCNEMAR else experiment.hypotheses,)
            if test in sets.get(metric, ()) and path(run_name(name, seed)).is_file()
        ]
        return jobs if jobs and self._has_text({metric for *_, metric in jobs}) else []

    def _has_text(self, metrics: Collection[str]) -> bool:
        """Collect what scores read in a folder, and return whether the references are here or can be generated."""
        experiment, folder, corpus = self.results.experiment, self.folder, self.results.settings.corpus
        folder.folder.mkdir()
        folder.metrics.symlink_to(experiment.metrics.resolve())
        folder.corpus.parent.mkdir(parents=True)
        plan = experiment.data_plan(corpus.name)
        if experiment.corpus.is_dir():
            folder.corpus.symlink_to(experiment.corpus.resolve())
        elif plan.is_file() and isinstance(entry := read_data_plan(plan)[0], MiniatureSettings):
            generated = self.generated.setdefault(repr(entry), folder.folder / "generated")
            if not generated.exists():
                generated.mkdir()
                # the test sets do not depend on the size of the training text
                Generation(replace(entry, train=1), generated).run()
            folder.corpus.symlink_to(generated)
        else:
            return False
        side = MosesSide(corpus.target, self.results.settings.text.target)
        for test in corpus.tests if side.settings.pretokenized or {*metrics} & {*OF_TOKENS} else ():
            for name in reference_names(folder.corpus, test, corpus.target):
                lines = side.prepare(read_lines(folder.corpus / name))
                write_lines(folder.tokenized / f"{name}.cased", map(side.tokens, lines))
        for name in corpus.contrastive if {*metrics} & {*MCNEMAR} else ():
            _, items = read_contrastive_set(folder.corpus / f"{name}.{corpus.direction}.jsonl")
            write_json(folder.tokenized / f"{name}.items.json", items)
        return True

    @cached_property
    def corrected(self) -> Results:
        """The results with the recomputed numbers in place of the committed ones that differ."""
        rows = {
            (name, seed): [
                replace(row, value=value)
                if not row.subject
                and (value := self.recomputed.get((name, row.measure), {}).get(seed)) is not None
                and not _is_same(row.value, value, LAST_DECIMAL)
                else row
                for row in rows
            ]
            for (name, seed), rows in self.results.rows.items()
        }
        return replace(self.results, rows=rows)

    def faults(self, name: str, measure: Measure) -> list[Fault]:
        """Return what differs in the files of a variant, in the rows of a measure, and in its row of results.csv."""
        if (name, measure) not in self.found:
            self.found[name, measure] = [*self._file_faults.get(name, ()), *self._row_faults(name, measure)]
        return self.found[name, measure]

    def _row_faults(self, name: str, measure: Measure) -> Iterator[Fault]:
        experiment, seeds = self.results.experiment, self.results.settings.seeds
        path = experiment.contrastive if measure.metric in MCNEMAR else experiment.scores
        path = experiment.analyses if measure.metric == "ngram_accuracy" else path
        values = self.recomputed.get((name, measure), {})
        for seed, value in zip(seeds, self.results.by_seed(name, measure) or (), strict=False):
            if seed in values and not _is_same(value, values[seed], LAST_DECIMAL):
                run = run_name(name, seed)
                yield Fault(path(run), f"{run}, {_words(measure)}", value, values[seed])
        there, recomputed = (tables.get((name, measure), {}) for tables in self._tables)
        for column in {**there, **recomputed}:
            if not _is_same(there.get(column), recomputed.get(column)):
                what = f"{name}, {_words(measure)}, {column}"
                yield Fault(experiment.results_table, what, there.get(column), recomputed.get(column))

    @cached_property
    def _file_faults(self) -> dict[str, list[Fault]]:
        """The files of each variant, and the text, whose hashes are not those that dvc.lock records."""
        experiment, outputs = self.results.experiment, LockFile(self.results.experiment).outputs
        of_run = (
            *(experiment.hypotheses, experiment.contrastive, experiment.contrastive_outcomes, experiment.analyses),
            *(experiment.sentence_probes, experiment.word_probes, experiment.curve),
        )
        faults: dict[str, list[Fault]] = {}
        for name in {name for name, _ in self.needed}:
            runs = [run_name(name, seed) for seed in self.results.settings.seeds]
            paths = [experiment.scores(runs[0]).parent, *(path(run) for run in runs for path in of_run)]
            paths += [experiment.corpus] if experiment.corpus.is_dir() else []
            for path in paths:
                _, recorded = outputs.get(path.relative_to(experiment.folder).as_posix(), ("", ""))
                digest = digest_of(path) if recorded and path.exists() else "no file"
                if recorded and digest != recorded:
                    faults.setdefault(name, []).append(Fault(path, "its MD5 in dvc.lock", recorded, digest))
        return faults

    @cached_property
    def _tables(self) -> tuple[dict[Any, dict[str, str]], ...]:
        """The rows of results.csv, as committed and as the corrected results give them."""
        temporary = Experiment(self.folder.folder.with_name(f"{self.folder.folder.name}-results"))
        temporary.folder.mkdir()
        copyfile(self.results.experiment.parameters, temporary.parameters)
        write_results(replace(self.corrected, experiment=temporary))
        return tuple(
            {
                (
                    row["variant"],
                    Measure(row["test_set"], row["metric"], int(layer) if layer else None, row["tag"]),
                ): row
                for row in _read_table(path)
                for layer in (row["layer"],)
            }
            for path in (self.results.experiment.results_table, temporary.results_table)
        )


def _recompute(checks: Sequence[_Check]) -> None:
    """Score the translations and the contrastive outcomes that claims need, in all cores."""
    jobs = [job for check in checks for job in check.make_jobs()]

    def work(job: tuple[_Check, str, int, str, str]) -> dict[Measure, float]:
        check, name, seed, test, metric = job
        score = _accuracies if metric in MCNEMAR else _scores
        return score(check.folder, run_name(name, seed), test, metric)

    found = tracked(in_parallel(work, jobs, usable_cores()), "scores", len(jobs), "runs")
    for (check, name, seed, _, _), values in zip(jobs, found, strict=True):
        for measure, value in values.items():
            check.recomputed.setdefault((name, measure), {})[seed] = value


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
    elif metric == "sacrebleu":
        scores = {metric: score_sacrebleu(output, references, tokenizer=tokenizer)}
    else:
        scores = score_raw(output, references, tokenizer=tokenizer)
    return {Measure(test, metric): scores[metric]["score"]}


def _accuracies(folder: EvaluationFolder, run: str, name: str, metric: str) -> dict[Measure, float]:
    items = read_items(folder.tokenized / f"{name}.items.json")
    outcomes = read_outcomes(folder.contrastive_outcomes(run)).get(name)
    if outcomes is None or outcomes.sha256 != items.sha256:
        return {}
    right = outcomes.by_metric[metric]
    return {
        Measure(name, metric, tag=category): round(100 * fmean(right[number] for number in numbers), 4)
        for category, numbers in items.by_category().items()
    }


def _compare_claims(experiment: Experiment, rows: Sequence[ClaimRow], folder: Path) -> dict[str, list[Fault]]:
    """Return the differences between the committed claims.{json,csv} and `rows`, by id."""
    write_claims(Experiment(folder), rows)
    faults: dict[str, list[Fault]] = {row.id: [] for row in rows}
    readers: dict[str, Callable[[Path], Any]] = {
        "claims.json": lambda path: read_json(path)["claims"],
        "claims.csv": _read_table,
    }
    for name, read in readers.items():
        path = experiment.metrics / name
        there, recomputed = ({row["id"]: row for row in read(file)} for file in (path, folder / "metrics" / name))
        for row_id, values in recomputed.items():
            if row_id not in there:
                faults[row_id].append(Fault(path, row_id, "no row", "a row"))
                continue
            faults[row_id] += [
                Fault(path, f"{row_id}, {field}", there[row_id].get(field), value)
                for field, value in values.items()
                if not _is_same(there[row_id].get(field), value)
            ]
    return faults


def _read_table(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise UserError(f"{path}: no such file; the stage report writes it")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _is_same(there: Any, recomputed: Any, tolerance: float = 0.0) -> bool:
    try:
        return there == recomputed or isclose(float(there), float(recomputed), rel_tol=1e-6, abs_tol=tolerance)
    except (TypeError, ValueError):
        return False


def _words(measure: Measure) -> str:
    layer = "" if measure.layer is None else f" in layer {measure.layer}"
    return f"{measure.metric}{f' {measure.tag}' if measure.tag else ''}{layer} on {measure.test_set}"
