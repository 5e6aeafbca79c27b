"""DVC's command line with quicker locks: `python -m context_nmt.pipeline.dvc ARGUMENTS`.

After each stage DVC reads dvc.lock and writes it again, by a round trip of ruamel.yaml that keeps comments. Of 60 runs,
335 kB, this takes two seconds, longer than most stages; the parser and emitter in C of ruamel.yaml take 0.4. The bytes
are the same, but for commands of more than 80 characters, which may be broken at other spaces.
"""

import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any, TextIO

from dvc import dvcfile
from dvc.cli import main
from dvc.utils.serialize import modify_yaml
from dvc.utils.serialize._common import _modify_data
from ruamel.yaml import YAML


@contextmanager
def modify_quickly(path: Any, fs: Any = None) -> Iterator[dict[str, Any]]:
    """Yield the values of a file of DVC, and write what they have become."""
    if not str(path).endswith(".lock"):
        with modify_yaml(path, fs=fs) as values:
            yield values
        return
    with _modify_data(path, lambda text, _: _yaml().load(text) or {}, _dump, fs=fs) as values:
        yield values


def _dump(values: Any, stream: TextIO) -> None:
    text = StringIO()
    _yaml().dump(values, text)
    stream.write(text.getvalue().replace(": \n", ":\n"))  # where there is None


def _yaml() -> YAML:
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.representer.sort_base_mapping_type_on_output = False
    yaml.representer.add_representer(OrderedDict, lambda one, values: one.represent_dict(values))
    yaml.representer.add_representer(type(None), lambda one, _: one.represent_scalar("tag:yaml.org,2002:null", ""))
    return yaml


def run(arguments: list[str]) -> int:
    """Run a command of DVC and return its exit status."""
    dvcfile.modify_yaml = modify_quickly
    return int(main(arguments))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
