"""A small English-German parallel corpus, generated with everything that is known about it."""
