"""Measures one run and its translations, and writes the results as rows."""
