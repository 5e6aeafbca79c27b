"""Draw the verdicts on claims as a forest plot: a row per claim, to the right what the paper claims."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from context_nmt.report.papers.claim_lines import ClaimLine, counts_of
from context_nmt.report.papers.outcomes import Outcome
from context_nmt.report.papers.verdicts import AS_CLAIMED, FEWEST, NO_VERDICT, NOT_DECIDED, OTHER_WAY
from context_nmt.report.pictures.panels import COLOURS, corpus_name, draw_legend, label_rows, panels_of

# shape and filling tell the verdicts apart without colour
MARKS: dict[str, dict[str, Any]] = {
    AS_CLAIMED: {"color": COLOURS[2], "marker": "o"},
    OTHER_WAY: {"color": COLOURS[1], "marker": "X"},
    NOT_DECIDED: {"color": "0.35", "marker": "s", "markerfacecolor": "white"},
    NO_VERDICT: {"color": "0.6", "marker": "|"},
}
BARS: dict[str, Any] = {"linestyle": "none", "capsize": 2, "linewidth": 1.2}
PUBLISHED: dict[str, Any] = {"marker": "D", "color": "black", "markerfacecolor": "white", "markersize": 4}
ELSEWHERE: dict[str, Any] = {"color": "0.6", "markersize": 4}
ELSEWHERE_MARKERS = ("v", "^", "<", ">")  # a corpus each, from the first again when there are more
PERCENTAGES = ("accuracy", "bleu", "sacrebleu", "d_bleu", "chrf", "ter", "lexical", "ngram", "probe")
ACROSS = (
    "difference in the claimed direction; bars: 95% interval over seeds, not corrected;\n"
    "BLEU and percentages in points, other measures in hundredths; the axis is logarithmic beyond 1"
)
LETTERS = 46  # of a claim on one line
INCHES = 0.31  # per row
NO_BREAK = "\u00a0"


def draw_claims(lines: dict[str, Sequence[ClaimLine]], path: Path) -> bool:
    """Draw the claims that an experiment can test, by the name of their paper; return whether there are any.

    The row with a paper's name counts all of its lines by verdict, those that have not run included.
    """
    rows: list[str | ClaimLine] = []
    for name, of_paper in lines.items():
        ran = [line for line in of_paper if line.verdict.outcome]
        rows += [name, *ran] if ran else []
    if not rows:
        return False
    drawn = [row for row in rows if not isinstance(row, str)]
    names = dict.fromkeys(_corpus(outcome) for line in drawn for outcome in _on_other_corpora(line))
    corpora = {name: ELSEWHERE | {"marker": marker} for name, marker in zip(names, cycle(ELSEWHERE_MARKERS))}
    with panels_of(path, 1, heights=[0.6 + INCHES * len(rows)], width=6.2, as_text=True) as (figure, (panel,)):
        for place, row in enumerate(rows):
            if isinstance(row, str):
                panel.axhspan(place - 0.5, place + 0.5, color="0.93", zorder=0)
                counts = fill("; ".join(count.replace(" ", NO_BREAK) for count in counts_of(lines[row])), LETTERS)
                panel.text(0, place, counts, fontsize=6.5, ha="center", va="center", backgroundcolor="0.93")
            else:
                _draw_line(panel, place, row, corpora)
        labels = [row if isinstance(row, str) else fill(row.texts[0], LETTERS) for row in rows]
        label_rows(panel, labels, fontsize=8)
        for row, label in zip(rows, panel.get_yticklabels(), strict=True):
            label.set_fontweight("bold" if isinstance(row, str) else "normal")
        panel.axvline(0, color="black", linewidth=0.8)
        panel.set_xscale("symlog", linthresh=1, linscale=0.8)
        panel.set_xlim(-100, 100)
        panel.set_xticks([-10, -1, 0, 1, 10], ["−10", "−1", "0", "1", "10"], fontsize=8)  # noqa: RUF001
        panel.tick_params(axis="x", which="both", top=True, labeltop=True)
        panel.tick_params(axis="x", which="minor", bottom=False, top=False)
        words = {line.verdict.word for line in drawn}
        handles = {word: Line2D([], [], linestyle="none", **marks) for word, marks in MARKS.items() if word in words}
        if any(line.published for line in drawn):
            handles["published"] = Line2D([], [], linestyle="none", **PUBLISHED)
        handles |= {f"also on {name}": Line2D([], [], linestyle="none", **marks) for name, marks in corpora.items()}
        if any(line.verdict.claim.margin for line in drawn):
            handles["margin"] = Line2D([], [], color="0.85", linewidth=5)
        draw_legend(figure, handles, columns=3, title=ACROSS)
    return True


def _on_other_corpora(line: ClaimLine) -> list[Outcome]:
    """Return what experiments with an interval show on other corpora than the claim's."""
    own = line.verdict.outcome
    return [
        outcome
        for outcome in line.elsewhere
        if own and _corpus(outcome) != _corpus(own) and len(outcome.differences) >= FEWEST
    ]


def _corpus(outcome: Outcome) -> str:
    return corpus_name(outcome.results.settings)


def _draw_line(panel: Axes, row: int, line: ClaimLine, corpora: dict[str, dict[str, Any]]) -> None:
    verdict, outcome = line.verdict, line.verdict.outcome
    assert outcome is not None
    sign = -1 if verdict.claim.direction == "lower" else 1
    scale = sign * (1 if outcome.side.measures[0].metric.startswith(PERCENTAGES) else 100)
    if verdict.claim.margin:
        margin = verdict.claim.margin * scale
        panel.plot([-margin, margin], [row, row], color="0.85", linewidth=6, solid_capstyle="butt", zorder=0)
    for gain in line.published:
        panel.plot([gain.gain * scale], [row - 0.25], linestyle="none", **PUBLISHED)
    for other in _on_other_corpora(line):
        _draw_outcome(panel, row + 0.25, other, scale, corpora[_corpus(other)])
    _draw_outcome(panel, row, outcome, scale, MARKS[verdict.word])


def _draw_outcome(panel: Axes, place: float, outcome: Outcome, scale: float, marks: dict[str, Any]) -> None:
    ends = sorted(end * scale for end in outcome.interval or ()) if len(outcome.differences) >= FEWEST else ()
    mean = outcome.gain * scale
    bar = [[mean - ends[0]], [ends[1] - mean]] if ends else None
    panel.errorbar([mean], [place], xerr=bar, **BARS | marks)
