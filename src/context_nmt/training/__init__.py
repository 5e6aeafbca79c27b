"""Losses, schedules and the training loop."""
