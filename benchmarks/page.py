"""The tables of README.md, with a column for each machine that was measured."""

from pathlib import Path
from typing import Any

from benchmarks.growth_report import growth_section
from benchmarks.machine import file_name, machine_line, processor
from benchmarks.tables import ByMachine, marked, table
from context_nmt.files import read_json, write_lines
from context_nmt.report.tables import DASH

RESULTS = "results"  # folder with a file for each kind of machine
GPUS = f"{RESULTS}/gpus"
WANTED = {  # ratios of speeds, at least
    ("context-nmt", "torch.nn.Transformer"): 1.5,
    ("context-nmt, bf16", "torch.nn.Transformer"): 1.5,
    ("context-nmt", "matrix product, float32"): 0.7,
    ("context-nmt, beam 6", "CTranslate2, beam 6"): 1.0,
    ("context-nmt, greedy", "CTranslate2, greedy"): 1.0,
    ("context-nmt, a process per core", "sacremoses, one process"): 1.7,
    ("context-nmt", "subword-nmt"): 3.0,
    ("two side by side, 1 thread each", "one after the other, a thread per core"): 1.0,
}
MOST = 1.25  # time of an update over its FLOPs, both relative to the Transformer: wanted of every variant


def picture(machine: dict[str, Any], name: str) -> str:
    """Return the path of a machine's picture, relative to README.md."""
    return f"{RESULTS}/{file_name(machine)}-{name}.svg"


def write_page(folder: Path) -> None:
    """Write README.md from the results of all machines."""
    found = [read_json(path) for path in sorted((folder / RESULTS).glob("*.json"))]
    machines = {f"{number}. {processor(one['machine'])}": one for number, one in enumerate(found, start=1)}
    lines = [
        "# Speed and memory",
        "",
        f"Written by `make speed`, which measures one machine; the values of each are in `{RESULTS}/`. Machines:",
        "",
        *(f"{number}. {machine_line(one['machine'])}" for number, one in enumerate(found, start=1)),
        "",
        "Medians of interleaved rounds, A B A B …, with minimum and maximum; each program runs in its own process. A",
        "ratio is computed per round. Bf16 is measured where the processor has instructions for it. **Missed** marks a",
        "target that the median misses.",
    ]
    for title in dict.fromkeys(part["title"] for one in found for part in one["parts"]):
        parts = {key: part for key, one in machines.items() for part in one["parts"] if part["title"] == title}
        lines += ["", *section(parts)]
    for name in _names(machines, "iterations"):
        measured = {key: one for key, one in machines.items() if name in one.get("iterations", {})}
        pictures = [picture(one["machine"], name) for one in measured.values()]
        lines += ["", *trade_off_section({key: one["iterations"][name] for key, one in measured.items()}, pictures)]
    if grown := {key: one["growth"] for key, one in machines.items() if "growth" in one}:
        lines += ["", *growth_section(grown, [picture(machines[key]["machine"], "growth") for key in grown])]
    of_gpus = [read_json(path) for path in sorted((folder / GPUS).glob("*.json"))]
    if complete := {one["hardware"]["device"]: one for one in of_gpus if _training(one) and "decoding" in one}:
        lines += ["", *gpu_section(complete)]
    write_lines(folder / "README.md", lines)


