"""Every claim of every paper on a line, to read in a minute."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from context_nmt.report.cells import DASH
from context_nmt.report.papers.claims import Outcome, Published, headlines, outcomes_of, published_of
from context_nmt.report.papers.published import Claim, Paper
from context_nmt.results.table import Results


@dataclass(frozen=True)
class Line:
    """One claim, in the experiment that comes first."""

    paper: str
    says: str
    published: str
    verdict: str
    numbers: str
    elsewhere: str

    @property
    def texts(self) -> list[str]:
        """What is below each of HEADS."""
        return list(astuple(self))


LEGEND = (
    "Numbers are those of one experiment: on the paper's own text if one has run, else the first; further ones are"
    " counted. “In words”: no number is published. “Not tested”: neither system is the other's baseline, or the measure"
    " has no test; small differences then say nothing. “May be chance”: the system's own test, or its interval over"
    " seeds, does not tell the two apart. Small experiments neither confirm nor refute published numbers."
)
HEADS = [
    *("Paper", "It says", "Published", "How it went here, how sure that is", "Numbers", "Other experiments"),
]


def lines_of(papers: Sequence[Paper], experiments: Sequence[Results]) -> list[Line]:
    """Put every claim on a line, the gains of a paper's headlines first."""
    return [_line(paper, claim, experiments) for paper in papers for claim in (*headlines(paper), *paper.claims)]


def _line(paper: Paper, claim: Claim, experiments: Sequence[Results]) -> Line:
    gains = " … ".join(dict.fromkeys(map(str, _ends(published_of(paper, claim)))))
    outcomes = outcomes_of(paper, claim, experiments)
    first = outcomes[0] if outcomes else None
    return Line(
        paper=paper.name,
        says=claim.says if claim.table else f"We ask: {claim.says}",
        published=gains or ("in words" if claim.table else DASH),
        verdict=f"{first.way}, {first.certainty}" if first else "nothing that tells has run",
        numbers=f"{first.results.title}: {first.numbers()}" if first else DASH,
        elsewhere=", ".join(_counts(outcomes[1:])),
    )


def _ends(gains: Sequence[Published]) -> Sequence[Published]:
    """The smallest and the largest of them."""
    return (min(gains), max(gains)) if gains else ()


def _counts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How many went which way."""
    for way in dict.fromkeys(outcome.way for outcome in outcomes):
        those = [outcome for outcome in outcomes if outcome.way == way]
        sure = sum(outcome.is_sure for outcome in those)
        yield f"{len(those)} {way}" + (f" ({sure} beyond chance)" if sure else "")
