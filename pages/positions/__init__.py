"""Positions: the positional encoding and its alternatives."""
