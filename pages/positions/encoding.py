"""The position encodings (section 3.5) with sliders that work in the browser, as a Streamlit component."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.components import figure
from pages.components.sentences import paragraph
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.runtime.shared import shared
from pages.runtime.texts import translated
from transformer.analysis.positions import by_offset, dot_products, shift_map, shifted, wavelengths
from transformer.figures import positions as figures
from transformer.figures.drawing import drawing
from transformer.model.positions import sinusoidal
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts

D_MODEL, LENGTH = (2, 512), (2, 512)  # the ends of the sliders
START_LENGTH, START_K, START_Q = 64, 5, 10
LONGEST_DIMS = 100  # most characters of the dimensions in a link
PAGE, KEY = "positions", "positions"  # key of the options, key of the component
PARTS = {
    "encoding": ("encoding", "curves", "wavelengths"),
    "distance": ("products", "offsets", "map", "shifted"),
}

_component = st.components.v2.component(
    "headscope.positions", js=script("positions"), css=style("positions"), isolate_styles=False
)


@dataclass(frozen=True)
class Values:
    """The slider values. d_model: even; dims: chosen dimensions, None for the default of any d_model; k, q: from 0 to
    length - 1."""

    d_model: int
    length: int
    dims: tuple[int, ...] | None = None
    k: int = 0
    q: int = 0


def default_dims(d_model: int) -> tuple[int, ...]:
    """Four sines that look clearly different; `posDefaultDims` of the browser gives the same."""
    return tuple(dict.fromkeys(2 * (index * d_model // 16) for index in range(4)))


def make_figures(
    values: Values, tokens: Sequence[str], theme: str = "light", labels: Mapping[str, str] = figures.LABELS
) -> dict[str, Callable[[], figure.Drawing]]:
    """Name -> function that makes the figure for these values; `transformer/view/positions_fill.js` does the same in
    the browser, from a figure made for other values."""
    d_model, length, k, q = values.d_model, values.length, values.k, values.q
    dims = values.dims or default_dims(d_model)
    drawn: dict[str, Any] = {"theme": theme, "texts": labels}
    table, waves = sinusoidal(length, d_model), wavelengths(d_model).numpy()
    products = dot_products(table)
    gathered = by_offset(products)

    def beside() -> figure.Drawing:
        there, mapped = (table_part.float().numpy() for table_part in shifted(table, k))
        return drawing(figures.shifted_beside)(there, mapped, k, **drawn)

    return {
        "encoding": lambda: drawing(figures.encoding_heatmap)(table.numpy(), dims, **drawn),
        "curves": lambda: drawing(figures.encoding_curves)(table.numpy(), dims, waves, tokens, **drawn),
        "wavelengths": lambda: drawing(figures.wavelength_curve)(waves, dims, length, **drawn),
        "products": lambda: drawing(figures.product_matrix)(products.numpy(), q, d_model / 2, **drawn),
        "offsets": lambda: drawing(figures.products_by_offset)(
            gathered.offsets.numpy(), gathered.mean.numpy(), products[:, q].numpy(), q, d_model / 2, **drawn
        ),
        "map": lambda: drawing(figures.shift_matrix)(shift_map(k, d_model).float().numpy(), k, **drawn),
        "shifted": beside,
    }


@shared()
def _templates(part: str, tokens: tuple[str, ...], theme: str, labels: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Name -> figure as JSON, made for the smallest table: the browser fills in every array."""
    made = make_figures(Values(2, 2, (0,)), tokens, theme, dict(labels))
    return {name: made[name]().to_json() for name in PARTS[part]}


def _whole(value: Any, low: int, high: int) -> int | None:
    """A whole number from the browser within bounds, else None."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and low <= value <= high else None


def _merge_browser(frame: PageFrame, values: Values) -> None:
    """Store a person's slider moves since the last run. values: the defaults."""
    reported = st.session_state.get(KEY)
    told_values = reported.get("values") if isinstance(reported, Mapping) else getattr(reported, "values", None)
    state = frame.state
    if not isinstance(told_values, Mapping) or told_values.get("revision") != state.revision:
        return  # older than Python's last change
    d_model = _whole(told_values.get("d_model"), *D_MODEL)
    length = _whole(told_values.get("length"), *LENGTH)
    if d_model is None or d_model % 2 or length is None:
        return
    frame.options.report("d_model", d_model, values.d_model)
    frame.options.report("length", length, values.length)
    for name, start in (("k", values.k), ("q", values.q)):
        value = _whole(told_values.get(name), 0, length - 1)
        if value is not None:
            frame.options.report(name, value, min(start, length - 1))
    dims = told_values.get("dims", ())
    if dims is None:
        frame.options.report("dims", "", "")
    elif isinstance(dims, list | tuple) and 0 < len(dims) <= figures.MOST_CURVES:
        there = [_whole(dimension, 0, d_model - 1) for dimension in dims]
        if None not in there:
            frame.options.report("dims", ",".join(map(str, there)), "")


