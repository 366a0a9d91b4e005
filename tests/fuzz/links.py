"""Links and what the browser reports: every parser of the pages' state, apart from a page."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from pages.frame.options import _whole
from pages.frame.state import read_switches
from pages.registry import pages
from tests.fuzz import switches
from tests.fuzz.common import NUMBERS, PATHS, anything, mutated, one_sentence, text
from tests.fuzz.texts import model
from transformer.interventions.sets import Interventions, layers_of
from transformer.model.config import ModelConfig
from transformer.tracing.trace import KINDS
from transformer.view import anatomy_state
from transformer.view.state import CHOICES, View, fit_cell, view_from_browser, view_from_params

OTHERS = ("threshold", "cell", "big", "layer", "head", "part", "training")
NAMES = {page.name: page.content.names for page in pages()}
PARTS = [part for page in pages() for part in page.content.parts()]
WORDS = (
    *anatomy_state.ZOOMS, *anatomy_state.PLACES, *anatomy_state.MATRICES, "x", "softmax", "project", "source", "target",
    "encoder", "decoder", "map", "gauss", "relu", "gelu", "1", "2", "3", "5", "17", "64",
)  # fmt: skip


def option(rng: random.Random, name: str) -> str:
    """A value for one parameter of any page: of the right kind, of another's, or of none."""
    if rng.random() < 0.4:
        if name in CHOICES:
            return rng.choice(CHOICES[name])
        if name == "part":
            return rng.choice(PARTS)
        if name == "cell":
            return f"{rng.randint(0, 9)},{rng.randint(0, 9)}"
        return rng.choice(("1", "2", "3", "all", "0.3", *WORDS))
    made = rng.choice((text(rng, 0.01), rng.choice(NUMBERS), rng.choice(PATHS), rng.choice(WORDS), rng.choice(NUMBERS)))
    return mutated(rng, made) if rng.random() < 0.3 else made


def params(rng: random.Random, page: str = "") -> dict[str, str]:
    """A link's parameters. page: one whose own names are likelier."""
    names = [*CHOICES, *OTHERS, *NAMES.get(page, ()), *NAMES.get(page, ())]
    found = {name: option(rng, name) for name in rng.sample(names, rng.randint(0, min(8, len(names))))}
    if rng.random() < 0.5:
        found.update(switches.params(rng))
    if rng.random() < 0.3:
        found["checkpoint"] = rng.choice((*PATHS, "reverse", "tiny", text(rng, 0)))
    if rng.random() < 0.6:
        found["source"] = text(rng)
    if rng.random() < 0.4:
        found["target"] = text(rng)
    if rng.random() < 0.1:
        found[text(rng, 0)[:30]] = text(rng, 0)
    return found


def check_view(view: View, layers: dict[str, int], heads: int) -> None:
    for name, allowed in CHOICES.items():
        assert getattr(view, name) in allowed
    deepest = max(layers.values()) if view.kind == "all" else layers[view.kind]
    assert view.layer is None or (type(view.layer) is int and 0 <= view.layer < deepest)
    assert view.head is None or (type(view.head) is int and 0 <= view.head < heads)
    assert type(view.threshold) is float and 0 <= view.threshold <= 1
    assert view.big in (True, False) and (view.cell is None or all(type(part) is int for part in view.cell))
    again, notices = view_from_params(view.to_params(), layers, heads)
    assert again == replace(view, big=False) and not notices, (view, again, notices)  # big text is the viewer's
    fitted = fit_cell(view, 3, 4)
    assert fitted.cell is None or (fitted.cell[0] < 3 and fitted.cell[1] < 4)


def check_params(asked: dict[str, str], config: ModelConfig) -> None:
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    view, notices = view_from_params(asked, layers, config.heads)
    check_view(view, layers, config.heads)
    wanted, wrong = read_switches(asked, config)
    wanted.check(config)
    switches.check(wanted)
    for sentence in (*notices, *wrong):
        one_sentence(sentence)
    assert len(notices) + len(wrong) <= len(set(asked) & {*CHOICES, *OTHERS, *Interventions.PARAMS})


def check_browser(values: Any, config: ModelConfig) -> None:
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    check_view(view_from_browser(values, layers, config.heads, View()), layers, config.heads)
    stand = anatomy_state.anatomy_state_from_browser(values if isinstance(values, dict) else {}, config)
    assert stand.zoom in anatomy_state.zooms_of(stand.place)
    assert stand.step in anatomy_state.steps_of(stand.place, config)
    assert anatomy_state.anatomy_state_from_browser(stand.to_browser(), config) == stand
    assert 0 <= stand.encoder < config.encoder_layers and 0 <= stand.decoder < config.decoder_layers
    assert 0 <= stand.head < config.heads and stand.col >= -1 and min(stand.row, stand.t) >= 0


def case(seed: int) -> None:
    rng = random.Random(f"links {seed}")
    config = model(rng.choice(("tiny", "reverse"))).config
    check_params(params(rng, rng.choice(list(NAMES))), config)
    names = [*CHOICES, *OTHERS, "zoom", "place", "encoder", "decoder", "step", "matrix", "row", "col", "t"]
    values = {name: anything(rng) for name in rng.sample(names, rng.randint(0, 6))}
    check_browser(anything(rng) if rng.random() < 0.1 else values, config)
    for low in (0, 7):
        assert type(_whole(option(rng, "row"), low)) is int