def section(parts: ByMachine) -> list[str]:
    """Return the lines of one part: the speed of each program, ratios and notes."""
    lines = [f"## {next(iter(parts.values()))['title']}", ""]
    contenders = {key: part["contenders"] for key, part in parts.items()}
    if names := _names(parts, "contenders"):
        rows = [
            [
                name,
                next(entries[name]["unit"] for entries in contenders.values() if name in entries),
                *(_speed(entries.get(name)) for entries in contenders.values()),
                *(f"{entries[name]['memory_mb']:,}" if name in entries else DASH for entries in contenders.values()),
            ]
            for name in names
        ]
        memory = "memory, MB" if len(parts) == 1 else "MB, {}"
        titles = ["", "per second", *parts, *(memory.format(key) for key in parts)]
        lines += [*table(titles, rows, left=2), ""]
    if _names(parts, "variants"):
        lines += _variants({key: part["variants"] for key, part in parts.items()})
    ratios = {key: {(one["of"], one["to"]): one for one in part["ratios"]} for key, part in parts.items()}
    if pairs := dict.fromkeys(pair for entries in ratios.values() for pair in entries):
        rows = [
            [
                " / ".join(pair),
                *(_ratio(entries.get(pair), WANTED.get(pair)) for entries in ratios.values()),
                f"at least {WANTED[pair]:g}" if pair in WANTED else "",
            ]
            for pair in pairs
        ]
        lines += [*table(["ratio", *parts, "target"], rows), ""]
    return [*lines, *_notes({key: part["notes"] for key, part in parts.items()})]


def _variants(machines: ByMachine) -> list[str]:
    """Return three tables of the variants: speeds of training and of decoding, and time over FLOPs."""
    flops = {name: entry["flops"] for entries in machines.values() for name, entry in entries.items()}
    lines = []
    for work in ("training", "decoding"):
        rows = [
            [name, *(_of_variant(entries.get(name), work) for entries in machines.values())] for name in sorted(flops)
        ]
        lines += [*table([f"speed of {work}", *machines], rows), ""]
    rows = [
        [name, f"{flops[name]:.3f}", *(_cost(entries.get(name)) for entries in machines.values())]
        for name in sorted(flops)
    ]
    return [*lines, *table([f"time / FLOPs, at most {MOST:g}", "FLOPs", *machines], rows), ""]


def _of_variant(entry: dict[str, Any] | None, work: str) -> str:
    if entry is None:
        return DASH
    speed = entry[work]
    return f"{speed['median']:.2f} ({speed['least']:.2f} to {speed['greatest']:.2f})"


