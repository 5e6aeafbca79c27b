"""Readers of downloads that are no plain text: each writes files of a folder data/CORPUS."""
