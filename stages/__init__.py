"""The stages of the pipeline, a file each: `python stages NAME --help`."""
