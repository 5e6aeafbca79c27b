"""Command lines of the pipeline, one file per stage: `python -m stages.NAME --help`."""
