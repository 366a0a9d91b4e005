"""Heads: every attention head on one sentence."""
