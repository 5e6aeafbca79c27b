"""The published tables of the papers, and what an experiment has reproduced of them."""
