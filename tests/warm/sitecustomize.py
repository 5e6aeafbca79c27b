"""Runs the project's programs in a fork of server.py, which has imported all libraries; Python loads this as it starts.

On a toy corpus, imports take most of the time of a stage, of `python stages`, which starts it, and of DVC.
"""

import json
import os
import signal
import socket
import sys
import traceback

import watching

SCRIPTS = ("stages", "dvc", "context-nmt")  # the folder stages/, and console scripts


def run_there(address, arguments):
    """Run a program in the server, with this process's streams, folder and variables, and end as it ends."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(f"\0{address}")
        socket.send_fds(server, [b"\0"], [0, 1, 2])
        ignores_interrupts = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        request = json.dumps([arguments, os.getcwd(), dict(os.environ), ignores_interrupts])
        server.sendall(f"{request}\n".encode())
        answer = server.makefile()
        program = int(answer.readline())
        for number in (signal.SIGTERM,) if ignores_interrupts else (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(program, number))
        status = int(answer.readline())
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


first, second = [*sys.orig_argv[1:3], "", ""][:2]
is_module = first == "-m" and (second == "stages._run" or second.split(".")[0] == "context_nmt")
is_script = os.path.basename(os.path.normpath(first)) in SCRIPTS
if "WARM_SERVER" in os.environ and (is_module or is_script):
    try:
        run_there(os.environ["WARM_SERVER"], sys.orig_argv[1:])
    except BaseException:  # Python would print it, and run the program here
        traceback.print_exc()
        os._exit(1)
watching.watch_stage()
