"""What translations keep of a document: pronouns and nouns, the cohesion of words, the coherence of sentences."""
