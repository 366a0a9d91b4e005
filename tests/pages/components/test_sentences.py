"""Numbers in sentences."""

import pytest

from pages.components.sentences import deviation


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.54e-7, "9.5 × 10⁻⁷"), (2.5e-10, "2.5 × 10⁻¹⁰"), (3.0, "3.0"), (1.2e12, "1.2 × 10¹²"), (0.0, "0")],
)
def test_a_deviation_is_written_as_a_power_of_ten(value: float, text: str) -> None:
    """As `formatDeviation` in frontend/src/core/format.js writes it."""
    assert deviation(value).replace("\N{NO-BREAK SPACE}", " ") == text
