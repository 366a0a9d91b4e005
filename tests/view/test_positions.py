"""positions.js: its numbers and its figures are Python's. It runs in node, or in a browser without one."""

from __future__ import annotations

import base64
import html
import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pages.positions.encoding import Values, default_dims, make_figures, read_dims
from tests.browser.find import FLAGS, NoBrowser, find_browser
from transformer.analysis.positions import (
    by_offset,
    dot_products,
    frequencies,
    shift_error,
    shift_map,
    shifted,
    wavelengths,
)
from transformer.figures.positions import MOST_CURVES, SHOWN, wavelength_text
from transformer.figures.style import MOST_LABELS
from transformer.model.positions import sinusoidal
from transformer.view import bundle

NODE = shutil.which("node")
pytestmark = [] if NODE else [pytest.mark.browser]
STEP = 2.0**-24  # of float32 between 0.5 and 1
TOKENS = ("The", "<b>cat</b>", "a very long token of many letters", "</s>")
Run = Callable[[str], Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs an expression of JavaScript behind the modules' code; what it gives comes back through JSON."""
    folder = tmp_path_factory.mktemp("script")
    code = bundle.script("positions_fill.js") + (
        "const plain = (value) => JSON.stringify(value, (_, one) => ArrayBuffer.isView(one) ? Array.from(one) : one);\n"
    )

    def in_node(expression: str) -> Any:
        file = folder / "run.cjs"
        file.write_text(f"{code}console.log(plain({expression}));", encoding="utf-8")
        done = subprocess.run([NODE or "", str(file)], capture_output=True, timeout=60, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def in_browser(expression: str) -> Any:
        file = folder / "run.html"
        script = f"{code}document.querySelector('pre').textContent = plain({expression});"
        file.write_text(f"<!doctype html><meta charset=utf-8><pre></pre><script>{script}</script>", encoding="utf-8")
        command = [path, *FLAGS, "--dump-dom", file.as_uri()]
        page = subprocess.run(command, capture_output=True, timeout=120, encoding="utf-8").stdout
        return json.loads(html.unescape(re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)[0]))

    if NODE:
        return in_node
    try:
        path = find_browser()
    except NoBrowser as error:
        pytest.skip(f"neither node nor a browser: {error}")
    return in_browser


@pytest.mark.parametrize(("length", "d_model"), [(2, 2), (3, 6), (64, 256), (512, 66), (200, 512)])
def test_the_table_is_pythons(run: Run, length: int, d_model: int) -> None:
    found = np.array(run(f"encodingTable({length}, {d_model})"), np.float32).reshape(length, d_model)
    wanted = sinusoidal(length, d_model).numpy()
    assert np.abs(found - wanted).max() <= STEP  # sin and cos of two libraries may round to neighbours
    assert (found != wanted).mean() < 0.001


@pytest.mark.parametrize("d_model", [2, 6, 64, 512])
def test_frequencies_and_wavelengths_are_pythons(run: Run, d_model: int) -> None:
    found = run(f"[frequencies({d_model}), wavelengths({d_model})]")
    assert found[0] == pytest.approx(frequencies(d_model).tolist(), rel=1e-14)
    assert found[1] == pytest.approx(wavelengths(d_model).tolist(), rel=1e-14)
    assert found[1][0] == 2 * math.pi and max(found[1]) < 20000 * math.pi


@pytest.mark.parametrize(("length", "d_model"), [(2, 2), (7, 6), (10, 64), (33, 20)])
def test_products_are_pythons(run: Run, length: int, d_model: int) -> None:
    table = f"encodingTable({length}, {d_model})"
    products = f"dotProducts({table}, {length}, {d_model})"
    quick = f"sameProducts({table}, {length}, {d_model})"
    exact, same, gathered = run(f"[{products}, {quick}, byOffset({products}, {length})]")
    wanted = dot_products(sinusoidal(length, d_model))
    offsets = by_offset(wanted)
    assert np.abs(np.reshape(exact, (length, length)) - wanted.numpy()).max() < d_model * STEP
    assert np.abs(np.reshape(same, (length, length)) - wanted.numpy()).max() < 2 * d_model * STEP
    assert gathered["offsets"] == offsets.offsets.tolist()
    assert gathered["mean"] == pytest.approx(offsets.mean.tolist(), abs=d_model * STEP)
    assert gathered["largestSpread"] == pytest.approx(offsets.largest_spread, abs=d_model * STEP)


def test_products_of_any_table_are_gathered_by_offset(run: Run) -> None:
    """Where products do not depend on p - q only, the mean and the spread say so."""
    numbers = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]
    found = run(f"byOffset(Float64Array.from({numbers}), 3)")
    wanted = by_offset(torch.tensor(numbers).reshape(3, 3))
    assert found["mean"] == pytest.approx(wanted.mean.tolist()) and found["largestSpread"] == wanted.largest_spread


