"""Makes a temporary folder the root of a project, as far as the plan stage looks at one."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]


def make_root(folder: Path) -> None:
    """Copy what plans are resolved with: digests of code that is loaded by name, and the entries of corpora."""
    for name in ("src/code/loaded_by_name.json", "data/params.yaml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
