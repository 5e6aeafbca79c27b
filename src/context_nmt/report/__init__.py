"""Results -> pages and pictures."""
