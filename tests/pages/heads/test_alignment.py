"""The alignment of the typed sentence: links of the best head, drawn between the words."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.heads.alignment import best_source, links_of
from tests.support.app import ROOT, app_test, components, page_text
from transformer.analysis.alignment import words_of
from transformer.probing.alignment import align


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(ROOT / "checkpoints"))
    return lambda **params: app_test("heads", panel="alignment", **params).run()


def test_the_links_are_those_of_the_command_align(bundled: Callable[..., AppTest]) -> None:
    pair = ("The dog sleeps.", "Der Hund schläft.")
    model = transformer.load("en-de")
    source = best_source(model)
    links = links_of(model, model.trace(*pair), source)
    assert links == next(iter(align(model, [pair], source))) and links
    app = bundled(checkpoint="en-de", source=pair[0], target=pair[1])
    assert not app.exception
    data = json.loads(components(app, "links")[0].json)
    assert {tuple(link) for link in data["links"]} == links
    assert (tuple(data["sources"]), tuple(data["targets"])) == (words_of(pair[0]), words_of(pair[1]))
    assert "of cross-attention" in page_text(app)


def test_a_sentence_of_a_toy_has_links_too(bundled: Callable[..., AppTest]) -> None:
    app = bundled(checkpoint="reverse", source="abc")
    assert not app.exception and "mean of all heads" in page_text(app)
