"""All uses of DVC's internals, and its command line with quicker locks: `python -m context_nmt.pipeline.dvc ARGUMENTS`.

After each stage DVC reads and writes dvc.lock with the part of ruamel.yaml that keeps comments. For 60 runs, 335 kB,
this takes two seconds, longer than most stages; ruamel.yaml's parser and emitter in C take 0.4. The bytes are the same,
except that commands of more than 80 characters may be broken at other spaces.
"""

import logging
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dvc import dvcfile, rwlock
from dvc.cli import main
from dvc.dependency import ParamsDependency
from dvc.exceptions import DvcException
from dvc.repo import Repo
from dvc.utils.serialize import modify_yaml
from ruamel.yaml import YAML

from context_nmt.files import UserError, replacing
from context_nmt.pipeline.processes import AS_CHILD


@dataclass(frozen=True)
class Stage:
    """One stage of a dvc.yaml; paths are absolute."""

    name: str
    changed: bool  # apart from files that are only missing
    is_new: bool  # it is not in dvc.lock
    dependencies: tuple[str, ...]
    outputs: tuple[str, ...]
    upstream: frozenset[str]


def read_stages(folder: Path, looked_at: Collection[str] | None = None) -> dict[str, Stage]:
    """Return the stages of `folder/dvc.yaml`, as DVC sees them, in an order in which they can run.

    If only some are to be looked at, the others count as unchanged.
    """
    logging.getLogger("dvc.progress").setLevel(logging.CRITICAL)  # no bars of DVC's own, which the display would garble
    try:
        with Repo(str(folder.resolve()), _wait_for_lock=True) as repo, repo.lock:
            own_stages = {stage for stage in repo.index.stages if stage.path == str(folder.resolve() / "dvc.yaml")}
            stages = {}
            for stage in own_stages:
                upstream = list(repo.index.graph.successors(stage))
                stages[stage.name] = Stage(
                    name=stage.name,
                    changed=(looked_at is None or stage.name in looked_at)
                    and stage.changed(allow_missing=True, upstream=upstream),
                    is_new=not all(out.hash_info for out in stage.outs),
                    dependencies=tuple(dep.fs_path for dep in stage.deps if not isinstance(dep, ParamsDependency)),
                    outputs=tuple(out.fs_path for out in stage.outs),
                    upstream=frozenset(dependency.name for dependency in upstream if dependency in own_stages),
                )
    except DvcException as error:
        raise UserError(f"{folder}: DVC: {error}") from None
    except FileNotFoundError as error:  # a link that leads nowhere
        raise UserError(f"{error.filename}: no such file or folder; is its disk mounted?") from None
    order = TopologicalSorter({name: stages[name].upstream for name in sorted(stages)}).static_order()
    return {name: stages[name] for name in order}


@contextmanager
def modify_quickly(path: Any, fs: Any = None) -> Iterator[dict[str, Any]]:
    """Yield the values of a DVC file, then write them with the changes made in the block."""
    if not str(path).endswith(".lock"):
        with modify_yaml(path, fs=fs) as values:
            yield values
        return
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.representer.sort_base_mapping_type_on_output = False
    yaml.representer.add_representer(OrderedDict, lambda representer, values: representer.represent_dict(values))
    yaml.representer.add_representer(
        type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "")
    )
    file, stream = Path(path), StringIO()
    values = (yaml.load(file.read_text(encoding="utf-8")) or {}) if file.is_file() else {}
    yield values
    yaml.dump(values, stream)
    with replacing(file) as temporary:  # `context-nmt repro` reads it while other stages run
        temporary.write_text(stream.getvalue().replace(": \n", ":\n"), encoding="utf-8")  # null values


def run(arguments: list[str]) -> int:
    """Run a DVC command and return its exit status.

    As a child of `context-nmt repro`, it reacts to Ctrl-C even where a background job ignores it, and a SIGTERM that
    its stage gets, too, ends it when the stage has ended.
    """
    dvcfile.modify_yaml = modify_quickly
    if os.environ.pop(AS_CHILD, None):
        if "SLURM_JOB_ID" in os.environ:
            # DVC takes a lock of a process on another node for one of this machine, and would wait for a number that
            # some other process has. The order of the jobs keeps them apart, see also `slurm.py`.
            rwlock.psutil = SimpleNamespace(pid_exists=lambda _: False)
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: None)  # not SIG_IGN, which stages would inherit
    return int(main(arguments))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
