"""What is in a corpus: counts, phenomena and samples to read."""
