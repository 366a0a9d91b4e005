"""Switches: what can be turned off or replaced in a trained model."""
