"""The table of docs/paper.md: section, equation, table or figure of the paper -> view of the app -> screenshot.

`make screenshots ARGS=--paper` takes the screenshots, `make docs` writes the table.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

import transformer
from pages.paper import visualised
from pages.paper.views import View, items
from pages.registry import pages
from transformer.analysis.attention import strongest_word_link

PAGES = {page.name: page for page in pages()}
HEAD = "| the paper | view | screenshot |\n|---|---|---|\n"
FIGURES = ("Figures 1 and 2", View("paper", "Every box opens its view"), "paper-figures.png")


def entries() -> Iterator[tuple[str, View, str]]:
    """What it is in the paper, the view, and the file name of its screenshot."""
    yield FIGURES
    for item in items():
        for number, view in enumerate(item.views, start=1):
            yield item.title, view, f"paper-{item.name}-{number}-{view.page}.png"
        if item.name == visualised.NAME:
            model = transformer.load("en-de")
            for number, (text, query, keys) in visualised.FIGURES.items():
                found = strongest_word_link(model.trace(text), query, keys)
                assert found is not None
                yield f"Figure {number}", visualised.view_of(number, text, found), f"paper-figure{number}-heads.png"


def address_of(view: View) -> str:
    query = f"?{urlencode(view.params)}" if view.params else ""
    return f"/{PAGES[view.page].path}{query}"


def table() -> str:
    return HEAD + "".join(
        f"| {title} | [{PAGES[view.page].title}: {view.label}]({address_of(view)}) | `{name}` |\n"
        for title, view, name in entries()
    )
