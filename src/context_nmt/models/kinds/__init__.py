"""Kinds of models, one file per kind, loaded by name; each file has a function `build(settings, parts)`."""
