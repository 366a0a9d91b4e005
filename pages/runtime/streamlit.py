"""Every workaround for Streamlit on the Python side; tests/pages/runtime/test_streamlit.py fails where one is obsolete.

Not worked around: opened at the address of a page, /lab say, Streamlit's browser side looks for its server at
/lab/_stcore/health and /lab/_stcore/host-config first, which gives two 404s in the console, and then at the root. It
cannot know whether "lab" is a page or the folder that the whole app is served under.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState


@st.fragment(run_every=timedelta(days=1))
def rerun_after_reconnect() -> None:
    """Nothing, once a day; but a page with such a fragment asks for a run as soon as it is connected again.

    Without one Streamlit's page waits for the next click. If its server died and another answers now, that one has no
    session: the click would meet a state fresh from the link, and be lost.
    """


def load_plotly() -> None:
    """Make the browser fetch plotly: a small chart of Streamlit's own, out of sight. Once a run, as early as can be."""
    with st.container(key="hs-plotly"):
        st.plotly_chart(
            {"data": [{"type": "scatter", "x": [0], "y": [0]}], "layout": {"height": 20}},
            key="hs-plotly-chart",
            height=20,
        )


def bound_to_page(draw: Callable[[], None]) -> Callable[[], None]:
    """The same, drawn as part of the page that runs now: a widget that app.py draws itself is another widget."""
    context, page = get_script_run_ctx(), ThreadState.get().active_script_hash

    def drawn() -> None:
        if context is None:
            draw()
        else:
            with context.run_with_active_hash(page):
                draw()

    return drawn
