"""Describe a corpus: counts, phenomena and samples to read."""
