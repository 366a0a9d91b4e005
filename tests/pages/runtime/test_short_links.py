"""Short links are kept while the process runs, within bounds."""

import pytest

from pages.runtime import short_links


def test_equal_links_have_one_code_and_codes_are_read_in_capitals_too() -> None:
    code = short_links.shorten({"source": "Hallo", "kind": "cross"})
    assert code is not None and len(code) == short_links.LENGTH
    assert short_links.shorten({"kind": "cross", "source": "Hallo"}) == code
    assert short_links.find(code.upper()) == {"source": "Hallo", "kind": "cross"}
    assert short_links.find("nobody") is None


def test_long_links_are_refused_and_old_ones_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    assert short_links.shorten({"source": "x" * short_links.LARGEST}) is None
    monkeypatch.setattr(short_links.LINKS, "most", 2)
    first, second = (short_links.shorten({"source": text}) or "" for text in ("a", "b"))
    short_links.find(first)  # used again, so the other one is older
    short_links.shorten({"source": "c"})
    assert short_links.find(first) and short_links.find(second) is None
