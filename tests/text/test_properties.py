"""What holds for every text that can be typed, and for every link that can be sent."""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer
from pages.frame import state as shared
from tests.support.build import VARIANTS, tiny_config, tiny_model, tiny_pretrained, tiny_tokenizer
from tests.support.payloads import unpack
from tests.support.strategies import SENTENCES, TEXTS, many_switches
from transformer.inference.pretrained import InputError, readable
from transformer.text.tokenizer import PIECE_MARK, UNKNOWN, Tokenizer, clean
from transformer.view.anatomy_state import PLACES, ZOOMS, AnatomyState, anatomy_state_from_browser, steps_of, zooms_of
from transformer.view.pack import full_pack
from transformer.view.state import CHOICES, View, view_from_browser, view_from_params

LAYERS, HEADS = {"encoder_self": 3, "decoder_self": 2, "cross": 2}, 3


@functools.cache
def tokenizers() -> dict[str, Tokenizer]:
    """One learned here, that of the translator, and one whose pieces are small letters."""
    trained = {name: transformer.load(name).tokenizer for name in ("en-de", "reverse")}
    return {"tiny": tiny_tokenizer(), **trained}  # type: ignore[dict-item]


def covered(tokenizer: Tokenizer, text: str) -> str:
    """What the surfaces of a text's pieces cover, the marks read as the blanks they stand for."""
    return "".join(tokenizer.surfaces(text)).replace(PIECE_MARK, " ").strip(" ")


# -- tokens ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiny", "en-de", "reverse"])
@given(text=TEXTS)
@settings(max_examples=150)
def test_surfaces_cover_the_text(name: str, text: str) -> None:
    """One a piece, none lost and none twice: side by side they are what SentencePiece makes of the text."""
    tokenizer = tokenizers()[name]
    ids = tokenizer.encode(text)
    assert len(tokenizer.surfaces(text)) == len(tokenizer.pieces(ids)) == len(ids)
    assert all(tokenizer.surfaces(text))
    normalised = tokenizer._processor.Normalize(clean(text))
    assert covered(tokenizer, text) == normalised.replace(PIECE_MARK, " ").strip(" ")
    for piece, surface in zip(tokenizer.pieces(ids), tokenizer.surfaces(text), strict=True):
        assert surface == piece or piece == "<unk>"


def ordinary(text: str) -> bool:
    """Whether NFKC and SentencePiece's table of signs (blanks, joiners, tildes) leave a text alone."""
    alone = all(unicodedata.category(one)[0] in "LMNPS" or one == " " for one in text)
    return (
        alone and unicodedata.normalize("NFKC", text) == text and not set(text) & {PIECE_MARK, "\ufffd", "～", "\u034f"}
    )


@pytest.mark.parametrize("name", ["tiny", "en-de"])
@given(text=TEXTS.map(clean).filter(ordinary))
@settings(max_examples=100)
def test_a_text_that_needs_no_normalising_is_covered_letter_by_letter(name: str, text: str) -> None:
    assert covered(tokenizers()[name], text) == text


@pytest.mark.parametrize("name", ["tiny", "en-de", "reverse"])
@given(text=TEXTS)
@settings(max_examples=100)
def test_encoded_text_is_decoded_unchanged(name: str, text: str) -> None:
    """Without an unknown character: the text as it was normalised, which is encoded to the same ids again."""
    tokenizer = tokenizers()[name]
    ids = tokenizer.encode(text)
    decoded = tokenizer.decode(ids)
    if UNKNOWN not in ids:
        assert decoded == covered(tokenizer, text)
        assert tokenizer.encode(decoded) == ids
    else:
        assert "\u2047" in decoded


@given(SENTENCES)
@settings(max_examples=100)
def test_a_sentence_in_the_models_language_survives_encoding(text: str) -> None:
    tokenizer = tokenizers()["tiny"]
    assert tokenizer.decode(tokenizer.encode(text)) == text


# -- traces ---------------------------------------------------------------------------------------------------------


