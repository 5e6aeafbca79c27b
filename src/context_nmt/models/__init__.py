"""Whole models, built from settings, and their checkpoints."""
