"""Runs a stage in a fork of server.py, which has imported all libraries; Python loads this file as it starts.

On a toy corpus, imports take most of a stage's time.
"""

import json
import os
import signal
import socket
import sys


def run_there(address, arguments):
    """Run a stage in the server, with this process's streams, folder and variables, and end as it ends."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [b"\0"], [0, 1, 2])
        server.sendall(json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode())
        server.shutdown(socket.SHUT_WR)
        answer = server.makefile()
        stage = int(answer.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(stage, number))
        status = int(answer.readline())
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if "WARM" in os.environ and sys.orig_argv[1:3] == ["-m", "stages._run"]:
    run_there(os.environ["WARM"], sys.orig_argv[3:])
