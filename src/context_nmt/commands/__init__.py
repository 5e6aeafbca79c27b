"""The commands of `context-nmt`; a command loads the libraries it needs when it is called."""

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

    `context-nmt COMMAND --help` says what a command reads and writes.
    """,
)
app.add_typer(corpus, name="corpus")
