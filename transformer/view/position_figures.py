"""The figures of position encodings (section 3.5) that the browser fills with numbers while a person moves sliders:
frontend/src/positions/."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from transformer.figures import positions as figures
from transformer.figures.drawing import drawing
from transformer.model.positions import sinusoidal

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


def templates(names: Iterable[str], theme: str = "light") -> dict[str, str]:
    """Name -> figure as JSON in the reader's language, made for the smallest table and no sentence."""
    table, waves, dims = sinusoidal(2, 2).numpy(), np.array([figures.SHORTEST]), (0,)
    products, half = table @ table.T, 1.0
    mean = np.array([products[0, 1], half, products[1, 0]])
    made = {
        "encoding": partial(drawing(figures.encoding_heatmap), table, dims),
        "curves": partial(drawing(figures.encoding_curves), table, dims, waves),
        "wavelengths": partial(drawing(figures.wavelength_curve), waves, dims, 2),
        "products": partial(drawing(figures.product_matrix), products, 0, half),
        "offsets": partial(drawing(figures.products_by_offset), np.arange(-1, 2), mean, products[:, 0], 0, half),
        "map": partial(drawing(figures.shift_matrix), np.eye(2), 0),
        "shifted": partial(drawing(figures.shifted_beside), table, table, 0),
    }
    return {name: made[name](theme=theme).to_json() for name in names}
