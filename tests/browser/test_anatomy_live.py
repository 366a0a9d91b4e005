"""The anatomy with the engine, in Chromium: it follows the keys, every step and every switch without the server, and
its numbers are those of Python."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from playwright.sync_api import BrowserContext, expect

import transformer
from tests.browser.anatomy_page import Anatomy
from tests.browser.explorer_page import wait_for_params
from tests.browser.test_live import READY, type_
from transformer.analysis.anatomy import steps
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace

SHOWN = 1e-5  # of the largest number


@pytest.fixture
def anatomy(visitor: BrowserContext, live_server: str) -> Anatomy:
    """A drawing whose numbers come from the engine, in a browser without a network."""
    found = Anatomy(visitor.new_page(), live_server, checkpoint="reverse", source="k a l o", target="")
    found.page.wait_for_function(READY)
    found.page.wait_for_timeout(300)  # its pass over the sentence that is drawn already
    visitor.set_offline(True)
    return found


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return transformer.load("reverse")


def go(anatomy: Anatomy, **partial: object) -> None:
    anatomy.element.evaluate("({ anatomy }, partial) => anatomy.go(partial)", partial)


def until(anatomy: Anatomy, holds: str, value: object) -> None:
    """Until a condition of the drawing and a value holds."""
    handle = anatomy.element.element_handle()
    anatomy.page.wait_for_function(f"([{{ anatomy }}, value]) => {holds}", arg=[handle, value])


def numbers(anatomy: Anatomy, name: str) -> dict[str, Any]:
    """A matrix of the place, as the drawing knows it, once it is there."""
    until(anatomy, "anatomy.data.matrix(value)", name)
    found: dict[str, Any] = anatomy.element.evaluate(
        """({ anatomy }, name) => {
          const { data, shape } = anatomy.data.matrix(name);
          return { shape, data: [...data] };
        }""",
        name,
    )
    return found


def same(anatomy: Anatomy, model: Pretrained, trace: Trace, place: str, *names: str) -> None:
    computed = steps(trace, model.model, place)
    for name in names:
        expected = getattr(computed, name)
        found = numbers(anatomy, f"place.{name}")
        assert found["shape"] == [1, *expected.shape], name
        if expected.dim() == 3:  # heads side by side
            expected = expected.transpose(0, 1).flatten(1)
        size = float(expected[expected.isfinite()].abs().max())
        numpy.testing.assert_allclose(
            found["data"], expected.flatten().numpy(), rtol=0, atol=SHOWN * size, err_msg=name
        )


def test_the_drawing_follows_keys_and_steps_without_the_server(anatomy: Anatomy, model: Pretrained) -> None:
    before = anatomy.element.get_attribute("data-drawn") or ""
    assert "engine" not in before  # the server's picture stays as it is, until something is new
    go(anatomy, zoom="sub", place="decoder.cross", decoder=1, step="softmax")
    assert anatomy.element.get_attribute("data-drawn") == before
    same(anatomy, model, model.trace("k a l o"), "decoder.1.cross", "weights", "scores", "leaves", "b_q")
    type_(anatomy.page, "s t e r n")
    trace = model.trace("s t e r n")
    until(anatomy, "anatomy.data.labels('target_out').join(' ') === value", " ".join(trace.target_out_labels))
    same(anatomy, model, trace, "decoder.1.cross", "weights", "dot", "update", "memory")
    go(anatomy, place="encoder.ff", encoder=0, step="inner")
    same(anatomy, model, trace, "encoder.0.ff", "x", "pre", "b_1", "gamma")
    inner = model.model.encoder[0].feed_forward.inner.weight.t()
    assert numbers(anatomy, "W_1")["data"] == inner.flatten().tolist()
    go(anatomy, place="source", step="row", zoom="number")
    same(anatomy, model, trace, "source", "rows", "positions", "x")


def test_a_switch_is_drawn_at_once_and_the_server_hears_of_it(anatomy: Anatomy, model: Pretrained) -> None:
    go(anatomy, zoom="sub", place="decoder.cross", decoder=1, head=2, step="values")
    anatomy.element.evaluate("({ anatomy }) => anatomy.switches.knock()")
    expect(anatomy.page.get_by_test_id("anatomy-notes")).to_contain_text("Switched:")
    trace = model.retrace(model.trace("k a l o"), Interventions.parse({"zero": "cross.2.3"}))
    same(anatomy, model, trace, "decoder.1.cross", "head_outputs", "update")
    notes = anatomy.page.get_by_test_id("anatomy-notes")
    assert notes.inner_text() == "Switched: 1 head knocked out: cross-attention, layer 2, head 3."
    anatomy.page.context.set_offline(False)
    anatomy.told()
    wait_for_params(anatomy.page, zero="cross.2.3", zoom="sub", decoder="2", head="3", step="values")
    same(anatomy, model, trace, "decoder.1.cross", "head_outputs")
