"""Every claim of every paper on a line, to read in a minute."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from context_nmt.report.cells import DASH
from context_nmt.report.papers.claims import Outcome, headlines, outcomes_of, published_gains
from context_nmt.report.papers.published import Claim, Paper
from context_nmt.results.table import Results

LEGEND = (
    "Numbers are those of one experiment: on the paper's own text if one has run, else the first; further ones are"
    " counted. “In words”: no number is published. “Not tested”: neither system is the other's baseline, or the measure"
    " has no test; small differences then say nothing. “May be chance”: the system's own test, or its interval over"
    " seeds, does not tell the two apart. Small experiments neither confirm nor refute published numbers."
)
HEADS = ("Paper", "It says", "Published", "How it went here, how sure that is", "Numbers", "Other experiments")


@dataclass(frozen=True)
class ClaimLine:
    """A claim and its outcome in the first experiment that can tell."""

    paper: str
    says: str
    published: str
    verdict: str
    numbers: str
    elsewhere: str

    @property
    def texts(self) -> list[str]:
        """The texts below HEADS."""
        return list(astuple(self))


def claim_lines(papers: Sequence[Paper], experiments: Sequence[Results]) -> list[ClaimLine]:
    """Return a line for every claim, with the gains of a paper's headlines first."""
    return [_line(paper, claim, experiments) for paper in papers for claim in (*headlines(paper), *paper.claims)]


def _line(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> ClaimLine:
    gains = sorted(published_gains(paper, claim))
    outcomes = outcomes_of(paper, claim, experiments)
    first = outcomes[0] if outcomes else None
    return ClaimLine(
        paper=paper.name,
        says=claim.says if claim.table else f"We ask: {claim.says}",
        published=" … ".join(dict.fromkeys(str(gain) for gain in (*gains[:1], *gains[-1:])))
        or ("in words" if claim.table else DASH),
        verdict=f"{first.way}, {first.certainty}" if first else "nothing that tells has run",
        numbers=f"{first.results.title}: {first.numbers()}" if first else DASH,
        elsewhere=", ".join(_counts(outcomes[1:])),
    )


def _counts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield how many experiments went which way."""
    for way in dict.fromkeys(outcome.way for outcome in outcomes):
        certain = [outcome.is_certain for outcome in outcomes if outcome.way == way]
        yield f"{len(certain)} {way}" + (f" ({sum(certain)} beyond chance)" if any(certain) else "")
