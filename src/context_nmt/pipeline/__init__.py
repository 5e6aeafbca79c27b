"""Who runs what: plans, checks, new experiments, and running stages."""
