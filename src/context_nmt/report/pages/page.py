"""What every page of one experiment is made of."""

from dataclasses import dataclass

from context_nmt.report.grid import Grid
from context_nmt.results.table import Results


@dataclass(frozen=True)
class Section:
    """A heading with what is below it; an untitled section goes on with the one before."""

    title: str = ""
    text: str = ""
    picture: str = ""  # its name in figures/, without ending
    grids: tuple[Grid, ...] = ()


@dataclass(frozen=True)
class Page:
    """One Markdown page."""

    title: str
    introduction: str
    sections: tuple[Section, ...]
    notes: str = ""
    signatures: tuple[str, ...] = ()


def heading(results: Results, what: str) -> str:
    """The title of a page about `what`."""
    corpus = results.settings.corpus
    return f"{what}: {corpus.name}, {corpus.direction}"


def introduction(results: Results, text: str) -> str:
    """The seeds, and what a reader has to know."""
    seeds = ", ".join(map(str, results.settings.seeds))
    return (
        f"Seeds: {seeds}. Written by the report stage; results.csv holds the same numbers. ± is the sample standard"
        f" deviation over seeds; in brackets the difference to the system's baseline. {text}"
    ).rstrip()
