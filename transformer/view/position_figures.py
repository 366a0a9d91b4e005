"""The figures of position encodings (section 3.5) that the browser fills with numbers while a person moves sliders:
frontend/src/positions/."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.analysis.positions import by_offset, dot_products, shift_map, shifted, wavelengths
from transformer.figures import positions as figures
from transformer.figures.drawing import Drawing, drawing
from transformer.model.positions import sinusoidal
from transformer.texts import translate

D_MODEL, LENGTH = (2, 512), (2, 512)  # the ends of the sliders
START_K, START_Q = 5, 10
MOST_CURVES = figures.MOST_CURVES
PARTS = {
    "encoding": ("encoding", "curves", "wavelengths"),
    "distance": ("products", "offsets", "map", "shifted"),
}
LENGTHS = {"encoding": 8, "distance": 64}  # positions shown at first, or as many as the sentence has


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
    """Four sines that look clearly different; `defaultDims` of the browser gives the same."""
    return tuple(dict.fromkeys(2 * (index * d_model // 16) for index in range(4)))


def make_figures(
    values: Values, tokens: Sequence[str] = (), theme: str = "light", labels: Mapping[str, str] = figures.LABELS
) -> dict[str, Callable[[], Drawing]]:
    """Name -> function that makes the figure for these values; frontend/src/positions/fill.js does the same from a
    figure made for other values and tokens."""
    d_model, length, k, q = values.d_model, values.length, values.k, values.q
    dims = values.dims or default_dims(d_model)
    drawn: dict[str, Any] = {"theme": theme, "texts": labels}
    table, waves = sinusoidal(length, d_model), wavelengths(d_model).numpy()
    products = dot_products(table)
    gathered = by_offset(products)

    def beside() -> Drawing:
        there, mapped = (table_part.float().numpy() for table_part in shifted(table, k))
        return drawing(figures.shifted_beside)(there, mapped, k, **drawn)

    return {
        "encoding": lambda: drawing(figures.encoding_heatmap)(table.numpy(), dims, tokens, **drawn),
        "curves": lambda: drawing(figures.encoding_curves)(table.numpy(), dims, waves, tokens, **drawn),
        "wavelengths": lambda: drawing(figures.wavelength_curve)(waves, dims, length, **drawn),
        "products": lambda: drawing(figures.product_matrix)(products.numpy(), q, d_model / 2, **drawn),
        "offsets": lambda: drawing(figures.products_by_offset)(
            gathered.offsets.numpy(), gathered.mean.numpy(), products[:, q].numpy(), q, d_model / 2, **drawn
        ),
        "map": lambda: drawing(figures.shift_matrix)(shift_map(k, d_model).float().numpy(), k, **drawn),
        "shifted": beside,
    }


def templates(names: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """Name -> figure as JSON, made for the smallest table and no sentence. labels: those of the figures, translated."""
    made = make_figures(Values(2, 2, (0,)), labels=labels)
    return {name: made[name]().to_json() for name in names}


def reader_templates() -> dict[str, str]:
    """`templates` of all figures in the reader's language."""
    names = (name for part in PARTS.values() for name in part)
    return templates(names, {name: translate(text) for name, text in figures.LABELS.items()})
