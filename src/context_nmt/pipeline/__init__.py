"""Planning, checking, creating and running experiments."""
