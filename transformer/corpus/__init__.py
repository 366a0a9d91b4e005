"""Sentence pairs by the million: read in chunks, computed by many processes, written in shards."""
