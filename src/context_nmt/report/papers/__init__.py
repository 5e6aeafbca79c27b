"""Compare the published tables of the papers with the numbers that experiments reproduce."""
