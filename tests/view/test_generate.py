"""What the browser shares with Python is generated from Python."""

from __future__ import annotations

from transformer.view.generate import GENERATED, generated


def test_the_browsers_choices_and_defaults_are_pythons() -> None:
    assert GENERATED.read_text(encoding="utf-8") == generated(), "run `python -m transformer.view.generate`"
