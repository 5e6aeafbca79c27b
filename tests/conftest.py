"""Hypothesis without its time limit for an example: how long one takes depends on what else the machine does."""

from hypothesis import settings

settings.register_profile("without_deadline", deadline=None)
settings.load_profile("without_deadline")
