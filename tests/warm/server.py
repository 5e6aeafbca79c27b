"""Import all libraries, then fork a process for each program that sitecustomize.py sends, until standard input ends.

The argument is the descriptor of a socket that listens.
"""

import atexit
import importlib
import json
import logging
import os
import runpy
import select
import signal
import socket
import sys

import watching

LIBRARIES = (
    "compare_mt",
    "dvc.cli.parser",  # which imports all commands
    "dvc.repo",
    "jinja2",
    "matplotlib.backends.backend_svg",
    "nltk",
    "pandas.io.formats.style",
    "pydantic",
    "requests",
    "rich.progress",
    "sacrebleu",
    "sacremoses",
    "safetensors.torch",
    "scipy.stats",
    "subword_nmt.apply_bpe",
    "torch._dynamo",  # which torch.optim imports
    "typer",
)


def next_request(listener):
    """Wait for requests; return in a forked process for each, with its connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for these processes
    while listener in select.select([sys.stdin, listener], [], [])[0]:
        connection, _ = listener.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            return connection
        connection.close()
    sys.exit()


def become_program(connection):
    """Fork once more: return in the process that has the request's streams, folder and variables; the other waits."""
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    answer = connection.makefile("rw")
    arguments, folder, variables, ignores_interrupts = json.loads(answer.readline())
    program = os.fork()
    if program:
        print(program, file=answer, flush=True)
        if connection in select.select([os.pidfd_open(program), connection], [], [])[0]:  # its client has been killed
            os.kill(program, signal.SIGKILL)
            os._exit(1)
        _, status = os.waitpid(program, 0)
        print(os.waitstatus_to_exitcode(status), file=answer, flush=True)
        os._exit(0)
    connection.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN if ignores_interrupts else signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    return arguments


def run_program(arguments):
    """Run `python ARGUMENTS`: a script, a folder, or -m and a module."""
    first, *others = arguments
    search_path = [path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path]
    if first == "-m":
        if others[0] == "stages._run":  # not `python stages`, which only starts it: its code has no part in results
            watching.watch_stage()
        sys.path[:1] = [os.getcwd(), *search_path]
        sys.argv = ["-m", *others[1:]]
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[:1] = search_path if os.path.isdir(first) else [os.path.dirname(first), *search_path]
        sys.argv = arguments
        runpy.run_path(first, run_name="__main__")


for library in LIBRARIES:
    importlib.import_module(library)
logging.root.handlers.clear()  # of libraries that DVC does not import
program = become_program(next_request(socket.socket(fileno=int(sys.argv[1]))))
status = 0
try:
    run_program(program)
except SystemExit as left:
    if not isinstance(left.code, int | None):
        raise
    status = left.code or 0
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(status)  # at once: to take all libraries down would take as long as to import them
