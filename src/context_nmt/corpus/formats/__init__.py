"""Readers of downloads that are not plain text; each writes files into data/CORPUS."""
