"""One run -> rows: what is measured of it and of its translations."""
