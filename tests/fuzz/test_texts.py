"""Texts, switches, links and reports of browsers made up at random."""

from __future__ import annotations

import functools
import io
import json
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import transformer
from pages.frame.options import _whole
from pages.frame.state import read_switches
from tests.fuzz.common import TEXT, fuzz, one_sentence
from tests.fuzz.links import ANY_REPORT, OTHERS, PARAMS, SWITCH_PARAMS, option
from tests.support.build import tiny_pretrained
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import InterventionError, Interventions, layers_of
from transformer.model.config import ModelConfig
from transformer.text.tokenizer import clean
from transformer.tracing.export import npz
from transformer.tracing.trace import KINDS
from transformer.view import anatomy_state
from transformer.view.page import html_page
from transformer.view.state import CHOICES, View, fit_cell, view_from_browser, view_from_params

pytestmark = pytest.mark.slow  # many cases

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
LIMIT = 24
SMALL = st.sampled_from(("tiny", "reverse"))


@functools.cache
def model(name: str) -> Pretrained:
    return tiny_pretrained() if name == "tiny" else transformer.load(CHECKPOINTS / name)


@fuzz(400)
@given(st.sampled_from(("tiny", "reverse", "en-de")), TEXT)
def test_any_text_is_ids_of_ordinary_pieces_and_a_text_again(name: str, typed: str) -> None:
    cleaned, tokenizer = clean(typed), model(name).tokenizer
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in cleaned)
    assert cleaned == cleaned.strip() and "  " not in cleaned
    ids, surfaces = tokenizer.encode(typed), tokenizer.surfaces(typed)
    assert all(0 <= one < len(tokenizer) for one in ids)
    assert not {0, 2, 3} & set(ids), "markup became a special token"
    assert len(surfaces) == len(ids)
    (tokenizer.decode(ids) + "".join(surfaces)).encode("utf-8")


@fuzz(150)
@given(SMALL, TEXT, st.none() | TEXT, st.sampled_from((None, 1, 2)))
def test_any_text_is_traced_translated_and_exported(name: str, source: str, target: str | None, beam: int) -> None:
    try:
        trace = model(name).trace(source, target, limit=LIMIT)
        if beam:
            model(name).translate(source, limit=LIMIT, beam=beam).text.encode("utf-8")
    except InputError as error:
        return one_sentence(str(error))
    assert len(trace.source_labels) <= LIMIT
    for attention in (trace.encoder_self, trace.decoder_self, trace.cross):
        assert float((attention.weights.sum(-1) - 1).abs().max()) < 1e-5  # and finite
    with np.load(io.BytesIO(npz(trace)), allow_pickle=False) as file:
        index = json.loads(bytes(file["index.json"]).decode())
    assert index["target_out"] == list(trace.target_out) and len(index["source_tokens"]) == len(trace.source_tokens)
    plain, page = (html_page(one, View()) for one in (model(name).trace("a", limit=LIMIT), trace))
    for word in ("<script", "</script", "<img", "<!--"):
        assert page.lower().count(word) == plain.lower().count(word), f"{word!r} of the text stands in the page"


@fuzz(600)
@given(SWITCH_PARAMS, st.integers(0, 2), st.integers(0, 4))
def test_any_switch_is_set_or_refused_in_one_sentence(asked: dict[str, str], form: int, traced: int) -> None:
    lines = [f"{name}={text}" for name, text in asked.items()]
    try:
        found = Interventions.parse((asked, lines, " ".join(lines))[form])
        for again in (Interventions.parse(found.to_params()), Interventions.parse(str(found))):
            assert again == found and hash(again) == hash(found) and again.to_params() == found.to_params()
        found.check(model("reverse").config)
        if not traced:
            model("reverse").trace("abc", limit=12, interventions=found)
    except (InputError, InterventionError) as error:
        one_sentence(str(error))


def check_view(view: View, config: ModelConfig) -> None:
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    assert all(getattr(view, name) in allowed for name, allowed in CHOICES.items())
    deepest = max(layers.values()) if view.kind == "all" else layers[view.kind]
    assert view.layer is None or (type(view.layer) is int and 0 <= view.layer < deepest)
    assert view.head is None or (type(view.head) is int and 0 <= view.head < config.heads)
    assert type(view.threshold) is float and 0 <= view.threshold <= 1
    assert view.big in (True, False) and (view.cell is None or all(type(part) is int for part in view.cell))
    assert view_from_params(view.to_params(), layers, config.heads) == (
        replace(view, big=False),
        [],
    )  # big: the viewer's
    fitted = fit_cell(view, 3, 4)
    assert fitted.cell is None or (fitted.cell[0] < 3 and fitted.cell[1] < 4)


@fuzz(500)
@given(SMALL, PARAMS, option("row"))
def test_any_link_gives_a_valid_state(name: str, asked: dict[str, str], row: str) -> None:
    config = model(name).config
    view, notices = view_from_params(asked, {kind: layers_of(config, kind) for kind in KINDS}, config.heads)
    check_view(view, config)
    wanted, wrong = read_switches(asked, config)
    wanted.check(config)
    assert Interventions.parse(wanted.to_params()) == wanted == Interventions.parse(str(wanted))
    for sentence in (*notices, *wrong):
        one_sentence(sentence)
    assert len(notices) + len(wrong) <= len(set(asked) & {*CHOICES, *OTHERS, *Interventions.PARAMS})
    assert type(_whole(row, 0)) is type(_whole(row, 7)) is int


@fuzz(500)
@given(SMALL, ANY_REPORT)
def test_any_report_of_a_browser_gives_a_valid_state(name: str, values: Any) -> None:
    config = model(name).config
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    check_view(view_from_browser(values, layers, config.heads, View()), config)
    stand = anatomy_state.anatomy_state_from_browser(values if isinstance(values, dict) else {}, config)
    assert stand.zoom in anatomy_state.zooms_of(stand.place)
    assert stand.step in anatomy_state.steps_of(stand.place, config)
    assert anatomy_state.anatomy_state_from_browser(stand.to_browser(), config) == stand
    assert 0 <= stand.encoder < config.encoder_layers and 0 <= stand.decoder < config.decoder_layers
    assert 0 <= stand.head < config.heads and stand.col >= -1 and min(stand.row, stand.t) >= 0
