"""The part Search: what is found is what the traces hold, in the probe set and in a text of one's own."""

import base64
import functools
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.roles import search
from pages.roles.search import OWN
from tests.support.app import address, finish_task, messages, open_link, page_text
from transformer.probing.probes import probe_pairs
from transformer.probing.search import search_attention, search_neuron

pytestmark = pytest.mark.usefixtures("bundled")
open_search = functools.partial(open_link, "roles", part="search", checkpoint="en-de")


def links(app: AppTest) -> list[str]:
    return [one.proto.query_string for one in app.get("page_link") if "source=" in one.proto.query_string]


def test_a_head_is_searched_and_examples_open_its_sentences() -> None:
    app = open_search(head="cross.4.6", least="0.4", **{"from": "Hund", "to": "dog"})
    assert not messages(app)
    model = transformer.load("en-de")
    found = search_attention(model, probe_pairs(model) or [], "cross", 3, 5, 0.4, "hund", "dog")
    assert f"{found.count} weights of at least 0.4" in page_text(app)
    assert len(links(app)) == min(12, found.count)
    if found.count:
        hit = found.hits[0]
        assert f"cell={hit.row + 1}%2C{(hit.column or 0) + 1}" in links(app)[0] and "layer=4&head=6" in links(app)[0]
    assert {"head": "cross.4.6", "from": "Hund", "to": "dog"}.items() <= address(app).items()


def test_a_neuron_is_searched() -> None:
    app = open_search(what="neuron", stack="decoder", layer="2", neuron="7", fires="0.2")
    assert not messages(app)
    model = transformer.load("en-de")
    found = search_neuron(model, probe_pairs(model) or [], "decoder", 1, 6, 0.2)
    assert f"on {found.count:,} of {found.rows:,} tokens" in page_text(app)
    assert all("part=neurons" in link and "neuron=7" in link for link in links(app))


def test_a_text_of_ones_own_is_searched_on_demand() -> None:
    app = open_search(head="encoder_self.1.1", least="0.01", panel="own")
    app.text_area(key=OWN).set_value("\nI see a dog.\tIch sehe einen Hund.\n\n \nI see.\tIch sehe.\n\n").run()
    assert not app.exception and not links(app)
    assert app.button(key="hs-task-start").label == "Search 2 lines"
    assert "of 2 sentences" in page_text(finish_task(app))
    assert links(app) and all("source=I+see" in link for link in links(app))


def test_a_text_with_too_many_lines_is_refused() -> None:
    app = open_search(panel="own")
    app.text_area(key=OWN).set_value("a\n" * 5_001).run()
    assert not app.exception and not any(button.key == "hs-task-start" for button in app.button)
    assert "The text has 5,001 lines; at most 5,000 are searched, so leave out 1." in messages(app)
    assert app.text_area(key=OWN).value == "a\n" * 5_001


@pytest.mark.parametrize(
    "text, said",
    [
        ("a\n" + "b" * 1_001, "Line 2 has 1,001 characters; at most 1,000 are allowed, shorten it."),
        ("a\n\n\tb", "Line 3: the source text is empty; type a sentence of up to 512 tokens."),
    ],
)
def test_a_line_that_cannot_be_searched_is_named_and_the_text_stays(text: str, said: str) -> None:
    app = open_search(panel="own")
    app.text_area(key=OWN).set_value(text).run()
    assert said in messages(finish_task(app))
    assert app.text_area(key=OWN).value == text


@pytest.mark.parametrize(
    "data, said",
    [
        (b"a\n" * 5_001, "the text has 5,001 lines; at most 5,000 are searched, so leave out 1"),
        (b"\n \n", "the text is empty; give one sentence a line"),
        (b"ab\xff", "byte 3 is not UTF-8; save the file as UTF-8"),
        (b"a\0b", "it has a zero byte; choose a text file"),
        (b"a" * 1_000_001, "the text has 1,000,001 characters; at most 1,000,000 are searched, so shorten it"),
        (b"\xef\xbb\xbf" + b"a\tb\r\n" * 5_000 + b"\n", None),
    ],
)
def test_a_file_of_ones_own_goes_into_the_field(data: bytes, said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    notices: list[str] = []
    file = {"name": "mine.txt", "data": base64.b64encode(data).decode()}
    session: dict[str, Any] = {OWN: "typed before", search.FILE: {"file": file}}
    monkeypatch.setattr(search, "add_notices", notices.append)
    monkeypatch.setattr(search.st, "session_state", session)
    search._file_chosen()
    if said:
        assert notices == [f"The file cannot be searched: {said}."] and session[OWN] == "typed before"
    else:
        assert not notices and session[OWN].split("\n") == ["a\tb"] * 5_000
