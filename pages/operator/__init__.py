"""Operator: what the process takes and does, for who runs the server; not among the pages of visitors."""
