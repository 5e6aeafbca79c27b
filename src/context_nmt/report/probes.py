"""What probes find in the states of systems: the tables of probes.md and their pictures."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from context_nmt.measures.probing_tasks import GROUPS, TASKS
from context_nmt.measures.rows import CHANCE, Measure
from context_nmt.report.pages import Page, Section, heading, introduction, rows_of
from context_nmt.report.panels import corpus_name, label_axes, label_rows, legend, panels_of, style
from context_nmt.report.tables import Cell, Grid, grid_of, value_cell
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
    drawn = {name: name for name in pictures}
    sections = [Section("Sentences", NO_VARIANT.format("sentences"))]
    if probing.sentences:
        count = len(probing.sentence_classifier.seeds)
        text = SENTENCES.format(tasks=probing.tasks, count=count, s="s" if count > 1 else "")
        sections = [Section("Sentences", text, drawn.get("sentence_probes", ""), tuple(_sentences(results)))]
    if probing.words:
        sections.append(Section("Units", UNITS, drawn.get("lexical_probes", "")))
        for test in results.settings.corpus.held_out:
            sections += _units(results, test, drawn)
    else:
        sections.append(Section("Units", NO_VARIANT.format("words")))
    metrics = {one.metric for one in results.measures if one.metric.startswith(("probe", "lexical"))}
    text = introduction(results, "No difference here was tested.", metrics)
    return Page(heading(results, "Probes"), text, tuple(sections))


def _chances(results: Results) -> dict[str, float]:
    """Return the share of the most frequent class, in per cent, of each probed task and group."""
    names = [name for group, members in GROUPS.items() for name in (*members, group)]
    tasks = str(results.settings.probing.tasks)
    chances = {name: results.reference_value(CHANCE, Measure(tasks, "probe", tag=name)) for name in names}
    return {name: chance for name, chance in chances.items() if chance is not None}


def _sentences(results: Results) -> Iterator[Grid]:
    probing, chances, tasks = results.settings.probing, _chances(results), str(results.settings.probing.tasks)
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
            rows = [(results.label(name), _means(results, product([name], measures))) for name in probing.sentences]
            yield grid_of("Sample standard deviation over the classifiers of a run", names, rows)


def _units(results: Results, test: str, drawn: dict[str, str]) -> Iterator[Section]:
    variants = results.settings.probing.words
    accuracies, cosines = [], []
    for stack in STACKS:
        metric = f"lexical_{stack}"
        columns = {f"layer {layer}": Measure(test, metric, layer) for layer in _layers(results, test, metric)}
        accuracies.append(grid_of(stack.capitalize(), columns, rows_of(results, variants, [*columns.values()])))
        columns = {
            f"layer {layer}, {level}": Measure(test, f"cosine_{stack}_{level}", layer)
            for level in ("tokens", "sentences")
            for layer in _layers(results, test, f"cosine_{stack}_{level}")
        }
        cosines.append(grid_of(stack.capitalize(), columns, rows_of(results, variants, [*columns.values()], 3)))
    yield Section(f"Units: {test}", grids=tuple(accuracies))
    yield Section(text=COSINES, grids=tuple(cosines))
    for grouping, text in BY.items():
        grids = tuple(_by_group(results, test, stack, grouping) for stack in STACKS)
        if found := tuple(grid for grid in grids if grid.rows):
            yield Section(text=text, picture=drawn.get(f"lexical_{grouping}", ""), grids=found)


def _layers(results: Results, test: str, metric: str) -> list[int]:
    """Return the layers that have a metric."""
    return [int(layer) for layer in places(results, test, [metric], "layer")]


def _groups(results: Results, test: str, stack: str, grouping: str) -> list[str]:
    """Return the groups of units that a test set has, by frequency, tag or class of the word."""
    metric = f"lexical_{stack}_by_{grouping}"
    return list(dict.fromkeys(one.tag for one in results.measures if (one.test_set, one.metric) == (test, metric)))


def _by_group(results: Results, test: str, stack: str, grouping: str) -> Grid:
    """Return a table with a row per group and a column per system and layer, without differences."""
    columns = [*product(results.settings.probing.words, _layers(results, test, f"lexical_{stack}"))]
    rows = []
    for group in _groups(results, test, stack, grouping):
        metric = f"lexical_{stack}_by_{grouping}"
        measures = [(variant, Measure(test, metric, layer, group)) for variant, layer in columns]
        rows.append((group, _means(results, measures)))
    titles = [f"{results.label(variant)}, {layer}" for variant, layer in columns]
    return grid_of(stack.capitalize(), titles, rows, head=grouping)


def _means(results: Results, measures: Iterable[tuple[str, Measure]]) -> list[Cell]:
    """Return a cell for each system's measure, without deviation and difference."""
    estimates = [results.estimate(variant, measure) for variant, measure in measures]
    return [value_cell(estimate and estimate.mean, "{:.2f}") for estimate in estimates]


