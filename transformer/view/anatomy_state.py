"""The places of the anatomy of a model, and the steps of each place. The names are defined here and generated for the
browser (`transformer.view.generate`), where anatomy/walk.js moves through them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from transformer.analysis.anatomy import LIKELIEST
from transformer.model.config import ModelConfig

LONGEST = 64  # tokens per side: with more, rows get too thin to see
ZOOMS = ("model", "layer", "sub", "head", "number")
NEAR = ("sub", "head", "number")  # zooms that show the numbers of one place
MATRICES = (  # names of `anatomy_pack.place_pack`, those first between which a step leaves the choice
    "queries", "keys", "values", "x", "memory", "normed", "dot", "scaled", "scores", "weights", "head_outputs",
    "concat", "update", "sum", "leaves", "pre", "activation", "rows", "embedding", "positions", "hidden", "logits",
)  # fmt: skip
_EMBEDDING = ("row", "times", "plus")
_ATTENTION = ("project", "split", "dot", "scale", "mask", "softmax", "values", "concat", "output")
_FEED_FORWARD = ("inner", "activation", "outer")
INNER_STEPS = {  # without the input "x", "norm" and "add" of a sub-layer
    "source": _EMBEDDING,
    "encoder.self": _ATTENTION,
    "encoder.ff": _FEED_FORWARD,
    "target": _EMBEDDING,
    "decoder.self": _ATTENTION,
    "decoder.cross": _ATTENTION,
    "decoder.ff": _FEED_FORWARD,
    "output": ("hidden", "logits", "probabilities", "choose", "back"),
}
PLACES = tuple(INNER_STEPS)
FOLDS = ("more", "parameters", "switches")  # folded texts and cards
OPENED = tuple(".".join(some) for count in range(len(FOLDS) + 1) for some in combinations(FOLDS, count))
TEMPOS = ("normal", "slow", "fast")


@dataclass(frozen=True)
class AnatomyState:
    """A place and the zoom; numbers count from 0.

    zoom:    one of ZOOMS
    place:   one of PLACES
    encoder, decoder: the layer that is open in each stack
    head:    the head that is looked at
    step:    one of the steps of the place
    matrix:  one of MATRICES; where a step makes several, the one that is looked at
    row, col: the cell chosen in what the step makes; col -1: none yet
    t:       the step of decoding, a row of the decoder
    opened:  one of OPENED: those of FOLDS that are open, joined by dots
    tempo:   one of TEMPOS
    """

    zoom: str = "model"
    place: str = "encoder.self"
    encoder: int = 0
    decoder: int = 0
    head: int = 0
    step: str = "x"
    matrix: str = MATRICES[0]
    row: int = 0
    col: int = -1
    t: int = 0
    opened: str = ""
    tempo: str = TEMPOS[0]

    @property
    def near(self) -> bool:
        """Whether the numbers of one place are shown."""
        return self.zoom in NEAR

    @property
    def name(self) -> str:
        """The place as the trace names it: "encoder.0.self"; "source", "target" and "output" stay."""
        stack, _, part = self.place.partition(".")
        return f"{stack}.{getattr(self, stack)}.{part}" if part else self.place

    def to_browser(self) -> dict[str, Any]:
        return asdict(self)


def steps_of(place: str, config: ModelConfig) -> tuple[str, ...]:
    """The steps of a place in the order they are computed: without "add" or "norm" in a model that has none."""
    inner = INNER_STEPS[place]
    if "." not in place:
        return inner
    before, behind = (("norm",) if config.norm == where else () for where in ("pre", "post"))
    return ("x", *before, *inner, *(("add",) if config.residual else ()), *behind)


def zooms_of(place: str) -> tuple[str, ...]:
    """Only attention has heads, and the ends of the model are in no layer."""
    if "." not in place:
        return ("model", "sub", "number")
    return ("model", "layer", "sub", "number") if place.endswith(".ff") else ZOOMS


def fitting_zoom(zoom: str, place: str) -> str:
    """The zoom, or the one nearest to it that the place has."""
    return zoom if zoom in zooms_of(place) else "sub" if zoom == "head" else "model"


def open_folds(text: str) -> str:
    """Those of FOLDS that a text joined by dots names, in their order."""
    named = text.split(".")
    return ".".join(fold for fold in FOLDS if fold in named)


def size_of(place: str, step: str, matrix: str, config: ModelConfig, source: int, target: int) -> tuple[int, int]:
    """Rows and columns of what a step makes, of one head where heads are apart; of the likeliest tokens one column.

    matrix: of several; source, target: tokens of each side.
    """
    rows = source if place in ("source", "encoder.self", "encoder.ff") else target
    keys = target if place == "decoder.self" else source
    d_k = config.d_k or config.d_head
    if place == "output" and step != "hidden":
        return min(LIKELIEST, config.output_size), 1
    if step in ("inner", "activation"):
        return rows, config.d_ff
    if step in ("dot", "scale", "mask", "softmax"):
        return rows, keys
    if step == "values":
        return rows, config.d_head
    if step in ("project", "split"):
        width = config.d_head if matrix == "values" else d_k
        return keys if matrix in ("keys", "values") else rows, width * (config.heads if step == "project" else 1)
    return keys if step == "x" and matrix == "memory" and place == "decoder.cross" else rows, config.d_model


def anatomy_state_from_browser(values: Mapping[str, Any], config: ModelConfig) -> AnatomyState:
    """The browser's report with valid values only: a value out of range becomes the nearest valid one, any other
    invalid value the first one. The sentence limits row, col and t too, if it is known (`size_of`)."""

    def number(name: str, low: int, high: int) -> int:
        value = values.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            value = getattr(AnatomyState, name)
        return int(max(low, min(high, value)))

    def choice(name: str, allowed: tuple[str, ...]) -> str:
        value = values.get(name)
        return value if isinstance(value, str) and value in allowed else allowed[0]

    place = choice("place", (AnatomyState.place, *PLACES))
    return AnatomyState(
        zoom=fitting_zoom(choice("zoom", ZOOMS), place),
        place=place,
        encoder=number("encoder", 0, config.encoder_layers - 1),
        decoder=number("decoder", 0, config.decoder_layers - 1),
        head=number("head", 0, config.heads - 1),
        step=choice("step", steps_of(place, config)),
        matrix=choice("matrix", MATRICES),
        row=number("row", 0, config.max_positions - 1),
        col=number("col", -1, max(config.output_size, config.d_ff, config.d_model) - 1),
        t=number("t", 0, config.max_positions - 1),
        opened=open_folds(str(values.get("opened"))),
        tempo=choice("tempo", TEMPOS),
    )
