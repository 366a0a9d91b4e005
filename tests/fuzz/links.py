"""Links, switches as text, and what the browser reports."""

import re
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from pages.frame.state import read_switches
from pages.registry import pages
from tests.fuzz.common import JSON, NUMBERS, PATHS, SIZES, TEXTS, TYPED, mutated, one_sentence
from transformer.interventions.sets import SWITCHES, Interventions, layers_of
from transformer.model.config import ModelConfig
from transformer.tracing.trace import KINDS
from transformer.view import anatomy_state
from transformer.view.state import CHOICES, View, fit_cell, view_from_browser, view_from_params

OTHERS = ("threshold", "cell", "big", "layer", "head", "part", "training")
PLACE_NAMES = ("zoom", "place", "encoder", "decoder", "step", "matrix", "row", "col", "t")
NAMES = {page.name: page.content.names for page in pages()}
PARTS = [part for page in pages() for part in page.content.parts()]
STACKS = ("encoder_self", "decoder_self", "cross", "all", "encoder", "decoder", "source", "target", "Cross", "ｃross")
SWITCH_WORDS = (*STACKS, "off", "on", "ff", "self", "uniform", "softmax", "remove", "shuffle", "scale")
WORDS = (
    *anatomy_state.ZOOMS, *anatomy_state.PLACES, *anatomy_state.MATRICES, "x", "softmax", "project", "source", "target",
    "encoder", "decoder", "map", "gauss", "relu", "gelu", "1", "2", "3", "5", "17", "64", "all", "0.3",
)  # fmt: skip
EXAMPLES = {
    name: [value for text in sort.EXAMPLES for param, _, value in [text.partition("=")] if param == name]
    for sort in SWITCHES
    for name in sort.PARAMS
}  # switch -> values that it may have


def sent(text: str) -> str:
    """As it arrives: neither an address nor a message of a browser can hold half a character. JSON can."""
    return text.encode("utf-8", "replace").decode()


@st.composite
def switch_value(draw: st.DrawFn, name: str) -> str:
    """What a switch of this name may be set to, often allowed, often nearly."""
    if name not in EXAMPLES:
        return draw(TEXTS)
    value = draw(st.sampled_from(EXAMPLES[name]))
    if draw(st.booleans()):
        digits = st.sampled_from(("1", "2", "9", "0.37", *NUMBERS))
        value = re.sub(r"\d+", lambda _: draw(digits), value)
    if draw(st.booleans()):
        value = re.sub("[a-z_]{2,}", lambda word: draw(st.sampled_from((word[0], word[0], *SWITCH_WORDS))), value)
    if draw(st.integers(0, 3)) == 0:
        value += "@" + ".".join([draw(st.sampled_from(STACKS)), *draw(st.lists(st.sampled_from("123*"), max_size=3))])
    if draw(st.integers(0, 4)) == 0:
        value = ",".join([value] * draw(st.sampled_from((2, 3, 400, 1_200))))
    return draw(mutated(value)) if draw(st.integers(0, 3)) == 0 else value


@st.composite
def switch_params(draw: st.DrawFn) -> dict[str, str]:
    """A few switches, name -> text."""
    names = st.lists(st.sampled_from((*EXAMPLES, *EXAMPLES, "x", "", "scaling ")), max_size=4)
    return {name: draw(switch_value(name)) for name in draw(names)}


@st.composite
def option(draw: st.DrawFn, name: str) -> str:
    """A value for one parameter of any page: of the right kind, of another's, or of none."""
    right = {**CHOICES, "part": PARTS, "cell": ("1,1", "9,9", "3,0", "7,100000")}
    kind = draw(st.sampled_from(("right", "number", "word", "any")))
    if kind == "right" and name in right:
        return draw(st.sampled_from(right[name]))
    if kind == "any":
        text = draw(st.sampled_from((*PATHS, *WORDS)) | TYPED)
        return draw(mutated(text)) if draw(st.booleans()) else text
    return draw(st.sampled_from(NUMBERS if kind == "number" else WORDS))


@st.composite
def params(draw: st.DrawFn, page: str = "") -> dict[str, str]:
    """A link's parameters. page: one whose own names are likelier."""
    names = [*CHOICES, *OTHERS, *NAMES.get(page, ()), *NAMES.get(page, ())]
    found = {name: draw(option(name)) for name in draw(st.lists(st.sampled_from(names), max_size=8, unique=True))}
    if draw(st.booleans()):
        found |= draw(switch_params())
    checkpoints = st.sampled_from((*PATHS, "reverse", "tiny")) | TEXTS
    texts = st.fixed_dictionaries({}, optional={"checkpoint": checkpoints, "source": TYPED, "target": TYPED})
    if draw(st.integers(0, 9)) == 0:
        found[draw(TEXTS)[:30]] = draw(TEXTS)
    return found | draw(texts)


REPORTED = st.fixed_dictionaries({}, optional=dict.fromkeys(
    (*CHOICES, *OTHERS, *PLACE_NAMES), st.sampled_from(SIZES) | st.sampled_from(WORDS) | st.integers(-2, 9) | JSON
))  # fmt: skip
REPORTS = st.one_of(REPORTED, REPORTED, REPORTED, JSON)  # what a browser may report, or somebody who plays one


def check_switches(found: Interventions) -> None:
    """Written and read again they are the same."""
    again = Interventions.parse(found.to_params())
    assert again == found and hash(again) == hash(found)
    assert Interventions.parse(str(found)) == found
    assert again.to_params() == found.to_params()


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
    check_switches(wanted)
    for sentence in (*notices, *wrong):
        one_sentence(sentence)
    assert len(notices) + len(wrong) <= len(set(asked) & {*CHOICES, *OTHERS, *Interventions.PARAMS})


def check_report(report: Any, config: ModelConfig) -> None:
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    check_view(view_from_browser(report, layers, config.heads, View()), layers, config.heads)
    stand = anatomy_state.anatomy_state_from_browser(report if isinstance(report, dict) else {}, config)
    assert stand.zoom in anatomy_state.zooms_of(stand.place)
    assert stand.step in anatomy_state.steps_of(stand.place, config)
    assert anatomy_state.anatomy_state_from_browser(stand.to_browser(), config) == stand
    assert 0 <= stand.encoder < config.encoder_layers and 0 <= stand.decoder < config.decoder_layers
    assert 0 <= stand.head < config.heads and stand.col >= -1 and min(stand.row, stand.t) >= 0