def _cost(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return DASH
    least, greatest = (1 / entry["flops"] / entry["training"][key] for key in ("greatest", "least"))
    cell = f"{entry['time_over_flops']:.2f} ({least:.2f} to {greatest:.2f})"
    return marked(cell, entry["time_over_flops"] > MOST)


def _speed(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return DASH
    return f"{entry['median']:,g} ({min(entry['rounds']):,g} to {max(entry['rounds']):,g})"


def _ratio(entry: dict[str, Any] | None, wanted: float | None = None) -> str:
    if entry is None:
        return DASH
    cell = f"{entry['median']:.2f} ({entry['minimum']:.2f} to {entry['maximum']:.2f})"
    return marked(cell, wanted is not None and entry["median"] < wanted)


def trade_off_section(machines: ByMachine, pictures: list[str]) -> list[str]:
    """Return the lines about BLEU and speed of each search, as measured by the part `iterations`."""
    first = next(iter(machines.values()))
    searches = {
        key: {f"{one['systems'][entry['system']]['label']}, {entry['search']}": entry for entry in one["searches"]}
        for key, one in machines.items()
    }
    base = first["searches"][0]["search"]
    names = dict.fromkeys(name for entries in searches.values() for name in entries)
    lines = [f"## Iterations of mask-predict, {first['corpus']}", ""]
    for key, path in zip(machines, pictures, strict=True):
        lines += [f"![BLEU against speed, {key}]({path})", ""]
    rows = [
        [name, *(f"{entries[name]['bleu']:.2f}" if name in entries else DASH for entries in searches.values())]
        for name in names
    ]
    lines += [*table([f"BLEU, {first['test_set']}", *machines], rows), ""]
    for mode, title in (("alone", "one at a time"), ("batched", "batched")):
        rows = []
        for name in names:
            rows.append([name])
            for entries in searches.values():
                speed = entries[name][mode] if name in entries else None
                rows[-1] += [_speed(speed), _ratio(speed and speed["relative"])]
        columns = [column for key in machines for column in (f"sentences/s, {key}", f"/ {base}")]
        lines += [*table([title, *columns], rows), ""]
    return [*lines, *_notes({key: _about_searches(one) for key, one in machines.items()})]


def _about_searches(values: dict[str, Any]) -> list[str]:
    modes = values["modes"]
    alone, batched = (f"{modes[mode]['sentences']:,} sentences" for mode in ("alone", "batched"))
    systems = [values["systems"][system] for system in dict.fromkeys(entry["system"] for entry in values["searches"])]
    runs = ", ".join(f"{entry['run']} ({entry['size']}, {entry['parameters']:,})" for entry in systems)
    return [
        machine_line(values["machine"]),
        f"Runs (parameters): {runs}.",
        f"BLEU of the whole test set, translated in batches: {values['signature']}.",
        f"A round is {alone} one at a time, on one thread, and {batched} batched, in {modes['batched']['threads']}"
        f" processes of one thread; {values['rounds']} rounds.",
        *values["notes"],
    ]


def gpu_section(gpus: ByMachine) -> list[str]:
    """Return the lines about each GPU, as measured by `python -m benchmarks.gpu`."""
    figures = {  # title of a row: part, figure, format
        "matrix product, bf16, TFLOP/s": ("peak", "tflops", ",.0f"),
        "precision of training and decoding": ("decoding", "precision", ""),
        "training, target tokens/s": ("training", "target_tokens_per_second", ",.0f"),
        "training / matrix product": ("training", "share_of_peak", ".2f"),
        "training, memory, GB": ("training", "memory_gb", ".1f"),
        "training with torch.compile, target tokens/s": ("training_compiled", "target_tokens_per_second", ",.0f"),
        "training with torch.compile / matrix product": ("training_compiled", "share_of_peak", ".2f"),
        "beam 5, sentences/s": ("decoding", "sentences_per_second", ",.0f"),
    }
    rows = [
        [title, *(f"{one[part][figure]:{form}}" if part in one else DASH for one in gpus.values())]
        for title, (part, figure, form) in figures.items()
        if any(part in one for one in gpus.values())
    ]
    first = next(iter(gpus.values()))
    training, decoding = _training(first), first["decoding"]
    lines = [
        f"- A Transformer of base size ({training['parameters']:,} parameters) on Multi30k: {training['updates']}"
        f" updates of at most {training['batch_tokens']:,} target tokens with padding, and {decoding['sentences']:,}"
        f" sentences translated by an untrained model, to {decoding['units']} units each. One measurement each.",
    ]
    for name, one in gpus.items():
        if last := one.get("minutes", {}).get("last_validation"):
            lines.append(
                f"- {name}: the last validation of the Transformer of `benchmarks/params.yaml` (d_model 256) within"
                f" {one['minutes']['seconds']:.0f} s was that of update {int(last['update']):,}, epoch {last['epoch']}:"
                f" loss {float(last['valid_loss']):.2f}, in training {float(last['train_loss']):.2f}."
            )
        lines.append(f"- {name}, CUDA {one['hardware']['cuda']}: {machine_line(one['hardware'])}")
    return ["## GPUs", "", *table(["", *gpus], rows), "", *lines]


def _training(figures: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured of training, without torch.compile if there is a choice."""
    return figures.get("training") or figures.get("training_compiled") or {}


def _names(machines: ByMachine, kind: str) -> list[str]:
    return list(dict.fromkeys(name for values in machines.values() for name in values.get(kind, {})))


def _notes(machines: dict[str, list[str]]) -> list[str]:
    """Return the notes as a list; one that is not the same for all machines begins with its machine."""
    lines = []
    for key, notes in machines.items():
        for note in notes:
            everywhere = all(note in others for others in machines.values())
            lines.append(f"- {note}" if everywhere else f"- {key}: {note}")
    return list(dict.fromkeys(lines))
