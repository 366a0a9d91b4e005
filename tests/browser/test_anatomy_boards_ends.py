"""The boards of feed-forward, embedding and output in a real Chromium: what stands where, over sizes and shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

from tests.browser.modules import open_modules

PLACES = {
    "encoder.ff": ("x", "inner", "activation", "outer", "add", "norm"),
    "decoder.ff": ("x", "inner", "activation", "outer", "add", "norm"),
    "source": ("row", "times", "plus"),
    "target": ("row", "times", "plus"),
    "output": ("hidden", "logits", "probabilities", "choose", "back"),
}
# Width and height of the drawing, size of text; a height of 0 is the one that the board asks for on a narrow screen.
WIDE = [(1500, 800, 15), (960, 620, 15), (980, 640, 20), (700, 500, 15), (476, 500, 15), (476, 625, 20)]
NARROW = [
    (256, 0, 15),
    (256, 0, 20),
    (280, 0, 20),
    (340, 0, 15),
    (340, 0, 20),
    (366, 0, 15),
    (600, 0, 20),
    (340, 460, 15),
]
SIZES = [{"w": w, "h": h, "unit": unit, "narrow": wide is NARROW} for wide in (WIDE, NARROW) for w, h, unit in wide]
NORMAL = {"w": 960, "h": 620, "unit": 15}
MODELS: list[dict[str, Any]] = [
    {"n": 1, "d": 64, "ff": 128, "vocab": 31, "own": False, "skipped": True, "shared": ["output"]},
    {"n": 2, "d": 64, "ff": 128, "vocab": 7, "norm": "pre", "activation": "gelu"},
    {"n": 13, "d": 256, "ff": 1024, "vocab": 4000, "longest": 16},
    {"n": 24, "d": 256, "ff": 1024, "vocab": 4000, "norm": "pre", "activation": "gelu", "rank": 3, "own": False},
    {"n": 25, "d": 128, "ff": 512, "vocab": 4000, "positions": "none", "rank": 99, "plain": True},
    {"n": 40, "d": 256, "ff": 1024, "vocab": 4000, "missing": True, "positions": "learned"},
    {"n": 64, "d": 512, "ff": 2048, "vocab": 37000, "plain": True},
    {"n": 9, "d": 512, "ff": 2048, "vocab": 58101, "activation": "swish", "own_table": True, "unscaled": True},
]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """An empty page with the boards and nothing else."""
    page = browser.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    open_modules(page, *(f"anatomy/{name}.js" for name in ("feedforward/board", "ends/embedding", "ends/texts")))
    page.add_script_tag(content=(Path(__file__).parent / "anatomy_boards.js").read_text(encoding="utf-8"))
    yield page
    assert problems == []
    page.close()


def states(model: dict[str, Any]) -> list[dict[str, Any]]:
    last = model["n"] - 1
    found = []
    for place, steps in PLACES.items():
        if model.get("norm") == "pre" and place.endswith(".ff"):
            steps = ("x", "norm", "inner", "activation", "outer", "add")
        for t in sorted({0, last}) if place == "output" else [last // 2]:
            found += [{"place": place, "step": step, "t": t} for step in steps]
    return found


def scene(
    page: Page, model: dict[str, Any], place: str, step: str, t: int = 0, **size: Any
) -> dict[str, dict[str, Any]]:
    """Items by key."""
    items = page.evaluate(
        "([model, state, size]) => plainItems(sceneOf(new FakeData(model), state, size).items)",
        [model, {"place": place, "step": step, "t": t}, {**NORMAL, **size}],
    )
    return {item["key"]: item for item in items}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"n{model['n']}-d{model['d']}-v{model['vocab']}")
def test_everything_is_inside_and_nothing_lies_over_another(page: Page, model: dict[str, Any]) -> None:
    found = page.evaluate(
        """([model, states, sizes]) => {
          const data = new FakeData(model);
          const wrong = [];
          for (const size of sizes)
            for (const state of states)
              for (const one of wrongWith(sceneOf(data, state, size)))
                wrong.push([one, JSON.stringify(state), JSON.stringify(size)].join(" "));
          return wrong;
        }""",
        [model, states(model), SIZES],
    )
    assert found == []


def test_the_same_state_gives_the_same_items(page: Page) -> None:
    model = MODELS[2]
    for state in states(model):
        first, again = (scene(page, model, **state) for _ in range(2))
        assert json.dumps(first) == json.dumps(again)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("narrow", [False, True])
def test_steps_of_a_place_need_one_height(page: Page, place: str, narrow: bool) -> None:
    heights = page.evaluate(
        """([states, size]) => states.map((state) => sceneOf(new FakeData({ n: 13 }), state, size).area.h)""",
        [[{"place": place, "step": step} for step in PLACES[place]], {"w": 366, "unit": 15, "narrow": narrow}],
    )
    assert len(set(heights)) == 1 and 200 < heights[0] < 1200


def test_rows_stand_beside_their_tokens_and_columns_below_their_columns(page: Page) -> None:
    for place in ("encoder.ff", "decoder.ff"):
        name = "m:" + place.replace(".", ".0.")
        inner = scene(page, {}, place, "inner")
        x, weights, pre = (inner[f"{name}.{one}"] for one in ("x", "W_1", "pre"))
        assert (x["y"], x["h"]) == (pre["y"], pre["h"]) and (weights["x"], weights["w"]) == (pre["x"], pre["w"])
        assert x["x"] + x["w"] < pre["x"] and weights["y"] + weights["h"] < pre["y"]
        assert (x["rowAxis"], weights["rowAxis"], weights["colAxis"]) == ("token", "d_model", "d_ff")
        assert (pre["rowAxis"], pre["colAxis"], pre["pick"]) == ("token", "d_ff", True)
        outer = scene(page, {}, place, "outer")
        activation, weights, update = (outer[f"{name}.{one}"] for one in ("activation", "W_2", "update"))
        assert all(activation[one] == pre[one] for one in "xywh")  # in the place of what it was made of
        assert (weights["x"], weights["w"]) == (update["x"], update["w"]) and update["y"] == activation["y"]
        (tokens,) = (item for item in outer.values() if item["kind"] == "tokens")
        assert (tokens["y"], tokens["h"]) == (activation["y"], activation["h"])
    assert tokens["current"] == update["current"] == update["dimAfter"] == 0


def test_weights_have_the_colour_of_their_side_and_a_scale(page: Page) -> None:
    for place, side in (("encoder.ff", "source"), ("decoder.ff", "target")):
        for step in PLACES[place]:
            found = scene(page, {}, place, step)
            assert {item["ramp"] for item in found.values() if item["kind"] == "matrix"} == {side}
            scales = {key: item["text"] for key, item in found.items() if key.startswith("scale:")}
            weight = {"inner": "W_1", "outer": "W_2"}.get(step)
            assert scales == ({f"scale:m:{place.replace('.', '.0.')}.{weight}": "±2.0"} if weight else {})
    big = scene(page, {"d": 256, "ff": 1024}, "decoder.ff", "outer", w=820, h=560, unit=17)
    name, shape, scale = (big[f"{part}:m:decoder.0.ff.W_2"] for part in ("name", "shape", "scale"))
    assert name["x"] + name["w"] <= shape["x"] and shape["x"] + shape["w"] <= scale["x"] + 1
    assert shape["size"] == scale["size"] == 0.9


def test_staying_neurons_are_counted_and_drawn_to_scale(page: Page) -> None:
    for n in (9, 64):
        found = scene(page, {"n": n}, "encoder.ff", "activation")
        bars = [found[f"ff:kept:{i}"] for i in range(n)]
        counts = [3 * i + 1 for i in range(n)]
        assert all(f"{count:,} of 256" in bar["tip"][0] for bar, count in zip(bars, counts, strict=True))
        scale = [bar["w"] / count for bar, count in zip(bars, counts, strict=True)]
        assert max(scale) - min(scale) < 1e-9
        said = {
            int(key.split(":")[2]): item["text"] for key, item in found.items() if re.fullmatch(r"ff:kept:\d+:n", key)
        }
        assert said and all(text.split()[0] == f"{counts[i]:,}" for i, text in said.items())
        assert len(said) == n if n == 9 else len(said) < n
    assert found["m:encoder.0.ff.pre"]["y"] < found["m:encoder.0.ff.activation"]["y"]


def test_a_token_leads_to_the_true_height_of_its_row(page: Page) -> None:
    for vocab in (31, 4000):
        found = scene(page, {"vocab": vocab}, "source", "row")
        table, rows = found["box:source.table"], found["m:source.rows"]
        for i in range(9):
            number = (i * 37 + 3) % vocab
            line, on, strip = found[f"to:source:{i}"], found[f"from:source:{i}"], found[f"row:source:{number}"]
            height = table["y"] + (number + 0.5) / vocab * table["h"]
            assert (
                line["points"][3] == on["points"][1] == pytest.approx(height, abs=1.01)
            )  # a row of one pixel is drawn with two
            assert strip["y"] + strip["h"] / 2 == pytest.approx(line["points"][3])
            assert line["points"][1] == on["points"][3] == pytest.approx(rows["y"] + (i + 0.5) / 9 * rows["h"])
            assert found[f"id:source:{i}"]["text"] == f"{number:,}"


def test_the_table_grows_by_the_root_on_one_scale(page: Page) -> None:
    first = scene(page, {"d": 64}, "target", "row")
    second = scene(page, {"d": 64}, "target", "times")
    assert second["emb:times"]["text"] == "× 8" and second["emb:root"]["text"] == "= √64"
    assert first["m:target.rows"].get("top") is None and second["m:target.rows"]["top"] == 2  # 2: of the embedding
    third = scene(page, {"d": 64}, "target", "plus")
    assert {third[f"m:target.{one}"].get("top", 2) for one in ("rows", "embedding", "positions", "x")} == {2}
    assert [third[f"pos:{i}"]["text"] for i in range(9)] == [str(i) for i in range(9)]
    learned = scene(page, {"positions": "learned"}, "source", "plus")
    none = scene(page, {"positions": "none"}, "source", "plus")
    assert learned["name:m:source.positions"]["text"] == "P" and third["name:m:target.positions"]["text"] == "PE"
    assert "m:source.positions" not in none and "no positions" in none["note:source"]["text"]


def test_the_positions_have_a_pixel_a_column_where_there_is_room(page: Page) -> None:
    model = {"d": 256, "n": 13, "vocab": 4000}
    for step in ("row", "times", "plus"):
        found = scene(page, model, "source", step)
        wide = {
            name: found[key if key in found else f"{key}:wait"]["w"]
            for name in ("rows", "embedding", "positions", "x")
            for key in [f"m:source.{name}"]
        }
        assert wide["positions"] == 256 and 60 < wide["rows"] == wide["embedding"] < wide["x"]
    large = scene(page, model, "source", "plus", w=1440, h=800)
    assert large["m:source.positions"]["w"] == large["m:source.x"]["w"] == 256
    few = scene(page, {"d": 64}, "source", "plus")
    assert len({few[f"m:source.{name}"]["w"] for name in ("rows", "embedding", "positions", "x")}) == 1


def test_bars_are_as_long_as_their_numbers(page: Page) -> None:
    logits = scene(page, {}, "output", "logits")
    shown = [9 - 1.3 * i for i in range(10)]
    bars = [logits[f"bar:{i}"] for i in range(10)]
    unit = bars[0]["w"] / shown[0]
    zero = logits["out:zero"]["x"]
    for bar, value in zip(bars, shown, strict=True):
        assert bar["w"] == pytest.approx(unit * abs(value), abs=1e-3)
        assert (bar["x"] if value > 0 else bar["x"] + bar["w"]) == pytest.approx(zero, abs=1e-3)
    marks = [logits[f"out:mark:{(i * 13) % 300}"]["x"] for i in range(10)]
    assert marks == pytest.approx([zero + unit * value for value in shown], abs=1e-3)  # one axis for bars and histogram
    likely = scene(page, {"plain": True}, "output", "probabilities")
    assert all(key not in likely for key in ("out:all", "out:axis"))
    whole = likely["bar:0"]["w"] / 0.5
    for i in range(10):
        assert likely[f"bar:{i}"]["w"] == pytest.approx(whole * 0.5 ** (i + 1), abs=1e-3)
        assert likely[f"bar:{i}:plain"]["w"] == pytest.approx(max(1, whole * 0.4 ** (i + 1)), abs=1e-3)
        assert float(likely[f"p:{i}"]["text"]) == pytest.approx(0.5 ** (i + 1), abs=5.01e-5)
        assert len(likely[f"p:{i}"]["text"]) == 6
    assert likely["out:others:number"]["text"] == f"{0.5**10:.4f}"
    assert likely["out:others:bar"]["w"] == pytest.approx(whole * 0.5**10, abs=1e-3)
    assert "out:others" not in scene(page, {"vocab": 7}, "output", "probabilities")


def test_the_histogram_holds_every_logit(page: Page) -> None:
    found = scene(page, {}, "output", "logits")
    counts = [int(item["tip"][0].split()[0]) for key, item in found.items() if key.startswith("out:bin:")]
    assert sum(counts) == 300
    heights = [item["h"] for key, item in found.items() if key.startswith("out:bin:")]
    scale = max(heights) / max(counts)
    assert heights == pytest.approx([max(1, count * scale) for count in counts], abs=1e-6)


def test_the_chosen_word_is_marked_and_comes_back_in(page: Page) -> None:
    chosen = scene(page, {"rank": 3, "own": False}, "output", "choose", t=2)
    frame = chosen["out:chosen"]
    assert frame["y"] <= chosen["bar:3"]["y"] and chosen["bar:3"]["y"] + chosen["bar:3"]["h"] <= frame["y"] + frame["h"]
    assert chosen["out:chosen:text"]["text"] == "given: rank 4 of 300" and chosen["word:3"]["weight"] == 600
    back = scene(page, {"rank": 3, "own": False}, "output", "back", t=2)
    tokens, word = back["tokens:target"], back["word:3"]
    assert tokens["labels"][3] == "" and tokens["current"] == tokens["dimAfter"] == 3 and "" not in tokens["labels"][:3]
    space = tokens["h"] / 9
    assert tokens["y"] + 3 * space <= word["y"] + word["h"] / 2 <= tokens["y"] + 4 * space
    assert word["text"] == chosen["word:3"]["text"] == back["word:3:stays"]["text"]
    assert all(back[key] == chosen[key] for key in ("m:output.rows", "bar:3", "p:3", "out:chosen"))
    end = scene(page, {}, "output", "back", t=8)
    assert (
        end["word:0"]["text"] == "</s>" and end["word:0"]["y"] >= end["tokens:target"]["y"] + end["tokens:target"]["h"]
    )
    assert end["out:back:text"]["text"] == "End of the sentence."
    far = scene(page, {"rank": 99}, "output", "choose", t=1)
    assert far["word:chosen"]["text"] == back["tokens:target"]["labels"][2] and far["p:chosen"]["text"] == "0.0001"
    assert far["p:chosen"]["y"] < far["out:others:number"]["y"]


def test_what_has_not_arrived_is_an_outline_where_it_will_be(page: Page) -> None:
    for state in states({"n": 9}):
        wait = scene(page, {"missing": True}, **state)
        there = scene(page, {}, **state)
        assert not [key for key, item in wait.items() if item["kind"] == "matrix"]
        main = re.compile(r"m:[\w.]+\.(x|pre|activation|update|rows|embedding|W_\d|hidden)$")
        for key, item in there.items():
            if item["kind"] == "matrix" and main.match(key):
                outline = wait[f"{key}:wait"]
                assert [outline[one] for one in "xywh"] == [item[one] for one in "xywh"] and outline["dash"]
                assert f"name:{key}" in wait


def test_every_text_is_used_and_known(page: Page) -> None:
    page.evaluate(
        """([models, sizes, all]) => {
          window.said = new Set();
          models.forEach((model, i) => {
            for (const size of sizes) for (const state of all[i]) sceneOf(new FakeData(model), state, size);
          });
        }""",
        [MODELS, SIZES, [states(model) for model in MODELS]],
    )
    assert page.evaluate("Object.keys(ENDS_TEXTS).filter((key) => !window.said.has(key))") == []


def test_a_bar_leads_to_its_number(page: Page) -> None:
    bar = scene(page, {}, "output", "probabilities", t=4)["bar:2"]
    assert bar["go"] == {"zoom": "number", "row": 2, "col": 0} and bar["label"]
