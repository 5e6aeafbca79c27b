"""Run one stage: `python stages NAME …`; `python stages --help` lists them."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Python has put the folder stages/ first, where tokenize.py would shadow the standard library's module.
sys.path[0:1] = [ROOT, os.path.join(ROOT, "src")]

from pathlib import Path  # noqa: E402

from context_nmt.pipeline.entry import start_stage  # noqa: E402

start_stage(Path(ROOT), sys.argv[1:])
