"""Measures of attention: locality, divergence, gates, and attention to earlier sentences."""
