"""What goes on in the attentions of a run."""
