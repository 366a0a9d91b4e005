"""What goes to the browser: state, bytes, code and pages."""

import base64
import dataclasses
import html
import re

import numpy as np
import pytest
import torch

from tests.support.build import tiny_pretrained
from tests.support.payloads import array, unpack
from transformer.analysis.attention import summarise
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import KINDS, Trace
from transformer.view.pack import feed_pack, full_pack, wording
from transformer.view.page import html_page, notebook_cell
from transformer.view.state import CHOICES, View, fit_cell, view_from_browser, view_from_params

LAYERS = {"encoder_self": 3, "decoder_self": 2, "cross": 2}


@pytest.fixture(scope="module")
def trace() -> Trace:
    return tiny_pretrained().trace("ka lomi nu.", "re <b>sta</b>")


def test_a_link_has_the_whole_state_and_is_read_back() -> None:
    view = View(
        "all", None, 2, "fed", "words", "renormalised", "head", "max", 0.25, "lines", (3, 4), True, meanings="on"
    )
    params = view.to_params()
    assert params["head"] == "3" and params["cell"] == "4,5" and params["layer"] == "all" and params["meanings"] == "on"
    assert view_from_params(params, LAYERS, 3) == (dataclasses.replace(view, big=False), [])  # big is the viewer's
    assert view_from_params({**params, "big": "1"}, LAYERS, 3) == (view, [])
    assert view_from_params(View().to_params(), LAYERS, 3) == (View(), [])
    assert set(View().to_params()) == {"kind", "layer", "head"}


BAD = ("", "0", "-1", "1e99", "nan", "²", "9" * 5000, "<script>", "\x00", "../../etc", "٣")


@pytest.mark.parametrize("name", [*CHOICES, "layer", "head", "threshold", "cell", "big", "training"])
def test_invalid_values_fall_back_and_are_reported(name: str) -> None:
    for value in BAD:
        if value == "0" and name in ("threshold", "big", "training"):
            continue
        view, (notice,) = view_from_params({name: value}, LAYERS, 3)
        assert view == View() and len(notice) < 200
        assert notice.startswith(f"The link asks for {name} ") and "; choose " in notice


def test_layer_is_bounded_by_the_kind_it_belongs_to() -> None:
    assert view_from_params({"kind": "encoder_self", "layer": "3"}, LAYERS, 3)[0].layer == 2
    view, notices = view_from_params({"kind": "cross", "layer": "3"}, LAYERS, 3)
    assert view.layer == 0 and notices == ["The link asks for layer '3'; choose a number from 1 to 2, or all."]
    assert view_from_params({"kind": "cross"}, LAYERS, 3, View(layer=2))[0].layer == 1


def test_the_browser_is_checked_like_a_link() -> None:
    start = View(head=1, cell=(1, 1))
    good = View("encoder_self", 2, None, cell=(0, 3), threshold=0.5, big=True)
    assert view_from_browser(good.to_browser(), LAYERS, 3, start) == good
    assert view_from_browser({"cell": None}, LAYERS, 3, start).cell is None
    for bad in (None, 7, [], {"head": 99, "kind": ["x"], "cell": ["a", {}], "layer": 1.5, "threshold": "inf"}):
        assert view_from_browser(bad, LAYERS, 3, start) == start


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**9, float("inf"), float("nan")])
def test_the_browser_may_name_numbers_of_any_size(number: float) -> None:
    start = View(layer=1, head=2, threshold=0.5, cell=(1, 1))
    values = {"layer": number, "head": number, "cell": [number, 0], "threshold": number}
    assert view_from_browser(values, LAYERS, 3, start) == start


def test_a_cell_outside_the_picture_is_forgotten() -> None:
    assert fit_cell(View(cell=(4, 6)), 5, 7).cell == (4, 6)
    assert fit_cell(View(cell=(5, 0)), 5, 7).cell is fit_cell(View(cell=(0, 7)), 5, 7).cell is None


def test_pictures_are_the_weights_in_eight_bits(trace: Trace) -> None:
    header, data = unpack(full_pack(trace, View(), revision=4))
    assert header["id"] == trace.id and header["exact"] == [] and header["texts"] == {}
    assert header["state"]["revision"] == 4
    for kind in KINDS:
        weights = trace.attention(kind).weights.numpy()
        picture = array(header["kinds"][kind]["picture"], data)
        assert picture.shape == weights.shape
        assert np.abs(picture / 255 - weights).max() <= 0.5 / 255 + 1e-7
        assert header["kinds"][kind]["checks"]["recomputed"] < 1e-5
    assert header["kinds"]["decoder_self"]["columns"] == "target_in"
    assert header["tokens"]["target_in"] == list(trace.target_in)
    for side, tokens in header["tokens"].items():
        assert len(tokens) == len(header["labels"][side]) == len(header["words"][side]) == len(header["special"][side])
        assert len(header["word_labels"][side]) == header["words"][side][-1] + 1


