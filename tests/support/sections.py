"""The Lab's sections as scripts for AppTest."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager

from streamlit.testing.v1 import AppTest

from pages.runtime.shared import clear_caches
from tests.support.build import tiny_pretrained
from transformer.inference.pretrained import Pretrained, load

MODELS: dict[str, Pretrained] = {}  # what the scripts draw with: AppTest runs their text, not this module


def script(section: str, model: str, source: str, target: str, switches: str, limit: int) -> None:
    import streamlit as st

    from pages.components import probing, translation
    from pages.components.comparison import Compared
    from pages.frame.options import Options
    from pages.frame.state import State, current_state, store_state
    from pages.lab import leak
    from pages.runtime import cache
    from tests.support.sections import MODELS
    from transformer.interventions.sets import Interventions, Pad

    section = st.session_state.get("section", section)
    found = MODELS[model]
    on = Interventions.parse(st.session_state.get("switches", switches))
    pads = Interventions(tuple(one for one in on.switches if isinstance(one, Pad)))
    trace = cache.trace(found, found.name, source, target, limit)
    before = cache.retrace(found, trace, pads, limit)
    compared = Compared(found, before, cache.retrace(found, before, on, limit), on, limit)
    probing.look()
    if section == "translation":
        translation.draw(compared, bool(target))
    elif section == "leak":
        if current_state() is None:
            store_state(State(model))
        leak.draw(compared, Options("lab", False), {})
    else:
        probing.draw(compared)


def start(
    name: str, switches: str = "", source: str = "ka lo mi", target: str = "", model: str = "tiny", limit: int = 40
) -> AppTest:
    """A section, drawn; session state may change its "switches" and "section"."""
    given = {"section": name, "model": model, "source": source, "target": target, "limit": limit}
    return AppTest.from_function(script, default_timeout=30, kwargs={**given, "switches": switches}).run()


@contextmanager
def prepared() -> Iterator[None]:
    """Models to draw with, and nothing cached before or after."""
    clear_caches()
    MODELS.update(tiny=tiny_pretrained(), sort=load("sort"))
    yield
    clear_caches()


def raw(app: AppTest) -> str:
    assert not app.exception, app.exception
    return "\n".join(element.proto.body for element in app.get("html"))


def plain(app: AppTest) -> str:
    """What a person reads."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", raw(app))).split())


def cells(text: str) -> list[list[str]]:
    """The rows of the HTML's tables."""
    rows = re.findall(r"<tr.*?</tr>", text)
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows
    ]
