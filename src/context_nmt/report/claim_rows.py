"""The claims of papers with their verdicts, as rows: claims.json contains them, and pages and pictures show them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

import pandas as pd
from pydantic import Field

from context_nmt.files import replacing, write_json
from context_nmt.report.all_systems import System
from context_nmt.report.further_verdicts import (
    DescribedModel,
    LossVerdict,
    PilotVerdict,
    judge_losses,
    plain_verdicts,
    read_pilot,
)
from context_nmt.report.outcomes import Outcome, designated_of, first_looks_of, outcomes_of
from context_nmt.report.published import BLEU_MARGIN, Claim, Paper, published_gains
from context_nmt.report.tables import DASH, TIMES
from context_nmt.report.verdicts import (
    NOT_TESTABLE,
    OPEN,
    VERDICTS,
    Confound,
    Obstacle,
    adjusted_p_values,
    find_confound,
    find_fault,
    find_obstacle,
    verdict_of,
)
from context_nmt.results.metrics import format_difference, format_interval, format_p
from context_nmt.results.table import Results
from context_nmt.settings.parameters import Experiment

JUDGED_ELSEWHERE = "judged elsewhere"
WITHDRAWN_KINDS = get_args(get_type_hints(Confound)["kind"])
SUMMARY_COLUMNS = ("Claim", "Verdict", "Published", "Here", "Note", "Text, seeds")  # of the primary claims
DETAIL_COLUMNS = ("Claim", "Verdict", "Published", "Here", "Other experiments, uncorrected")


class Elsewhere(DescribedModel):
    """What another experiment shows, uncorrected."""

    experiment: str = Field(description="folder in experiments/; empty for the one in the root")
    corpus: str = Field(description="corpus and direction")
    seeds: int = Field(description="number of seeds")
    difference: float = Field(description="mean over seeds, as in the claim's row")
    low: float | None = Field(description="lower end of its 95% interval over seeds, not corrected; needs three seeds")
    high: float | None = Field(description="upper end")
    agrees: bool | None = Field(description="whether it has the claimed direction; null without a difference")
    caveat: str = Field(description="why it does not answer the claim, in a few words")

    def text(self, decimals: int) -> str:
        """Return its difference with interval, seeds and caveat."""
        ends = format_interval(self.low, self.high, decimals)
        interval = f" [{ends}]" if ends else ""
        seeds = f"{self.seeds} seeds" if self.seeds > 1 else "1 seed"
        caveat = f"; {self.caveat}" if self.caveat else ""
        difference = format_difference(self.difference, decimals)
        return f"{self.experiment or self.corpus}: {difference}{interval} ({seeds}{caveat})"


class ClaimRow(DescribedModel):
    """A claim of a paper, what the paper publishes, what was measured here, and the verdict."""

    id: str = Field(description="PAPER/CLAIM")
    paper: str = Field(description="name of the paper")
    says: str = Field(description="the claim in words")
    place: str = Field(description="where in the paper; empty for a question of this project")
    family: Literal["primary", "secondary"] = Field(
        description="primary: one of the few claims that the paper rests on (Holm's correction); secondary: all others"
        " (Benjamini and Hochberg's)"
    )
    preregistered: bool = Field(
        description="whether it is in a preregistered set of claims, which is corrected apart; false in a rerun"
    )
    direction: Literal["higher", "not_lower", "lower", "equal"] = Field(description="what it says about `difference`")
    alike: float | None = Field(description="the largest difference between systems that are alike")
    published: list[float] = Field(description="published differences, one per column of the paper's table")
    published_decimals: int = Field(description="decimals of printed published differences")
    experiment: str = Field(description="folder in experiments/ that judges the claim; empty for the one in the root")
    corpus: str = Field(description="its corpus and direction; empty if it has not run")
    system: str = Field(description="variant that the claim is about")
    others: list[str] = Field(description="variants that it is compared with, the hardest for the claim first")
    measure: str = Field(description="measure, without its test set")
    topic: Literal["BLEU", "cost", "other measure"] = Field(description="what differences are in")
    test_set: str = Field(description="test set")
    seeds: list[int] = Field(description="training seeds")
    numbers: str = Field(description="the means of both systems over seeds; empty if they are out of date")
    difference: float | None = Field(description="mean over seeds: the system minus the first of the others")
    low: float | None = Field(description="lower end of its 95% interval over seeds; needs three seeds")
    high: float | None = Field(description="upper end")
    standard_error: float | None = Field(description="of the difference, see docs/reference/measures.md")
    degrees_of_freedom: float | None = Field(description="of the t test")
    p: float | None = Field(
        description="p before correction. For the claim, the largest p of its comparisons; against it, the smallest,"
        " times their number. Two-sided, except for equality (two one-sided tests)"
    )
    adjusted_p: float | None = Field(description="p, corrected for the tests of its family in this report")
    level: float = Field(description="below which adjusted_p is significant; 0.05 decides all other verdicts")
    p_no_difference: float | None = Field(
        description=f"p of the two one-sided tests that the difference lies within ±{BLEU_MARGIN} BLEU, the largest of"
        " all comparisons; null if this is not asked of the claim"
    )
    verdict: Literal[VERDICTS] = Field(description="see docs/reference/measures.md")  # type: ignore[valid-type]
    loss: LossVerdict | None = Field(description="the same claim about the loss; null if it is not tested")
    pilot: PilotVerdict | None = Field(description="what the pilot's seeds showed, for a preregistered claim")
    kind: str = Field(
        description="kind of obstacle to a verdict, empty if there is none: confounded or ceiling (the numbers do"
        " not answer the claim), not run, cost (too few rounds), out of date, scored differently, seeds (too few), or"
        " judged elsewhere (by another experiment)"
    )
    reason: str = Field(description="the same in a sentence")
    caveat: str = Field(description="what to keep in mind, in a few words")
    command: str = Field(description="command that makes the numbers, run in the root")
    decimals: int = Field(description="decimals of printed differences")
    elsewhere: list[Elsewhere] = Field(description="what other experiments show, uncorrected")

    @property
    def is_question(self) -> bool:
        """Whether it is a question of this project."""
        return not self.place

    @property
    def subject(self) -> str:
        """What counts of claims group it by."""
        return "our question" if self.is_question else self.topic

    @property
    def summary_cells(self) -> tuple[str, ...]:
        """Its cells in the summary of primary claims, for SUMMARY_COLUMNS."""
        is_in_bleu = self.topic == "BLEU" or self.difference is None
        result = self.result_text if is_in_bleu else f"{self.result_text} {self.measure}"
        verdict = f"{self.verdict}: {self.kind}" if self.kind else self.verdict
        text = f"{self.corpus or DASH}{self._seeds_text}"
        return self._claim_text, verdict, self.published_text, result, self.caveat, text

    @property
    def detail_cells(self) -> tuple[str, ...]:
        """Its cells in its paper's table of claims, for DETAIL_COLUMNS."""
        interval = f", 95% {self._interval_text}" if self._interval_text else ""
        here = f"{self.experiment or self.corpus}: {self.numbers}{interval}{self._seeds_text}" if self.numbers else DASH
        caveat = f"; {self.caveat}" if self.caveat and not self.reason else ""
        caveat += f"; {self.loss.text()}" if self.loss else ""
        pilot = [self.pilot.text(self.decimals)] if self.pilot else []
        return (
            self._claim_text,
            self.verdict_text + caveat,
            DASH if self.is_question else f"{self.published_text} ({self.place})",
            here,
            "; ".join([*pilot, *(other.text(self.decimals) for other in self.elsewhere)]),
        )

    @property
    def style_class(self) -> str:
        """The class of its verdict in style sheets."""
        return self.verdict.replace(" ", "-")

    @property
    def _claim_text(self) -> str:
        """The claim, with the margin of one that allows a difference, or needs it to be small."""
        question = " (our question)" if self.is_question else ""
        if self.direction not in ("equal", "not_lower") or self.alike is None:
            return self.says + question
        margin = f"{self.alike:.0%}" if self.topic == "cost" else f"{self.alike:g}"
        allowed = f"at most {margin} less" if self.direction == "not_lower" else f"within {margin}"
        return f"{self.says} ({allowed}){question}"

    @property
    def _seeds_text(self) -> str:
        return f", {len(self.seeds)} seed{'s' if len(self.seeds) > 1 else ''}" if self.seeds else ""

    @property
    def _interval_text(self) -> str:
        return format_interval(self.low, self.high, self.decimals)

    @property
    def is_withdrawn(self) -> bool:
        """Whether its numbers do not answer it."""
        return self.kind in WITHDRAWN_KINDS

    @property
    def published_text(self) -> str:
        """The published differences, from the smallest to the largest."""
        ends = sorted(self.published)
        texts = dict.fromkeys(format_difference(value, self.published_decimals) for value in (*ends[:1], *ends[-1:]))
        return " … ".join(texts) or (DASH if self.is_question else "in words")

    @property
    def result_text(self) -> str:
        """The difference found here with its interval; in parentheses if it does not answer the claim."""
        if self.difference is None:
            return DASH
        interval = f" [{self._interval_text}]" if self._interval_text else ""
        text = format_difference(self.difference, self.decimals) + interval
        return f"({text})" if self.reason else text

    @property
    def verdict_text(self) -> str:
        """The verdict with its p-values, or with the reason why it has none."""
        if self.p is None or self.adjusted_p is None:
            return f"{self.verdict}: {f'{self.kind}, {self.caveat}' if self.is_withdrawn else self.reason}"
        return f"{self.verdict} (p {format_p(self.p)}, adjusted {format_p(self.adjusted_p).removeprefix('= ')})"


