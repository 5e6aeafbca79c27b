"""What the states of trained models tell a classifier about sentences and words."""
