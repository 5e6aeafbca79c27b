"""The explorer's server: texts that readers type, one at a time, and requests that it refuses."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace

import pytest
from made_up_explored import explored
from tiny_training import make_experiment, save_runs

from context_nmt.corpus.text_chain import TextChain
from context_nmt.explorer import server
from context_nmt.explorer.explore import load_systems
from context_nmt.files import write_json
from context_nmt.models.averaging import copy_text_files
from context_nmt.settings.text import SideSettings, UnitSettings

pytestmark = pytest.mark.slow
VARIANTS = {"plain": {}, "han": {"slots": {"encoder_output": {"mechanism": "hierarchical_attention"}}}}
RUNS = [f"{variant}-1" for variant in VARIANTS]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """Two systems with shaken weights, and the text processing of words that are digits."""
    experiment = make_experiment(tmp_path_factory.mktemp("served"), task="previous", pairs=30, variants=VARIANTS)
    side = asdict(SideSettings(pretokenized=True, truecase=False))
    sides = {role: {"language": language, **side} for role, language in (("source", "xx"), ("target", "yy"))}
    write_json(experiment.tokenized / "moses.json", sides)
    write_json(experiment.subwords / "units.json", asdict(UnitSettings(kind="words")))
    save_runs(experiment, maximum_length_offset=4)
    for run in RUNS:
        copy_text_files(experiment.tokenized, experiment.subwords, experiment.binarized, experiment.model(run) / "text")
    return experiment


@pytest.fixture
def application(experiment):
    chain = TextChain(experiment.model(RUNS[0]) / "text")
    return server.application(load_systems(experiment, RUNS, chain.corpus, "cpu"), chain)


async def ask(application, path, text=None, *, body=None, left=None, **headers):
    """Return the status and body of an answer; a text, or a body of bytes, is sent with POST.

    The reader leaves when the event `left` is set.
    """
    if text is not None:
        body = json.dumps({"text": text}).encode()
    headers = {"host": "127.0.0.1:8000", "content-type": "application/json"} | headers
    scope = {
        "type": "http",
        "method": "GET" if body is None else "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent = []

    async def receive():
        if left is not None and left.is_set():
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body or b""}

    async def send(message):
        sent.append(message)

    with suppress(ZeroDivisionError):  # a bug of these tests; the answer has been sent
        await application(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


def run(coroutine):
    """Run it in a thread of its own, since the browser has an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def asked(application, path, *arguments, **options):
    return run(ask(application, path, *arguments, **options))


def test_a_text_is_translated_by_all_systems_document_by_document(application):
    status, answer = asked(application, "/explore", "1 2\n3\n\n \n4\n")
    data = json.loads(answer)
    assert status == 200
    assert [run["name"] for run in data["runs"]] == RUNS
    assert [(sentence["line"], sentence["source"], sentence["reference"]) for sentence in data["sentences"]] == [
        (1, ["1", "2"], None),
        (2, ["3"], None),
        (5, ["4"], None),
    ]
    assert [len(sentence["earlier"]) for sentence in data["runs"][1]["sentences"]] == [0, 1, 0]
    assert all(sentence["views"] for run in data["runs"] for sentence in run["sentences"])


def test_only_an_empty_line_is_between_documents(experiment, monkeypatch):
    """A line of control characters has no units either."""
    chain = TextChain(experiment.model(RUNS[0]) / "text")
    units = chain.source_subwords
    monkeypatch.setattr(chain, "source_subwords", lambda lines: units(line.replace("\x00", "") for line in lines))
    text = server.read_text("\x00\n1\n\x00\n2\n\x00\n\n3\n\n\n4\n5", chain)
    assert text.lines == [2, 4, 7, 10, 11]
    assert text.documents == [range(2), range(2, 3), range(3, 5)]


LONGEST = " ".join("1" * (server.LIMITS["characters"] // 2))


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("</script> 1\n\N{PILE OF POO}\n\x00 1\N{LINE SEPARATOR}2", [["<unk>", "1"], ["<unk>"], ["<unk>", "1", "2"]]),
        ("\N{ZERO WIDTH NO-BREAK SPACE}1 2", [["1", "2"]]),  # a byte order mark is no part of the text
        ("\n".join([LONGEST, *"1" * (server.LIMITS["sentences"] - 1)]), [LONGEST.split(), *[["1"]] * 29]),
    ],
    ids=["odd", "mark", "longest"],
)
def test_odd_and_long_texts_are_translated(application, text, sources):
    status, answer = asked(application, "/explore", text, **{"content-type": "Application/JSON;charset=UTF-8"})
    assert (status, "<" in answer) == (200, False)
    assert [sentence["source"] for sentence in json.loads(answer)["sentences"]] == sources


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"text": ""}, 400),
        ({"text": " \n\r\n\t"}, 400),
        ({"text": "\u200b\n\u2060"}, 400),
        ({"text": "1\n" * (server.LIMITS["sentences"] + 1)}, 400),
        ({"text": "1" * (server.LIMITS["characters"] + 1)}, 400),
        ({"text": "1\nhalf an emoji: \ud83d"}, 400),
        ({"body": b"1"}, 400),
        ({"body": b"\xff"}, 400),
        ({"body": b'{"text": 1}'}, 400),
        ({"body": b"{}"}, 400),
        ({"body": b"[" * 10_000}, 400),
        ({"text": "1", "content-type": "text/plain"}, 415),
        ({"path": "/elsewhere"}, 404),
        ({"path": "/explore"}, 405),
        ({"path": "/", "body": b""}, 405),
    ],
)
def test_wrong_requests_get_an_error_of_one_line(application, request_, status):
    found, answer = asked(application, **{"path": "/explore"} | request_)
    (error,) = json.loads(answer).values()
    assert (found, "\n" in error, bool(error)) == (status, False, True)


