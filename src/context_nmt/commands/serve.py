"""Show what systems look at when they translate typed text."""

from typing import Annotated

import typer

from context_nmt.commands.show import Device, Runs


def serve(
    runs: Runs,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the page; 0 takes a free one.")] = 8000,
    device: Device = "auto",
) -> None:
    """Serve a page that translates typed text and shows what the systems look at.

    The page is that of `context-nmt show`, with a field for a text: one sentence per line, with empty lines between
    documents. Only this machine can open it, and it contacts no other machine. It translates one text at a time;
    further readers wait. Run it in the experiment's folder; Ctrl-C ends it.

    Reads

        params.yaml                            the systems' labels
        metrics/plans/VARIANT/decoding.json    search settings
        runs/models/VARIANT-SEED/              the trained models, with the text processing of the experiment

    Writes

        standard error                         the address of the page

    For example

        context-nmt serve transformer-1 han_encoder-1
    """
    from context_nmt.explorer.server import serve as serve_page
    from context_nmt.settings.folder import Experiment

    serve_page(Experiment(), runs, port=port, device=device)
