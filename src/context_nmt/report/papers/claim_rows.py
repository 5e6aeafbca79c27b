"""The claims of papers with their verdicts as rows: what claims.json holds, and what all pages and pictures show."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, Literal, get_args, get_type_hints

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from context_nmt.files import replacing, write_json
from context_nmt.report.papers.all_systems import System
from context_nmt.report.papers.outcomes import Outcome, outcomes_of
from context_nmt.report.papers.published import ALIKE, Claim, Paper, published_gains
from context_nmt.report.papers.verdicts import (
    NOT_TESTABLE,
    OPEN,
    SEEDS,
    WORDS,
    Confound,
    Obstacle,
    adjusted_p_values,
    confound_of,
    fault_of,
    obstacle_of,
    verdict_of,
)
from context_nmt.report.tables import DASH, TIMES
from context_nmt.results.metrics import format_difference, format_interval, format_p
from context_nmt.results.table import Results
from context_nmt.settings.parameters import Experiment

WITHDRAWN = get_args(get_type_hints(Confound)["kind"])
SCREEN_HEADS = ("Paper", "Claim", "Published", "Here", "Seeds", "Text", "Verdict", "Note")  # of the first screen
HEADS = ("Claim", "Where", "Published", "Here", "Verdict", "Other experiments, uncorrected")
LEGEND = (
    "A paper's table of claims has a line for each. The experiment and the measure that judge a claim were chosen"
    " in advance; which claims are primary (those that the paper stands on), and the margin, after these seeds"
    f" had been seen. A verdict needs {SEEDS} training runs of each system; its test is a t-test over seeds, paired"
    " by seed, with a variance that is drawn towards those of comparable systems. Supported and against: p < 0.05"
    " after correction for the tests in this report, with Holm's method for the primary claims of a paper and"
    " Benjamini and Hochberg's for its others. Leaning: p < 0.05 before this correction. No difference: the 90%"
    f" interval, not corrected, lies within ±{ALIKE} BLEU. Open: none of these. Intervals are 95%, over seeds, and"
    " not corrected; in brackets are numbers that do not answer the claim. Against several systems, a claim must"
    " hold against each. Of costs, rounds on one machine take the place of seeds, and a difference is a share of the"
    " other system's speed. “In words”: the paper publishes no number. The same as data: metrics/claims.json and"
    " claims.csv."
)


class Row(BaseModel):
    """A model whose fields claims.json describes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Elsewhere(Row):
    """What another experiment shows, uncorrected."""

    experiment: str = Field(description="folder in experiments/; empty for the one in the root")
    corpus: str = Field(description="corpus and direction")
    seeds: int = Field(description="number of seeds")
    difference: float = Field(description="mean over seeds, as in the claim's row")
    low: float | None = Field(description="lower end of its 95% interval over seeds, not corrected; from three seeds")
    high: float | None = Field(description="upper end")
    agrees: bool | None = Field(description="whether it has the claimed direction; null without a difference")
    caveat: str = Field(description="why it does not answer the claim, in a few words")

    def text(self, decimals: int) -> str:
        """Return its difference with interval, seeds and caveat."""
        ends = _interval_text(self.low, self.high, decimals)
        interval = f" [{ends}]" if ends else ""
        seeds = f"{self.seeds} seeds" if self.seeds > 1 else "1 seed"
        caveat = f"; {self.caveat}" if self.caveat else ""
        difference = format_difference(self.difference, decimals)
        return f"{self.experiment or self.corpus}: {difference}{interval} ({seeds}{caveat})"


