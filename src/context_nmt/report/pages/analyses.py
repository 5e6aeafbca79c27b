"""Build analyses.md: attention, gates and n-grams of the systems."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from context_nmt.measures.rows import TEXT, Measure
from context_nmt.report.cells import estimate_cell
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import Page, Section, heading, introduction
from context_nmt.results.metrics import is_score
from context_nmt.results.table import Results, places


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """A table per test set with a column per layer or tag, and a picture with a panel per system."""

    name: str  # of its picture and, without `parts`, of its metric
    title: str
    text: str
    absent: str  # replaces the text if no system has the metric
    picture: str  # the picture's title
    across: str  # label of the picture's layers or tags
    values: str  # label of the picture's values
    parts: tuple[tuple[str, str], ...] = ()  # metrics with labels: each has a row per system, and a line
    by: Literal["layer", "tag"] = "layer"
    column: str = "layer {}"
    wholes: tuple[tuple[str, str], ...] = ()  # metrics without a layer ("" for that of the row), with column titles
    counts: tuple[str, str] = ("", "")  # metric of the text shown in column titles, and its unit
    only_measured: bool = False  # leave out systems without a value
    gains: bool = False  # the picture shows differences from the system's baseline
    decimals: int = 3

    @property
    def metrics(self) -> dict[str, str]:
        """Its metrics with their labels."""
        return dict(self.parts) or {self.name: ""}


GATES = tuple(
    (f"gate_{attention}_{side}", f"{label}, {plural}")
    for attention, label in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross-attention"))
    for side, plural in (("query", "queries"), ("key", "keys"), ("value", "values"))
)
DIVERGENCES = tuple(
    (f"{measure}_{stack}", f"{stack}, {label}")
    for stack in ("encoder", "decoder")
    for measure, label in (
        ("divergence", "maxima"),
        ("literal_divergence", "maxima, not renormalized"),
        ("head_divergence", "pairs of heads"),
    )
)
ANALYSES = (
    Analysis(
        name="locality_entropy",
        title="Locality entropy",
        text="""\
How widely the decoder's cross-attention spreads over the source, in bits (Ding et al. 2020): 0 if it looks at one unit,
3 if at eight equally; the mean over heads, target positions and sentences. Autoregressive systems read the reference,
masked ones are in their last iteration. The mean map is the mean over all heads.""",
        absent="No system shows its cross-attention.",
        picture="Locality entropy of cross-attention",
        across="decoder layer",
        values="bits",
        wholes=(("", "all layers"), ("locality_entropy_of_mean_map", "all layers, mean map")),
    ),
    Analysis(
        name="local_share",
        title="Local cross-attention",
        text="""\
The share of a gated system's cross-attention that is local, 1 - g; the mean over heads, target positions and
sentences.""",
        absent="No system has a gate between global and local cross-attention.",
        picture="Share of local cross-attention",
        across="decoder layer",
        values="1 - g",
        only_measured=True,
    ),
    Analysis(
        name="divergence",
        title="Divergence of two attentions",
        text="""\
How much the local and the global attention of a dual context differ (Ampomah et al. 2021): the Jensen-Shannon
divergence of their maps in nats, from 0 to ln 2 = 0.693; the mean over queries and sentences. A map is the largest
weight of any head, renormalized or not; the last row has the mean over pairs of heads with the same index.""",
        absent="No system has two attentions in one layer.",
        picture="Divergence of local and global attention",
        across="layer",
        values="JS in nats",
        parts=DIVERGENCES,
        wholes=(("", "its layers"),),
        only_measured=True,
    ),
    Analysis(
        name="gates",
        title="Gates",
        text="""\
How much context is mixed into queries, keys and values, from 0 to 1: the sentence and lower layers in context-aware
self-attention (Yang et al. 2019), the embeddings in lexical shortcuts (Emelin et al. 2019). The mean over heads or
features, positions and sentences.""",
        absent="No system has gates before its attention.",
        picture="Gates before attention",
        across="layer",
        values="share of the context",
        parts=GATES,
        wholes=(("", "its layers"),),
        only_measured=True,
    ),
    Analysis(
        name="gates_by_tag",
        title="Gates by part of speech",
        text="""\
The same by universal part of speech, where SYM is punctuation: the mean over layers and a word's units, then over
words. Tags are the corpus's gold tags or, for English text without them, those of NLTK's tagger.""",
        column="{}",
        absent="No system has such gates, or no parts of speech are known.",
        picture="Gates by part of speech",
        across="",
        values="share of the context",
        parts=GATES,
        by="tag",
        only_measured=True,
    ),
    Analysis(
        name="ngram_accuracy",
        title="N-gram accuracy",
        text="""\
