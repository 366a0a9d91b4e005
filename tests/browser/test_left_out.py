"""The anatomy and the lab, in a browser, of models that a part of the paper was taken away from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.anatomy_page import Anatomy
from tests.browser.navigation import opened_at
from tests.support.build import saved_variants
from tests.support.server import start, stop
from transformer.inference.pretrained import load
from transformer.model.config import ModelConfig
from transformer.view.anatomy_state import PLACES, steps_of

KINDS: dict[str, dict[str, Any]] = {
    "bare": {"residual": False, "norm": "none", "heads": 1, "decoder_layers": 1},
    "unmasked": {"causal": False, "positions": "none", "scaling": False},
}
# Press the right arrow so many times; where it stands each time, and how many matrices are drawn there.
WALK = """async ({ anatomy }, times) => {
  const walked = [];
  for (let i = 0; i < times; i++) {
    const { place, step } = anatomy.state;
    const matrices = () => anatomy.scene.filter((item) => item.kind === "matrix").length;
    const there = () => !anatomy.data.waiting && (matrices() || place === "output");
    for (let looks = 0; looks < 1000 && !there(); looks++) await new Promise((done) => setTimeout(done, 10));
    walked.push([place, step, matrices()]);
    anatomy.element.querySelector("[data-testid=anatomy-stage]")
      .dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, composed: true }));
  }
  return walked;
}"""
TEXTS = {"source": "ka lo minu re", "target": "zen pol vu ti"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_variants(tmp_path_factory.mktemp("left-out"), KINDS)


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "log"
    process, address = start(log, HEADSCOPE_CHECKPOINTS=str(folder))
    yield address
    stop(process)


def stops(config: ModelConfig) -> list[tuple[str, str]]:
    """(place, step) of every stop at the zoom "sub", in the order of the pass."""
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    places = []
    for side, stack in (("source", "encoder"), ("target", "decoder")):
        inside = [place for place in PLACES if place.startswith(f"{stack}.")]
        places += [side, *inside * layers[stack]]
    return [(place, step) for place in (*places, "output") for step in steps_of(place, config)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_anatomy_shows_only_the_steps_of_the_model(
    context: BrowserContext, server: str, folder: Path, kind: str
) -> None:
    """Every step from the first to the last by the arrow key, each drawn; and from afar only the connections there
    are."""
    config = load(folder / kind).config
    page = Anatomy(context.new_page(), server, checkpoint=kind, zoom="sub", place="source", **TEXTS)
    page.page.emulate_media(reduced_motion="reduce")  # no drawing moves, so nothing is waited for
    walked = page.element.evaluate(WALK, len(stops(config)))
    assert [(place, step) for place, step, _ in walked] == stops(config)
    assert [place for place, _, drawn in walked if not drawn and place != "output"] == []
    page.go(zoom="model", place="decoder.self")
    keys = page.read("anatomy.scene.map((item) => item.key)")
    assert bool([key for key in keys if key.startswith("around:")]) == config.residual
    assert bool([key for key in keys if key.startswith("pill:")]) == (config.residual or config.norm == "post")


def test_the_lab_cannot_switch_off_a_mask_the_model_lacks(context: BrowserContext, server: str) -> None:
    page = opened_at(context, f"{server}/lab", "[data-testid=lab][data-drawn]", checkpoint="unmasked", **TEXTS)
    buttons = [page.get_by_test_id(f"causal-{name}") for name in ("on", "off")]
    assert [button.get_attribute("aria-pressed") for button in buttons] == ["false", "true"]
    assert all(button.is_disabled() for button in buttons)
    expect(page.get_by_test_id("lab-kind-decoder_self")).to_have_text("Decoder self (no mask)")
