"""Embeddings: from tokens to vectors and back."""
