"""The style of a page comes once: with the page if a server sends it, else with every run."""

import asyncio

import pytest

from pages.frame.styles import STYLES, first_style, folded, run_style
from pages.runtime.streamlit import SERVER


def test_a_run_sends_only_what_the_served_page_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SERVER, "loop", None)
    alone = run_style("paper", big=True, narrow=True)
    monkeypatch.setattr(SERVER, "loop", asyncio.new_event_loop())
    served = run_style("paper", big=True, narrow=True)
    assert SERVER.loop is not None
    SERVER.loop.close()
    assert first_style() == STYLES["frame"] + folded()
    assert served == f"<style>{STYLES['paper']}{folded(True)}:root{{--hs-scale:1.3}}</style>"
    assert alone == served.replace("<style>", f"<style>{STYLES['frame']}") and len(served) < len(alone) / 5
