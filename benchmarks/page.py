"""The tables of README.md, with a column for each machine that was measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.machine import file_name, machine_line, processor
from context_nmt.files import read_json, write_lines
from context_nmt.report.tables import DASH

ByMachine = dict[str, Any]  # values by the title of a machine's column

RESULTS = "results"  # folder with a file for each kind of machine
GPUS = f"{RESULTS}/gpus"
WANTED = {  # ratios of speeds, at least
    "context-nmt / torch.nn.Transformer": 1.5,
    "context-nmt, bf16 / torch.nn.Transformer": 1.5,
    "context-nmt / matrix product, float32": 0.7,
    "context-nmt, beam 6 / CTranslate2, beam 6": 1.0,
    "context-nmt, greedy / CTranslate2, greedy": 1.0,
    "context-nmt, a process per core / sacremoses, one process": 1.7,
    "context-nmt / subword-nmt": 3.0,
    "two side by side, 1 thread each / one after the other, a thread per core": 1.0,
}
MOST = 1.25  # time of an update over its FLOPs, both relative to the Transformer: wanted of every variant
TEXT_STAGES = ("tokenize", "bpe")  # bpe learns merges, segments and numbers the units
LINEAR = 1.15  # CPU seconds of a text stage per pair, relative to the smallest corpus, at most
MOST_MEMORY = 4.0  # GB of a text stage
GPU_ROWS = {  # title of a row: part, format of its figure
    "matrix product, bf16, TFLOP/s": ("peak", "{0[tflops]:,.0f}"),
    "precision of training and decoding": ("decoding", "{0[precision]}"),
    "training, target tokens/s": ("training", "{0[target_tokens_per_second]:,.0f}"),
    "training / matrix product": ("training", "{0[share_of_peak]:.2f}"),
    "training, memory, GB": ("training", "{0[memory_gb]:.1f}"),
    "training with torch.compile, target tokens/s": ("training_compiled", "{0[target_tokens_per_second]:,.0f}"),
    "training with torch.compile / matrix product": ("training_compiled", "{0[share_of_peak]:.2f}"),
    "beam 5, sentences/s": ("decoding", "{0[sentences_per_second]:,.0f}"),
}


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
    parts = {key: {part["title"]: part for part in one["parts"]} for key, one in machines.items()}
    for of_machines in _turned(parts).values():
        lines += ["", *section(of_machines)]

    def pictures(title: str, name: str, keys: ByMachine) -> list[str]:
        paths = {key: picture(machines[key]["machine"], name) for key in keys}
        return [line for key, path in paths.items() for line in (f"![{title}, {key}]({path})", "")]

    searches = {key: one.get("iterations", {}) for key, one in machines.items()}
    for name, measured in _turned(searches).items():
        heading = f"## Iterations of mask-predict, {next(iter(measured.values()))['corpus']}"
        lines += ["", heading, "", *pictures("BLEU against speed", name, measured), *_searches(measured)]
    if grown := {key: one["growth"] for key, one in machines.items() if "growth" in one}:
        drawn = pictures("Time and memory against the size of the corpus", "growth", grown)
        lines += ["", "## Growth of the text stages", "", *drawn, *_growth(grown)]
    gpus = [read_json(path) for path in sorted((folder / GPUS).glob("*.json"))]
    if complete := {one["hardware"]["device"]: one for one in gpus if _training(one) and "decoding" in one}:
        lines += ["", "## GPUs", "", *_gpus(complete)]
    write_lines(folder / "README.md", lines)


def _turned(machines: ByMachine) -> dict[str, ByMachine]:
    """Return what each machine has by name as a dictionary from the name to the machines that have it."""
    names = dict.fromkeys(name for values in machines.values() for name in values)
    return {name: {key: values[name] for key, values in machines.items() if name in values} for name in names}


def _cells(machines: ByMachine, cell: Callable[[Any], str]) -> pd.DataFrame:
    """Return the cells of what each machine has by name."""
    return pd.DataFrame({key: {name: cell(one) for name, one in of.items()} for key, of in machines.items()})


def _table(cells: pd.DataFrame, title: str = "", left: int = 1) -> list[str]:
    """Return the lines of a Markdown table and an empty one; the first `left` columns are left-aligned."""
    titles = [title, *cells.columns]
    line = f"|{' --- |' * left}{' ---: |' * (len(titles) - left)}"
    rows = [[name, *row] for name, *row in cells.fillna(DASH).itertuples()]
    return [f"| {' | '.join(titles)} |".replace("|  |", "| |"), line, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _spread(median: float, least: float, greatest: float) -> str:
    return f"{median:.2f} ({least:.2f} to {greatest:.2f})"


def _marked(cell: str, missed: bool) -> str:
    """Return a cell that says whether its target is missed."""
    return f"{cell} **missed**" if missed else cell


def section(parts: ByMachine) -> list[str]:
    """Return the lines of one part: the speed of each program, ratios and notes."""
    lines = [f"## {next(iter(parts.values()))['title']}", ""]
    contenders = {key: part["contenders"] for key, part in parts.items()}
    if any(contenders.values()):
        memory = _cells(contenders, "{0[memory_mb]:,}".format)
        memory.columns = [f"MB, {key}" for key in parts] if len(parts) > 1 else ["memory, MB"]
        units = pd.Series({name: one["unit"] for of in contenders.values() for name, one in of.items()})
        lines += _table(pd.concat([units.rename("per second"), _cells(contenders, _speed), memory], axis=1), left=2)
    lines += _variants({key: part["variants"] for key, part in parts.items()})
    ratios = {key: {f"{one['of']} / {one['to']}": one for one in part["ratios"]} for key, part in parts.items()}
    if any(ratios.values()):
        cells = _cells(ratios, _ratio)
        cells["target"] = [f"at least {WANTED[name]:g}" if name in WANTED else "" for name in cells.index]
        lines += _table(cells, "ratio")
    return [*lines, *_notes({key: part["notes"] for key, part in parts.items()})]


def _speed(speed: dict[str, Any]) -> str:
    return f"{speed['median']:,g} ({min(speed['rounds']):,g} to {max(speed['rounds']):,g})"


def _ratio(ratio: dict[str, Any]) -> str:
    wanted = WANTED.get(f"{ratio.get('of')} / {ratio.get('to')}", 0)
    return _marked(_spread(ratio["median"], ratio["minimum"], ratio["maximum"]), ratio["median"] < wanted)


def _variants(machines: ByMachine) -> list[str]:
    """Return three tables of the variants: speeds of training and of decoding, and time over FLOPs."""
    flops = {name: f"{one['flops']:.3f}" for values in machines.values() for name, one in values.items()}
    if not flops:
        return []

    def speed(work: str) -> pd.DataFrame:
        return _cells(machines, lambda one: _spread(*(one[work][key] for key in ("median", "least", "greatest"))))

    def cost(variant: dict[str, Any]) -> str:
        time = variant["time_over_flops"]
        least, greatest = (1 / variant["flops"] / variant["training"][key] for key in ("greatest", "least"))
        return _marked(_spread(time, least, greatest), time > MOST)

    costs = pd.concat([pd.Series(flops).rename("FLOPs"), _cells(machines, cost)], axis=1).sort_index()
    return [
        *(line for work in ("training", "decoding") for line in _table(speed(work).sort_index(), f"speed of {work}")),
        *_table(costs, f"time / FLOPs, at most {MOST:g}"),
    ]


def _notes(machines: dict[str, list[str]]) -> list[str]:
    """Return the notes as a list; one that is not the same for all machines begins with its machine."""
    everywhere = set.intersection(*map(set, machines.values()))
    lines = [f"- {note}" if note in everywhere else f"- {key}: {note}" for key in machines for note in machines[key]]
    return list(dict.fromkeys(lines))


def _searches(machines: ByMachine) -> list[str]:
    """Return the lines about BLEU and speed of each search, as measured by the part `iterations`."""
    first = next(iter(machines.values()))
    searches = {
        key: {f"{one['systems'][search['system']]['label']}, {search['search']}": search for search in one["searches"]}
        for key, one in machines.items()
    }
    lines = _table(_cells(searches, "{0[bleu]:.2f}".format), f"BLEU, {first['test_set']}")
    for mode, title in (("alone", "one at a time"), ("batched", "batched")):
        columns = []
        for key, of in searches.items():
            speeds = {name: (_speed(search[mode]), _ratio(search[mode]["relative"])) for name, search in of.items()}
            names = [f"sentences/s, {key}", f"/ {first['searches'][0]['search']}"]
            columns.append(pd.DataFrame.from_dict(speeds, orient="index", columns=names))
        lines += _table(pd.concat(columns, axis=1), title)
    return [*lines, *_notes({key: _about_searches(one) for key, one in machines.items()})]


def _about_searches(values: dict[str, Any]) -> list[str]:
    modes = values["modes"]
    alone, batched = (f"{modes[mode]['sentences']:,} sentences" for mode in ("alone", "batched"))
    systems = [values["systems"][system] for system in dict.fromkeys(search["system"] for search in values["searches"])]
    runs = ", ".join(f"{system['run']} ({system['size']}, {system['parameters']:,})" for system in systems)
    return [
        machine_line(values["machine"]),
        f"Runs (parameters): {runs}.",
        f"BLEU of the whole test set, translated in batches: {values['signature']}.",
        f"A round is {alone} one at a time, on one thread, and {batched} batched, in {modes['batched']['threads']}"
        f" processes of one thread; {values['rounds']} rounds.",
        *values["notes"],
    ]


def _growth(machines: ByMachine) -> list[str]:
    """Return the lines about time and memory of the text stages by size of the corpus."""
    sizes = sorted({int(size) for one in machines.values() for size in one})
    frames = []
    for key, one in machines.items():
        cells = {(stage, int(size)): _growth_cells(one, stage, size) for stage in TEXT_STAGES for size in one}
        frame = pd.DataFrame.from_dict(
            cells, orient="index", columns=["seconds", "CPU s", "CPU s / pair", "memory, GB"]
        )
        frames.append(frame if len(machines) == 1 else frame.add_suffix(f", {key}"))
    order = [(stage, size) for stage in TEXT_STAGES for size in sizes]
    table = pd.concat(frames, axis=1).reindex(order).set_axis([stage for stage, _ in order])
    table.insert(0, "pairs", [f"{size:,}" for _, size in order])
    words = {int(size): values["distinct_words"] for one in machines.values() for size, values in one.items()}
    lines = [
        *_table(table, "stage"),
        "- The stages of an experiment, as `python stages` runs them, on generated sentences; distinct words of one"
        f" language, with punctuation: {', '.join(f'{words[size]:,} in {size:,}' for size in sizes)}. `bpe` learns"
        " merges, segments and numbers the units.",
        "- CPU time and memory are those of all processes of a stage; pages that processes share count once. Seconds"
        " also count waiting for other programs' work on the machine, CPU seconds do not. The column"
        f" CPU s / pair is relative to the smallest corpus; targets: at most {LINEAR:g}, and {MOST_MEMORY:g} GB.",
    ]
    return [*lines, *(f"- {key}: {machine_line(one[max(one, key=int)]['machine'])}" for key, one in machines.items())]


def _growth_cells(sizes: dict[str, Any], stage: str, size: str) -> list[str]:
    measured, smallest = sizes[size]["stages"][stage], min(sizes, key=int)
    relative = measured["cpu_seconds"] / int(size) / (sizes[smallest]["stages"][stage]["cpu_seconds"] / int(smallest))
    return [
        f"{measured['seconds']:,.0f}",
        f"{measured['cpu_seconds']:,.0f}",
        _marked(f"{relative:.2f}", relative > LINEAR),
        _marked(f"{measured['memory_mb'] / 1000:.2f}", measured["memory_mb"] > 1000 * MOST_MEMORY),
    ]


def _gpus(gpus: ByMachine) -> list[str]:
    """Return the lines about each GPU, as measured by `python -m benchmarks.gpu`."""
    cells = {
        name: {title: form.format(one[part]) for title, (part, form) in GPU_ROWS.items() if part in one}
        for name, one in gpus.items()
    }
    first = next(iter(gpus.values()))
    training, decoding = _training(first), first["decoding"]
    table = pd.DataFrame(cells)
    lines = [
        *_table(table.reindex([title for title in GPU_ROWS if title in table.index])),
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
    return lines


def _training(figures: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured of training, without torch.compile if there is a choice."""
    return figures.get("training") or figures.get("training_compiled") or {}
