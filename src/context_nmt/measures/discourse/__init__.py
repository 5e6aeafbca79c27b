"""Measures of documents: the accuracy of pronouns and nouns, lexical cohesion, the coherence of sentences."""
