"""Curves of faithfulness."""

from transformer.attribution import METHODS
from transformer.figures.attribution import removal_curves


def test_every_method_has_a_line_of_its_own() -> None:
    names = {name: name for name in ("one", *METHODS)}
    drawn = removal_curves({name: [1.0, 0.5] for name in (*names, "random")}, names).data
    assert len({(line.line.color, line.line.dash) for line in drawn}) == len(names) + 1
