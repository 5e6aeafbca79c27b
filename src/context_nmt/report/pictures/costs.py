"""Draw what a gain costs: BLEU of all systems over the FLOPs and the seconds of their training."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, NullLocator

from context_nmt.measures.rows import Measure
from context_nmt.report.papers.training_costs import System
from context_nmt.report.pictures.panels import corpus_name, draw_legend, panels_of, style
from context_nmt.results.estimates import t_interval

ACROSS = {
    "flops": "FLOPs of training / the plain Transformer's",
    "seconds": "seconds of training / the plain Transformer's",
}
NONE = "baselines and combinations"


def draw_costs(systems: Sequence[System], path: Path) -> bool:
    """Draw the tested BLEU of systems of one recipe on held-out text; return whether there are two of them.

    Each has the number of its row in the table of all systems; its bar is the 95% interval over seeds. Whatever a
    system continues is part of its costs. Systems of another size are left out.
    """
    if not systems:
        return False
    settings = systems[0].results.settings
    measures = [Measure(test, settings.significance.metric) for test in settings.corpus.held_out]
    measure = next((one for one in measures if sum(system.estimate(one) is not None for system in systems) > 1), None)
    if measure is None:
        return False
    papers = list(dict.fromkeys(system.paper or NONE for system in systems))
    with panels_of(path, 2, height=4.2, as_text=True) as (figure, panels):
        panels[1].sharey(panels[0])
        for panel, (cost, across) in zip(panels, ACROSS.items(), strict=True):
            for number, system in enumerate(systems, start=1):
                estimate, own, plain = system.estimate(measure), getattr(system, cost), getattr(system.plain, cost)
                if estimate is None or not own or not plain or system.plain.variant != systems[0].variant:
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
                panel.annotate(
                    str(number), (own / plain, estimate.mean), (4, 2), textcoords="offset points", fontsize=6
                )
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
            panel.set_xticks([1, 1.5, 2, 3, 4, 6])
            panel.xaxis.set_minor_locator(NullLocator())
            panel.set_xlabel(across, fontsize=8)
            panel.grid(alpha=0.3)
        panels[0].set_ylabel(f"{measure.metric}, {measure.test_set}", fontsize=8)
        handles = {paper: Line2D([], [], **style(number, joined=False)) for number, paper in enumerate(papers)}
        draw_legend(figure, handles, columns=3)
        figure.suptitle(f"What a gain costs, {corpus_name(settings)}", fontsize=10)
    return True
