"""Measures of documents: accuracy of pronouns and nouns, lexical cohesion, and coherence of adjacent sentences."""
