"""How fast and how large this project runs, beside other programs that do the same; `make speed` measures all of it."""
