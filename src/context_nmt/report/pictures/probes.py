"""Draw the results of probes, readable without colour: markers, and lines of different strokes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from context_nmt.measures.probes.tasks import TASKS
from context_nmt.measures.rows import Measure
from context_nmt.report.pages.probes import STACKS, groups_of, layers_of, probed_tasks
from context_nmt.report.pictures.panels import corpus_name, label_axes, label_rows, legend, panels_of, style
from context_nmt.results.table import Results, places


def draw_probes(results: Results, folder: Path) -> list[str]:
    """Draw NAME.svg for every kind of probe with results; return the names."""
    drawn = []
    if results.settings.probing.sentences and probed_tasks(results):
        _draw_sentences(results, folder / "sentence_probes.svg")
        drawn.append("sentence_probes")
    test = results.settings.corpus.held_out[-1]
    if results.settings.probing.words and any(layers_of(results, test, stack) for stack in STACKS):
        _draw_layers(results, test, folder / "lexical_probes.svg")
        drawn.append("lexical_probes")
        for grouping in ("frequency", "tag"):
            if any(groups_of(results, test, stack, grouping) for stack in STACKS):
                _draw_groups(results, test, grouping, folder / f"lexical_{grouping}.svg")
                drawn.append(f"lexical_{grouping}")
    return drawn


def _draw_sentences(results: Results, path: Path) -> None:
    """Draw a row per task, a mark per system, and a bar at chance."""
    settings, chance = results.settings, probed_tasks(results)
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
    metrics = {f"lexical_{stack}": (f"{stack}: units recovered", "per cent") for stack in STACKS}
    metrics |= {
        f"cosine_{stack}_{level}": (f"{stack}: cosine with embeddings, {level}", "cosine")
        for stack in STACKS
        for level in ("tokens", "sentences")
    }
    with panels_of(path, len(metrics), height=2.8) as (figure, panels):
        for panel, (metric, (title, y_label)) in zip(panels, metrics.items(), strict=True):
            layers = [int(layer) for layer in places(results, test, [metric], "layer")]
            measures = [Measure(test, metric, layer) for layer in layers]
            for number, variant in enumerate(results.settings.probing.words):
                look = style(number, label=results.settings.label(variant))
                panel.plot(*_points(results, variant, layers, measures), **look)
            label_axes(panel, title, "layer, 0: embeddings", y_label)
            panel.set_xticks(layers)
            panel.set_ylim(*((0, 104) if metric.startswith("lexical") else (-0.04, 1.04)))
        figure.suptitle(f"Lexical probes and cosines, {corpus_name(results.settings)} {test}")
        legend(figure, panels[:1])


def _draw_groups(results: Results, test: str, kind: str, path: Path) -> None:
    """Draw a panel per stack and system, a line per layer over the groups of units."""
    shown = [(stack, variant) for stack in STACKS for variant in results.settings.probing.words]
    with panels_of(path, len(shown), heights=[2.2] * len(shown)) as (figure, panels):
        for panel, (stack, variant) in zip(panels, shown, strict=True):
            groups = groups_of(results, test, stack, kind)
            for layer in layers_of(results, test, stack):
                measures = [Measure(test, f"lexical_{stack}_by_{kind}", layer, group) for group in groups]
                points = _points(results, variant, range(len(groups)), measures)
                panel.plot(*points, **style(layer, label=f"layer {layer}"))
            panel.set_xticks(range(len(groups)), groups, fontsize=7, rotation=90 if kind == "tag" else 0)
            label_axes(panel, f"{stack}, {results.settings.label(variant)}", "", "accuracy, per cent")
            panel.set_ylim(-4, 104)
        across = "frequency in training, 1: rarest" if kind == "frequency" else "part of speech"
        figure.suptitle(f"Lexical probes by {across}, {corpus_name(results.settings)} {test}", fontsize=10)
        legend(figure, panels[:1])


def _points(
    results: Results, variant: str, across: Iterable[int], measures: Iterable[Measure]
) -> list[Sequence[float]]:
    """Return the places and values of the measures that a variant has."""
    estimates = [results.estimate(variant, measure) for measure in measures]
    points = [(place, estimate.mean) for place, estimate in zip(across, estimates, strict=True) if estimate]
    return [[place for place, _ in points], [mean for _, mean in points]]
