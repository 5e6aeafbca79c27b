"""Mechanisms, one file each, with SLOTS, Settings, build and FACTS."""
