"""Probes: classifiers that predict properties of sentences and words from the states of trained models."""
