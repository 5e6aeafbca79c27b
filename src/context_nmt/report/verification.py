"""Check claims from the files in git: scores of translations, tables of results, differences and verdicts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from context_nmt.files import UserError, read_json
from context_nmt.measures.rows import Measure
from context_nmt.report.claim_rows import ClaimRow, claim_id, claim_rows, write_claims
from context_nmt.report.outcomes import Outcome, designated_of, outcomes_of
from context_nmt.report.published import Claim, Paper, papers_judged_by, read_papers
from context_nmt.report.recomputation import Fault, Recomputation, is_same, read_table, recompute
from context_nmt.results.out_of_date import results_out_of_date
from context_nmt.results.reading import read_all
from context_nmt.results.table import Results
from context_nmt.settings import some_names
from context_nmt.settings.parameters import Experiment

DEFAULT = "the default experiment"

Key = tuple[str, str, Measure]  # an experiment's folder, a variant and a measure


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

    Raise UserError for an unknown name, a broken file, or claims that the experiment cannot test.
    """
    papers = read_papers()
    claims = choose_claims(papers, paper, claim)
    papers = {name: papers[name] for name in dict.fromkeys(_paper_of(name) for name in claims)}
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        experiments = read_all(experiment, results_out_of_date(experiment))
        papers = papers_judged_by(experiments[0], papers)
        outcomes = {
            claim_id(name, one): [*_outcomes(papers[name], one, experiments)]
            for name in papers
            for one in papers[name].claims
        }
        keys = {name: [*dict.fromkeys(key for one in outcomes[name] for key in _keys(one))] for name in claims}
        needed = {key for of_claim in keys.values() for key in of_claim}
        checks = {
            results.folder: Recomputation(
                results, folder / str(number), {key[1:] for key in needed if key[0] == results.folder}
            )
            for number, results in enumerate(experiments)
        }
        try:
            recompute([*checks.values()], folder)
        except UserError as error:
            message = str(error)
            for check in checks.values():  # whose files are links
                experiment_of = check.results.experiment
                message = message.replace(str(check.folder.metrics), str(experiment_of.metrics))
                message = message.replace(str(check.folder.corpus), str(experiment_of.corpus))
            raise UserError(message) from None
        rows = {row.id: row for row in claim_rows(papers, [check.corrected for check in checks.values()])}
        by_row = _compare_claims(experiment, [*rows.values()], folder)
        if rows.keys().isdisjoint(claims):
            raise UserError(f"{experiment.parameters}: the experiment can test no claim of {paper or 'any paper'}")
        read: dict[str, set[str]] = {name: set() for name in papers}
        for name, of_claim in outcomes.items():
            read[_paper_of(name)] |= {outcome.results.folder for outcome in of_claim}
        for name in filter(rows.__contains__, claims):
            # a verdict also depends on the paper's other claims, and on the variance of other systems
            faults = [fault for of in sorted(read[_paper_of(name)]) for fault in checks[of].file_faults]
            faults += [fault for of, system, measure in keys[name] for fault in checks[of].faults(system, measure)]
            unique = {str(fault): fault for fault in [*faults, *by_row[name]]}.values()
            scored = tuple(key for key in keys[name] if key[1:] in checks[key[0]].recomputed)
            unscored = tuple(key for key in keys[name] if key not in scored)
            yield CheckedClaim(name, rows[name].verdict, tuple(unique), scored, unscored)
        for name in by_row.keys() - rows.keys() if not claim else ():
            if paper in ("", _paper_of(name)):
                yield CheckedClaim(name, "no such claim", tuple(by_row[name]), (), ())


def _paper_of(claim: str) -> str:
    return claim.partition("/")[0]


def _outcomes(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> Iterator[Outcome]:
    """Yield the outcomes of a claim, and the one that its verdict on the loss has."""
    yield from outcomes_of(paper, claim, experiments)
    if claim.loss and (of_loss := designated_of(outcomes_of(paper, claim.loss, experiments))):
        yield of_loss


def _keys(outcome: Outcome) -> Iterator[Key]:
    for name in sorted(outcome.trained_variants):
        for system in (outcome.system, *outcome.rivals):
            yield from ((outcome.results.folder, name, measure) for measure in system.measures)


def coverage_notes(checked: Sequence[CheckedClaim]) -> Iterator[str]:
    """Yield what was recomputed, and what was taken from rows."""
    scored = {key for one in checked for key in one.scored}
    unscored: dict[str, set[str]] = {}
    for name, _, measure in (key for one in checked for key in one.unscored):
        unscored.setdefault(measure.metric, set()).add(name or DEFAULT)
    systems, names = len({key[:2] for key in scored}), sorted({key[0] or DEFAULT for key in scored})
    count = f"{len(checked)} claim{'s' if len(checked) > 1 else ''}"
    yield f"{count}; systems scored again: {systems}, of {', '.join(names) or 'no experiment'}"
    some = {measure.metric for *_, measure in scored}
    metrics = [f"{name} of {', '.join(sorted(unscored[name]))}" if name in some else name for name in sorted(unscored)]
    if metrics:
        yield f"not recomputed, taken from their rows: {'; '.join(metrics)}"


def _compare_claims(experiment: Experiment, rows: Sequence[ClaimRow], folder: Path) -> dict[str, list[Fault]]:
    """Return the differences between the committed claims.{json,csv} and `rows`, by id."""
    write_claims(Experiment(folder), rows)
    faults: dict[str, list[Fault]] = {row.id: [] for row in rows}
    readers: dict[str, Callable[[Path], Any]] = {
        "claims.json": lambda path: read_json(path)["claims"],
        "claims.csv": read_table,
    }
    for name, read in readers.items():
        path = experiment.metrics / name
        there, recomputed = ({row["id"]: row for row in read(file)} for file in (path, folder / "metrics" / name))
        for row_id in there.keys() - recomputed.keys():
            faults.setdefault(row_id, []).append(Fault(path, row_id, "a row", "no row"))
        for row_id, values in recomputed.items():
            if row_id not in there:
                faults[row_id].append(Fault(path, row_id, "no row", "a row"))
                continue
            faults[row_id] += [
                Fault(path, f"{row_id}, {field}", there[row_id].get(field), value)
                for field, value in values.items()
                if not is_same(there[row_id].get(field), value)
            ]
    return faults
