"""Search over an opaque decoding state."""
