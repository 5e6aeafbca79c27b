"""The commands of `context-nmt`, one file each; a command loads the libraries it needs when it is called."""

from context_nmt.command_line import application
from context_nmt.commands.cancel import cancel
from context_nmt.commands.check import check
from context_nmt.commands.compare import compare
from context_nmt.commands.corpus import corpus
from context_nmt.commands.describe import describe
from context_nmt.commands.export import export
from context_nmt.commands.merge import merge
from context_nmt.commands.new import new
from context_nmt.commands.repro import repro
from context_nmt.commands.score import score
from context_nmt.commands.serve import serve
from context_nmt.commands.show import show
from context_nmt.commands.status import status
from context_nmt.commands.translate import translate

app = application(
    new,
    check,
    repro,
    status,
    cancel,
    merge,
    translate,
    score,
    compare,
    describe,
    show,
    serve,
    export,
    help="""Run experiments in machine translation with context, and use the trained models.

    `context-nmt COMMAND --help` says what a command reads and writes.
    """,
)
app.add_typer(corpus, name="corpus")
