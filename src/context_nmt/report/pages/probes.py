"""probes.md: what probes have found in the states of systems."""

from collections.abc import Collection, Iterator
from typing import Any

from context_nmt.measures.probes.tasks import GROUPS
from context_nmt.measures.rows import CHANCE, Measure
from context_nmt.report.cells import number_cell, value_cell
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import Page, Section, heading, introduction
from context_nmt.results.table import Results, places

STACKS = ("encoder", "decoder")
SENTENCES = """\
How often, in per cent, a classifier finds out what a sentence is like from the mean of the encoder's top layer over it
(Conneau et al. 2018; the classifier is that of Ampomah et al. 2021). Chance is the most frequent class. Tasks:
`data/{tasks}`; {count} classifier{s} for each run."""
UNITS = """\
How often, in per cent, a classifier finds out from a layer's state which unit stands at its position (Emelin et al.
2019). Layer 0 are the embeddings; in the decoder it is the unit that was put in, not the one to come. The validation
set, which chooses among the classifiers' epochs, stands in results.csv."""
COSINES = "How near a layer's states are to the embeddings: mean cosines per token, and of whole sentences as vectors."
BY = {
    "frequency": "By the frequency of the unit's type in training: ten groups of equally many types, 1 has the rarest.",
    "tag": "By the part of speech of the unit's word.",
}
NO_VARIANT = "No variant stands under probing.{} of params.yaml."


def probes_page(results: Results, pictures: Collection[str]) -> Page:
    """Build the tables of sentence and lexical probes; `pictures` are the names of those that figures/ has."""
    probing = results.settings.probing
    sections = [Section("Sentences", NO_VARIANT.format("sentences"))]
    if probing.sentences:
        count = len(probing.sentence_classifier.seeds)
        text = SENTENCES.format(tasks=probing.tasks, count=count, s="s" if count > 1 else "")
        picture = "sentence_probes" if "sentence_probes" in pictures else ""
        sections = [Section("Sentences", text, picture, tuple(_sentences(results)))]
    if probing.words:
        sections.append(Section("Units", UNITS, "lexical_probes" if "lexical_probes" in pictures else ""))
        for test in lexical_tests(results):
            sections += _units(results, test, pictures)
    else:
        sections.append(Section("Units", NO_VARIANT.format("words")))
    return Page(heading(results, "Probes"), introduction(results, "Nothing here is tested."), tuple(sections))


def lexical_tests(results: Results) -> list[str]:
    """The test sets but the validation set, unless it is the only one."""
    corpus = results.settings.corpus
    return corpus.held_out


def probed_tasks(results: Results) -> dict[str, float]:
    """The share of the most frequent class of each task and group that was probed, in per cent."""
    tasks = results.settings.probing.tasks
    names = [name for group, members in GROUPS.items() for name in (*members, group)]
    found = {name: results.of(CHANCE, Measure(str(tasks), "probe", tag=name)) for name in names}
    return {name: chance for name, chance in found.items() if chance is not None}


def _sentences(results: Results) -> Iterator[Grid]:
    probing, chances = results.settings.probing, probed_tasks(results)
    for group, tasks in GROUPS.items():
        names = [name for name in (*tasks, group) if name in chances]
        titles = [f"{name}, mean" if name == group else name for name in names]
        measures = [Measure(str(probing.tasks), "probe", tag=name) for name in names]
        chance = ("(chance)", [value_cell(chances[name], "{:.2f}") for name in names])
        if names:
            yield grid_of(group.capitalize(), titles, [chance, *_rows(results, probing.sentences, measures)])
        if names and len(probing.sentence_classifier.seeds) > 1:
            deviations = [Measure(str(probing.tasks), "probe_deviation", tag=name) for name in names]
            rows = [
                (label, [value_cell(cell.value, "{:.2f}") for cell in cells])
                for label, cells in _rows(results, probing.sentences, deviations)
            ]
            yield grid_of("Sample standard deviation over the classifiers of a run", names, rows)


def _rows(results: Results, variants: tuple[str, ...], measures: list[Measure], decimals: int = 2) -> list[Any]:
    return [
        (results.settings.label(variant), [number_cell(results.number(variant, one), decimals) for one in measures])
        for variant in variants
    ]


def _units(results: Results, test: str, pictures: Collection[str]) -> Iterator[Section]:
    variants = results.settings.probing.words
    grids = []
    for stack in STACKS:
        layers = places(results, test, [f"lexical_{stack}"], "layer")
        measures = [Measure(test, f"lexical_{stack}", int(layer)) for layer in layers]
        titles = [f"layer {layer}" for layer in layers]
        grids.append(grid_of(stack.capitalize(), titles, _rows(results, variants, measures)))
    yield Section(f"Units: {test}", grids=tuple(grids))
    grids = []
    for stack in STACKS:
        columns = {
            f"layer {layer}, {what}": Measure(test, f"cosine_{stack}_{what}", int(layer))
            for what in ("tokens", "sentences")
            for layer in places(results, test, [f"cosine_{stack}_{what}"], "layer")
        }
        grids.append(grid_of(stack.capitalize(), list(columns), _rows(results, variants, [*columns.values()], 3)))
    yield Section(text=COSINES, grids=tuple(grids))
    for kind, text in BY.items():
        grids = [grid for stack in STACKS for grid in _by_group(results, test, stack, kind)]
        picture = f"lexical_{kind}" if grids and f"lexical_{kind}" in pictures else ""
        if grids:
            yield Section(text=text, picture=picture, grids=tuple(grids))


def groups_of(results: Results, test: str, stack: str, kind: str) -> list[str]:
    """The bins or tags that a test set has units of: bins by number, tags by name."""
    found = [one for one in results.measures if one.test_set == test and one.metric == f"lexical_{stack}_by_{kind}"]
    return list(dict.fromkeys(measure.tag for measure in found))


def _by_group(results: Results, test: str, stack: str, kind: str) -> Iterator[Grid]:
    """Yield a row per group, a column per system and layer, without differences."""
    groups = groups_of(results, test, stack, kind)
    layers = places(results, test, [f"lexical_{stack}"], "layer")
    columns = {
        f"{results.settings.label(variant)}, {layer}": (variant, int(layer))
        for variant in results.settings.probing.words
        for layer in layers
    }
    rows = []
    for group in groups:
        found = [
            results.number(variant, Measure(test, f"lexical_{stack}_by_{kind}", layer, group))
            for variant, layer in columns.values()
        ]
        rows.append((group, [value_cell(one and one.mean, "{:.2f}") for one in found]))
    if groups:
        yield grid_of(stack.capitalize(), list(columns), rows, head=kind)
