"""Serve the explorer's page on this machine, for texts that a user types into it."""

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
LIMITS = {"sentences": 30, "characters": 500}  # per text, and per sentence
LIMITS_MESSAGE = "at most {sentences} sentences of {characters} characters can be translated at a time".format(**LIMITS)
CLIENT_CLOSED_REQUEST = 499  # nginx's status for a client that has left
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def serve_runs(experiment: Experiment, runs: Sequence[str], *, port: int, device: str) -> None:
    """Serve the page of these runs, named VARIANT-SEED, until Ctrl-C; port 0 takes a free port.

    This ends the process. Raise UserError for an unknown run, and for a port that is not free.
    """
    with _listener(port) as listener:  # first, since loading takes time
        for run in runs:
            run_weights_path(experiment.model(run))
        chain = TextChain(experiment.model(runs[0]) / "text")
        systems = load_systems(experiment, runs, chain.corpus, device)
        settings = uvicorn.Config(
            application(systems, chain),
            log_config=None,
            log_level="critical",  # _bug_response says what went wrong
            server_header=False,
            timeout_graceful_shutdown=1,  # seconds
        )
        say(f"http://{HOST}:{listener.getsockname()[1]} shows {', '.join(runs)}; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(settings).run(sockets=[listener])
    os._exit(0)  # do not wait for the thread of a translation that nobody will read


def _listener(port: int) -> socket.socket:
    """Return a socket that listens on a port; raise UserError if the port is not free."""
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
    """Return the application: the page at /, and at /explore the data of a posted text; one text at a time."""
    page = page_text(None, title="What the systems look at", limits=LIMITS)
    models = ThreadPoolExecutor(1, "models")  # not asyncio's, which waits for its threads at the end
    models_lock = asyncio.Lock()

    async def show_page(_: Request) -> Response:
        return HTMLResponse(page, headers=HEADERS)

    async def explore_text(request: Request) -> Response:
        typed = await _read_typed_text(request)
        async with models_lock:
            if await request.is_disconnected():  # the user left while texts of others were translated
                raise ClientDisconnect
            answer = await asyncio.get_running_loop().run_in_executor(models, explore_typed, typed)
        return Response(answer, media_type="application/json", headers=HEADERS)

    def explore_typed(typed: str) -> str:
        return to_json(explore(systems, read_text(typed, chain), chain.corpus))

    return Starlette(
        routes=[Route("/", show_page), Route("/explore", explore_text, methods=["POST"])],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],  # not pages of other sites
        exception_handlers={
            HTTPException: _error_response,
            UserError: _error_response,
            ClientDisconnect: lambda *_: Response(status_code=CLIENT_CLOSED_REQUEST),
            Exception: _bug_response,
        },
    )


async def _read_typed_text(request: Request) -> str:
    """Return the text of {"text": …}; raise HTTPException for another content type, and UserError for other data."""
    media_type = request.headers.get("content-type", "").partition(";")[0]  # charset=utf-8 may follow
    if media_type.strip().lower() != "application/json":  # a form of another site cannot send this type
        raise HTTPException(415, "the text must be sent as application/json")
    try:
        text = (await request.json())["text"]
    except (ValueError, TypeError, KeyError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise UserError('the text must be sent as {"text": "…"}')
    return text


def _error_response(_: Request, error: Any) -> Response:
    status, detail = (400, str(error)) if isinstance(error, UserError) else (error.status_code, error.detail)
    return JSONResponse({"error": detail}, status, headers=HEADERS)


def _bug_response(_: Request, error: Exception) -> Response:
    traceback.print_exception(error)
    return JSONResponse({"error": "this is a bug; the terminal of the server shows it"}, 500, headers=HEADERS)


def read_text(typed: str, chain: TextChain) -> Passage:
    """Turn lines into sentences of units; empty lines separate documents.

    Raise UserError for a text without words, a text that is too long, and halves of characters, which JSON can contain.
    """
    encoded = typed.encode("utf-8", "surrogatepass").split(b"\n")
    lines = [line.strip() for line in decoded_lines(encoded, "the text")]
    numbers = [number for number, line in enumerate(lines) if line]
    if len(numbers) > LIMITS["sentences"]:
        raise UserError(f"the text has {len(numbers)} sentences; {LIMITS_MESSAGE}")
    for number in numbers:
        if len(lines[number]) > LIMITS["characters"]:
            raise UserError(f"line {number + 1} has {len(lines[number])} characters; {LIMITS_MESSAGE}")
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
