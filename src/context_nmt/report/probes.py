"""What probes find in the states of systems: probes.md; the lexical probes are in analyses.yaml."""

from collections.abc import Collection, Iterator
from pathlib import Path

from context_nmt.measures.probing_tasks import GROUPS, TASKS
from context_nmt.measures.rows import CHANCE, Measure
from context_nmt.report.analyses import sections_of
from context_nmt.report.pages import Page, Section, heading, introduction, rows_of
from context_nmt.report.panels import label_rows, legend, panels_of, style
from context_nmt.report.tables import Cell, Grid, grid_of, value_cell
from context_nmt.results.table import Results

SENTENCES = """\
Accuracy, in per cent, of a classifier that predicts a property of a sentence from the mean of the encoder's top layer
(Conneau et al. 2018; the classifier is that of Ampomah et al. 2021). Chance is the share of the most frequent class.
Tasks: `data/{tasks}`; {count} classifier{s} per run."""
NO_VARIANT = "No variant is listed under probing.sentences in params.yaml."


def probes_page(results: Results, pictures: Collection[str]) -> Page:
    """Build the tables of sentence and lexical probes; `pictures` are the names of those in figures/."""
    probing, sentences = results.settings.probing, Section("Sentences", NO_VARIANT)
    if probing.sentences:
        count = len(probing.sentence_classifier.seeds)
        picture = "sentence_probes" if "sentence_probes" in pictures else ""
        text = SENTENCES.format(tasks=probing.tasks, count=count, s="s" if count > 1 else "")
        sentences = Section("Sentences", text, picture, tuple(_sentences(results)))
    metrics = {one.metric for one in results.measures if one.metric.startswith(("probe", "lexical"))}
    text = introduction(results, "No difference here was tested.", metrics)
    return Page(heading(results, "Probes"), text, (sentences, *sections_of(results, "probes", pictures)))


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
            rows = [
                (results.label(name), [_mean(results, name, one) for one in measures]) for name in probing.sentences
            ]
            yield grid_of("Sample standard deviation over the classifiers of a run", names, rows)


def _mean(results: Results, variant: str, measure: Measure) -> Cell:
    """Return the cell of a system's measure, without deviation and difference."""
    estimate = results.estimate(variant, measure)
    return value_cell(estimate and estimate.mean, "{:.2f}")


def draw_probes(results: Results, folder: Path) -> list[str]:
    """Draw sentence_probes.svg, a row per task, a mark per system, and a bar at chance; return its name, if any."""
    settings, chance = results.settings, _chances(results)
    variants = settings.probing.sentences
    tasks = [task for task in TASKS if task in chance]
    if not variants or not tasks:
        return []
    measures = [Measure(str(settings.probing.tasks), "probe", tag=task) for task in tasks]
    with panels_of(folder / "sentence_probes.svg", 1, heights=[1.2 + 0.34 * len(tasks)]) as (figure, (panel,)):
        panel.plot([chance[task] for task in tasks], range(len(tasks)), "|k", markersize=14, label="chance")
        for number, variant in enumerate(variants):
            shift = 0.12 * (number - (len(variants) - 1) / 2)
            estimates = enumerate(results.estimate(variant, measure) for measure in measures)
            points = [(estimate.mean, place + shift) for place, estimate in estimates if estimate]
            look = style(number, joined=False, label=settings.label(variant))
            panel.plot([mean for mean, _ in points], [place for _, place in points], **look)
        label_rows(panel, [task.replace("_", " ") for task in tasks], fontsize=9)
        panel.set_xlabel("accuracy, per cent")
        figure.suptitle(f"Sentence probes, {results.corpus}")
        legend(figure, [panel])
    return ["sentence_probes"]
