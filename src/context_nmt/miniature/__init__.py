"""A small English-German parallel corpus, generated together with its gold annotation."""
