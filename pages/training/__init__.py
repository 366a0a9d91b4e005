"""Training: a model learns while you watch."""
