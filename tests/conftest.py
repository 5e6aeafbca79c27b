"""The longest file first, progress only where a test asks for it, no time limits, and a Ctrl-C that is not ignored."""

import os
import signal

import pytest
from hypothesis import settings

os.environ["CONTEXT_NMT_PROGRESS_SECONDS"] = "inf"  # what a slow machine says would depend on its speed
settings.register_profile("without_deadline", deadline=None)  # it depends on the machine's load
settings.load_profile("without_deadline")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name != "test_pipeline.py")


@pytest.fixture
def ctrl_c():
    """SIGINT as a terminal's programs have it, here and in what a test starts: a background job inherits it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