class ClaimRow(Row):
    """A claim of a paper, what the paper publishes, what was measured here, and the verdict."""

    id: str = Field(description="PAPER/CLAIM")
    paper: str = Field(description="name of the paper")
    says: str = Field(description="the claim in words")
    place: str = Field(description="where in the paper; empty for a question of this project")
    family: Literal["primary", "secondary"] = Field(
        description="primary: one of the few claims that the paper stands on (Holm's correction); secondary: all others"
        " (Benjamini and Hochberg's)"
    )
    direction: Literal["higher", "not_lower", "lower", "equal"] = Field(description="what it says of `difference`")
    alike: float | None = Field(description="the largest difference between systems that are alike")
    published: list[float] = Field(description="published differences, one per column of the paper's table")
    published_decimals: int = Field(description="decimals of printed published differences")
    experiment: str = Field(description="folder in experiments/ that judges the claim; empty for the one in the root")
    corpus: str = Field(description="its corpus and direction; empty if it has not run")
    system: str = Field(description="variant that the claim is about")
    others: list[str] = Field(description="variants that it is compared with, the hardest for the claim first")
    measure: str = Field(description="measure, without its test set")
    is_bleu: bool = Field(description="whether differences are in BLEU")
    test_set: str = Field(description="test set")
    seeds: list[int] = Field(description="training seeds")
    numbers: str = Field(description="the means of both systems over seeds; empty if they are out of date")
    difference: float | None = Field(description="mean over seeds: the system minus the first of the others")
    low: float | None = Field(description="lower end of its 95% interval over seeds; from three seeds")
    high: float | None = Field(description="upper end")
    standard_error: float | None = Field(description="of the difference, see docs/reference/measures.md")
    degrees_of_freedom: float | None = Field(description="of the t test")
    p: float | None = Field(
        description="of this claim alone: for it, that of its hardest comparison; against it, the smallest times their"
        " number. Two-sided; of equality, two one-sided tests"
    )
    adjusted_p: float | None = Field(description="p, corrected for the tests of its family in this report")
    verdict: Literal[WORDS] = Field(description="see docs/reference/measures.md")  # type: ignore[valid-type]
    kind: str = Field(
        description="of what stands in the way of a verdict: confounded, ceiling or text (the numbers do not answer the"
        " claim), not run, cost (too few rounds), old (out of date), signatures (scored differently) or seeds (too"
        " few); empty if nothing does"
    )
    reason: str = Field(description="the same in a sentence")
    caveat: str = Field(description="what to keep in mind, in a few words")
    command: str = Field(description="what makes the numbers, in the root")
    decimals: int = Field(description="decimals of printed differences")
    elsewhere: list[Elsewhere] = Field(description="what other experiments show, uncorrected")

    @property
    def is_question(self) -> bool:
        """Whether it is a question of this project."""
        return not self.place

    @property
    def screen(self) -> tuple[str, ...]:
        """Its cells on the first screen, from SCREEN_HEADS' second on."""
        seeds = str(len(self.seeds)) if self.seeds else DASH
        claim = f"{self.says} (our question)" if self.is_question else self.says
        found = self.found_text if self.is_bleu or self.difference is None else f"{self.found_text} {self.measure}"
        verdict = f"{self.verdict}: {self.kind}" if self.kind else self.verdict
        return claim, self.published_text, found, seeds, self.corpus or DASH, verdict, self.caveat

    @property
    def texts(self) -> tuple[str, ...]:
        """Its cells below HEADS."""
        seeds = f", {len(self.seeds)} seeds" if len(self.seeds) > 1 else ", 1 seed" if self.seeds else ""
        interval = f", 95% {self._interval_text}" if self._interval_text else ""
        here = f"{self.experiment or self.corpus}: {self.numbers}{interval}{seeds}" if self.numbers else DASH
        caveat = f"; {self.caveat}" if self.caveat and not self.reason else ""
        return (
            f"our question: {self.says}" if self.is_question else self.says,
            self.place or DASH,
            self.published_text,
            here,
            self.verdict_text + caveat,
            "; ".join(one.text(self.decimals) for one in self.elsewhere),
        )

    @property
    def style(self) -> str:
        """The name of its verdict in style sheets."""
        return self.verdict.replace(" ", "-")

    @property
    def _interval_text(self) -> str:
        return _interval_text(self.low, self.high, self.decimals)

    @property
    def is_withdrawn(self) -> bool:
        """Whether its numbers do not answer it."""
        return self.kind in WITHDRAWN

    @property
    def published_text(self) -> str:
        """The published differences, from the smallest to the largest."""
        ends = sorted(self.published)
        texts = dict.fromkeys(format_difference(value, self.published_decimals) for value in (*ends[:1], *ends[-1:]))
        return " … ".join(texts) or (DASH if self.is_question else "in words")

    @property
    def found_text(self) -> str:
        """Our difference with its interval; in brackets if it does not answer the claim."""
        if self.difference is None:
            return DASH
        interval = f" [{self._interval_text}]" if self._interval_text else ""
        text = format_difference(self.difference, self.decimals) + interval
        return f"({text})" if self.reason else text

    @property
    def verdict_text(self) -> str:
        """The verdict with its p-values or the reason why there is none."""
        if self.p is None or self.adjusted_p is None:
            return f"{self.verdict}: {f'{self.kind}, {self.caveat}' if self.is_withdrawn else self.reason}"
        return f"{self.verdict} (p {format_p(self.p)}, adjusted {format_p(self.adjusted_p).removeprefix('= ')})"


