"""Measures of the attentions of a run: locality, divergence, gates, and the earlier sentences that words look at."""
