"""What probes have found as pictures, readable without colour: markers, and lines of different strokes."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from context_nmt.measures.probes.tasks import TASKS
from context_nmt.measures.rows import Measure
from context_nmt.report.pages.probes import STACKS, groups_of, lexical_tests, probed_tasks
from context_nmt.report.pictures.panels import corpus_name, legend, panels_of, style
from context_nmt.results.table import Results, places


def draw_probes(results: Results, folder: Path) -> list[str]:
    """Draw NAME.svg for everything that was probed; returns the names."""
    drawn = []
    if results.settings.probing.sentences and probed_tasks(results):
        _draw_sentences(results, folder / "sentence_probes.svg")
        drawn.append("sentence_probes")
    test = lexical_tests(results)[-1]
    if results.settings.probing.words and places(results, test, ["lexical_encoder", "lexical_decoder"], "layer"):
        _draw_layers(results, folder / "lexical_probes.svg")
        drawn.append("lexical_probes")
        for kind in ("frequency", "tag"):
            if any(groups_of(results, test, stack, kind) for stack in STACKS):
                _draw_groups(results, test, kind, folder / f"lexical_{kind}.svg")
                drawn.append(f"lexical_{kind}")
    return drawn


def _draw_sentences(results: Results, path: Path) -> None:
    """A row per task, a mark per system, and a bar where chance is."""
    settings, tasks = results.settings, str(results.settings.probing.tasks)
    variants = settings.probing.sentences
    chance = probed_tasks(results)
    shown = [task for task in TASKS if task in chance]
    with panels_of(path, 1, heights=[1.2 + 0.34 * len(shown)]) as (figure, (panel,)):
        panel.plot([chance[task] for task in shown], range(len(shown)), "|k", markersize=14, label="chance")
        for number, variant in enumerate(variants):
            found = [results.number(variant, Measure(tasks, "probe", tag=task)) for task in shown]
            points = [(one.mean, place) for place, one in enumerate(found) if one]
            shift = 0.12 * (number - (len(variants) - 1) / 2)
            look = style(number, linestyle="none", label=settings.label(variant))
            panel.plot([mean for mean, _ in points], [place + shift for _, place in points], **look)
        panel.set_yticks(range(len(shown)), [task.replace("_", " ") for task in shown], fontsize=9)
        panel.set_ylim(len(shown) - 0.5, -0.5)
        panel.set_xlabel("accuracy, per cent")
        panel.grid(axis="x", alpha=0.3)
        figure.suptitle(f"Sentence probes, {corpus_name(settings)}")
        legend(figure, [panel])


def _draw_layers(results: Results, path: Path) -> None:
    """Accuracy and cosine of each stack by layer, a line per system."""
    test = lexical_tests(results)[-1]
    metrics = {f"lexical_{stack}": (f"{stack}: unit found", "per cent") for stack in STACKS}
    metrics |= {
        f"cosine_{stack}_{what}": (f"{stack}: cosine with embeddings, {what}", "cosine")
        for stack in STACKS
        for what in ("tokens", "sentences")
    }
    with panels_of(path, len(metrics), height=2.8) as (figure, panels):
        for panel, (metric, (title, label)) in zip(panels, metrics.items(), strict=True):
            layers = [int(layer) for layer in places(results, test, [metric], "layer")]
            for number, variant in enumerate(results.settings.probing.words):
                measures = [Measure(test, metric, layer) for layer in layers]
                _line(panel, results, variant, layers, measures, number, results.settings.label(variant))
            panel.set_title(title, fontsize=9)
            panel.set_xlabel("layer, 0: embeddings", fontsize=8)
            panel.set_ylabel(label, fontsize=8)
            panel.set_xticks(layers)
            panel.set_ylim(*((0, 104) if metric.startswith("lexical") else (-0.04, 1.04)))
            panel.grid(alpha=0.3)
        figure.suptitle(f"Lexical probes and cosines, {corpus_name(results.settings)} {test}")
        legend(figure, panels[:1])


def _draw_groups(results: Results, test: str, kind: str, path: Path) -> None:
    """A panel per stack and system, a line per layer over the groups of units."""
    variants = results.settings.probing.words
    shown = [(stack, variant) for stack in STACKS for variant in variants]
    with panels_of(path, len(shown), heights=[2.2] * len(shown)) as (figure, panels):
        for panel, (stack, variant) in zip(panels, shown, strict=True):
            groups = groups_of(results, test, stack, kind)
            for layer in map(int, places(results, test, [f"lexical_{stack}"], "layer")):
                measures = [Measure(test, f"lexical_{stack}_by_{kind}", layer, group) for group in groups]
                _line(panel, results, variant, range(len(groups)), measures, layer, f"layer {layer}")
            panel.set_xticks(range(len(groups)), groups, fontsize=7, rotation=90 if kind == "tag" else 0)
            panel.set_title(f"{stack}, {results.settings.label(variant)}", fontsize=9)
            panel.set_ylabel("unit found, per cent", fontsize=8)
            panel.set_ylim(-4, 104)
            panel.grid(alpha=0.3)
        across = "frequency in training, 1: rarest" if kind == "frequency" else "part of speech"
        figure.suptitle(f"Lexical probes by {across}, {corpus_name(results.settings)} {test}", fontsize=10)
        legend(figure, panels[:1])


def _line(
    panel: Axes,
    results: Results,
    variant: str,
    across: Sequence[int],
    measures: list[Measure],
    number: int,
    label: str,
) -> None:
    found = [results.number(variant, measure) for measure in measures]
    points = [(place, one.mean) for place, one in zip(across, found, strict=True) if one]
    panel.plot([place for place, _ in points], [mean for _, mean in points], **style(number), label=label)
