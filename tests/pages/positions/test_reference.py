"""frontend/src/positions/reference.json: numbers and figures of positions from Python, which the JavaScript must match.

`python -m tests.pages.positions.test_reference` writes it; frontend/src/positions/positions.test.js reads it.
"""

import base64
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.positions.encoding import read_dims
from transformer.figures import positions
from transformer.figures.drawing import drawing
from transformer.figures.positions import SHOWN, wavelength_text
from transformer.figures.style import MOST_LABELS
from transformer.model.positions import sinusoidal
from transformer.view.position_figures import PARTS, Values, templates

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


def default_dims(d_model: int) -> list[int]:
    """Four sines that look clearly different."""
    return list(dict.fromkeys(2 * (index * d_model // 16) for index in range(4)))


def computed(length: int, d_model: int, k: int) -> dict[str, Any]:
    """From the formula of section 3.5 and its addition theorems, in 64 bits. map: M_k; there, mapped: PE(p + k) and
    M_k PE(p)."""
    even = np.arange(0, d_model, 2)
    rates, table = 10000.0 ** (-even / d_model), sinusoidal(length, d_model).numpy()
    wide, turn = table.astype(float), np.zeros((d_model, d_model))
    turn[even, even] = turn[even + 1, even + 1] = np.cos(k * rates)
    turn[even, even + 1], turn[even + 1, even] = np.sin(k * rates), -np.sin(k * rates)
    products, offsets = wide @ wide.T, np.arange(1 - length, length)
    pairs = [products.diagonal(-offset) for offset in offsets]  # of equal p - q
    return {
        "rates": rates, "waves": 2 * math.pi / rates, "table": table, "products": products, "offsets": offsets,
        "mean": np.array([one.mean() for one in pairs]), "spread": max(float(np.ptp(one)) for one in pairs),
        "map": turn, "there": wide[k:], "mapped": wide[: length - k] @ turn.T,
    }  # fmt: skip


def numbers(length: int, d_model: int, k: int) -> dict[str, Any]:
    now, size = computed(length, d_model, k), min(SHOWN, d_model)
    return {
        "length": length, "dModel": d_model, "k": k, "frequencies": now["rates"].tolist(),
        "wavelengths": now["waves"].tolist(), "table": now["table"].ravel().tolist(),
        "products": now["products"].ravel().tolist(), "offsets": now["offsets"].tolist(), "mean": now["mean"].tolist(),
        "spread": now["spread"], "map": now["map"][:size, :size].tolist(), "dims": default_dims(d_model),
        "shifted": now["mapped"].ravel().tolist(), "error": float(np.abs(now["there"] - now["mapped"]).max()),
    }  # fmt: skip


def figures(values: Values) -> dict[str, Any]:
    d_model, length, k, q = values.d_model, values.length, values.k, values.q
    dims, now, half = list(values.dims or default_dims(d_model)), computed(length, d_model, k), d_model / 2
    table, products = now["table"], now["products"]
    there, mapped = (now[name].astype(np.float32) for name in ("there", "mapped"))
    made = {
        "encoding": partial(drawing(positions.encoding_heatmap), table, dims, TOKENS),
        "curves": partial(drawing(positions.encoding_curves), table, dims, now["waves"], TOKENS),
        "wavelengths": partial(drawing(positions.wavelength_curve), now["waves"], dims, length),
        "products": partial(drawing(positions.product_matrix), products, q, half),
        "offsets": partial(drawing(positions.products_by_offset), now["offsets"], now["mean"], products[:, q], q, half),
        "map": partial(drawing(positions.shift_matrix), now["map"].astype(np.float32), k),
        "shifted": partial(drawing(positions.shifted_beside), there, mapped, k),
    }
    asked = {
        "dModel": d_model, "length": length, "k": k, "q": q, "most": MOST_LABELS, "dims": dims, "tokens": TOKENS
    }  # fmt: skip
    return {"now": asked, "wanted": {name: json.loads(one(theme="dark").to_json()) for name, one in made.items()}}


def reference() -> Any:
    smallest = templates([name for part in PARTS.values() for name in part], "dark")
    typed = [{"text": text, "dims": list(read_dims(text, 20)[0]), "wrong": read_dims(text, 20)[1]} for text in TYPED]
    return json.loads(
        json.dumps(
            decoded(
                {
                    "numbers": [numbers(*sizes) for sizes in SIZES],
                    "templates": {name: json.loads(text) for name, text in smallest.items()},
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
