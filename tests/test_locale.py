"""Translators get every text of the app."""

from __future__ import annotations

from tests.locale_template import TEMPLATE, template


def test_the_template_has_every_text_of_the_app() -> None:
    assert TEMPLATE.read_bytes() == template(), "texts changed; run `make texts`"
    assert "Source · {language}".encode() in template() and b"Big text" in template()
