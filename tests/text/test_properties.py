"""What holds for every text that can be typed, and for every link that can be sent."""

import functools
import io
import json
import unicodedata
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer
from pages.frame import state as shared
from pages.runtime import session
from tests.fuzz.common import MARKUP, TEXTS, TYPED, examples, one_sentence
from tests.support.build import tiny_config, tiny_model, tiny_pretrained
from tests.support.payloads import unpack
from tests.support.strategies import SENTENCES, many_switches
from transformer.inference.pretrained import InputError, Pretrained, readable
from transformer.text.tokenizer import PIECE_MARK, UNKNOWN, Tokenizer, clean
from transformer.tracing.export import npz
from transformer.view.pack import full_pack
from transformer.view.page import html_page
from transformer.view.state import CHOICES, View, view_from_browser, view_from_params

LAYERS, HEADS = {"encoder_self": 3, "decoder_self": 2, "cross": 2}, 3


@functools.cache
def opened(name: str) -> Pretrained:
    """One made here, the translator, or one whose pieces are small letters."""
    return tiny_pretrained() if name == "tiny" else transformer.load(name)


def covered(tokenizer: Tokenizer, text: str) -> str:
    """What the surfaces of a text's pieces cover, the marks read as the blanks they stand for."""
    return "".join(tokenizer.surfaces(text)).replace(PIECE_MARK, " ").strip(" ")


# -- tokens ---------------------------------------------------------------------------------------------------------


@given(TYPED)
@examples(100)
def test_a_cleaned_text_has_no_controls_and_no_double_blanks(text: str) -> None:
    cleaned = clean(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in cleaned)
    assert cleaned == cleaned.strip() == clean(cleaned) and "  " not in cleaned


@pytest.mark.parametrize("name", ["tiny", "en-de", "reverse"])
@given(text=TEXTS)
@examples(150)
def test_surfaces_cover_the_text(name: str, text: str) -> None:
    """One a piece, none lost and none twice: side by side they are what SentencePiece makes of the text, and markup
    never becomes a special token."""
    tokenizer = opened(name).tokenizer
    ids = tokenizer.encode(text)
    assert len(tokenizer.surfaces(text)) == len(tokenizer.pieces(ids)) == len(ids)
    assert all(tokenizer.surfaces(text))
    assert all(0 <= one < len(tokenizer) for one in ids) and not {0, 2, 3} & set(ids)
    (tokenizer.decode(ids) + "".join(tokenizer.surfaces(text))).encode("utf-8")
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
    assert covered(opened(name).tokenizer, text) == text


@pytest.mark.parametrize("name", ["tiny", "en-de", "reverse"])
@given(text=TEXTS)
@settings(max_examples=100)
def test_encoded_text_is_decoded_unchanged(name: str, text: str) -> None:
    """Without an unknown character: the text as it was normalised, which is encoded to the same ids again."""
    tokenizer = opened(name).tokenizer
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
    tokenizer = opened("tiny").tokenizer
    assert tokenizer.decode(tokenizer.encode(text)) == text


# -- traces ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::transformer.OutsideWarning")
@pytest.mark.parametrize("name", ["tiny", "reverse", "en-de"])
@given(source=TYPED, target=st.none() | TYPED)
@examples(60)
def test_every_text_is_traced_or_refused_in_a_sentence(name: str, source: str, target: str | None) -> None:
    """Axes have a label for every token, none empty; what goes to the browser holds the same."""
    model = opened(name)
    try:
        trace = model.trace(source, target, limit=24)
    except InputError as error:
        one_sentence(str(error), 200)
        assert error.side in ("source", "target")
        return
    pairs = [
        (trace.source_tokens, trace.source_labels, trace.source_ids),
        (trace.target_in, trace.target_in_labels, trace.target_in_ids),
        (trace.target_out, trace.target_out_labels, trace.target_out_ids),
    ]
    for tokens, labels, ids in pairs:
        assert len(tokens) == len(labels) == len(ids) <= 25 and all(label.strip() for label in labels)
        assert tuple(model.tokenizer.pieces(ids)) == tokens
    assert trace.source_labels == (*readable(model.tokenizer.surfaces(source)), "</s>")
    assert trace.cross.weights.shape[2:] == (len(trace.target_in), len(trace.source_tokens))
    for attention in (trace.encoder_self, trace.decoder_self, trace.cross):
        assert torch.isfinite(attention.weights).all() and float((attention.weights.sum(-1) - 1).abs().max()) < 1e-5
    header, _ = unpack(full_pack(trace, View()))
    for side, labels in (("source", trace.source_labels), ("target_out", trace.target_out_labels)):
        assert header["labels"][side] == [label.encode("utf-8", "replace").decode() for label in labels]


@pytest.mark.filterwarnings("ignore::transformer.OutsideWarning")
@pytest.mark.parametrize("name", ["tiny", "reverse"])
@given(text=TYPED, beam=st.sampled_from((1, 2)))
@examples(30)
def test_every_text_is_translated_or_refused_in_a_sentence(name: str, text: str, beam: int) -> None:
    try:
        opened(name).translate(text, limit=24, beam=beam).text.encode("utf-8")
    except InputError as error:
        one_sentence(str(error), 200)


@pytest.mark.filterwarnings("ignore::transformer.OutsideWarning")
@given(st.sampled_from(MARKUP) | TEXTS, TEXTS)
@examples(40)
def test_texts_are_data_in_the_files_that_are_downloaded(source: str, target: str) -> None:
    """Arrays with an index, and a page without any markup of the texts."""
    model = opened("reverse")
    try:
        trace = model.trace(source, target or None, limit=60)
    except InputError:
        return
    with np.load(io.BytesIO(npz(trace)), allow_pickle=False) as file:
        index = json.loads(bytes(file["index.json"]).decode())
    assert index["target_out"] == list(trace.target_out) and len(index["source_tokens"]) == len(trace.source_tokens)
    page, harmless = (html_page(one, View()).lower() for one in (trace, model.trace("a", limit=60)))
    for word in ("<script", "</script", "<img", "<!--"):
        assert page.count(word) == harmless.count(word), f"{word} of the text stands in the page"


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
        patch.setattr(session, "st", fake)
        patch.setattr(shared.session_models, "names", lambda: ["first", "mine"])
        patch.delenv("HEADSCOPE_CHECKPOINT", raising=False)
        shared.write_address(shared.State("mine", source, target, view, switches), {"part": "leak"}, ("part",))
        link = urlencode(bar)
        bar.clear()
        bar.update({name: values[0] for name, values in parse_qs(link, keep_blank_values=True).items()})
        there = shared.state_of_link(["first", "mine"])
    # No link holds a surrogate; a text that is too long stays too long.
    most = shared.max_characters() + 1
    sent = {text: text[:most].encode("utf-8", "replace").decode() for text in (source, target)}
    assert (there.checkpoint, there.source, there.target) == ("mine", sent[source], sent[target])
    assert not there.notices
    assert view_from_params(bar, LAYERS, HEADS) == (in_link(view), [])
    assert shared.read_switches(bar, tiny_config()) == (switches, [])
    assert bar["part"] == "leak"
