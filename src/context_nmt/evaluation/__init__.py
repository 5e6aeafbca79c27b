"""Scores with signatures, significance, tables and figures."""
