"""Traces in, tensors or frozen dataclasses out."""
