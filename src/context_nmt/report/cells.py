"""Cells of tables: numbers as they are printed, and as plain numbers for the CSV."""

from dataclasses import dataclass

from context_nmt.results.metrics import interval_text, mark, signed
from context_nmt.results.table import Difference, Estimate

DASH = "–"  # noqa: RUF001 (as wide as a digit)
TIMES = "×"  # noqa: RUF001


@dataclass(frozen=True)
class Cell:
    """A number as text and as plain numbers; running `command` would fill a cell that is empty."""

    text: str
    value: float | None = None
    deviation: float | None = None
    seeds: int | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    command: str = ""


NOTHING = Cell(DASH)  # for a cell that can have no number


def estimate_cell(number: Estimate | None, decimals: int = 2, *, against: str = "", with_gain: bool = True) -> Cell:
    """Return the mean and deviation over seeds and, in brackets, the difference from the baseline with its mark.

    `against` names the baseline if it is not the expected one.
    """
    if number is None:
        return NOTHING
    gain = number.gain if with_gain else None
    deviation = f" ± {number.deviation:.{decimals}f}" if number.seeds > 1 else ""
    baseline = f" to {against}" if against else ""
    difference = f" ({signed(gain.mean, decimals)}{mark(gain.p)}{baseline})" if gain else ""
    return Cell(
        f"{number.mean:.{decimals}f}{deviation}{difference}",
        value=number.mean,
        deviation=number.deviation if number.seeds > 1 else None,
        seeds=number.seeds,
        difference=gain and gain.mean,
        interval=gain and gain.interval,
        p=gain and gain.p,
    )


def gain_cells(gain: Difference | None) -> tuple[Cell, Cell]:
    """Return a difference with its mark, and its interval over seeds."""
    if gain is None:
        return NOTHING, NOTHING
    cell = Cell(signed(gain.mean) + mark(gain.p), difference=gain.mean, interval=gain.interval, p=gain.p)
    return cell, Cell(interval_text(gain.interval), interval=gain.interval) if gain.interval else NOTHING


def value_cell(value: float | None, form: str, *, command: str = "") -> Cell:
    """Format a number, with a form such as "{:,.1f}"; return a dash if it is missing, which `command` would fill."""
    if value is None:
        return Cell(DASH, command=command)
    return Cell(form.format(value).replace("-", "−"), value=round(value, 4))  # noqa: RUF001
