"""Everything that can arrive from outside, damaged at random: what comes back is a result or one clear sentence.

Hypothesis makes the cases, the same in every run, and reduces one that fails. `HEADSCOPE_FUZZ=20 python -m pytest -m
hypothesis tests/fuzz` makes twenty times as many new ones; `--hypothesis-seed` repeats them.
"""
