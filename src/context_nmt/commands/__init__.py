"""The commands of `context-nmt`; a command loads the libraries it needs when it is called."""

from importlib.metadata import version as version_of
from typing import Annotated

import typer

from context_nmt.command_line import application
from context_nmt.commands.claims import power, verify
from context_nmt.commands.corpus import corpus
from context_nmt.commands.experiments import cancel, check, describe, merge, new, pack, repro, status, unpack, why
from context_nmt.commands.systems import compare, export, score, serve, show, translate

app = application(
    *(new, check, repro, why, status, cancel, merge, pack, unpack),
    *(verify, power),
    *(translate, score, compare, describe, show, serve, export),
    help="""Run experiments in machine translation with context, and use the trained models.

    `context-nmt COMMAND --help` shows what a command reads and writes.
    """,
)
app.add_typer(corpus, name="corpus")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"context-nmt {version_of('context-nmt')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
