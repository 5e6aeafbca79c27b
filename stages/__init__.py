"""The stages of the pipeline, a file each: `python stages NAME --help`."""

import sys
from types import TracebackType


def _in_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report Ctrl-C while a stage is being loaded; `command_line.run` does so later."""
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _in_one_line