@given(TEXTS, TEXTS)
@settings(max_examples=60)
def test_every_text_is_traced_or_refused_in_a_sentence(source: str, target: str) -> None:
    """Axes have a label for every token, none empty; what goes to the browser holds the same."""
    model = tiny_pretrained()
    try:
        trace = model.trace(source, target, limit=24)
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 200 and error.side in ("source", "target")
        return
    pairs = [
        (trace.source_tokens, trace.source_labels, trace.source_ids),
        (trace.target_in, trace.target_in_labels, trace.target_in_ids),
        (trace.target_out, trace.target_out_labels, trace.target_out_ids),
    ]
    for tokens, labels, ids in pairs:
        assert len(tokens) == len(labels) == len(ids) and all(labels)
        assert tuple(model.tokenizer.pieces(ids)) == tokens
    assert trace.source_labels == (*readable(model.tokenizer.surfaces(source)), "</s>")
    assert trace.cross.weights.shape[2:] == (len(trace.target_in), len(trace.source_tokens))
    header, _ = unpack(full_pack(trace, View()))
    for side, labels in (("source", trace.source_labels), ("target_out", trace.target_out_labels)):
        assert header["labels"][side] == [label.encode("utf-8", "replace").decode() for label in labels]


# -- links ----------------------------------------------------------------------------------------------------------

choice = {name: st.sampled_from(values) for name, values in CHOICES.items()}
views = st.builds(
    View,
    **choice,
    layer=st.none() | st.integers(0, 1),
    head=st.none() | st.integers(0, HEADS - 1),
    threshold=st.integers(0, 10_000).map(lambda number: number / 10_000),
    cell=st.none() | st.tuples(st.integers(0, 127), st.integers(0, 127)),
    big=st.booleans(),
)


def in_link(view: View) -> View:
    """The view without what belongs to the viewer."""
    return replace(view, big=False)


@given(views)
@settings(max_examples=200)
def test_a_view_is_read_back_from_the_link_and_from_the_browser(view: View) -> None:
    assert view_from_params(view.to_params(), LAYERS, HEADS) == (in_link(view), [])
    assert view_from_browser(view.to_browser(), LAYERS, HEADS, View(cell=(1, 1))) == view


@pytest.mark.slow
@given(TEXTS, TEXTS, views, st.data())
@settings(max_examples=100)
def test_a_link_reopens_the_senders_view(source: str, target: str, view: View, data: st.DataObject) -> None:
    """Through the address bar: written by one session, sent as text, read by another."""
    switches = data.draw(many_switches(tiny_model(), 9, most=6))
    bar: dict[str, str] = {}
    fake = SimpleNamespace(
        query_params=SimpleNamespace(
            to_dict=lambda: dict(bar), from_dict=lambda params: (bar.clear(), bar.update(params))
        ),
        session_state={},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "st", fake)
        patch.setattr(shared.session_models, "names", lambda: ["first", "mine"])
        patch.delenv("HEADSCOPE_CHECKPOINT", raising=False)
        shared.write_address(shared.State("mine", source, target, view, switches), {"part": "leak"}, ("part",))
        link = urlencode(bar)
        bar.clear()
        bar.update({name: values[0] for name, values in parse_qs(link, keep_blank_values=True).items()})
        there = shared.arrive(["first", "mine"])
    sent = {text: text.encode("utf-8", "replace").decode() for text in (source, target)}  # no link holds a surrogate
    assert (there.checkpoint, there.source, there.target) == ("mine", sent[source], sent[target])
    assert not there.notices
    assert view_from_params(bar, LAYERS, HEADS) == (in_link(view), [])
    assert shared.read_switches(bar, tiny_config()) == (switches, [])
    assert bar["part"] == "leak"


# What a browser may report, or somebody who plays one.
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
reports = st.fixed_dictionaries(
    {},
    optional={
        **{name: anything | st.integers(-2, 9) for name in ("encoder", "decoder", "head", "row", "col", "t", "matrix")},
        "zoom": anything | st.sampled_from(ZOOMS),
        "place": anything | st.sampled_from(PLACES),
        "step": anything | st.sampled_from(("x", "norm", "dot", "softmax", "inner", "add", "logits")),
    },
)


@given(reports, st.sampled_from(VARIANTS))
@settings(max_examples=200)
def test_where_one_stands_in_the_anatomy_exists(report: dict[str, Any], changes: dict[str, Any]) -> None:
    """Whatever is reported becomes a place of the model, and a place that exists stays where it is."""
    config = tiny_config(**changes)
    stand = anatomy_state_from_browser(report, config)
    assert stand.step in steps_of(stand.place, config) and stand.zoom in zooms_of(stand.place)
    assert 0 <= stand.head < config.heads
    assert 0 <= stand.encoder < config.encoder_layers and 0 <= stand.decoder < config.decoder_layers
    assert anatomy_state_from_browser(stand.to_browser(), config) == stand
    assert isinstance(stand, AnatomyState)
