"""Kinds of models, one file each, loaded by name; every file has `build(settings, parts)`."""
