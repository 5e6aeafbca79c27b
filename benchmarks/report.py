"""Figures as JSON and as Markdown tables, and the command line of a part."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.rounds import Measured, Ratio
from context_nmt.command_line import run
from context_nmt.files import read_json, write_json, write_lines

ROUNDS = 5
Rounds = Annotated[int, typer.Option(min=1, help="How often each program has its turn.")]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """The results of one part of the benchmark."""

    title: str
    measured: dict[str, Measured] = field(default_factory=dict)
    ratios: list[Ratio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)  # relative to the Transformer

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "title": self.title,
            "contenders": {name: result.to_dict() for name, result in self.measured.items()},
            "ratios": [result.to_dict() for result in self.ratios],
            "notes": self.notes,
            "variants": self.variants,
        }


def part_command(*parts: Callable[[int], Part]) -> None:
    """Run parts as a command that prints their figures and writes no file of results."""

    def main(rounds: Rounds = ROUNDS) -> None:
        for part in parts:
            typer.echo("\n".join(section(part(rounds).to_dict())))

    docs = " ".join(part.__doc__ or "" for part in parts)
    main.__doc__ = f"{docs} Prints figures and ratios; `make speed` runs all parts and keeps their results."
    run(main)


def write(machine: dict[str, Any], parts: list[Part]) -> None:
    """Write results.json, and README.md next to it."""
    _write({"machine": machine, "parts": [part.to_dict() for part in parts]})


def replace(part: Part, machine: dict[str, Any]) -> None:
    """Write the same files with this part in place of the one with its title, and note its machine."""
    values, new_part = read_json(FOLDER / "results.json"), part.to_dict()
    new_part["notes"].append(f"Measured in a separate run: {machine_line(machine)}")
    values["parts"] = [new_part if old_part["title"] == part.title else old_part for old_part in values["parts"]]
    _write(values)


def _write(values: dict[str, Any]) -> None:
    write_json(FOLDER / "results.json", values)
    write_page(FOLDER)


def write_page(folder: Path = FOLDER) -> None:
    """Write README.md from results.json and the iterations*.json next to it."""
    values = read_json(folder / "results.json")
    lines = ["# Speed and memory", "", "Written by `make speed`; the same values are in `results.json`.", ""]
    lines += [machine_line(values["machine"]), ""]
    lines += [
        "Medians of interleaved rounds, A B A B …; each program runs in its own process. A ratio is computed per",
        "round; the tables show its median, minimum and maximum.",
    ]
    for part in values["parts"]:
        lines += ["", *section(part)]
    for path in sorted(folder.glob("iterations*.json")):
        lines += ["", *trade_off_section(path.stem, read_json(path))]
    write_lines(folder / "README.md", lines)


def machine_line(machine: dict[str, Any]) -> str:
    """Describe the machine in one sentence."""
    versions = ("python", "torch", "numpy", "ctranslate2", "sacrebleu", "sacremoses", "subword-nmt")
    named = ", ".join(f"{name} {machine[name]}" for name in versions if name in machine)
    return (
        f"{machine['processor']} (family/model {machine['family_and_model']}), {machine['cores']} cores,"
        f" {machine['memory_gb']} GB, {machine['system']}, with {', '.join(machine['instructions'])}; {named}."
    )


def section(part: dict[str, Any]) -> list[str]:
    """Return the lines of one part: the speed of each program, ratios and notes."""
    lines = [f"## {part['title']}", ""]
    if part["contenders"]:
        rows = []
        for name, entry in part["contenders"].items():
            spread = f"{min(entry['rounds']):,g} to {max(entry['rounds']):,g}"
            rows.append([name, f"{entry['median']:,g} {entry['unit']}/s", spread, f"{entry['memory_mb']:,}"])
        lines += [*_table(["", "speed", "range", "memory, MB"], rows), ""]
    if part["variants"]:
        titles = ["", "training", "range", "decoding", "range", "FLOPs", "time / FLOPs"]
        rows = []
        for name, entry in part["variants"].items():
            speeds = [entry[work] for work in ("training", "decoding")]
            cells = [(f"{speed['median']:.2f}", f"{speed['least']:.2f} to {speed['greatest']:.2f}") for speed in speeds]
            rows.append([name, *cells[0], *cells[1], f"{entry['flops']:.3f}", f"{entry['time_over_flops']:.2f}"])
        lines += [*_table(titles, rows), ""]
    rows = [_ratio_cells(entry) for entry in part["ratios"]]
    lines += _table(["ratio", "median", "range", "target"], rows)
    return [*lines, "", *(f"- {note}" for note in part["notes"])]


def _table(titles: list[str], rows: Iterable[list[str]], left: int = 1) -> list[str]:
    """Return the lines of a Markdown table whose first `left` columns are left-aligned, the others right-aligned."""
    line = f"|{' --- |' * left}{' ---: |' * (len(titles) - left)}"
    return [f"| {' | '.join(titles)} |".replace("|  |", "| |"), line, *(f"| {' | '.join(row)} |" for row in rows)]


def _ratio_cells(one: dict[str, Any]) -> list[str]:
    wanted = "" if one["wanted"] is None else f"at least {one['wanted']:g}"
    return [
        f"{one['of']} / {one['to']}",
        f"{one['median']:.2f}",
        f"{one['minimum']:.2f} to {one['maximum']:.2f}",
        wanted,
    ]


def trade_off_section(name: str, values: dict[str, Any]) -> list[str]:
    """Return the lines about BLEU and speed of each search, as measured by the part `iterations`."""
    base, modes = values["searches"][0], values["modes"]
    alone, batched = (f"{modes[mode]['sentences']:,} sentences" for mode in ("alone", "batched"))
    titles = [f"{values['corpus']}, {values['test_set']}", "BLEU"]
    for mode in ("one at a time", "batched"):
        titles += [f"{mode}, sentences/s", f"/ {base['search']}", "range"]
    lines = [f"## Iterations of mask-predict, {values['corpus']}", "", f"![BLEU against speed]({name}.svg)", ""]
    rows = []
    for entry in values["searches"]:
        cells = [f"{values['systems'][entry['system']]['label']}, {entry['search']}", f"{entry['bleu']:.2f}"]
        for mode in modes:
            relative = entry[mode]["relative"]
            spread = f"{relative['minimum']:.2f} to {relative['maximum']:.2f}"
            cells += [f"{entry[mode]['median']:,g}", f"{relative['median']:.2f}", spread]
        rows.append(cells)
    lines += _table(titles, rows)
    systems = [values["systems"][system] for system in dict.fromkeys(entry["system"] for entry in values["searches"])]
    runs = ", ".join(f"{entry['run']} ({entry['size']}, {entry['parameters']:,})" for entry in systems)
    notes = [
        machine_line(values["machine"]),
        f"Runs (parameters): {runs}.",
        f"BLEU of the whole test set, translated in batches: {values['signature']}.",
        f"A round is {alone} one at a time, on one thread, and {batched} batched, in {modes['batched']['threads']}"
        f" processes of one thread; {values['rounds']} rounds.",
        *values["notes"],
    ]
    return [*lines, "", *(f"- {note}" for note in notes)]


def same_bytes(measured: dict[str, Measured]) -> str:
    """Say whether all contenders gave the same checksums."""
    first, *others = [result.output for result in measured.values()]
    return "All write the same bytes." if all(output == first for output in others) else "They write different lines!"
