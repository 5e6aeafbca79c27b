"""What goes on inside systems as a Markdown page."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from context_nmt.evaluation.markdown import score_cell, table_header, table_row
from context_nmt.evaluation.results import Results


@dataclass(frozen=True)
class Section:
    """The tables of one measure, one per test set, with a column per number."""

    measure: str
    title: str
    text: str
    column: str  # the title of a number's
    absent: str  # said where no system has the measure
    wholes: tuple[tuple[str, str], ...] = ()  # measures without a number, and their titles
    of_few: bool = False  # systems that do not have it are left out
    decimals: int = 3


SECTIONS = (
    Section(
        "locality_entropy",
        "Locality entropy",
        """\
How widely the decoder's cross-attention looks over the source, in bits (Ding et al. 2020): 0 if at one unit, 3 if at
eight alike; the mean over heads, target positions and sentences. An autoregressive system is read on the reference, a
masked one in its last iteration. The mean map is that of all heads.""",
        "layer {}",
        "No system shows its cross-attention.",
        (("locality_entropy", "all layers"), ("locality_entropy_of_mean_map", "all layers, mean map")),
    ),
    Section(
        "local_share",
        "Local cross-attention",
        """\
How much of a gated system's cross-attention is local, 1 - g; the mean over heads, target positions and sentences.""",
        "layer {}",
        "No system has a gate between global and local cross-attention.",
        of_few=True,
    ),
    Section(
        "ngram_accuracy",
        "N-gram accuracy",
        """\
Per cent of a test set's translated n-grams that stand in the reference of their sentence, each as often as there.""",
        "n = {}",
        "No translation has a word.",
        decimals=2,
    ),
)
INTRODUCTION = """\
Seeds: {seeds}. Written by the tables stage; analyses.csv holds the same numbers. ± is the sample standard deviation
over seeds; in brackets the difference to the system's baseline."""


def format_analyses(results: Results, pictures: Collection[str]) -> str:
    """Format a table per measure and test set; `pictures` are the measures that figures/ has one of."""
    corpus = results.settings.corpus
    lines = [f"# Inside the systems: {corpus.name}, {corpus.source}-{corpus.target}", ""]
    lines.append(INTRODUCTION.format(seeds=", ".join(map(str, results.settings.seeds))))
    for section in SECTIONS:
        lines += ["", f"## {section.title}", ""]
        tables = list(_tables(results, section))
        lines += [section.text] if tables else [section.absent]
        lines += ["", f"![{section.title}](figures/{section.measure}.svg)"] if section.measure in pictures else []
        lines += tables
    return "\n".join(lines) + "\n"


def _tables(results: Results, section: Section) -> Iterator[str]:
    for test_set in results.test_sets:
        columns = {name: title for name, title in section.wholes if name in results.measures(test_set)}
        for number in results.numbers(test_set, section.measure):
            columns[f"{section.measure}_{number}"] = section.column.format(number)
        if not columns:
            continue
        yield from ["", f"{test_set}:", ""]
        yield from table_header(["System", *columns.values()])
        for variant in results.settings.variants:
            if section.of_few and not any(results.values(variant, test_set, name) for name in columns):
                continue
            cells = [score_cell(results, variant, test_set, name, section.decimals) for name in columns]
            yield table_row([results.settings.label(variant), *cells])