def test_a_lonely_page_carries_every_number(trace: Trace) -> None:
    header, data = unpack(full_pack(trace, View(), exact=True))
    assert len(header["exact"]) == 3 * 2 * 3
    for entry in header["exact"]:
        part = trace.attention(entry["kind"])
        for name in ("weights", "queries", "keys", "values"):
            assert np.array_equal(array(entry[name], data), getattr(part, name)[entry["layer"], entry["head"]].numpy())


@pytest.mark.parametrize("layer", [None, 1])
@pytest.mark.parametrize("head", [None, 2])
def test_the_feed_has_the_selected_numbers(trace: Trace, layer: int | None, head: int | None) -> None:
    header, data = unpack(feed_pack(trace, View("all", layer, head, summary="max")))
    assert [entry["kind"] for entry in header["exact"]] == list(KINDS)
    for entry in header["exact"]:
        expected = summarise(trace.attention(entry["kind"]).weights, layer, head, "max")
        assert np.array_equal(array(entry["weights"], data), expected.numpy())
        assert ("queries" in entry) == (layer is not None and head is not None)
        assert entry["layer"] == ("all" if layer is None else layer)


def test_trace_id_changes_with_every_weight(trace: Trace) -> None:
    model = tiny_pretrained()
    edited = model.trace("ka lomi nu.", "re <b>sta</b>", edits={"decoder.1.cross.weights": torch.zeros_like})
    same = model.trace("ka lomi nu.", "re <b>sta</b>")
    assert same.id == trace.id != edited.id


def test_the_page_stands_alone_and_text_stays_text() -> None:
    text = "</title><script>alert(1)</script>\"'&"
    trace = tiny_pretrained().trace(text, text)
    page = html_page(trace, View(kind="all"))
    assert "<script>alert" not in page and html.escape(text) in page
    assert not re.findall(r'\s(?:src|href)="', page) and not re.findall(r"https?://(?!www\.w3\.org/)", page)
    pack = base64.b64decode(re.findall(r'id="pack">([A-Za-z0-9+/=]+)</script>', page)[0])
    header, _ = unpack(pack)
    assert header["state"]["kind"] == "all" and header["id"] == trace.id
    assert page.count("</script>") == 2


def test_a_trace_shows_itself_in_a_notebook(trace: Trace) -> None:
    cell = trace._repr_html_()
    assert cell == notebook_cell(trace) and cell.startswith("<iframe srcdoc=")
    assert html.unescape(re.findall(r'srcdoc="([^"]*)"', cell)[0]) == html_page(trace)


def test_a_switched_trace_has_its_own_masks_scales_and_rules() -> None:
    switches = Interventions.parse(
        "scaling=0.5@cross.1 causal=off@decoder_self.1.2 padding=off@encoder_self.1 pad=2 zero=cross.2.3 "
        "weights=uniform@decoder_self.2 mean=cross.1.1"
    )
    trace = tiny_pretrained().trace("ka lomi nu.", "re sta", interventions=switches)
    header, data = unpack(full_pack(trace, View(), exact=True))
    for kind in KINDS:
        about, part = header["kinds"][kind], trace.attention(kind)
        assert (about["zero"], about["replaced"]) == (part.zero.tolist(), part.replaced.tolist())
        masks = array(about["masks"], data) if about["masks"] else None
        for layer in range(part.layers):
            for head in range(part.heads):
                hidden = masks[about["mask_of"][layer][head]] if masks is not None else 0
                assert np.array_equal(np.broadcast_to(hidden, part.mask.shape[2:]), ~part.mask[layer, head].numpy())
        assert about["checks"]["recomputed"] < about["checks"]["tolerance"]
    assert header["kinds"]["cross"]["zero"][1] == [False, False, True]
    scales = {(one["kind"], one["layer"]): (one["scale"], one["rule"]) for one in header["exact"]}
    assert scales["cross", 0] == (0.5, 0) and scales["cross", 1] == (pytest.approx(22**-0.5), 0)
    assert scales["decoder_self", 1][1] == 1
    page = html_page(trace)
    assert "switched: scaling=0.5@cross.1" in page


def test_the_name_of_masked_attention_says_when_its_mask_is_off() -> None:
    names = {
        "": None, "scaling=off": None, "causal=off": "Decoder self (mask off)",
        "causal=off@decoder_self.1": "Decoder self (mask partly off)",
        "causal=off@decoder_self.1,off@decoder_self.2": "Decoder self (mask off)",
    }  # fmt: skip
    for text, name in names.items():
        trace = tiny_pretrained().trace("ka lomi nu.", "re sta", interventions=Interventions.parse(text))
        assert wording(trace).get("kind_decoder_self") == name, text


def test_heads_that_see_everything_send_no_mask(trace: Trace) -> None:
    header, _ = unpack(full_pack(trace, View()))
    assert header["kinds"]["cross"]["masks"] is None and header["kinds"]["decoder_self"]["masks"]["shape"][0] == 1
