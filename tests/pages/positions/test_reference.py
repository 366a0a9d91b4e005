"""frontend/src/positions/reference.json: numbers and figures of positions from Python, which the JavaScript must match.

`python -m tests.pages.positions.test_reference` writes it; frontend/src/positions/positions.test.js reads it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.positions.encoding import read_dims
from transformer.analysis.positions import by_offset, dot_products, frequencies, shift_error, shift_map, shifted
from transformer.analysis.positions import wavelengths as wavelengths_of
from transformer.figures.positions import SHOWN, wavelength_text
from transformer.figures.style import MOST_LABELS
from transformer.model.positions import sinusoidal
from transformer.view.position_figures import Values, default_dims, make_figures

REFERENCE = Path(__file__).parents[3] / "frontend" / "src" / "positions" / "reference.json"
TOKENS = ("The", "<b>cat</b>", "a very long token of many letters", "a\u200bb", "</s>")
SIZES = ((2, 2, 1), (7, 6, 3), (13, 20, 5))  # length, d_model, k
VALUES = (Values(2, 2, None, 0, 1), Values(20, 7, (0, 7, 19), 4, 2), Values(10, 5, (0, 1, 2, 3, 8, 9), 4, 0))
TYPED = ("", "0, 5 7;19", "3,3,3", "20", "-1,x,<b>,1e1,2.5", "0,1,2,3,4,5,6,7", "٣,²")
LENGTHS = (6.283185, 9.996, 19.86, 99.96, 198.7, 1999.6, 62831.85, 59000.4, 100.0)


def decoded(value: Any) -> Any:
    """A figure's JSON with its arrays as lists, numbers to 9 digits."""
    if isinstance(value, dict):
        if "bdata" in value:
            flat = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            shape = str(value.get("shape", flat.size))
            return decoded(flat.reshape([int(size) for size in shape.split(",")]).tolist())
        return {name: decoded(item) for name, item in value.items()}
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return [decoded(item) for item in value] if isinstance(value, list | tuple) else value


def numbers(length: int, d_model: int, k: int) -> dict[str, Any]:
    table = sinusoidal(length, d_model)
    products = dot_products(table)
    offsets = by_offset(products)
    size = min(SHOWN, d_model)
    return {
        "length": length, "dModel": d_model, "k": k,
        "frequencies": frequencies(d_model).tolist(), "wavelengths": wavelengths_of(d_model).tolist(),
        "table": table.flatten().tolist(), "products": products.flatten().tolist(),
        "offsets": offsets.offsets.tolist(), "mean": offsets.mean.tolist(), "spread": offsets.largest_spread,
        "map": shift_map(k, d_model)[:size, :size].tolist(), "error": shift_error(table, k),
        "shifted": shifted(table, k)[1].flatten().tolist(), "dims": list(default_dims(d_model)),
    }  # fmt: skip


def figures(values: Values) -> dict[str, Any]:
    made = make_figures(values, TOKENS, "dark")
    now = {
        "dModel": values.d_model, "length": values.length, "k": values.k, "q": values.q, "most": MOST_LABELS,
        "dims": list(values.dims or default_dims(values.d_model)), "tokens": TOKENS,
    }  # fmt: skip
    return {"now": now, "wanted": {name: json.loads(figure().to_json()) for name, figure in made.items()}}


def reference() -> Any:
    smallest = make_figures(Values(2, 2, (0,)), theme="dark")
    typed = [{"text": text, "dims": list(read_dims(text, 20)[0]), "wrong": read_dims(text, 20)[1]} for text in TYPED]
    return json.loads(
        json.dumps(
            decoded(
                {
                    "numbers": [numbers(*sizes) for sizes in SIZES],
                    "templates": {name: json.loads(figure().to_json()) for name, figure in smallest.items()},
                    "figures": [figures(values) for values in VALUES],
                    "typed": typed,
                    "lengths": [{"value": length, "text": wavelength_text(length)} for length in LENGTHS],
                }
            )
        )
    )


def same(found: Any, wanted: Any, path: str = "reference") -> None:
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6), path
    elif isinstance(wanted, dict):
        assert set(found) == set(wanted), path
        for name, item in wanted.items():
            same(found[name], item, f"{path}.{name}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), path
        for index, item in enumerate(wanted):
            same(found[index], item, f"{path}[{index}]")
    else:
        assert found == wanted, path


def test_the_reference_figures_match_python() -> None:
    same(json.loads(REFERENCE.read_text(encoding="utf-8")), reference())


if __name__ == "__main__":
    REFERENCE.write_text(json.dumps(reference(), ensure_ascii=False) + "\n", encoding="utf-8")
