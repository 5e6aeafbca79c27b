"""The pages of one experiment, one module each."""
