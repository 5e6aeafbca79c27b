"""Draw what a gain costs: BLEU of all systems over the FLOPs and the seconds of their training."""

from collections.abc import Collection, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, NullLocator

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.all_systems import System
from context_nmt.report.pictures.panels import corpus_name, draw_legend, panels_of, style
from context_nmt.results.table import t_interval

ACROSS = {  # more systems have FLOPs than seconds, so FLOPs are last, next to the names
    "seconds": "seconds of training / the plain Transformer's",
    "flops": "FLOPs of training / the plain Transformer's",
}
NONE = "baselines and combinations"


def draw_costs(systems: Sequence[System], named: Collection[str], path: Path) -> bool:
    """Draw the tested BLEU of systems of one recipe on held-out text; return whether there are two of them.

    The variants in `named`, baselines and combinations have their name and the number of their row in the table of all
    systems. Bars are 95% intervals over seeds. Whatever a system continues is part of its costs. Systems of another
    size, those that are out of date, and those whose costs are not known are left out.
    """
    if not systems:
        return False
    settings = systems[0].results.settings
    measures = [Measure(test, settings.significance.metric) for test in settings.corpus.held_out]
    measure = next((one for one in measures if any(system.estimate(one) for system in systems)), None)
    if measure is None:
        return False
    drawn = {
        number: (system, estimate)
        for number, system in enumerate(systems, start=1)
        if system.plain.variant == systems[0].plain.variant
        and system.variant not in system.results.out_of_date
        and (estimate := system.estimate(measure))
    }
    if len(drawn) < 2:
        return False
    papers = list(dict.fromkeys(system.paper or NONE for system, _ in drawn.values()))
    with panels_of(path, 2, height=4.6, as_text=True) as (figure, panels):
        panels[0].sharey(panels[1])
        for panel, (cost, across) in zip(panels, ACROSS.items(), strict=True):
            points: dict[int, tuple[float, float]] = {}
            for number, (system, estimate) in drawn.items():
                own, plain = getattr(system, cost), getattr(system.plain, cost)
                if not own or not plain:
                    continue
                values = system.results.by_seed(system.variant, measure) or ()
                interval = t_interval(list(values))
                panel.errorbar(
                    [own / plain],
                    [estimate.mean],
                    yerr=[[estimate.mean - interval[0]], [interval[1] - estimate.mean]] if interval else None,
                    capsize=2,
                    **style(papers.index(system.paper or NONE), joined=False, linewidth=0.9),
                )
                points[number] = (own / plain, estimate.mean)
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            panel.set_xticks([1, 1.5, 2, 3, 4, 6])
            panel.xaxis.set_minor_locator(NullLocator())
            panel.set_xlabel(across, fontsize=8)
            panel.grid(alpha=0.3)
            if panel is panels[-1]:
                _name_points(
                    panel,
                    {
                        f"{number} {system.results.settings.label(system.variant)}": points[number]
                        for number, (system, _) in drawn.items()
                        if number in points and (system.variant in named or system.paper is None)
                    },
                )
        panels[0].set_ylabel(f"{measure.metric}, {measure.test_set}", fontsize=8)
        handles = {paper: Line2D([], [], **style(number, joined=False)) for number, paper in enumerate(papers)}
        draw_legend(figure, handles, columns=3)
        figure.suptitle(f"What a gain costs, {corpus_name(settings)}", fontsize=10)
    return True


def _name_points(panel: Axes, points: dict[str, tuple[float, float]]) -> None:
    """Write the names of points to the right of a panel, the highest on top, with a line to each point."""
    for row, (name, point) in enumerate(sorted(points.items(), key=lambda item: -item[1][1])):
        place = 1 - (row + 0.5) / len(points)
        panel.annotate(
            name,
            point,
            (1.06, place),
            textcoords="axes fraction",
            fontsize=6.5,
            verticalalignment="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": "0.7",
                "linewidth": 0.5,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 3,
            },
        )
