"""The alignment of the typed sentence: links of the best head, drawn between the words."""

import functools
import json

import pytest

import transformer
from pages.heads.alignment import best_source, links_of
from tests.support.app import components, open_link, page_text
from transformer.analysis.alignment import words_of
from transformer.probing.alignment import align

pytestmark = pytest.mark.usefixtures("bundled")
open_heads = functools.partial(open_link, "heads", panel="alignment")


def test_the_links_are_those_of_the_command_align() -> None:
    pair = ("The dog sleeps.", "Der Hund schläft.")
    model = transformer.load("en-de")
    source = best_source(model)
    links = links_of(model, model.trace(*pair), source)
    assert links == next(iter(align(model, [pair], source))) and links
    app = open_heads(checkpoint="en-de", source=pair[0], target=pair[1])
    data = json.loads(components(app, "links")[0].json)
    assert {tuple(link) for link in data["links"]} == links
    assert (tuple(data["sources"]), tuple(data["targets"])) == (words_of(pair[0]), words_of(pair[1]))
    assert "of cross-attention" in page_text(app)


def test_a_sentence_of_a_toy_has_links_too() -> None:
    app = open_heads(checkpoint="reverse", source="abc")
    assert "mean of all heads" in page_text(app)
