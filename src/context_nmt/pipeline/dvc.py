"""DVC's command line with quicker locks: `python -m context_nmt.pipeline.dvc ARGUMENTS`.

After each stage DVC reads and writes dvc.lock with the part of ruamel.yaml that keeps comments. For 60 runs, 335 kB,
this takes two seconds, longer than most stages; ruamel.yaml's parser and emitter in C take 0.4. The bytes are the same,
except that commands of more than 80 characters may be broken at other spaces.
"""

import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dvc import dvcfile, rwlock
from dvc.cli import main
from dvc.utils.serialize import modify_yaml
from ruamel.yaml import YAML

from context_nmt.files import replacing


@contextmanager
def modify_quickly(path: Any, fs: Any = None) -> Iterator[dict[str, Any]]:
    """Yield the values of a DVC file, then write them with the changes made in the block."""
    if not str(path).endswith(".lock"):
        with modify_yaml(path, fs=fs) as values:
            yield values
        return
    file = Path(path)
    values = (_yaml().load(file.read_text(encoding="utf-8")) or {}) if file.is_file() else {}
    yield values
    stream = StringIO()
    _yaml().dump(values, stream)
    with replacing(file) as temporary:  # `context-nmt repro` reads it while other stages run
        temporary.write_text(stream.getvalue().replace(": \n", ":\n"), encoding="utf-8")  # null values


def _yaml() -> YAML:
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.representer.sort_base_mapping_type_on_output = False
    yaml.representer.add_representer(OrderedDict, lambda representer, values: representer.represent_dict(values))
    yaml.representer.add_representer(
        type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "")
    )
    return yaml


def run(arguments: list[str], *, as_child: bool = False) -> int:
    """Run a DVC command and return its exit status.

    As a child of `context-nmt repro`, it reacts to Ctrl-C even where a background job ignores it, and a SIGTERM that
    its stage gets, too, ends it when the stage has ended.
    """
    if as_child and "SLURM_JOB_ID" in os.environ:
        # DVC takes a lock of a process on another node for one of this machine, and would wait for a number that some
        # other process has. The order of the jobs keeps them apart; see also `job.py`.
        rwlock.psutil = SimpleNamespace(pid_exists=lambda _: False)
    if as_child:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: None)  # not SIG_IGN, which stages would inherit
    dvcfile.modify_yaml = modify_quickly
    return int(main(arguments))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
