"""Decoding: search, scores of given translations, distillation."""
