"""The command line of one part."""

from collections.abc import Callable
from typing import Annotated

import typer

from benchmarks.report import Part, section
from context_nmt.command_line import run

ROUNDS = 5

Rounds = Annotated[int, typer.Option(min=1, help="How often each program has its turn.")]


def part_command(part: Callable[[int], Part]) -> None:
    """Run one part as a command that prints its figures and writes no file of results."""

    def main(rounds: Rounds = ROUNDS) -> None:
        for line in section(part(rounds).to_dict()):
            typer.echo(line)

    main.__doc__ = f"{part.__doc__} Prints figures and ratios; `make speed` runs all parts and keeps their results."
    run(main)
