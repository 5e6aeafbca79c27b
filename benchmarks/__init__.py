"""Speed and memory of this project against other programs for the same tasks; `make speed` measures all of it."""