Percentage of a translation's n-grams that the reference has, each counted at most as often as it occurs there.""",
        column="n = {}",
        absent="No n-gram accuracy was measured.",
        picture="N-gram accuracy",
        across="n",
        values="points above the baseline",
        gains=True,
        by="tag",
        decimals=2,
    ),
    Analysis(
        name="bleu_of_iterations",
        title="BLEU by iterations",
        text="""\
sacrebleu of masked language models after 1, 4 and 10 iterations of mask-predict. The first iteration predicts all
words independently.""",
        column="{}",
        absent="No system is a masked language model.",
        picture="BLEU of mask-predict",
        across="iterations",
        values="sacrebleu",
        by="tag",
        only_measured=True,
        decimals=2,
    ),
    Analysis(
        name="bleu_of_units",
        title="BLEU by length",
        text="""\
sacrebleu of the sentences whose source has at least this many units, and fewer than in the next column (Ampomah et al.
2021).""",
        column="from {}",
        absent="No BLEU by length was measured.",
        picture="BLEU by length",
        across="source units, from",
        values="sacrebleu",
        by="tag",
        counts=("sentences_of_units", "sentences"),
        decimals=2,
    ),
    Analysis(
        name="bleu_of_tenth",
        title="BLEU by tenths of length",
        text="""\
sacrebleu of each tenth of a test set's sentences, from the shortest to the longest, with the mean number of words of
their sources.""",
        column="{}",
        absent="No BLEU by length was measured.",
        picture="BLEU by length",
        across="tenth, from short to long",
        values="above the baseline",
        gains=True,
        by="tag",
        counts=("words_of_tenth", "words"),
        decimals=2,
    ),
    Analysis(
        name="bleu_of_words",
        title="Tokenized BLEU by words",
        text="""\
Tokenized BLEU of the sentences whose source has more words than this, and at most as many as in the next column (Yang
et al. 2019).""",
        column="over {}",
        absent="No tokenized BLEU by length was measured.",
        picture="Tokenized BLEU by length",
        across="source words, over",
        values="above the baseline",
        gains=True,
        by="tag",
        counts=("sentences_of_words", "sentences"),
        decimals=2,
    ),
)


def analyses_page(results: Results, pictures: Collection[str]) -> Page:
    """Build the tables of all analyses; `pictures` are the names of those in figures/."""
    sections = []
    for analysis in ANALYSES:
        grids = tuple(grid for test_set in results.test_sets if (grid := _grid(results, analysis, test_set)).headings)
        picture = analysis.name if analysis.name in pictures else ""
        sections.append(Section(analysis.title, analysis.text if grids else analysis.absent, picture, grids))
    metrics = {one.metric for one in results.measures if not is_score(one.metric)}
    return Page(heading(results, "Inside the systems"), introduction(results, "", metrics), tuple(sections))


def _grid(results: Results, analysis: Analysis, test_set: str) -> Grid:
    columns: dict[str, tuple[str, int | None, str]] = {
        title: (whole, None, "")
        for whole, title in analysis.wholes
        if any(Measure(test_set, whole or metric) in results.measures for metric in analysis.metrics)
    }
    for layer_or_tag in places(results, test_set, list(analysis.metrics), analysis.by):
        layer, tag = (layer_or_tag, "") if isinstance(layer_or_tag, int) else (None, layer_or_tag)
        columns[analysis.column.format(layer_or_tag) + _count(results, analysis, test_set, tag)] = ("", layer, tag)
    rows = []
    for variant in results.models:
        for metric, part_label in analysis.metrics.items():
            measures = [Measure(test_set, whole or metric, layer, tag) for whole, layer, tag in columns.values()]
            estimates = [results.estimate(variant, measure) for measure in measures]
            if any(estimates) or not analysis.only_measured:
                label = results.label(variant) + (f": {part_label}" if part_label else "")
                rows.append((label, [estimate_cell(estimate, analysis.decimals) for estimate in estimates]))
    return grid_of(test_set, columns, rows)


def _count(results: Results, analysis: Analysis, test_set: str, tag: str) -> str:
    """Return the count shown in a column title, the same for all systems."""
    metric, unit = analysis.counts
    count = results.reference_value(TEXT, Measure(test_set, metric, tag=tag))
    return "" if count is None else f", {count:,g} {unit}"
