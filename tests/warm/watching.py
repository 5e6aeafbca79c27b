"""Notes the project's files that a stage opens, imports included, in $OPENED."""

import os
import sys


def watch(root, log):
    written = set()

    def note(event, arguments):
        if event != "open" or not isinstance(arguments[0], str | bytes):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if not path.startswith(root) or path in written:
            return
        written.add(path)
        folder, name = os.path.split(path)
        if os.path.basename(folder) == "__pycache__":
            path = os.path.join(os.path.dirname(folder), name.partition(".")[0] + ".py")
        os.write(log, f"{os.path.relpath(path, root)}\n".encode())

    sys.addaudithook(note)


def watch_stage():
    """Watch this process, if it runs a stage and somebody wants to know."""
    if "OPENED" in os.environ and "DVC_STAGE" in os.environ:
        stage = os.environ["DVC_STAGE"].replace("/", "|")
        name = os.path.join(os.environ["OPENED"], f"{stage} {os.getpid()}")
        watch(os.path.realpath(os.environ["WATCHED"]) + os.sep, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
