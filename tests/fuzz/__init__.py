"""Everything that can arrive from outside, made up at random and thrown at the app.

One module a way in, each with `case(seed)`: it makes one case from the seed, gives it to the code under test, and
raises where anything but a result or one clear sentence comes back. The same seed makes the same case everywhere.
`tests/test_fuzz_*.py` run some thousand of each; `python -m tests.fuzz --seconds 1800 --seed 7` runs on.
"""
