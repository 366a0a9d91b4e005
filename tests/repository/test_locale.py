"""Translators get every text of the app."""

from __future__ import annotations

import pytest

from tests.support.locale_template import TEMPLATE, template, texts


def test_the_template_has_every_text_of_the_app() -> None:
    assert TEMPLATE.read_bytes() == template(), "texts changed; run `make texts`"
    assert "Source · {language}".encode() in template() and b"Big text" in template()


def test_texts_are_found_wherever_they_stand() -> None:
    code = """f"<p>{escape(_('first'))}</p>"; _("sec" "ond"); f(N_("third")); gettext("no"); '_("no")'"""
    assert texts(code) == ["first", "second", "third"]
    with pytest.raises(ValueError, match=r"^line 1: _\(word\) needs a text as it stands$"):
        texts("_(word)")
