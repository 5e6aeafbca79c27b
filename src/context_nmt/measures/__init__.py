"""Measure a run and its translations, and write the results as rows."""