def claim_rows(papers: dict[str, Paper], experiments: Sequence[Results]) -> list[ClaimRow]:
    """Judge the claims of all papers; an experiment's own report has only claims that it judges or can test."""
    folder, rows = experiments[0].folder, []
    for name, paper in papers.items():
        outcomes_by_claim = [outcomes_of(paper, claim, experiments) for claim in paper.claims]
        designated = [designated_of(outcomes) for outcomes in outcomes_by_claim]
        first_looks = first_looks_of(paper, paper.claims, designated, experiments)
        adjusted = adjusted_p_values(paper.claims, designated, first_looks)
        plain, losses = plain_verdicts(paper.claims, designated, first_looks), judge_losses(paper, experiments)
        for claim, outcomes, adjusted_p, other in zip(paper.claims, outcomes_by_claim, adjusted, plain, strict=True):
            is_judged_here = folder in ("", claim.experiment) or designated_of(outcomes) is not None
            if outcomes or is_judged_here:
                row = _make_row(name, paper, _Judged(claim, outcomes, is_judged_here, adjusted_p, other))
                rows.append(row.model_copy(update={"loss": None if row.reason else losses.get(claim)}))
    return rows


class _Judged(NamedTuple):
    """A claim with its comparisons and its tests."""

    claim: Claim
    outcomes: Sequence[Outcome]
    is_judged_here: bool  # by the experiment of the report, or by any in the root's report
    adjusted_p: float | None
    plain_verdict: str | None  # without a shared variance

    @property
    def obstacle(self) -> Obstacle | Confound | None:
        """Why there is no verdict."""
        if self.is_judged_here:
            return find_obstacle(self.claim, designated_of(self.outcomes))
        place = f"judged in {self.claim.experiment or 'the default experiment'}"
        return Obstacle(JUDGED_ELSEWHERE, place, place)


