"""Kinds of models, one file each, loaded by name; each has a function `build(settings, parts)`."""