def test_a_reader_who_leaves_while_sending_is_no_bug(application, capsys):
    left = threading.Event()
    left.set()
    assert asked(application, "/explore", "1", left=left) == (server.CLIENT_CLOSED_REQUEST, "")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "", "192.168.0.1:8000"])
def test_only_the_names_of_this_machine_are_answered(application, host):
    assert [asked(application, *request, host=host)[0] for request in (["/"], ["/explore", "1"])] == [400, 400]


def test_a_second_reader_waits_while_the_page_can_be_had(application, monkeypatch):
    """The text of one who leaves meanwhile is not translated."""
    started, released, left, running, translated = threading.Event(), threading.Event(), threading.Event(), [], []

    def slow(systems, text, corpus):
        translated.append(len(text.sources))
        running.append(text)
        started.set()
        assert released.wait(60)
        assert running == [text]
        running.remove(text)
        return replace(explored(), title=str(len(text.sources)))

    monkeypatch.setattr(server, "explore", slow)

    async def three():
        first = asyncio.create_task(ask(application, "/explore", "1"))
        await asyncio.to_thread(started.wait, 60)
        others = [
            asyncio.create_task(ask(application, "/explore", "1\n2", left=left)),
            asyncio.create_task(ask(application, "/explore", "1\n2\n3")),
        ]
        status, _ = await ask(application, "/")
        await asyncio.sleep(1)
        assert (status, first.done(), translated) == (200, False, [1])
        left.set()
        released.set()
        return await asyncio.gather(first, *others)

    (_, first), (status, _), (_, third) = run(three())
    assert (json.loads(first)["title"], status, json.loads(third)["title"]) == ("1", server.CLIENT_CLOSED_REQUEST, "3")
    assert translated == [1, 3]


def test_a_bug_is_said_on_the_page_and_in_the_terminal(application, monkeypatch, capsys):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(server, "explore", broken)
    status, answer = asked(application, "/explore", "1")
    assert (status, list(json.loads(answer))) == (500, ["error"])
    assert "ZeroDivisionError" in capsys.readouterr().err


def serve(folder, *options):
    """The command in a process of its own, and its first line."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    command = [sys.executable, "-m", "context_nmt", "serve", *RUNS, "--device", "cpu", *options]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    return process, process.stderr.readline()


@pytest.fixture(scope="module")
def url(experiment):
    process, said = serve(experiment.folder, "--port", "0")
    yield re.search(r"http://127\.0\.0\.1:\d+", said)[0]
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=120)[1], process.returncode) == ("", 0)


def test_the_page_translates_and_says_what_is_wrong(url, chromium):
    from playwright.sync_api import expect

    pages = [chromium.new_page(), chromium.new_page()]
    requests = []
    for page in pages:
        page.set_default_timeout(60_000)
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        for limit in server.LIMITS.values():
            assert str(limit) in page.locator("form label").inner_text()
    for page, text in zip(pages, ("1 2\n3", "4"), strict=True):
        page.fill("#typed", text)
        page.click("button")
    for page, text in zip(pages, (["1 2", "3"], ["4"]), strict=True):
        page.wait_for_selector("section")
        sources = page.locator(".line .words[lang='xx']").all_inner_texts()
        assert [" ".join(source.split()) for source in sources] == text
        page.locator(".line.translation").nth(1).locator(".word").first.hover()
        page.wait_for_selector("article")
        assert page.locator("article").count() == 2
    page.fill("#typed", "1\n" * (server.LIMITS["sentences"] + 1))
    page.click("button")
    expect(page.locator("#error")).to_contain_text("sentences")
    assert page.locator("section").count() == 1  # of the text before
    assert set(requests) <= {f"{url}/", f"{url}/explore"}
    for page in pages:
        page.close()


def test_a_port_in_use_is_one_line(url, experiment):
    port = url.rpartition(":")[2]
    process, said = serve(experiment.folder, "--port", port)
    assert (process.communicate(timeout=120)[1], process.returncode) == ("", 1)
    assert port in said
