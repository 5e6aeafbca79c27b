"""Hook of the documentation site: the pages of all keys of params.yaml and of all commands, from the code."""

import dataclasses
import importlib
import inspect
import io
import pkgutil
import re
import sys
import tokenize
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import typer  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402
from typer.cli import get_docs_for_click  # noqa: E402

from context_nmt import mechanisms  # noqa: E402
from context_nmt.code_closure import stages  # noqa: E402
from context_nmt.command_line import application  # noqa: E402
from context_nmt.commands import app  # noqa: E402
from context_nmt.settings.miniature import MiniatureSettings  # noqa: E402
from context_nmt.settings.parameters import ExperimentSettings, VariantSettings  # noqa: E402

KEYS = """\
# Keys of params.yaml

Every key, from the code that checks it. A wrong key or value is refused before anything runs, with the key's path, what
is allowed and the nearest known key. A section is a mapping whose keys are listed further down; a section that is left
out has their defaults. A variant's `model`, `training`, `averaging`
and `decoding` take the keys of these sections and change them for that variant.
"""
COMMANDS = """\
# Commands

`context-nmt` is for people, `python stages NAME` is what `dvc.yaml` calls. `--help` prints the same texts.
"""
SYMBOLS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
NAMES = {int: "integer", float: "number", str: "string", bool: "`true`, `false`", Any: "value", NoneType: "`null`"}
WHOLE = 200  # characters of the first sentence of a help, which Typer would cut off
EXAMPLE = re.compile(r"\{.*?\}")  # in a comment; outside code, Markdown would take it for attributes


def on_files(files, config):
    """Add both pages."""
    for page, text in {"reference/params.md": keys(), "reference/commands.md": commands()}.items():
        files.append(File.generated(config, page, content=text))
    return files


def keys():
    """Write all keys, a table per section of params.yaml, then those of mechanisms and of data/params.yaml."""
    parts = [
        KEYS,
        *section(ExperimentSettings, "Top level", ""),
        *section(VariantSettings, "variants.NAME", "variants."),
    ]
    parts.append("## Mechanisms\n\nKeys of an entry of `slots`, besides `mechanism` and `layers`.\n")
    for found in pkgutil.iter_modules(mechanisms.__path__):
        module = importlib.import_module(f"{mechanisms.__name__}.{found.name}")
        title = (inspect.getdoc(module) or "").split("\n")[0]
        slots = ", ".join(f"`{slot}`" for slot in module.SLOTS)
        parts.append(f"### `{found.name}`\n\n{title} Slots: {slots}.\n")
        parts += table(module.Settings)
    parts += section(MiniatureSettings, "generated.NAME in data/params.yaml", "generated.NAME.")
    return "\n".join(parts)


def section(kind, title, path):
    """Yield the table of a dataclass, then those of the dataclasses in it, each once."""
    yield f"## {title}\n\n{inspect.getdoc(kind)}\n"
    yield from table(kind)
    inner = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if dataclasses.is_dataclass(hint):
            inner.setdefault(hint, []).append(f"{path}{name}")
    for settings, paths in inner.items():
        yield from section(settings, ", ".join(paths), f"{paths[0]}.")


def table(kind):
    """Yield a row per key: what is allowed, its default, and the comment in the code."""
    fields = dataclasses.fields(kind)
    if not fields:
        yield "It has no keys.\n"
        return
    said, hints = comments(kind), get_type_hints(kind, include_extras=True)
    yield "| Key | Allowed | Default | Meaning |\n| --- | --- | --- | --- |"
    for field in fields:
        meaning = EXAMPLE.sub(r"`\g<0>`", said.get(field.name) or first_sentence(hints[field.name]))
        cells = (f"`{field.name}`", allowed(hints[field.name]), default(field), meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


def first_sentence(hint):
    """Return what the docstring of a section says first; nothing for a plain value."""
    return (inspect.getdoc(hint) or "").split("\n")[0] if dataclasses.is_dataclass(hint) else ""


def allowed(hint, plural=""):
    """Say in words which values a type has; `plural` is "s" for several values."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return f"{allowed(arguments[0], plural)} {within(arguments[1], arguments[0])}".rstrip()
    if origin is Literal:
        return ", ".join(f"`{str(one).lower() if isinstance(one, bool) else one}`" for one in arguments)
    if origin in (Union, UnionType):
        return " or ".join(map(allowed, arguments))
    if origin is tuple:
        return f"list{plural} of {allowed(arguments[0], 's')}"
    if origin is dict:
        keys = "names" if arguments[0] is str else allowed(arguments[0])
        return f"mapping{plural} of {keys} to {allowed(arguments[1], 's')}"
    return f"section{plural}" if dataclasses.is_dataclass(hint) else NAMES.get(hint, f"`{hint}`") + plural


def within(field, kind):
    """Say between which numbers a value is."""
    limits = {name: most for limit in field.metadata for name, most in dataclasses.asdict(limit).items()}
    if kind is int and "lt" in limits:
        limits = {name: most for name, most in limits.items() if name != "lt"} | {"le": limits["lt"] - 1}
    if set(limits) == {"ge", "le"}:
        return f"from {limits['ge']:,} to {limits['le']:,}"
    return " and ".join(f"{SYMBOLS[name]} {most:,}" for name, most in limits.items())


def default(field):
    """Show the default of a field as YAML would; that of a section is in its own table."""
    if field.default is dataclasses.MISSING:
        return "required" if field.default_factory is dataclasses.MISSING else "`{}`"
    value = field.default
    if dataclasses.is_dataclass(value):
        return "those of its keys"
    if isinstance(value, bool | NoneType):
        return f"`{ {None: 'null', True: 'true', False: 'false'}[value] }`"
    return f"`{list(value) if isinstance(value, tuple) else value}`"


def comments(kind):
    """Return the comment of each field: the lines above it, and the end of its own."""
    found, above, name = {}, [], None
    source = inspect.cleandoc(inspect.getsource(kind))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.start[1] == 4 and token.line[token.end[1] :].startswith(":"):
            name = token.string
            found[name], above = above, []
        elif token.type == tokenize.COMMENT:
            (above if token.line.lstrip().startswith("#") else found[name]).append(token.string.lstrip("# "))
    return {name: " ".join(lines) for name, lines in found.items()}


def commands():
    """Write the help of all commands and stages."""
    parts = [COMMANDS, "## context-nmt\n", *documented(app, "context-nmt")]
    parts.append("## python stages\n")
    for stage in stages(ROOT):
        main = importlib.import_module(f"stages.{stage}").main
        parts += documented(application(main), f"python stages {stage}")
    return "\n".join(parts)


def parts_of(command):
    """Yield the subcommands of a command, and theirs."""
    for part in getattr(command, "commands", {}).values():
        yield part
        yield from parts_of(part)


def documented(application, name):
    """Yield the help of a command and its subcommands as Markdown, by Typer."""
    command = typer.main.get_command(application)
    context = typer.Context(command, info_name=name)
    text = get_docs_for_click(obj=command, ctx=context, name=name, title=f"`{name}`")
    for part in parts_of(command):
        text = text.replace(f"`: {part.get_short_help_str()}\n", f"`: {part.get_short_help_str(limit=WHOLE)}\n")
    yield text.replace("\b\n", "").replace("\n# ", "\n### ").replace("\n## ", "\n### ")
