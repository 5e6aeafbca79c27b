"""Complete models, built from settings, and their checkpoints."""
