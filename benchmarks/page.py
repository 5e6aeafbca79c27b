"""The tables of README.md, with a column for each machine that was measured."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.machine import file_name, machine_line, processor
from context_nmt.files import read_json, write_lines
from context_nmt.report.tables import DASH

ByMachine = dict[str, dict[str, Any]]  # values by the title of a machine's column

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
    for title in _names(parts):
        lines += ["", *section({key: of_machine[title] for key, of_machine in parts.items() if title in of_machine})]
    searches = {key: one.get("iterations", {}) for key, one in machines.items()}
    for name in _names(searches):
        measured = {key: of_machine[name] for key, of_machine in searches.items() if name in of_machine}
        pictures = [picture(machines[key]["machine"], name) for key in measured]
        lines += ["", *_searches_section(measured, pictures)]
    if grown := {key: one["growth"] for key, one in machines.items() if "growth" in one}:
        lines += ["", *_growth_section(grown, [picture(machines[key]["machine"], "growth") for key in grown])]
    gpus = [read_json(path) for path in sorted((folder / GPUS).glob("*.json"))]
    if complete := {one["hardware"]["device"]: one for one in gpus if _training(one) and "decoding" in one}:
        lines += ["", *_gpu_section(complete)]
    write_lines(folder / "README.md", lines)


def _table(titles: Iterable[str], rows: Iterable[list[str]], left: int = 1) -> list[str]:
    """Return the lines of a Markdown table and an empty one; the first `left` columns are left-aligned."""
    titles = list(titles)
    line = f"|{' --- |' * left}{' ---: |' * (len(titles) - left)}"
    return [f"| {' | '.join(titles)} |".replace("|  |", "| |"), line, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _names(machines: ByMachine) -> list[str]:
    return list(dict.fromkeys(name for values in machines.values() for name in values))


def _row(machines: ByMachine, name: str, cell: Callable[[Any], str]) -> list[str]:
    """Return a cell of each machine for what has this name, or a dash."""
    return [cell(values[name]) if name in values else DASH for values in machines.values()]


def _spread(median: float, least: float, greatest: float) -> str:
    return f"{median:.2f} ({least:.2f} to {greatest:.2f})"


def _marked(cell: str, missed: bool) -> str:
    """Return a cell that says whether its target is missed."""
    return f"{cell} **missed**" if missed else cell


def section(parts: ByMachine) -> list[str]:
    """Return the lines of one part: the speed of each program, ratios and notes."""
    lines = [f"## {next(iter(parts.values()))['title']}", ""]
    contenders = {key: part["contenders"] for key, part in parts.items()}
    if names := _names(contenders):
        units = {name: one["unit"] for values in contenders.values() for name, one in values.items()}
        rows = [
            [name, units[name], *_row(contenders, name, _speed), *_row(contenders, name, "{0[memory_mb]:,}".format)]
            for name in names
        ]
        memory = "memory, MB" if len(parts) == 1 else "MB, {}"
        lines += _table(["", "per second", *parts, *(memory.format(key) for key in parts)], rows, left=2)
    lines += _variants({key: part["variants"] for key, part in parts.items()})
    ratios = {key: {f"{one['of']} / {one['to']}": one for one in part["ratios"]} for key, part in parts.items()}
    if names := _names(ratios):
        targets = {name: f"at least {WANTED[name]:g}" if name in WANTED else "" for name in names}
        rows = [[name, *_row(ratios, name, _ratio), targets[name]] for name in names]
        lines += _table(["ratio", *parts, "target"], rows)
    return [*lines, *_notes({key: part["notes"] for key, part in parts.items()})]


def _speed(speed: dict[str, Any]) -> str:
    return f"{speed['median']:,g} ({min(speed['rounds']):,g} to {max(speed['rounds']):,g})"


def _ratio(ratio: dict[str, Any]) -> str:
    wanted = WANTED.get(f"{ratio.get('of')} / {ratio.get('to')}", 0)
    return _marked(_spread(ratio["median"], ratio["minimum"], ratio["maximum"]), ratio["median"] < wanted)


def _variants(machines: ByMachine) -> list[str]:
    """Return three tables of the variants: speeds of training and of decoding, and time over FLOPs."""
    flops = {name: variant["flops"] for values in machines.values() for name, variant in values.items()}
    if not flops:
        return []

    def speed(work: str) -> Callable[[Any], str]:
        return lambda variant: _spread(*(variant[work][key] for key in ("median", "least", "greatest")))

    def cost(variant: dict[str, Any]) -> str:
        time = variant["time_over_flops"]
        least, greatest = (1 / variant["flops"] / variant["training"][key] for key in ("greatest", "least"))
        return _marked(_spread(time, least, greatest), time > MOST)

    lines = []
    for work in ("training", "decoding"):
        rows = [[name, *_row(machines, name, speed(work))] for name in sorted(flops)]
        lines += _table([f"speed of {work}", *machines], rows)
    rows = [[name, f"{flops[name]:.3f}", *_row(machines, name, cost)] for name in sorted(flops)]
    return [*lines, *_table([f"time / FLOPs, at most {MOST:g}", "FLOPs", *machines], rows)]


def _notes(machines: dict[str, list[str]]) -> list[str]:
    """Return the notes as a list; one that is not the same for all machines begins with its machine."""
    lines = []
    for key, notes in machines.items():
        for note in notes:
            everywhere = all(note in others for others in machines.values())
            lines.append(f"- {note}" if everywhere else f"- {key}: {note}")
    return list(dict.fromkeys(lines))


def _searches_section(machines: ByMachine, pictures: list[str]) -> list[str]:
    """Return the lines about BLEU and speed of each search, as measured by the part `iterations`."""
    first = next(iter(machines.values()))
    searches = {
        key: {f"{one['systems'][search['system']]['label']}, {search['search']}": search for search in one["searches"]}
        for key, one in machines.items()
    }
    names, base = _names(searches), first["searches"][0]["search"]
    lines = [f"## Iterations of mask-predict, {first['corpus']}", ""]
    for key, path in zip(machines, pictures, strict=True):
        lines += [f"![BLEU against speed, {key}]({path})", ""]
    rows = [[name, *_row(searches, name, "{0[bleu]:.2f}".format)] for name in names]
    lines += _table([f"BLEU, {first['test_set']}", *machines], rows)
    for mode, title in (("alone", "one at a time"), ("batched", "batched")):
        columns = [column for key in machines for column in (f"sentences/s, {key}", f"/ {base}")]
        rows = [
            [name, *(cell for values in searches.values() for cell in _speed_cells(values.get(name), mode))]
            for name in names
        ]
        lines += _table([title, *columns], rows)
    return [*lines, *_notes({key: _about_searches(one) for key, one in machines.items()})]


def _speed_cells(search: dict[str, Any] | None, mode: str) -> list[str]:
    return [_speed(search[mode]), _ratio(search[mode]["relative"])] if search else [DASH, DASH]


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


def _growth_section(machines: ByMachine, pictures: list[str]) -> list[str]:
    """Return the lines about time and memory of the text stages by size of the corpus."""
    lines = ["## Growth of the text stages", ""]
    for key, path in zip(machines, pictures, strict=True):
        lines += [f"![Time and memory against the size of the corpus, {key}]({path})", ""]
    sizes = sorted({int(size) for one in machines.values() for size in one})
    columns = ("seconds", "CPU s", "CPU s / pair", "memory, GB")
    named = columns if len(machines) == 1 else [f"{column}, {key}" for key in machines for column in columns]
    rows = [
        [stage, f"{size:,}", *(cell for one in machines.values() for cell in _growth_cells(one, stage, size))]
        for stage in TEXT_STAGES
        for size in sizes
    ]
    lines += _table(["stage", "pairs", *named], rows)
    words = {int(size): values["distinct_words"] for one in machines.values() for size, values in one.items()}
    lines += [
        "- The stages of an experiment, as `python stages` runs them, on generated sentences; distinct words of one"
        f" language, with punctuation: {', '.join(f'{words[size]:,} in {size:,}' for size in sizes)}. `bpe` learns"
        " merges, segments and numbers the units.",
        "- CPU time and memory are those of all processes of a stage; pages that processes share count once. Seconds"
        " also count waiting for other programs' work on the machine, CPU seconds do not. The column"
        f" CPU s / pair is relative to the smallest corpus; targets: at most {LINEAR:g}, and {MOST_MEMORY:g} GB.",
    ]
    for key, one in machines.items():
        lines.append(f"- {key}: {machine_line(one[max(one, key=int)]['machine'])}")
    return lines


def _growth_cells(sizes: dict[str, Any], stage: str, size: int) -> list[str]:
    if str(size) not in sizes:
        return [DASH] * 4
    measured, smallest = sizes[str(size)]["stages"][stage], min(sizes, key=int)
    relative = measured["cpu_seconds"] / size / (sizes[smallest]["stages"][stage]["cpu_seconds"] / int(smallest))
    return [
        f"{measured['seconds']:,.0f}",
        f"{measured['cpu_seconds']:,.0f}",
        _marked(f"{relative:.2f}", relative > LINEAR),
        _marked(f"{measured['memory_mb'] / 1000:.2f}", measured["memory_mb"] > 1000 * MOST_MEMORY),
    ]


def _gpu_section(gpus: ByMachine) -> list[str]:
    """Return the lines about each GPU, as measured by `python -m benchmarks.gpu`."""
    figures = {  # title of a row: part, format of its figure
        "matrix product, bf16, TFLOP/s": ("peak", "{0[tflops]:,.0f}"),
        "precision of training and decoding": ("decoding", "{0[precision]}"),
        "training, target tokens/s": ("training", "{0[target_tokens_per_second]:,.0f}"),
        "training / matrix product": ("training", "{0[share_of_peak]:.2f}"),
        "training, memory, GB": ("training", "{0[memory_gb]:.1f}"),
        "training with torch.compile, target tokens/s": ("training_compiled", "{0[target_tokens_per_second]:,.0f}"),
        "training with torch.compile / matrix product": ("training_compiled", "{0[share_of_peak]:.2f}"),
        "beam 5, sentences/s": ("decoding", "{0[sentences_per_second]:,.0f}"),
    }
    parts = _names(gpus)
    rows = [[title, *_row(gpus, part, form.format)] for title, (part, form) in figures.items() if part in parts]
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
    return ["## GPUs", "", *_table(["", *gpus], rows), *lines]


def _training(figures: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured of training, without torch.compile if there is a choice."""
    return figures.get("training") or figures.get("training_compiled") or {}
