"""The app without a browser: Streamlit's AppTest, on any page."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

ROOT = Path(__file__).resolve().parents[2]


def app_test(page: str = "heads", timeout: int = 60) -> AppTest:
    """The app as a link to a page opens it, not yet run. page: its folder under pages/."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=timeout)
    if page != "heads":
        # `switch_page` finds a page of st.navigation after the first run only; that run would be another page's.
        app._page_hash = calc_hash(page)
    return app
