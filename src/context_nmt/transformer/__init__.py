"""The plain Transformer; it knows no mechanism."""
