"""Readers of downloads that are not plain text; each module writes files into data/CORPUS."""
