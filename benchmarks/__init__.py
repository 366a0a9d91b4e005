"""Ratios measured in one run, against peers: `python -m benchmarks`, table in README.md of this folder."""
