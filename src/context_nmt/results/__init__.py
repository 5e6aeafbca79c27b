"""Compute means over seeds, differences, intervals and tests from the rows of runs."""
