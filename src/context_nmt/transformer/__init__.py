"""The plain Transformer, independent of the mechanisms."""
