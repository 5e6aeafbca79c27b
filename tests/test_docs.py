"""The documentation: it builds without a warning, and names every key and command."""

import dataclasses
import os
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
    assert all(f"<code>{field.name}</code>" in page for field in dataclasses.fields(ExperimentSettings))
    assert "hierarchical_attention" in page


def test_every_stage_is_explained(site):
    page = (site / "reference/commands.html").read_text(encoding="utf-8")
    assert all(f"python stages {stage}" in page for stage in stages(ROOT))
    assert "context-nmt translate" in page


def test_nothing_is_loaded_from_elsewhere(site):
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    assert pages
    for page in pages:
        assert not any(f'{attribute}="http' in page for attribute in ("src", "data-src"))
        assert "fonts.googleapis" not in page
