"""Write results as pages and pictures."""
