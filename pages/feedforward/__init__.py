"""Feed-forward: neurons and what they do."""
