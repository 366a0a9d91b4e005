"""The page Glossary."""

from tests.support.app import open_page, page_text


def test_the_glossary_opens() -> None:
    assert "Words from A to Z." in page_text(open_page("glossary"))
