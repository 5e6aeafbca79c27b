"""Figures as JSON and as Markdown tables."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.rounds import Measured, Ratio
from context_nmt.files import read_json, write_json, write_lines

FOLDER = Path(__file__).parent
README = FOLDER.parent / "README.md"
START, STOP = "<!-- speed: written by `make speed` -->", "<!-- /speed -->"


@dataclass(frozen=True)
class Part:
    """What one part of the benchmark gave."""

    title: str
    measured: dict[str, Measured] = field(default_factory=dict)
    ratios: list[Ratio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)  # relative to the Transformer

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "title": self.title,
            "contenders": {name: one.to_dict() for name, one in self.measured.items()},
            "ratios": [one.to_dict() for one in self.ratios],
            "notes": self.notes,
            "variants": self.variants,
        }


def write(machine: dict[str, Any], parts: list[Part]) -> None:
    """Write results.json, README.md beside it, and the table in the project's README.md."""
    _write({"machine": machine, "parts": [part.to_dict() for part in parts]})


def replace(part: Part, machine: dict[str, Any]) -> None:
    """Write them with this part in the place of the one of its title, and where it was measured."""
    values, own = read_json(FOLDER / "results.json"), part.to_dict()
    own["notes"].append(f"Measured in a run of its own: {machine_line(machine)}")
    values["parts"] = [own if one["title"] == part.title else one for one in values["parts"]]
    _write(values)


def _write(values: dict[str, Any]) -> None:
    write_json(FOLDER / "results.json", values)
    write_page(FOLDER)
    before, _, rest = README.read_text(encoding="utf-8").partition(START + "\n")
    _, found, after = rest.partition(STOP + "\n")
    if found:
        table = "\n".join(summary(values))
        write_lines(README, f"{before}{START}\n{table}\n{STOP}\n{after}".removesuffix("\n").split("\n"))


def write_page(folder: Path = FOLDER) -> None:
    """Write README.md from results.json and the iterations*.json beside it."""
    trade_offs = {path.stem: read_json(path) for path in sorted(folder.glob("iterations*.json"))}
    write_lines(folder / "README.md", page(read_json(folder / "results.json"), trade_offs))


def page(values: dict[str, Any], trade_offs: dict[str, dict[str, Any]]) -> list[str]:
    """The lines of benchmarks/README.md; trade-offs by the names of their files."""
    lines = ["# Speed and memory", "", "Written by `make speed`; the same values are in `results.json`.", ""]
    lines += [machine_line(values["machine"]), ""]
    lines += [
        "Medians of interleaved rounds, A B A B …, each program in a process of its own. A ratio is taken in each"
    ]
    lines += ["round; shown are its median, its least and its greatest value."]
    for part in values["parts"]:
        lines += ["", *section(part)]
    for name, trade_off in trade_offs.items():
        lines += ["", *trade_off_section(name, trade_off)]
    return lines


def machine_line(machine: dict[str, Any]) -> str:
    """The machine in one sentence."""
    versions = ("python", "torch", "numpy", "ctranslate2", "sacrebleu", "sacremoses", "subword-nmt")
    named = ", ".join(f"{name} {machine[name]}" for name in versions if name in machine)
    return (
        f"{machine['processor']} (family/model {machine['family_and_model']}), {machine['cores']} cores,"
        f" {machine['memory_gb']} GB, {machine['system']}, with {', '.join(machine['instructions'])}; {named}."
    )


def section(part: dict[str, Any]) -> list[str]:
    """One part: what each program did, how they compare, and notes."""
    lines = [f"## {part['title']}", "", *_contenders(part["contenders"]), *_variants(part["variants"])]
    lines += ["| ratio | median | least to greatest | wanted |", "| --- | ---: | ---: | ---: |"]
    for one in part["ratios"]:
        spread = f"{one['minimum']:.2f} to {one['maximum']:.2f}"
        lines.append(f"| {one['of']} / {one['to']} | {one['median']:.2f} | {spread} | {_wanted(one)} |")
    return [*lines, "", *(f"- {note}" for note in part["notes"])]


