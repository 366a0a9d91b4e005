"""What the browser shares with Python is generated from Python."""

from transformer.view.generate import GENERATED, OF_PAGES, PAGES, SHARED, TEXTS, generated


def test_what_the_browser_shares_with_python_is_pythons() -> None:
    for path, module in ((GENERATED, generated()), (TEXTS, generated(SHARED)), (PAGES, generated(OF_PAGES))):
        assert path.read_text(encoding="utf-8") == module, "run `python -m transformer.view.generate`"
