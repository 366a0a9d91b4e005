"""What the frame needs to know of a page."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pages.frame.frame import PageFrame


def no_parts() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Content:
    """The content of a page.

    draw: draws it, below the frame.
    parts: name in links -> label, the first one is shown first; a function, because labels are translated.
    options: names in links of what else can be chosen on the page.
    sentence: whether the page shows the sentence pair.
    figures: whether every part draws figures; a page where only some parts do calls `load_plotly` itself.
    menus: whether the header has the menu with the link and the button for big text.
    """

    draw: Callable[[PageFrame], None]
    parts: Callable[[], Mapping[str, str]] = no_parts
    options: tuple[str, ...] = ()
    sentence: bool = True
    figures: bool = False
    menus: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """All names in links that are the page's own."""
        return ("part", *self.options) if self.parts is not no_parts else self.options


@dataclass(frozen=True)
class Page:
    """A page of the app: its content is `CONTENT` in pages/<name>/page.py, its style every CSS file of that folder.

    name: its folder. first: what a link without a path opens.
    title: in the header and the browser's tab.
    opens_models: linked below a run of the Training page that ended, to open its model there.
    """

    name: str
    title: str
    first: bool = False
    opens_models: bool = False

    @property
    def path(self) -> str:
        """Its path in links."""
        return "" if self.first else self.name

    @property
    def content(self) -> Content:
        """Imported when the page is opened for the first time, not when the app starts."""
        content: Content = importlib.import_module(f"pages.{self.name}.page").CONTENT
        return content
