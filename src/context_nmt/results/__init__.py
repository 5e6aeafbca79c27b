"""Rows of runs -> means over seeds, differences, intervals and tests."""