def claim_id(paper: str, claim: Claim) -> str:
    """Return PAPER/CLAIM, with the words of the claim."""
    return f"{paper}/{'-'.join(re.findall(r'[a-z0-9]+', claim.says.lower()))}"


def write_claims(experiment: Experiment, rows: Sequence[ClaimRow]) -> None:
    """Write metrics/claims.json, with the meaning of its fields, and claims.csv, which lacks those that are nested."""
    content = {"schema": ClaimRow.model_json_schema(), "claims": [row.model_dump() for row in rows]}
    path = experiment.metrics / "claims.json"
    write_json(path, content)
    nested = {"loss", "pilot", "elsewhere"}
    flat = [row.model_dump(exclude=nested) for row in rows]
    table = pd.DataFrame(flat, columns=[name for name in ClaimRow.model_fields if name not in nested])
    for name in ("published", "others", "seeds"):
        table[name] = [" ".join(map(str, values)) for values in table[name]]
    with replacing(path.with_suffix(".csv")) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def counts_of(rows: Sequence[ClaimRow]) -> list[str]:
    """Return how many claims have each verdict, as "3 open", and how many cannot be tested for which kind of reason."""
    counts = Counter(row.verdict for row in rows)
    kinds = Counter(row.kind for row in rows if row.verdict == NOT_TESTABLE)
    texts = {word: f"{counts[word]} {word}" for word in VERDICTS if counts[word]}
    if kinds:
        texts[NOT_TESTABLE] += f" ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})"
    return [*texts.values()]