def read_dims(text: str, d_model: int) -> tuple[tuple[int, ...], list[str]]:
    """Dimensions of a link, "0,32,64": those that can be drawn, each once, and the text of those that cannot."""
    dimensions: list[int] = []
    wrong = []
    for part in filter(None, re.split(r"[\s,;]+", text[:LONGEST_DIMS])):
        dimension = int(part) if re.fullmatch(r"[0-9]{1,4}", part) else d_model
        if dimension < d_model and (dimension in dimensions or len(dimensions) < figures.MOST_CURVES):
            dimensions.append(dimension)
        else:
            wrong.append(part)
    return tuple(dict.fromkeys(dimensions)), wrong


def _dims(frame: PageFrame, d_model: int) -> tuple[int, ...] | None:
    text = str(frame.state.chosen.get(PAGE, {}).get("dims", ""))
    dimensions, wrong = read_dims(text, d_model)
    if wrong:
        sentence = _(
            "The link asks for dimensions that are left out: {wrong}. Up to {most} from 0 to {last} can be drawn."
        )
        message(sentence.format(wrong=", ".join(wrong)[:60], most=figures.MOST_CURVES, last=d_model - 1))
    frame.options.report("dims", ",".join(map(str, dimensions)), "")
    return dimensions or None


def own_values(frame: PageFrame, trace: Trace) -> Values:
    """The defaults: the loaded model's d_model, and a length with space for the sentence."""
    d_model = max(D_MODEL[0], min(D_MODEL[1], frame.model.config.d_model))
    length = max(LENGTH[0], min(LENGTH[1], max(START_LENGTH, len(trace.source_labels))))
    return Values(d_model - d_model % 2, length, None, START_K, START_Q)


def chosen(frame: PageFrame, trace: Trace, part: str) -> Values:
    """The slider values of a part: from the browser, the session or the link, within bounds."""
    values = own_values(frame, trace)
    _merge_browser(frame, values)
    d_model = frame.options.value("d_model", *D_MODEL, values.d_model)
    if d_model % 2:
        sentence = _("d_model is {asked}, but the encoding needs an even number: {shown} is shown.")
        message(sentence.format(asked=d_model, shown=d_model - 1))
        d_model -= 1
        frame.options.report("d_model", d_model, values.d_model)
    length = frame.options.value("length", *LENGTH, values.length)
    if part == "encoding":
        return Values(d_model, length, _dims(frame, d_model))
    k, q = (frame.options.value(name, 0, length - 1, start) for name, start in (("k", values.k), ("q", values.q)))
    return Values(d_model, length, None, k, q)


def payload(frame: PageFrame, trace: Trace, part: str, values: Values) -> dict[str, Any]:
    """The data of positions.js."""
    state = frame.state
    tokens = tuple(trace.source_labels)
    shown = {"d_model": values.d_model, "length": values.length}
    more = {"dims": values.dims} if part == "encoding" else {"k": values.k, "q": values.q}
    return {
        "part": part,
        "figures": _templates(part, tokens, figure.theme(), tuple(translated(figures.LABELS).items())),
        "values": {**shown, **more},
        "limits": {"d_model": D_MODEL, "length": LENGTH},
        "own": frame.model.config.d_model,
        "tokens": len(tokens),
        "curves": figures.MOST_CURVES,
        "revision": state.revision,
        "big": state.view.big,
        "texts": browser_texts("positions"),
    }


def _order(frame: PageFrame) -> None:
    """A note if the loaded model stores the numbers in another order than the paper's, which is drawn."""
    if frame.model.config.positions == "sinusoidal" and frame.model.config.layout == "halves":
        message(
            _(
                "{name} stores these numbers in another order, as Marian's models do: all sines come before all "
                "cosines, PE(p, i) = sin(p / 10000^(2i/d_model)), and PE(p, {half} + i) is the cosine of the same "
                "angle. Here they are drawn in the paper's order. Wavelengths, lengths and dot products are the same "
                "in both orders, and so are the map’s blocks, for dimensions i and {half} + i instead of 2i and 2i + "
                "1."
            ).format(name=frame.model.name, half=frame.model.config.d_model // 2),
            "note",
        )


def _draw(frame: PageFrame, trace: Trace, part: str, about: str) -> None:
    values = chosen(frame, trace, part)
    _component(key=KEY, data=payload(frame, trace, part, values), on_values_change=lambda: None)
    paragraph(about, quiet=True)
    _order(frame)


def draw_encoding(frame: PageFrame, trace: Trace) -> None:
    """The table, chosen dimensions with the sentence's tokens, wavelengths; sliders for d_model and length."""
    about = _(
        "Section 3.5: attention alone does not know the order of its tokens, so each position adds its own vector, a "
        "row of the first picture. Its left columns change at every position, its right columns hardly at all. Click "
        "a column to draw it as a curve, or to remove its curve."
    )
    _draw(frame, trace, "encoding", about)


def draw_distance(frame: PageFrame, trace: Trace) -> None:
    """Dot products of encodings, as a matrix and against p - q, and the linear map M_k; sliders for k and q too."""
    about = _(
        "Click a column of the first picture to draw it against p − q. Section 3.5 wants PE(p + k) to be “a linear "
        "function” of PE(p): the map turns every pair of dimensions by an angle that depends only on k."
    )
    _draw(frame, trace, "distance", about)
