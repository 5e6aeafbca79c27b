"""What the analyses of all runs have measured, as a page and as pictures."""
