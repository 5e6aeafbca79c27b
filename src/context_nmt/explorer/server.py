"""Serve the explorer's page on this machine, for texts that a reader types into it."""

import asyncio
import os
import socket
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from context_nmt.corpus.text_chain import TextChain, without_invisible
from context_nmt.explorer.explore import Passage, System, explore, load_systems
from context_nmt.explorer.page import page_text, to_json
from context_nmt.files import UserError, decoded_lines
from context_nmt.models.checkpoints import run_weights_path
from context_nmt.progress import say
from context_nmt.settings.parameters import Experiment

HOST = "127.0.0.1"
LIMITS = {"sentences": 30, "characters": 500}  # of a text, and of a sentence
TOO_MUCH = "at most {sentences} sentences of {characters} characters can be translated at a time".format(**LIMITS)
CLOSED = 499  # nginx's status of a request whose client has left
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def serve_runs(experiment: Experiment, runs: Sequence[str], *, port: int, device: str) -> None:
    """Serve the page of these runs, named VARIANT-SEED, until Ctrl-C; port 0 takes a free one.

    This ends the process. Raise UserError for unknown runs and for a port that is not free.
    """
    with _listener(port) as listener:  # first: loading takes time
        for run in runs:
            run_weights_path(experiment.model(run))
        chain = TextChain(experiment.model(runs[0]) / "text")
        systems = load_systems(experiment, runs, chain.corpus, device)
        settings = uvicorn.Config(
            application(systems, chain),
            log_config=None,
            log_level="critical",  # _failure says what went wrong
            server_header=False,
            timeout_graceful_shutdown=1,  # seconds
        )
        say(f"http://{HOST}:{listener.getsockname()[1]} shows {', '.join(runs)}; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run(sockets=[listener])
    os._exit(0)  # without waiting for the thread of a translation that nobody reads any more


def _listener(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise UserError(f"--port is {port}: {error.strerror}; choose another, or 0 for a free one") from None
    return listener


def application(systems: Sequence[System], chain: TextChain) -> Starlette:
    """Return the page at /, and at /explore the data of a text that it sends; the models serve one text at a time."""
    page = page_text(None, title="What the systems look at", limits=LIMITS)
    models = ThreadPoolExecutor(1, "models")  # not of asyncio, which would wait for its own at the end
    turn = asyncio.Lock()

    async def show_page(_: Request) -> Response:
        return HTMLResponse(page, headers=HEADERS)

    async def explore_text(request: Request) -> Response:
        typed = await _typed(request)
        async with turn:
            if await request.is_disconnected():  # the reader left while others' texts were translated
                raise ClientDisconnect
            answer = await asyncio.get_running_loop().run_in_executor(models, explored, typed)
        return Response(answer, media_type="application/json", headers=HEADERS)

    def explored(typed: str) -> str:
        return to_json(explore(systems, read_text(typed, chain), chain.corpus))

    return Starlette(
        routes=[Route("/", show_page), Route("/explore", explore_text, methods=["POST"])],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],  # no other site's pages
        exception_handlers={
            HTTPException: _error,
            UserError: _error,
            ClientDisconnect: lambda *_: Response(status_code=CLOSED),
            Exception: _failure,
        },
    )


async def _typed(request: Request) -> str:
    """Return the text that the page sends as {"text": …}."""
    kind = request.headers.get("content-type", "").partition(";")[0]  # charset=utf-8 may follow
    if kind.strip().lower() != "application/json":  # what a form of another site cannot send
        raise HTTPException(415, "the text must be sent as application/json")
    try:
        text = (await request.json())["text"]
    except (ValueError, TypeError, KeyError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise UserError('the text must be sent as {"text": "…"}')
    return text


def _error(_: Request, error: Any) -> Response:
    status, detail = (400, str(error)) if isinstance(error, UserError) else (error.status_code, error.detail)
    return JSONResponse({"error": detail}, status, headers=HEADERS)


def _failure(_: Request, error: Exception) -> Response:
    traceback.print_exception(error)
    return JSONResponse({"error": "this is a bug; the terminal of the server shows it"}, 500, headers=HEADERS)


def read_text(typed: str, chain: TextChain) -> Passage:
    """Turn lines into sentences of units; empty lines separate documents.

    Raise UserError for a text without words, one that is too long, and halves of characters, which JSON can have.
    """
    encoded = typed.encode("utf-8", "surrogatepass").split(b"\n")
    lines = [line.strip() for line in decoded_lines(encoded, "the text")]
    numbers = [number for number, line in enumerate(lines) if line]
    if len(numbers) > LIMITS["sentences"]:
        raise UserError(f"the text has {len(numbers)} sentences; {TOO_MUCH}")
    for number in numbers:
        if len(lines[number]) > LIMITS["characters"]:
            raise UserError(f"line {number + 1} has {len(lines[number])} characters; {TOO_MUCH}")
    units = chain.source_subwords(without_invisible(lines))
    sentences = [np.array(chain.corpus.source_vocabulary.ids(line), dtype=np.int64) for line in units]
    kept = [number for number, sentence in enumerate(sentences) if len(sentence)]
    if not kept:
        raise UserError("the text has no words; type a sentence")
    breaks = np.cumsum([not line for line in lines])[kept]  # a line without units is not an empty one
    starts = [0, *(np.flatnonzero(np.diff(breaks)) + 1).tolist()]
    return Passage(
        title="typed text",
        sources=[sentences[number] for number in kept],
        documents=[range(start, stop) for start, stop in zip(starts, [*starts[1:], len(kept)], strict=True)],
        lines=[number + 1 for number in kept],
    )
