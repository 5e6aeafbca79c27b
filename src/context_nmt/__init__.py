"""Five papers that give the Transformer more context, in one code base."""
