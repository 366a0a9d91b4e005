"""A model over many sentences: what switches and neurons do there."""