def _contenders(contenders: dict[str, dict[str, Any]]) -> list[str]:
    """A table of speeds and an empty line; nothing without contenders."""
    if not contenders:
        return []
    lines = ["| | speed | least to greatest | memory, MB |", "| --- | ---: | ---: | ---: |"]
    for name, one in contenders.items():
        spread = f"{min(one['rounds']):,g} to {max(one['rounds']):,g}"
        lines.append(f"| {name} | {one['median']:,g} {one['unit']}/s | {spread} | {one['memory_mb']:,} |")
    return [*lines, ""]


def _variants(variants: dict[str, dict[str, Any]]) -> list[str]:
    """A table of what mechanisms cost and an empty line; nothing without variants."""
    if not variants:
        return []
    titles = ("", "training", "least to greatest", "decoding", "least to greatest", "FLOPs", "time / FLOPs")
    lines = [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]
    for name, one in variants.items():
        cells = [name]
        for work in ("training", "decoding"):
            cells += [f"{one[work]['median']:.2f}", f"{one[work]['least']:.2f} to {one[work]['greatest']:.2f}"]
        lines.append(f"| {' | '.join(cells)} | {one['flops']:.3f} | {one['time_over_flops']:.2f} |")
    return [*lines, ""]


def trade_off_section(name: str, values: dict[str, Any]) -> list[str]:
    """What BLEU each search reaches at what speed, as the part `iterations` measured it."""
    base, modes = values["searches"][0], values["modes"]
    alone, batched = (f"{modes[mode]['sentences']:,} sentences" for mode in ("alone", "batched"))
    titles = [f"{values['corpus']}, {values['test_set']}", "BLEU"]
    for mode in ("one at a time", "batched"):
        titles += [f"{mode}, sentences/s", f"/ {base['search']}", "least to greatest"]
    lines = [f"## Iterations of mask-predict, {values['corpus']}", "", f"![BLEU against speed]({name}.svg)", ""]
    lines += [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]
    for one in values["searches"]:
        cells = [f"{values['systems'][one['system']]['label']}, {one['search']}", f"{one['bleu']:.2f}"]
        for mode in modes:
            relative = one[mode]["relative"]
            spread = f"{relative['minimum']:.2f} to {relative['maximum']:.2f}"
            cells += [f"{one[mode]['median']:,g}", f"{relative['median']:.2f}", spread]
        lines.append(f"| {' | '.join(cells)} |")
    systems = [values["systems"][system] for system in dict.fromkeys(one["system"] for one in values["searches"])]
    runs = ", ".join(f"{one['run']} ({one['size']}, {one['parameters']:,})" for one in systems)
    notes = [
        machine_line(values["machine"]),
        f"Runs (parameters): {runs}.",
        f"BLEU of the whole test set, translated in batches: {values['signature']}.",
        f"A round is {alone} one at a time, on one thread, and {batched} batched, in {modes['batched']['threads']}"
        f" processes of one thread; {values['rounds']} rounds.",
        *values["notes"],
    ]
    return [*lines, "", *(f"- {note}" for note in notes)]


def summary(values: dict[str, Any]) -> list[str]:
    """The table of the project's README.md: ratios that something is wanted of."""
    lines = ["| | ratio | median | least to greatest | wanted |", "| --- | --- | ---: | ---: | ---: |"]
    for part in values["parts"]:
        for one in part["ratios"]:
            if one["wanted"] is not None:
                spread = f"{one['minimum']:.2f} to {one['maximum']:.2f}"
                ratio = f"{one['of']} / {one['to']}"
                lines.append(f"| {part['title']} | {ratio} | {one['median']:.2f} | {spread} | {_wanted(one)} |")
    return [*lines, "", machine_line(values["machine"])]


def same_bytes(measured: dict[str, Measured]) -> str:
    """Say whether all contenders gave the same checksums."""
    first, *others = [one.output for one in measured.values()]
    return "All write the same bytes." if all(other == first for other in others) else "They write different lines!"


def _wanted(ratio: dict[str, Any]) -> str:
    return "" if ratio["wanted"] is None else f"at least {ratio['wanted']:g}"
