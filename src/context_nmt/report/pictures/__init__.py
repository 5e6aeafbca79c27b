"""Pictures: SVG, the same bytes every time, readable without colour."""
