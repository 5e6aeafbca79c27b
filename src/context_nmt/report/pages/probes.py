"""Build probes.md: the accuracies of probes on the states of systems."""

from collections.abc import Collection, Iterator

from context_nmt.measures.probes.tasks import GROUPS
from context_nmt.measures.rows import CHANCE, Measure
from context_nmt.report.cells import value_cell
from context_nmt.report.grid import Grid, grid_of
from context_nmt.report.pages.page import Page, Section, heading, introduction, rows_of
from context_nmt.results.table import Results, places

STACKS = ("encoder", "decoder")
SENTENCES = """\
Accuracy, in per cent, of a classifier that predicts a property of a sentence from the mean of the encoder's top layer
(Conneau et al. 2018; the classifier is that of Ampomah et al. 2021). Chance is the share of the most frequent class.
Tasks: `data/{tasks}`; {count} classifier{s} per run."""
UNITS = """\
Accuracy, in per cent, of a classifier that predicts the unit at a position from a layer's state there (Emelin et al.
2019). Layer 0 is the embeddings; in the decoder, the unit is the input, not the next one. The accuracies on the
validation set, which selects the classifiers' epochs, are in results.csv."""
COSINES = "Mean cosine between a layer's states and the embeddings, per token and with a sentence as one vector."
BY = {
    "frequency": "By the frequency of the unit's type in training: ten groups with equally many types, 1 the rarest.",
    "tag": "By the part of speech of the unit's word.",
    "word_class": "By the class of the word, which counts as predicted if one of its units is.",
}
NO_VARIANT = "No variant is listed under probing.{} in params.yaml."


def probes_page(results: Results, pictures: Collection[str]) -> Page:
    """Build the tables of sentence and lexical probes; `pictures` are the names of those in figures/."""
    probing = results.settings.probing
    sections = [Section("Sentences", NO_VARIANT.format("sentences"))]
    if probing.sentences:
        count = len(probing.sentence_classifier.seeds)
        text = SENTENCES.format(tasks=probing.tasks, count=count, s="s" if count > 1 else "")
        sections = [Section("Sentences", text, _drawn("sentence_probes", pictures), tuple(_sentences(results)))]
    if probing.words:
        sections.append(Section("Units", UNITS, _drawn("lexical_probes", pictures)))
        for test in results.settings.corpus.held_out:
            sections += _units(results, test, pictures)
    else:
        sections.append(Section("Units", NO_VARIANT.format("words")))
    metrics = {one.metric for one in results.measures if one.metric.startswith(("probe", "lexical"))}
    text = introduction(results, "No difference here was tested.", metrics)
    return Page(heading(results, "Probes"), text, tuple(sections))


def _drawn(name: str, pictures: Collection[str]) -> str:
    return name if name in pictures else ""


def probed_tasks(results: Results) -> dict[str, float]:
    """Return the share of the most frequent class, in per cent, of each probed task and group."""
    names = [name for group, members in GROUPS.items() for name in (*members, group)]
    tasks = str(results.settings.probing.tasks)
    chances = {name: results.reference_value(CHANCE, Measure(tasks, "probe", tag=name)) for name in names}
    return {name: chance for name, chance in chances.items() if chance is not None}


def _sentences(results: Results) -> Iterator[Grid]:
    probing, chances, tasks = results.settings.probing, probed_tasks(results), str(results.settings.probing.tasks)
    for group, members in GROUPS.items():
        names = [name for name in (*members, group) if name in chances]
        if not names:
            continue
        rows = rows_of(results, probing.sentences, [Measure(tasks, "probe", tag=name) for name in names])
        chance = ("(chance)", [value_cell(chances[name], "{:.2f}") for name in names])
        titles = [f"{name}, mean" if name == group else name for name in names]
        yield grid_of(group.capitalize(), titles, [chance, *rows])
        if len(probing.sentence_classifier.seeds) > 1:
            measures = [Measure(tasks, "probe_deviation", tag=name) for name in names]
            rows = [
                (label, [value_cell(cell.value, "{:.2f}") for cell in cells])
                for label, cells in rows_of(results, probing.sentences, measures)
            ]
            yield grid_of("Sample standard deviation over the classifiers of a run", names, rows)


def _units(results: Results, test: str, pictures: Collection[str]) -> Iterator[Section]:
    variants = results.settings.probing.words
    accuracies, cosines = [], []
    for stack in STACKS:
        columns = {
            f"layer {layer}": Measure(test, f"lexical_{stack}", layer) for layer in layers_of(results, test, stack)
        }
        rows = rows_of(results, variants, [*columns.values()])
        accuracies.append(grid_of(stack.capitalize(), columns, rows))
        columns = {
            f"layer {layer}, {level}": Measure(test, f"cosine_{stack}_{level}", int(layer))
            for level in ("tokens", "sentences")
            for layer in places(results, test, [f"cosine_{stack}_{level}"], "layer")
        }
        cosines.append(grid_of(stack.capitalize(), columns, rows_of(results, variants, [*columns.values()], 3)))
    yield Section(f"Units: {test}", grids=tuple(accuracies))
    yield Section(text=COSINES, grids=tuple(cosines))
    for grouping, text in BY.items():
        grids = tuple(grid for stack in STACKS for grid in _by_group(results, test, stack, grouping))
        if grids:
            yield Section(text=text, picture=_drawn(f"lexical_{grouping}", pictures), grids=grids)


def layers_of(results: Results, test: str, stack: str) -> list[int]:
    """Return the layers of a stack whose states were probed for units."""
    return [int(layer) for layer in places(results, test, [f"lexical_{stack}"], "layer")]


def groups_of(results: Results, test: str, stack: str, kind: str) -> list[str]:
    """Return the groups of units that a test set has, by `frequency` or by `tag`."""
    metric = f"lexical_{stack}_by_{kind}"
    return list(
        dict.fromkeys(
            measure.tag for measure in results.measures if (measure.test_set, measure.metric) == (test, metric)
        )
    )


def _by_group(results: Results, test: str, stack: str, kind: str) -> Iterator[Grid]:
    """Yield a table with a row per group and a column per system and layer, without differences."""
    columns = {
        f"{results.label(variant)}, {layer}": (variant, layer)
        for variant in results.settings.probing.words
        for layer in layers_of(results, test, stack)
    }
    rows = []
    for group in groups_of(results, test, stack, kind):
        metric = f"lexical_{stack}_by_{kind}"
        estimates = [
            results.estimate(variant, Measure(test, metric, layer, group)) for variant, layer in columns.values()
        ]
        rows.append((group, [value_cell(estimate and estimate.mean, "{:.2f}") for estimate in estimates]))
    if rows:
        yield grid_of(stack.capitalize(), columns, rows, head=kind)
