"""Run one stage in this process: `python -m stages._run NAME …`, which `python stages NAME …` starts."""

import importlib
import sys

from context_nmt.command_line import one_line_errors, run

with one_line_errors():  # also for Ctrl-C while the stage is being imported
    name = sys.argv.pop(1)
    stage = importlib.import_module(f"stages.{name}")
run(stage.main, f"python stages {name}")
