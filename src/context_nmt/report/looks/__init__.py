"""A page that shows where a document system looked."""
