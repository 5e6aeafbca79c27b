"""Write one line per claim of every paper."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from context_nmt.report.cells import DASH
from context_nmt.report.papers.claims import Outcome, headlines, outcomes_of, published_gains
from context_nmt.report.papers.published import Claim, Paper
from context_nmt.results.table import Results

LEGEND = (
    "Each line has the numbers of one experiment: one on the paper's own text if it has run, otherwise the first. The"
    " last column counts the others. “In words”: the paper publishes no number. “Not tested”: neither system is the"
    " other's baseline, or the measure has no test; a small difference then means nothing. “May be chance”: neither the"
    " system's own test nor its interval over seeds distinguishes the two. Small experiments neither confirm nor refute"
    " published numbers."
)
HEADS = ("Paper", "Claim", "Published", "Result here and its certainty", "Numbers", "Other experiments")


@dataclass(frozen=True)
class ClaimLine:
    """A claim and its outcome in the first experiment that can test it."""

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
        says=claim.says if claim.table else f"our question: {claim.says}",
        published=" … ".join(dict.fromkeys(str(gain) for gain in (*gains[:1], *gains[-1:])))
        or ("in words" if claim.table else DASH),
        verdict=f"{first.way}, {first.certainty}" if first else "no suitable experiment has run",
        numbers=f"{first.results.title}: {first.numbers()}" if first else DASH,
        elsewhere=", ".join(_counts(outcomes[1:])),
    )


def _counts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the number of experiments with each outcome."""
    for way in dict.fromkeys(outcome.way for outcome in outcomes):
        certainties = [outcome.is_certain for outcome in outcomes if outcome.way == way]
        yield f"{len(certainties)} {way}" + (f" ({sum(certainties)} beyond chance)" if any(certainties) else "")