def _make_row(name: str, paper: Paper, judged: _Judged) -> ClaimRow:
    claim, outcomes, is_judged_here, adjusted_p, plain_verdict = judged
    designated, obstacle = designated_of(outcomes), judged.obstacle
    # a cost is the same in all experiments
    other_outcomes = [outcome for outcome in outcomes if outcome is not designated and not claim.is_cost]
    published, published_decimals = published_gains(paper, claim)
    empty: dict[str, Any] = dict.fromkeys(("corpus", "system", "measure", "test_set", "numbers"), "")
    empty |= dict.fromkeys(("difference", "low", "high"))
    empty |= dict.fromkeys(("standard_error", "degrees_of_freedom", "p", "p_no_difference"))
    values = empty | {"others": [], "seeds": [], "decimals": 2}
    is_open = claim.preregistration is not None or (obstacle is not None and obstacle.kind == "seeds")
    verdict = OPEN if is_open and is_judged_here else NOT_TESTABLE
    if designated:
        values |= {
            "corpus": designated.results.corpus,
            "system": designated.system.variant,
            "others": list(dict.fromkeys(rival.variant for rival in designated.rivals)),
            "measure": designated.system.measure_name,
            "test_set": designated.system.measures[0].test_set,
            "decimals": designated.decimals,
        }
    if designated and not designated.is_out_of_date:
        low, high = (designated.interval if adjusted_p is None else designated.samples[0].interval()) or (None, None)
        seeds = [] if claim.is_cost else list(designated.results.settings.seeds)
        values |= {
            "seeds": seeds,
            "numbers": designated.numbers(),
            "difference": designated.gain,
            "low": low,
            "high": high,
        }
    if designated and adjusted_p is not None:
        verdict, first = verdict_of(designated, adjusted_p), designated.samples[0]
        values |= {
            "standard_error": round(first.standard_error, 6),
            "degrees_of_freedom": round(first.degrees_of_freedom, 4),
            "p": min(designated.p_values),
            "p_no_difference": designated.p_no_difference,
        }
    caveats = [*_caveats(designated, obstacle, other_outcomes if verdict != OPEN else ())]
    if plain_verdict not in (None, verdict):
        caveats.append(f"{plain_verdict} without a shared variance")
    return ClaimRow(
        id=claim_id(name, claim),
        paper=paper.name,
        says=claim.says,
        place=claim.place,
        family="primary" if claim.primary else "secondary",
        preregistered=claim.preregistration is not None and not claim.preregistration.rerun_of,
        direction=claim.direction,
        alike=claim.alike,
        published=published,
        published_decimals=published_decimals,
        experiment=claim.experiment,
        topic="cost" if claim.is_cost else "BLEU" if claim.is_bleu else "other measure",
        adjusted_p=adjusted_p,
        level=claim.level,
        verdict=verdict,
        loss=None,
        pilot=read_pilot().get(claim_id(name, claim)) if claim.preregistration else None,
        kind=obstacle.kind if obstacle else "",
        reason=obstacle.says if obstacle else "",
        caveat="; ".join(caveats),
        command=claim.command,
        elsewhere=[_elsewhere(outcome) for outcome in other_outcomes],
        **values,
    )


def _elsewhere(outcome: Outcome) -> Elsewhere:
    low, high = outcome.interval or (None, None)
    return Elsewhere(
        experiment=outcome.results.name,
        corpus=outcome.results.corpus,
        seeds=len(outcome.differences),
        difference=outcome.gain,
        low=low,
        high=high,
        agrees=outcome.agrees,
        caveat="; ".join(_doubts(outcome)),
    )


def _doubts(outcome: Outcome) -> Iterator[str]:
    """Yield why the numbers of a comparison do not answer its claim, and whether its processors differ."""
    confound, fault = find_confound(outcome), find_fault(outcome)
    if fault and fault.kind != "seeds":
        yield fault.short
    if confound:
        yield confound.short
    yield from _processor_notes(outcome)


def _caveats(
    outcome: Outcome | None, obstacle: Obstacle | Confound | None, other_outcomes: Sequence[Outcome]
) -> Iterator[str]:
    """Yield what prevents a verdict, other causes of the difference, and which other experiments disagree."""
    if obstacle:
        yield obstacle.short
    if outcome is None:
        return
    if outcome.claim.is_cost:
        yield from filter(None, ("one machine", outcome.claim.note))
        return
    if obstacle and obstacle.kind != "out of date" and outcome.is_out_of_date:
        yield "out of date"
    yield from _processor_notes(outcome)
    if obstacle and obstacle.kind != "seeds":
        return
    if outcome.claim.note:
        yield outcome.claim.note
    epochs, reference_epochs = (
        System(system.variant, outcome.results).epochs
        for system in (outcome.system, outcome.hardest_rival or outcome.system)
    )
    if epochs and reference_epochs and (epochs[0] > reference_epochs[1] or epochs[1] < reference_epochs[0]):
        yield f"with {fmean(epochs) / fmean(reference_epochs):.1f} {TIMES} the training tokens"
    for other_outcome in other_outcomes:
        interval = other_outcome.interval
        differs = interval and (interval[0] > 0 or interval[1] < 0) and other_outcome.agrees is not outcome.agrees
        if differs and not any(_doubts(other_outcome)):
            name, corpus = other_outcome.results.name, other_outcome.results.settings.corpus.name
            yield f"differs in {name}" if name else f"differs on {corpus}"


def _processor_notes(outcome: Outcome) -> Iterator[str]:
    """Yield a note if the compared systems were trained on different processors."""
    seeds = outcome.results.mixed_seeds(outcome.trained_variants)
    if seeds:
        which = "" if seeds == list(outcome.results.settings.seeds) else f" (seed {', '.join(map(str, seeds))})"
        yield f"the systems were trained on different processors{which}"