def draw_probes(results: Results, folder: Path) -> list[str]:
    """Draw NAME.svg for every kind of probe with results; return the names."""
    draws = {}
    if results.settings.probing.sentences and _chances(results):
        draws["sentence_probes"] = partial(_draw_sentences, results)
    test = results.settings.corpus.held_out[-1]
    if results.settings.probing.words and any(_layers(results, test, f"lexical_{stack}") for stack in STACKS):
        draws["lexical_probes"] = partial(_draw_layers, results, test)
        for grouping in ("frequency", "tag"):
            if any(_groups(results, test, stack, grouping) for stack in STACKS):
                draws[f"lexical_{grouping}"] = partial(_draw_groups, results, test, grouping)
    for name, draw in draws.items():
        draw(folder / f"{name}.svg")
    return [*draws]


def _draw_sentences(results: Results, path: Path) -> None:
    """Draw a row per task, a mark per system, and a bar at chance."""
    settings, chance = results.settings, _chances(results)
    variants = settings.probing.sentences
    tasks = [task for task in TASKS if task in chance]
    measures = [Measure(str(settings.probing.tasks), "probe", tag=task) for task in tasks]
    with panels_of(path, 1, heights=[1.2 + 0.34 * len(tasks)]) as (figure, (panel,)):
        panel.plot([chance[task] for task in tasks], range(len(tasks)), "|k", markersize=14, label="chance")
        for number, variant in enumerate(variants):
            shift = 0.12 * (number - (len(variants) - 1) / 2)
            across, means = _points(results, variant, range(len(tasks)), measures)
            look = style(number, joined=False, label=settings.label(variant))
            panel.plot(means, [place + shift for place in across], **look)
        label_rows(panel, [task.replace("_", " ") for task in tasks], fontsize=9)
        panel.set_xlabel("accuracy, per cent")
        figure.suptitle(f"Sentence probes, {corpus_name(settings)}")
        legend(figure, [panel])


def _draw_layers(results: Results, test: str, path: Path) -> None:
    """Draw accuracy and cosine of each stack by layer, a line per system."""
    shown = {f"lexical_{stack}": f"{stack}: units recovered" for stack in STACKS}
    for stack in STACKS:
        for level in ("tokens", "sentences"):
            shown[f"cosine_{stack}_{level}"] = f"{stack}: cosine with embeddings, {level}"
    with panels_of(path, len(shown), height=2.8) as (figure, panels):
        for panel, (metric, title) in zip(panels, shown.items(), strict=True):
            layers = _layers(results, test, metric)
            measures = [Measure(test, metric, layer) for layer in layers]
            for number, variant in enumerate(results.settings.probing.words):
                look = style(number, label=results.settings.label(variant))
                panel.plot(*_points(results, variant, layers, measures), **look)
            unit, limits = ("per cent", (0, 104)) if metric.startswith("lexical") else ("cosine", (-0.04, 1.04))
            label_axes(panel, title, "layer, 0: embeddings", unit)
            panel.set_xticks(layers)
            panel.set_ylim(*limits)
        figure.suptitle(f"Lexical probes and cosines, {corpus_name(results.settings)} {test}")
        legend(figure, panels[:1])


def _draw_groups(results: Results, test: str, grouping: str, path: Path) -> None:
    """Draw a panel per stack and system, a line per layer over the groups of units."""
    shown = [(stack, variant) for stack in STACKS for variant in results.settings.probing.words]
    with panels_of(path, len(shown), heights=[2.2] * len(shown)) as (figure, panels):
        for panel, (stack, variant) in zip(panels, shown, strict=True):
            groups = _groups(results, test, stack, grouping)
            for layer in _layers(results, test, f"lexical_{stack}"):
                measures = [Measure(test, f"lexical_{stack}_by_{grouping}", layer, group) for group in groups]
                points = _points(results, variant, range(len(groups)), measures)
                panel.plot(*points, **style(layer, label=f"layer {layer}"))
            panel.set_xticks(range(len(groups)), groups, fontsize=7, rotation=90 if grouping == "tag" else 0)
            label_axes(panel, f"{stack}, {results.settings.label(variant)}", "", "accuracy, per cent")
            panel.set_ylim(-4, 104)
        across = "frequency in training, 1: rarest" if grouping == "frequency" else "part of speech"
        figure.suptitle(f"Lexical probes by {across}, {corpus_name(results.settings)} {test}", fontsize=10)
        legend(figure, panels[:1])


def _points(
    results: Results, variant: str, across: Iterable[int], measures: Iterable[Measure]
) -> list[Sequence[float]]:
    """Return the places and values of the measures that a variant has."""
    estimates = [results.estimate(variant, measure) for measure in measures]
    points = [(place, estimate.mean) for place, estimate in zip(across, estimates, strict=True) if estimate]
    return [[place for place, _ in points], [mean for _, mean in points]]
