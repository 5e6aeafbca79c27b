"""Parallel text, from download to batches of token ids."""
