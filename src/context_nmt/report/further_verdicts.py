"""What else is known of a claim: other tests of it, and what the pilot's seeds showed."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from context_nmt.report.outcomes import Outcome, designated_of, first_looks_of, outcomes_of
from context_nmt.report.published import PAPERS_FOLDER, Claim, Paper
from context_nmt.report.verdicts import VERDICTS, adjusted_p_values, verdict_of
from context_nmt.results.metrics import format_difference, format_interval
from context_nmt.results.table import Results

LOSS_DECIMALS = 3
PILOT_FILE = PAPERS_FOLDER / "pilot.csv"  # from results of commit 3e981708, which docs/preregistration.md describes
PILOT_SEEDS = "seeds 1 to 5"


class DescribedModel(BaseModel):
    """A model whose fields are described in claims.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LossVerdict(DescribedModel):
    """A primary claim in BLEU, tested once more by the loss on references."""

    difference: float = Field(description="mean over seeds, nats per unit: the system minus the hardest rival")
    low: float = Field(description="lower end of its 95% interval over seeds")
    high: float = Field(description="upper end")
    p: float = Field(description="p before correction")
    adjusted_p: float = Field(description="p, corrected for the other primary claims' losses")
    verdict: Literal[VERDICTS] = Field(description="see docs/reference/measures.md")  # type: ignore[valid-type]

    def text(self) -> str:
        """Return its verdict with the difference, in words."""
        interval = format_interval(self.low, self.high, LOSS_DECIMALS)
        return f"loss {format_difference(self.difference, LOSS_DECIMALS)} [{interval}]: {self.verdict}"


class PilotVerdict(DescribedModel):
    """What the pilot's seeds showed of a preregistered claim, with the pilot's recipe."""

    difference: float = Field(description="mean over these seeds, as in the claim's row")
    low: float = Field(description="lower end of its 95% interval over seeds")
    high: float = Field(description="upper end")
    verdict: Literal[VERDICTS] = Field(description="if the recipe could answer the claim")  # type: ignore[valid-type]

    def text(self, decimals: int) -> str:
        """Return the difference with its interval and verdict, in words."""
        difference = format_difference(self.difference, decimals)
        return f"pilot, {PILOT_SEEDS}: {difference} [{format_interval(self.low, self.high, decimals)}], {self.verdict}"


def judge_losses(paper: Paper, experiments: Sequence[Results]) -> dict[Claim, LossVerdict]:
    """Test a paper's primary claims by the loss on references, with a Holm correction of their own."""
    claims = {claim: claim.loss for claim in paper.claims if claim.loss}
    losses, verdicts = [*claims.values()], {}
    outcomes = [designated_of(outcomes_of(paper, loss, experiments)) for loss in losses]
    adjusted = adjusted_p_values(losses, outcomes, first_looks_of(paper, losses, outcomes, experiments))
    for claim, outcome, adjusted_p in zip(claims, outcomes, adjusted, strict=True):
        if outcome and adjusted_p is not None:
            low, high = outcome.samples[0].interval() or (outcome.gain, outcome.gain)
            verdicts[claim] = LossVerdict(
                difference=outcome.gain,
                low=low,
                high=high,
                p=min(outcome.p_values),
                adjusted_p=adjusted_p,
                verdict=verdict_of(outcome, adjusted_p),
            )
    return verdicts


def plain_verdicts(
    claims: Sequence[Claim], outcomes: Sequence[Outcome | None], first_looks: Sequence[Outcome | None]
) -> list[str | None]:
    """Return the verdicts of t tests whose variance is not shared; None for a claim that cannot be tested."""
    plain = [outcome and replace(outcome, shares_variance=False) for outcome in outcomes]
    first = [
        now if look is outcome else look and replace(look, shares_variance=False)
        for look, outcome, now in zip(first_looks, outcomes, plain, strict=True)
    ]
    return [
        verdict_of(outcome, adjusted_p) if outcome and adjusted_p is not None else None
        for outcome, adjusted_p in zip(plain, adjusted_p_values(claims, plain, first), strict=True)
    ]


@cache
def read_pilot() -> dict[str, PilotVerdict]:
    """Read what the pilot showed, by the id of the claim."""
    rows = pd.read_csv(PILOT_FILE).to_dict("records")
    return {row.pop("claim"): PilotVerdict.model_validate(row) for row in rows}
