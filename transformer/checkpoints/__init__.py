"""Checkpoint folders: reading, writing, zips, importers."""
