"""Compare the speed and memory of this project with other programs for the same tasks; `make speed` runs all parts."""