@pytest.mark.parametrize(("length", "d_model", "k"), [(2, 2, 0), (2, 2, 1), (40, 6, 7), (64, 64, 63), (300, 128, 5)])
def test_the_map_is_pythons(run: Run, length: int, d_model: int, k: int) -> None:
    table = f"encodingTable({length}, {d_model})"
    mapped = f"mapByShift({table}, {length}, {d_model}, {k})"
    error = f"shiftError({table}, {mapped}, {d_model}, {k})"
    matrix, rows, largest = run(f"[shiftMap({k}, {d_model}, {SHOWN}), {mapped}, {error}]")
    size = min(SHOWN, d_model)
    wanted = shift_map(k, d_model)
    assert np.abs(np.array([list(row) for row in matrix]) - wanted.numpy()[:size, :size]).max() <= STEP
    assert np.abs(
        np.reshape(rows, (length - k, d_model)) - shifted(sinusoidal(length, d_model), k)[1].numpy()
    ).max() < (4 * STEP)
    assert largest < 1e-5 and largest == pytest.approx(shift_error(sinusoidal(length, d_model), k), abs=2 * STEP)


def test_texts_and_choices_are_pythons(run: Run) -> None:
    numbers = [6.283185, 9.996, 19.86, 99.96, 198.7, 1999.6, 62831.85, 59000.4, 100.0]
    assert run(f"{numbers}.map(wavelengthText)") == [wavelength_text(one) for one in numbers]
    assert wavelength_text(62831.85) == "62,800" and wavelength_text(6.283) == "6.28"
    sizes = [2, 4, 6, 20, 64, 256, 512]
    assert run(f"{sizes}.map(defaultDims)") == [list(default_dims(one)) for one in sizes]
    assert default_dims(256) == (0, 32, 64, 96) and default_dims(2) == (0,)


@pytest.mark.parametrize("text", ["", "0, 5 7;19", "3,3,3", "20", "-1,x,<b>,1e1,2.5", "0,1,2,3,4,5,6,7", "٣,²"])
def test_typed_dimensions_are_read_as_those_of_a_link(run: Run, text: str) -> None:
    found = run(f"readDims({json.dumps(text)}, 20, {MOST_CURVES})")
    dims, wrong = read_dims(text, 20)
    assert tuple(found["found"]) == dims
    assert sorted([*found["wrong"], *map(str, found["many"])]) == sorted(wrong)


def decoded(value: Any) -> Any:
    """A figure's JSON with its arrays as lists."""
    if isinstance(value, dict):
        if "bdata" in value:
            flat = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            shape = str(value.get("shape", flat.size))
            return flat.reshape([int(one) for one in shape.split(",")]).tolist()
        return {name: decoded(one) for name, one in value.items()}
    return [decoded(one) for one in value] if isinstance(value, list) else value


def same(found: Any, wanted: Any, path: str = "figure") -> None:
    """Equal, numbers within rounding."""
    if isinstance(wanted, bool | str) or wanted is None:
        assert found == wanted, path
    elif isinstance(wanted, int | float):
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-5), path
    elif isinstance(wanted, dict):
        assert set(found) == set(wanted), path
        for name, one in wanted.items():
            same(found[name], one, f"{path}.{name}")
    else:
        assert len(found) == len(wanted), path
        for number, one in enumerate(wanted):
            same(found[number], one, f"{path}[{number}]")


