"""The report: every table and figure of the papers with what experiments have reproduced, as pages and tables."""
