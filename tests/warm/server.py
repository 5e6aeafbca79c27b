"""Import all libraries, then fork a process for each stage that sitecustomize.py sends, until standard input ends.

The argument is the descriptor of a socket that listens.
"""

import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys

LIBRARIES = (
    "compare_mt",
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


def become_stage(connection):
    """Fork once more: return in the process that has the request's streams, folder and variables; the other waits."""
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    answer = connection.makefile("rw")
    arguments, folder, variables, ignores_interrupts = json.loads(answer.readline())
    stage = os.fork()
    if stage:
        print(stage, file=answer, flush=True)
        if connection in select.select([os.pidfd_open(stage), connection], [], [])[0]:  # its client has been killed
            os.kill(stage, signal.SIGKILL)
            os._exit(1)
        _, status = os.waitpid(stage, 0)
        print(os.waitstatus_to_exitcode(status), file=answer, flush=True)
        os._exit(0)
    connection.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN if ignores_interrupts else signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:1] = [folder, *filter(None, variables["PYTHONPATH"].split(os.pathsep))]
    sys.argv = ["-m", *arguments]


for library in LIBRARIES:
    importlib.import_module(library)
become_stage(next_request(socket.socket(fileno=int(sys.argv[1]))))
try:
    runpy.run_module("stages._run", run_name="__main__", alter_sys=True)
except SystemExit as left:
    if not isinstance(left.code, int):
        raise
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(left.code)  # at once: to take all libraries down would take as long as to import them
