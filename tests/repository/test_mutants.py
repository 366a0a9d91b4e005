"""Every known defect can still be put into the code."""

import pytest

from tests.mutants import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_known_defect_has_one_place(mutant: Mutant) -> None:
    assert (ROOT / mutant.path).read_text(encoding="utf-8").count(mutant.old) == 1
