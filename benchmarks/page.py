"""Write README.md: the results of each part, with a column for each measured machine."""

from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.machine import hardware, processor, versions
from benchmarks.rounds import Tables
from context_nmt.files import read_json, write_lines
from context_nmt.report.tables import DASH

RESULTS = "results"  # folder with a file for each kind of machine
MINIMUM = {  # targets of rows
    "context-nmt / torch.nn.Transformer": 1.5,
    "context-nmt, bf16 / torch.nn.Transformer": 1.5,
    "context-nmt / matrix product, float32": 0.7,
    "context-nmt, beam 6 / CTranslate2, beam 6": 1.0,
    "context-nmt, greedy / CTranslate2, greedy": 1.0,
    "context-nmt, a process per core / sacremoses, one process": 1.7,
    "context-nmt / subword-nmt": 3.0,
    "two side by side, 1 thread each / one after the other, a thread per core": 1.0,
    "Multi30k, 25,000 tokens, CUDA graphs, compiled / peak": 0.28,
    "news, 25,000 tokens, CUDA graphs, compiled / peak": 0.36,
}
MAXIMUM = {  # targets of all rows of a table
    "time / FLOPs": 1.25,  # of an update, both relative to the Transformer
    "CPU s / pair": 1.15,  # relative to the smallest corpus
    "memory of all processes, GB": 4.0,
}


def write_page(folder: Path) -> None:
    """Write README.md from the results of all machines."""
    results = [read_json(path) for path in sorted((folder / RESULTS).glob("*.json"))]
    machines = [next(iter(parts.values()))["machine"] for parts in results]
    names = [f"{processor(machine)} ({number})" for number, machine in enumerate(machines, start=1)]
    lines = [
        "# Speed and memory",
        "",
        f"Written by `make speed`, which measures one machine; the values of each are in `{RESULTS}/`. Machines:",
        "",
        *(f"{number}. {hardware(machine)}." for number, machine in enumerate(machines, start=1)),
        "",
        "Medians of interleaved rounds, A B A B …, with minimum and maximum; each program runs in its own process. A",
        "ratio is computed per round. Bf16 is measured where the processor has instructions for it. **Missed** marks a",
        "target that the median misses.",
    ]
    for title in dict.fromkeys(title for parts in results for title in parts):
        by_machine = {name: parts[title] for name, parts in zip(names, results, strict=True) if title in parts}
        lines += ["", *section(title, by_machine)]
    write_lines(folder / "README.md", lines)


def section(title: str, parts: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines of one part on all machines: pictures, tables and notes.

    If there is only one machine, tables with the same rows become the columns of one table.
    """
    lines = [f"## {title}", ""]
    for key, part in parts.items():
        if "picture" in part:
            lines += [f"![{title}, {key}]({RESULTS}/{part['picture']})", ""]
    columns: dict[tuple[str, ...], list[pd.DataFrame]] = {}  # by the names of the rows
    tables = {key: part["tables"] | _shares_of_peak(part["tables"]) for key, part in parts.items()}
    for table in dict.fromkeys(table for by_title in tables.values() for table in by_title):
        cells = {key: _cells(by_title[table], table) for key, by_title in tables.items() if table in by_title}
        name = f"{table}, at most {MAXIMUM[table]:g}" if table in MAXIMUM else table
        frame = pd.DataFrame(cells)
        if targets := {row: f"at least {MINIMUM[row]:g}" for row in frame.index if row in MINIMUM}:
            frame = frame.assign(target=pd.Series(targets)).fillna({"target": ""})
        if len(parts) > 1:
            lines += _table(frame, name)
        else:
            columns.setdefault(tuple(frame.index), []).append(frame.rename(columns={next(iter(parts)): name}))
    for frames in columns.values():
        lines += _table(pd.concat(frames, axis=1), "")
    notes = {key: [*part["notes"], f"Measured with {versions(part['machine'])}."] for key, part in parts.items()}
    return [*lines, *_notes(notes)]


def _shares_of_peak(tables: Tables) -> Tables:
    """Return target tokens/s times FLOPs per token over the speed of matrix products, where a part has all three.

    Rows of speeds start with the name of their text.
    """
    flops, speeds, peaks = (tables.get(name) for name in ("GFLOP per target token", "target tokens/s", "GFLOP/s"))
    if not (flops and speeds and peaks):
        return {}
    (peak,) = peaks.values()
    shares = {
        f"{row} / peak": speed["median"] * flops[row.partition(",")[0]] / peak["median"]
        for row, speed in speeds.items()
    }
    return {"share of the peak": shares}


def _cells(rows: dict[str, Any], table: str) -> dict[str, str]:
    """Return the cell of each row: a number, or a median with minimum and maximum, and a mark if it misses a target."""
    cells = {}
    for row, value in rows.items():
        median, cell = value, _number(value) if isinstance(value, float | int) else ""
        if isinstance(value, dict):
            median = value["median"]
            cell = f"{_number(median)} ({_number(value['minimum'])} to {_number(value['maximum'])})"
        missed = not MINIMUM.get(row, median) <= median <= MAXIMUM.get(table, median)
        cells[row] = f"{cell} **missed**" if missed else cell
    return cells


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2f}" if value < 10 else f"{value:g}" if value < 1000 else f"{value:,.0f}"


def _table(cells: pd.DataFrame, title: str) -> list[str]:
    """Return the lines of a Markdown table and an empty one."""
    rows = [[name, *row] for name, *row in cells.fillna(DASH).itertuples()]
    lines = [f"| {' | '.join(row)} |" for row in ([title, *cells.columns], *rows)]
    return [lines[0].replace("|  |", "| |"), f"| --- |{' ---: |' * len(cells.columns)}", *lines[1:], ""]


def _notes(machines: dict[str, list[str]]) -> list[str]:
    """Return the notes as a list; a note that is not the same for all machines begins with its machine."""
    common = set.intersection(*map(set, machines.values()))
    lines = [f"- {note}" if note in common else f"- {key}: {note}" for key in machines for note in machines[key]]
    return list(dict.fromkeys(lines))
