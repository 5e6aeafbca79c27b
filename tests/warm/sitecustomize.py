"""Runs a stage in a fork of server.py, which has imported all libraries; Python loads this file as it starts.

On a toy corpus, imports take most of a stage's time.
"""

import json
import os
import signal
import socket
import sys
import traceback


def run_there(address, arguments):
    """Run a stage in the server, with this process's streams, folder and variables, and end as it ends."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(f"\0{address}")
        socket.send_fds(server, [b"\0"], [0, 1, 2])
        ignores_interrupts = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        request = json.dumps([arguments, os.getcwd(), dict(os.environ), ignores_interrupts])
        server.sendall(f"{request}\n".encode())
        answer = server.makefile()
        stage = int(answer.readline())
        for number in (signal.SIGTERM,) if ignores_interrupts else (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(stage, number))
        status = int(answer.readline())
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if "WARM_SERVER" in os.environ and sys.orig_argv[1:3] == ["-m", "stages._run"]:
    try:
        run_there(os.environ["WARM_SERVER"], sys.orig_argv[3:])
    except BaseException:  # Python would print it, and run the stage here
        traceback.print_exc()
        os._exit(1)
