"""The pages of one experiment, a module each."""
