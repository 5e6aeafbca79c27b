"""The documentation: it builds without a warning, and names every key and command."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from context_nmt.code_closure import stages
from context_nmt.settings.parameters import ExperimentSettings

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


def test_every_key_of_params_yaml_is_explained(site):
    page = (site / "reference/params.html").read_text(encoding="utf-8")
    rows = [re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL) for row in page.split("<tr>")]
    meanings = [(cells[0], cells[-1]) for cells in rows if cells]
    keys = {key for key, _ in meanings}
    assert {f"<code>{field.name}</code>" for field in dataclasses.fields(ExperimentSettings)} <= keys
    assert {"<code>detach_query</code>", "<code>cue_far</code>"} <= keys  # of a mechanism, of a generated corpus
    assert [key for key, meaning in meanings if not meaning] == []
    assert "&lt;" not in page.replace("&lt; 1", "")  # no type as Python prints it
    assert [key for key, meaning in meanings if meaning.endswith(":")] == []
    assert [cells[0] for cells in rows if len(cells) > 1 and not cells[2]] == []  # a default, or that it is required


def test_every_command_and_option_is_explained(site):
    page = (site / "reference/commands.html").read_text(encoding="utf-8")
    assert all(f"python stages {stage}" in page for stage in stages(ROOT))
    assert "context-nmt translate" in page
    options = re.findall(r"<li><code>(.*?)</code>(.*?)</li>", page, re.DOTALL)
    assert len(options) > 50
    assert [option for option, text in options if not re.match(r": (?!\s*\[)\S", text) or "..." in text] == []


def test_nothing_is_loaded_from_elsewhere(site):
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    assert pages
    for page in pages:
        assert not any(f'{attribute}="http' in page for attribute in ("src", "data-src"))
        assert "fonts.googleapis" not in page
