"""The stages of the pipeline, a file each: `python stages NAME --help`."""

import sys
from types import TracebackType


def _in_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Ctrl-C while a stage is still being loaded; `command_line.run` takes care of the time after it."""
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _in_one_line
