"""Long files first, progress only where a test asks for it, no time limits, and a Ctrl-C that is not ignored."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from context_nmt.__main__ import main

os.environ["CONTEXT_NMT_PROGRESS_SECONDS"] = "inf"  # what a slow machine says would depend on its speed
settings.register_profile("without_deadline", deadline=None)  # it depends on the machine's load
settings.load_profile("without_deadline")


def pytest_collection_modifyitems(items):
    heavy, slow = ({item.path for item in items if item.get_closest_marker(mark)} for mark in ("heavy", "slow"))
    items.sort(key=lambda item: (item.path.name != "test_pipeline.py", item.path not in heavy, item.path not in slow))


@pytest.fixture(scope="session")
def warm():
    """Variables of an environment in which the project's programs start with libraries imported; see warm/server.py."""
    folder, name = Path(__file__).parent / "warm", f"context-nmt-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        words = [sys.executable, folder / "server.py", str(listener.fileno())]
        own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        server = subprocess.Popen(words, env=own, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])
    with server:
        yield {"WARM_SERVER": name, "PYTHONPATH": str(folder)}


@pytest.fixture
def ctrl_c():
    """SIGINT as a terminal's programs have it, here and in what a test starts: a background job inherits it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def call(monkeypatch, capsys):
    """Calls `context-nmt`; gives its status, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["context-nmt", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, *capsys.readouterr()

    return call


@pytest.fixture(scope="module")  # playwright keeps an event loop running in this thread, where others then cannot
def chromium():
    """A browser without a window, with a method `new_page`; a test that needs one skips where it is not installed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]  # root cannot have it
        browser = playwright.chromium.launch(executable_path=program, args=sandbox)
        yield browser
        browser.close()