def _interval_text(low: float | None, high: float | None, decimals: int) -> str:
    return format_interval((low, high), decimals) if low is not None and high is not None else ""


def claim_rows(papers: dict[str, Paper], experiments: Sequence[Results]) -> list[ClaimRow]:
    """Judge every claim of the papers; in an experiment's own report, those that it judges or can test."""
    folder, rows = experiments[0].folder, []
    for name, paper in papers.items():
        found = [outcomes_of(paper, claim, experiments) for claim in paper.claims]
        adjusted = adjusted_p_values([next((one for one in outcomes if one.judges), None) for outcomes in found])
        for claim, outcomes, adjusted_p in zip(paper.claims, found, adjusted, strict=True):
            if outcomes or not folder or claim.experiment == folder:
                rows.append(_row(name, paper, claim, outcomes, adjusted_p))
    return rows


def write_claims(experiment: Experiment, rows: Sequence[ClaimRow]) -> None:
    """Write metrics/claims.json, with the meaning of its fields, and claims.csv, without other experiments' results."""
    content = {"schema": ClaimRow.model_json_schema(), "claims": [row.model_dump() for row in rows]}
    path = experiment.metrics / "claims.json"
    write_json(path, content)
    flat = [row.model_dump(exclude={"elsewhere"}) for row in rows]
    table = pd.DataFrame(flat, columns=[name for name in ClaimRow.model_fields if name != "elsewhere"])
    for name in ("published", "others", "seeds"):
        table[name] = [" ".join(map(str, values)) for values in table[name]]
    with replacing(path.with_suffix(".csv")) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def counts_of(rows: Sequence[ClaimRow]) -> list[str]:
    """Return how many claims have each verdict, as "3 open", in the order of WORDS."""
    counts = Counter(row.verdict for row in rows)
    return [f"{counts[word]} {word}" for word in WORDS if counts[word]]


