"""Reproduce five papers that give the Transformer more context."""
