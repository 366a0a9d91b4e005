"""Decoding: how a translation is searched for, token by token."""
