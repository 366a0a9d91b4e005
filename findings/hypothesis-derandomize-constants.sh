#!/bin/sh
# Hypothesis with `derandomize=True` says that a test gets the same examples until Hypothesis, Python or the test changes.
# But it also draws the numbers and texts that it finds in the source of every local module that is imported: change one
# constant of a module that the test never calls, and the unchanged test gets other examples.
#
# With: hypothesis 6.170.15, pytest 9.2.0, Python 3.11; tried on 2026-11-30 on Linux.
#
# It matters to whoever derandomizes to keep a build stable: an edit anywhere in the project can let an old test fail that
# has nothing to do with it (so it found a flaw in one of ours), and that failure is gone again after the next edit.
#
# Seen (300 examples; a digest of all of them, and whether the constant 918273645 is one):
#
#     VALUE = 1234567      e36cea2ff730 False
#     VALUE = 918273645    24801852f575 True
#     VALUE = 918273645    24801852f575 True      (again: the same)
#
# Fails if Hypothesis no longer does this.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet hypothesis==6.170.15 pytest==9.2.0
mkdir project
cat >project/test_examples.py <<'PYTHON'
import hashlib

import other  # a module beside it; nothing of it is used
from hypothesis import given, settings, strategies as st

SEEN = []


@given(st.integers(), st.text())
@settings(max_examples=300, derandomize=True, database=None)
def test_draws(number, text):
    SEEN.append((number, text))


def test_tells():
    print("SEEN", hashlib.sha256(repr(SEEN).encode()).hexdigest()[:12], 918273645 in [number for number, _ in SEEN])
PYTHON
cd project
examples() {
    rm -rf .hypothesis
    echo "VALUE = $1" >other.py
    ../venv/bin/python -m pytest -q -s -p no:cacheprovider test_examples.py | sed -n 's/.*SEEN //p'
}
first=$(examples 1234567)
second=$(examples 918273645)
again=$(examples 918273645)
printf '%s\n%s\n%s\n' "$first" "$second" "$again"
[ "${first#* }" = False ] && [ "${second#* }" = True ] && [ "$first" != "$second" ] && [ "$second" = "$again" ]
