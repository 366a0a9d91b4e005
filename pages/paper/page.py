"""Paper: "Attention Is All You Need" as the way in. Its figures and sections open the views that show them."""

import html
from urllib.parse import urlencode

import streamlit as st

from pages.components.sentences import paragraph, point
from pages.frame.frame import Content, Page, PageFrame
from pages.paper import figures, visualised
from pages.paper.views import Item, View, items
from transformer.checkpoints.folder import RECORDING
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    pages = {page.name: page for page in frame.links}
    point(
        _(
            "The Transformer, as drawn in “Attention Is All You Need” (2017): a sentence goes in below, its "
            "translation comes out on top. Press a box to see it at work."
        )
    )
    with st.container(key="hs-paper"):
        # In big text the figures are higher than the window.
        with st.container(key="hs-paper-figures" if frame.state.view.big else "hs-paper-figures-stay"):
            figures.draw(frame.model.config, frame.state.view.big, _boxes(frame, pages))
            paragraph(_sizes(frame), quiet=True)
        with st.container(key="hs-paper-list"):
            for item in items():
                with st.container(key=f"hs-paper-{item.name.replace('.', '-')}"):
                    _draw_item(frame, pages, item)


def _key(item: Item, number: int) -> str:
    return f"hs-paper-{item.name.replace('.', '-')}-{number}"


def _boxes(frame: PageFrame, pages: dict[str, Page]) -> dict[str, tuple[str, str, str]]:
    """Name of a box in the figures -> key of the container with its link, address, label."""
    found: dict[str, tuple[str, str, str]] = {}
    for item in items():
        for number, view in enumerate(item.views):
            page = pages[view.page]
            address = f"{page.path or './'}?{urlencode(view.params)}"
            label = f"{page.title} · {view.label}"
            found |= {box: (_key(item, number), address, label) for box in view.boxes}
    return found


def _sizes(frame: PageFrame) -> str:
    """The paper's base and big model and this one, by parameters."""
    text = _("Parameters: {base} in the paper's base model, {big} in its big one, {here} here ({name}).")
    return text.format(
        base=f"{figures.BASE_PARAMETERS:,}",
        big=f"{figures.BIG_PARAMETERS:,}",
        here=f"{frame.model.model.parameter_count():,}",
        name=frame.model.name,
    )


def _draw_item(frame: PageFrame, pages: dict[str, Page], item: Item) -> None:
    st.html(f'<h2 class="hs-paper-title">{html.escape(item.title)}</h2>')
    if item.name == visualised.NAME:
        views = visualised.draw(frame)
    else:
        paragraph(item.point)
        views = item.views
    if item.equation:
        st.latex(item.equation)
    with st.container(horizontal=True, gap="small"):
        for number, view in enumerate(views):
            if not view.recorded or frame.model.has_beside(RECORDING):
                _draw_view(frame, pages[view.page], view, _key(item, number))


def _draw_view(frame: PageFrame, page: Page, view: View, key: str) -> None:
    with st.container(key=key, width="content"):
        st.page_link(frame.links[page], label=f"{page.title} · {view.label}", query_params=dict(view.params) or None)


CONTENT = Content(draw, sentence=False, beyond=("",))
