"""Translators get every text of the app."""

from __future__ import annotations

import pytest

from tests.support.locale_template import template, texts
from transformer.figures import positions


def test_the_template_has_texts_of_pages_and_labels_of_figures() -> None:
    found = template()
    for text in ("Source · {language}", "Big text", positions.LABELS["encoding"]):
        assert text.encode() in found


def test_texts_are_found_wherever_they_stand() -> None:
    code = """f"<p>{escape(_('first'))}</p>"; _("sec" "ond"); f(N_("third")); gettext("no"); '_("no")'"""
    assert texts(code) == ["first", "second", "third"]
    with pytest.raises(ValueError, match=r"^line 1: _\(word\) needs a text as it stands$"):
        texts("_(word)")
