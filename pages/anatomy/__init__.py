"""Anatomy: one sentence on its way through the model."""
