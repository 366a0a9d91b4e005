"""Everything that can arrive from outside, made up by Hypothesis and given to the app.

Each module makes the cases of one way in: links, files, archives, command lines, whole pages. The code under test
must answer each with a result or one clear sentence. `HEADSCOPE_FUZZ=20 python -m pytest -m slow tests/fuzz` tries 20
times as many cases, other ones in each run; `HEADSCOPE_FUZZ=1` repeats those of `make test-all` and reduces one that
fails.
"""