@pytest.mark.parametrize(
    "values",
    [
        Values(20, 13, (0, 7, 19), 4, 12),
        Values(64, 90, None, 89, 0),
        Values(2, 2, None, 0, 1),
        Values(40, 3, (1,), 1, 2),
        Values(10, 5, (0, 1, 2, 3, 8, 9), 4, 0),
        Values(12, 6, None, 5, 3),
        Values(256, 101, (5,), 100, 100),
        Values(512, 33, None, 0, 0),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["encoding", "curves", "wavelengths", "products", "offsets", "map", "shifted"])
def test_the_browsers_figures_are_pythons(run: Run, name: str, values: Values) -> None:
    """A figure made for the smallest table and filled by the browser is the one that Python makes at once."""
    template = make_figures(Values(2, 2, (0,)), TOKENS, "dark")[name]().to_json()
    wanted = json.loads(make_figures(values, TOKENS, "dark")[name]().to_json())
    now = {
        "dModel": values.d_model, "length": values.length, "k": values.k, "q": values.q, "most": MOST_LABELS,
        "dims": list(values.dims or default_dims(values.d_model)),
    }  # fmt: skip
    found = run(
        f"""(() => {{
          const now = {json.dumps(now)};
          now.table = encodingTable(now.length, now.dModel);
          now.rows = rowsOf(now.table, now.dModel);
          now.wavelengths = wavelengths(now.dModel);
          const products = dotProducts(now.table, now.length, now.dModel);
          now.matrix = rowsOf(products, now.length);
          now.offsets = byOffset(products, now.length);
          return FIGURES[{json.dumps(name)}].fill({template}, now);
        }})()"""
    )
    assert set(found) == {"data", "layout"}
    same(found["layout"], decoded(wanted["layout"]), "layout")
    same(found["data"], decoded(wanted["data"]), "data")


def test_what_a_figure_needs_is_what_it_uses() -> None:
    """A value that a figure is filled with and that is not among its needs would leave it standing."""
    text = (bundle.FOLDER / "positions_fill.js").read_text(encoding="utf-8")
    for name, needs in re.findall(r"^  \w+: \{ fill: (\w+), needs: \[([^\]]*)\]", text, re.MULTILINE):
        body = re.findall(rf"^function {name}\(figure, now\) \{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL)[0]
        used = {
            one
            for one in ("dModel", "length", "k", "q", "most", "dims")
            if re.search(rf"(?:now\.|(?<![.\w])){one}\b", body)
        }
        assert used <= set(re.findall(r'"(\w+)"', needs)), name


def test_every_figure_is_drawn_again_in_another_theme() -> None:
    """The key that keeps a figure standing holds the look: else axes stay black on black until a slider moves."""
    text = (bundle.FOLDER / "positions.js").read_text(encoding="utf-8")
    assert "const look = [big, this.element.clientWidth, this.theme.key];" in text
    assert "JSON.stringify([needs.map((one) => now[one]), look])" in text


def test_products_that_are_never_negative_have_a_scale_from_0(run: Run) -> None:
    """cos(p - q) alone is negative, the sum over 128 pairs within 64 positions never: as Python finds it."""
    for d_model, length, zmin in ((2, 3, -1), (256, 64, 0)):
        values = Values(d_model, length, None, 0, 0)
        (cells,) = make_figures(values, TOKENS)["products"]().data
        assert (cells.zmin, cells.zmid) == ((zmin, 0) if zmin else (0, None))
        table = f"encodingTable({length}, {d_model})"
        offsets = f"byOffset(dotProducts({table}, {length}, {d_model}), {length})"
        assert (run(f"Math.min(...{offsets}.mean)") < 0) == bool(zmin)


def test_the_script_is_one_module_and_every_text_is_used() -> None:
    code = bundle.script("positions.js")
    assert not re.search(r"^\s*import\b", code, re.MULTILINE) and len(re.findall(r"^export ", code, re.MULTILINE)) == 1
    assert "innerHTML" not in code and "eval(" not in code
    for file in bundle.FOLDER.glob("positions*.js"):
        text = file.read_text(encoding="utf-8")
        own = re.findall(r"^(?:export )?(?:function|const|let|class) +(\w+)", text, re.MULTILINE)
        assert all(re.match(r"pos|Pos|POS_", name) for name in own), file.name
        assert len(text.splitlines()) <= 300, file.name
    keys = re.findall(r"^  (\w+):", (bundle.FOLDER / "positions_texts.js").read_text(encoding="utf-8"), re.MULTILINE)
    files = (bundle.FOLDER / name for name in ("positions.js", "positions_says.js"))
    used = {name for file in files for name in re.findall(r'"([a-z_]+)"', file.read_text(encoding="utf-8"))}
    sliders = {name for slider in ("d_model", "length", "k", "q") for name in (slider, f"{slider}_term")}
    assert len(keys) == len(set(keys)) and set(keys) - used - sliders == {"region"}
    assert Path(bundle.FOLDER / "positions.css").is_file()