def _row(name: str, paper: Paper, claim: Claim, outcomes: Sequence[Outcome], adjusted_p: float | None) -> ClaimRow:
    here = next((one for one in outcomes if one.judges), None)
    obstacle = obstacle_of(claim, here)
    others = [one for one in outcomes if one is not here and not claim.is_cost]  # a cost is the same in all
    published, published_decimals = published_gains(paper, claim)
    empty: dict[str, Any] = dict.fromkeys(("corpus", "system", "measure", "test_set", "numbers"), "")
    empty |= dict.fromkeys(("difference", "low", "high", "standard_error", "degrees_of_freedom", "p"))
    values = empty | {"others": [], "seeds": [], "decimals": 2}
    verdict = OPEN if obstacle and obstacle.kind == "seeds" else NOT_TESTABLE
    if here:
        values |= {
            "corpus": here.results.corpus,
            "system": here.side.variant,
            "others": list(dict.fromkeys(other.variant for other in here.others)),
            "measure": here.side.name,
            "test_set": here.side.measures[0].test_set,
            "decimals": here.decimals,
        }
    if here and not here.is_out_of_date:
        low, high = (here.interval if adjusted_p is None else here.samples[0].interval()) or (None, None)
        seeds = [] if claim.is_cost else list(here.results.settings.seeds)
        values |= {"seeds": seeds, "numbers": here.numbers(), "difference": here.gain, "low": low, "high": high}
    if here and adjusted_p is not None:
        verdict, first = verdict_of(here, adjusted_p), here.samples[0]
        values |= {
            "standard_error": round(first.standard_error, 6),
            "degrees_of_freedom": round(first.degrees_of_freedom, 4),
        }
        values["p"] = min(here.p_values)
    return ClaimRow(
        id=f"{name}/{'-'.join(re.findall(r'[a-z0-9]+', claim.says.lower()))}",
        paper=paper.name,
        says=claim.says,
        place=claim.place,
        family="primary" if claim.primary else "secondary",
        direction=claim.direction,
        alike=claim.alike,
        published=published,
        published_decimals=published_decimals,
        experiment=claim.experiment,
        is_bleu=claim.is_bleu,
        adjusted_p=adjusted_p,
        verdict=verdict,
        kind=obstacle.kind if obstacle else "",
        reason=obstacle.says if obstacle else "",
        caveat="; ".join(_caveats(here, obstacle, others if verdict != OPEN else ())),
        command=claim.command,
        elsewhere=[_elsewhere(other) for other in others],
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
    """Yield why the numbers of a comparison do not answer its claim, and what else its seeds vary."""
    confound, fault = confound_of(outcome), fault_of(outcome)
    if fault and fault.kind != "seeds":
        yield fault.short
    if confound:
        yield confound.short
    yield from _processors(outcome)


def _caveats(outcome: Outcome | None, obstacle: Obstacle | Confound | None, others: Sequence[Outcome]) -> Iterator[str]:
    """Yield what stands in the way of a verdict, other causes of a difference, and which of the others disagree."""
    if obstacle:
        yield obstacle.short
    if outcome is None:
        return
    if outcome.claim.is_cost:
        yield from filter(None, ("one machine", outcome.claim.note))
        return
    if obstacle and obstacle.kind != "old" and outcome.is_out_of_date:
        yield "out of date"
    elif outcome.results.earlier_code:
        yield "earlier code"
    yield from _processors(outcome)
    if obstacle and obstacle.kind != "seeds":
        return
    if outcome.claim.note:
        yield outcome.claim.note
    own, reference = (
        System(side.variant, outcome.results).epochs for side in (outcome.side, outcome.other or outcome.side)
    )
    if own and reference and (own[0] > reference[1] or own[1] < reference[0]):
        yield f"with {fmean(own) / fmean(reference):.1f} {TIMES} the training tokens"
    if any(name in outcome.results.settings.train.distilled for name in outcome.systems):
        yield "all seeds: one teacher run"
    for elsewhere in others:
        interval = elsewhere.interval
        differs = interval and (interval[0] > 0 or interval[1] < 0) and elsewhere.agrees is not outcome.agrees
        if differs and not any(_doubts(elsewhere)):
            yield f"not on {elsewhere.results.settings.corpus.name}"


def _processors(outcome: Outcome) -> Iterator[str]:
    """Yield a note if a difference is one of processors, too."""
    seeds = outcome.results.mixed_seeds(outcome.trained)
    if seeds:
        which = "" if seeds == list(outcome.results.settings.seeds) else f"seed {', '.join(map(str, seeds))}: "
        yield f"{which}two processors"
