"""What tests start in a temporary folder: its environment, and the processes that are left of it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def environment(home, others=os.environ, **more):
    """Variables for git and DVC, without the user's settings, cache and number of threads."""
    kept = {key: value for key, value in others.items() if not key.startswith(("DVC_", "GIT_", "OMP_"))}
    people = {f"GIT_{who}_{what}": "a@b.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "HOME": str(home),
        "DVC_NO_ANALYTICS": "1",
        "DVC_SITE_CACHE_DIR": str(home / "site"),
        "DVC_GLOBAL_CONFIG_DIR": str(home / "settings"),
        "MARK": str(home),  # by which `processes` finds them
    }
    return kept | people | own | more


def processes(mark):
    """The commands of all processes that were started with this mark and that still run, by their numbers."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = f"MARK={mark}\0".encode() in (path / "environ").read_bytes()
            if is_ours and "State:\tZ" not in (path / "status").read_text():
                found[int(path.name)] = (path / "cmdline").read_text()
        except OSError:
            continue  # it ended, or is another user's
    return found


def run_in_two_processes(folder, stage, *arguments):
    """Run a stage in a folder by torchrun, whose processes share the work, and return what they print."""
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "stages._run", stage]
    result = subprocess.run(
        [*words, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result
