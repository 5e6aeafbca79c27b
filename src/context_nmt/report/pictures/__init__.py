"""Draw pictures as SVG, the same bytes every time and readable without colour."""
