"""The boards of the attention sub-layers as pure functions in Chromium: everything is there and has its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright")
from playwright.sync_api import Browser, Page

from tests.browser.modules import open_modules

PLACES = ("encoder.self", "decoder.self", "decoder.cross")
AREAS = [  # width, height (0: what the board asks for), unit, narrow
    (340, 460, 15, True), (340, 460, 20, True), (366, 0, 15, True), (340, 0, 20, True), (640, 0, 15, True),
    (500, 500, 15, False), (700, 560, 20, False), (964, 577, 15, False), (1500, 800, 15, False), (1500, 800, 20, False),
]  # fmt: skip
SIZES = [  # queries, keys, heads, d_model
    (1, 1, 8, 256), (2, 3, 4, 64), (11, 14, 8, 256), (13, 11, 16, 512), (64, 64, 1, 64), (64, 40, 8, 512),
    (12, 12, 32, 512),
]  # fmt: skip
# What every step must show, for all heads and for one; a name with {} once a head.
SHOWN = {
    "x": (["x"], ["x"]),
    "project": (["W_q", "W_k", "W_v", "b_q", "b_k", "b_v", "queries", "keys", "values"],) * 2,
    "split": (["queries.h{}", "keys.h{}", "values.h{}"], ["queries", "queries.h{}", "keys.h{}", "values.h{}"]),
    "dot": (["queries.h{}", "keys.h{}", "scores.h{}"],) * 2,
    "scale": (["scores.h{}"],) * 2,
    "mask": (["scores.h{}"],) * 2,
    "softmax": (["weights.h{}"],) * 2,
    "values": (["weights.h{}", "values.h{}", "head_outputs.h{}"],) * 2,
    "concat": (["head_outputs.h{}", "concat"],) * 2,
    "output": (["concat", "W_o", "b_o", "update"],) * 2,
    "add": (["x", "update", "sum"],) * 2,
    "norm": (["sum", "mean", "deviation", "gamma", "beta", "leaves"],) * 2,
}

# `data` as anatomy_data.js has it, of made-up numbers; and a survey of what a board draws.
GLUE = """
const WORDS = ["The", "yesterday", "is", "brother", "angerufen", "a", ".", "</s>", "우리말", "unverständlich", "<b>"];
const words = (count, step) => Array.from({ length: count }, (_, i) => WORDS[(i * step + 1) % WORDS.length]);
const t = (name, values = {}) => ATTENTION_TEXTS[name].replace(/\\{(\\w+)\\}/g, (_, key) => values[key]);

// "post alone": post-norm without residual connections
const around = (norm) => ({ norm: norm.split(" ")[0], residual: !norm.endsWith("alone") });

function made(n, m, heads, d, norm, more = {}) {
  const own = more.cross ? m : n;
  const dk = d / heads;
  const shapes = {
    x: [n, d], memory: [m, d], normed: [n, d], queries: [heads, n, dk], keys: [heads, own, dk],
    values: [heads, own, dk], dot: [heads, n, own], scaled: [heads, n, own], scores: [heads, n, own],
    weights: [heads, n, own], head_outputs: [heads, n, dk], concat: [n, d], update: [n, d], sum: [n, d], leaves: [n, d],
    mean: [n], deviation: [n], gamma: [d], beta: [d], b_q: [d], b_k: [d], b_v: [d], b_o: [d],
    W_q: [d, d], W_k: [d, d], W_v: [d, d], W_o: [d, d],
  };
  const matrix = (name, { head, transposed } = {}) => {
    if (more.wait) return null;
    const short = name.replace("place.", "");
    let [rows, cols] = shapes[short].length === 1 ? [1, shapes[short][0]] : shapes[short].slice(-2);
    if (shapes[short].length === 3 && head === undefined) cols *= heads;
    if (name.startsWith("W_") && head !== undefined) cols = dk;
    if (transposed) [rows, cols] = [cols, rows];
    const top = { dot: 8 + (head || 0), scaled: 2, weights: 1 }[short] || 3;
    const numbers = more.numbers ? Float32Array.from({ length: rows * cols }, (_, i) => i) : new Float32Array(1);
    const id = [name, head, transposed, rows, cols].join("|");
    const at = (row, col) => numbers[row * cols + col];
    const about = { exact: true, range: [0, 1], masked: false, shape: shapes[short], axes: [] };
    return { id, name: short, rows, cols, at, top, data: numbers, ...about };
  };
  const layers = { encoder_layers: 2, decoder_layers: 2 };
  const config = { d_model: d, d_ff: 4 * d, heads, d_k: dk, d_head: dk, scaling: true, ...layers, ...around(norm) };
  const labels = (side) => (side === "source" ? words(more.source ?? m, 1) : words(n, 3));
  return { config, labels, matrix, plain: () => null, about: more.about || null };
}

function contextOf(place, zoom, step, [w, h, unit, narrow], [n, m, heads, d], norm = "post", more = {}) {
  const source = place === "encoder.self" ? n : m;
  const data = made(n, m, heads, d, norm, { source, cross: place === "decoder.cross", ...more });
  const head = Math.min(heads - 1, more.head ?? 2);
  const state = { place, zoom, step, encoder: 1, decoder: 1, head, t: Math.min(2, n - 1) };
  const area = { x: 0, y: 0, w, h };
  const ctx = { state, data, area, unit, big: unit > 15, t, theme: null, narrow };
  if (!h) area.h = attentionBoardHeight(ctx);
  return ctx;
}

const board = (...asked) => attentionBoard(contextOf(...asked));
const plainly = (items) =>
  items.map(({ matrix, plain, ...item }) => {
    return matrix ? { ...item, matrix: matrix.id, numbers: Array.from(matrix.data.slice(0, 400)) } : item;
  });

function survey(area, sizes, norms, wait) {
  const found = [];
  for (const place of ["encoder.self", "decoder.self", "decoder.cross"])
    for (const size of sizes)
      for (const norm of norms)
        for (const zoom of ["sub", "head"])
          for (const step of stepsOf(place, around(norm))) {
            const ctx = contextOf(place, zoom, step, area, size, norm, { wait, head: size[2] - 1 });
            const all = wrongs(attentionBoard(ctx), ctx);
            found.push(...all.map((wrong) => [place, size.join("x"), norm, zoom, step, wrong].join(" ")));
          }
  return found;
}
"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_modules(
        page, *(f"anatomy/{name}.js" for name in ("attention/board", "attention/parts", "walk", "stage/measure"))
    )
    page.add_script_tag(content=GLUE)
    page.add_script_tag(content=(Path(__file__).parent / "anatomy_boards.js").read_text(encoding="utf-8"))
    yield page
    assert not errors
    context.close()


def board(page: Page, *asked: Any) -> dict[str, dict[str, Any]]:
    """Items of a board by key: (place, zoom, step, area, size, norm, more)."""
    items: list[dict[str, Any]] = page.evaluate("(asked) => plainly(board(...asked))", list(asked))
    return {item["key"]: item for item in items}


WIDE, PHONE = AREAS[7], AREAS[2]
USUAL = (11, 14, 8, 256)


@pytest.mark.parametrize("area", AREAS, ids=str)
def test_everything_has_its_place(page: Page, area: tuple[int, int, int, bool]) -> None:
    assert page.evaluate("([area, sizes]) => survey(area, sizes, ['post'], false)", [area, SIZES]) == []
    others = ["pre", "none", "post alone", "pre alone", "none alone"]
    survey = "([area, sizes, norms]) => survey(area, sizes, norms, false)"
    assert page.evaluate(survey, [area, SIZES[2:3], others]) == []


@pytest.mark.parametrize("area", [WIDE, PHONE], ids=str)
def test_outlines_stand_where_numbers_will_be(page: Page, area: tuple[int, int, int, bool]) -> None:
    assert page.evaluate("([area, sizes]) => survey(area, sizes, ['post', 'pre'], true)", [area, [USUAL]]) == []
    for place in PLACES:
        for zoom in ("sub", "head"):
            for step in SHOWN:
                here = board(page, place, zoom, step, area, USUAL)
                later = board(page, place, zoom, step, area, USUAL, "post", {"wait": True})
                drawn = {key: item for key, item in here.items() if item["kind"] == "matrix"}
                numbers = {key: item for key, item in drawn.items() if item.get("group") != "under"}
                assert numbers and not [key for key, item in later.items() if item["kind"] == "matrix"]
                for key, item in numbers.items():
                    outline = later[key + ":wait"]
                    assert outline["kind"] == "box" and [outline[k] for k in "xywh"] == [item[k] for k in "xywh"]
                    assert key + ":wait" in item["parent"]


@pytest.mark.parametrize("area", [WIDE, PHONE], ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_every_matrix_of_every_step_is_shown(page: Page, place: str, area: tuple[int, int, int, bool]) -> None:
    stack, part = place.split(".")
    for step, (of_all, of_one) in SHOWN.items():
        everyone = board(page, place, "sub", step, area, USUAL)
        one = board(page, place, "head", step, area, USUAL)
        for name in of_all:
            wanted = [name.format(head) for head in range(8)] if "{}" in name else [name]
            for each in wanted:
                assert everyone[f"m:{stack}.1.{part}.{each}"]["kind"] == "matrix", step
        for name in of_one:
            each = name.format(2) if "{}" in name or step != "project" else name + ".h2"
            assert one[f"m:{stack}.1.{part}.{each}"]["kind"] == "matrix", step
        if place == "decoder.cross" and step in ("x", "project"):
            assert {everyone["m:decoder.1.cross.memory"]["kind"], one["m:decoder.1.cross.memory"]["kind"]} == {"matrix"}


@pytest.mark.parametrize("area", [WIDE, PHONE], ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_without_a_residual_connection_nothing_is_added(
    page: Page, place: str, area: tuple[int, int, int, bool]
) -> None:
    stack, part = place.split(".")
    at = f"m:{stack}.1.{part}."
    items = board(page, place, "sub", "norm", area, USUAL, "post alone")
    drawn = {key.removeprefix(at) for key, item in items.items() if item["kind"] == "matrix"}
    assert {"update", "mean", "deviation", "gamma", "beta", "leaves"} <= drawn and not {"x", "sum"} & drawn
    names = "".join(str(item.get("text", "")) for item in items.values())
    assert "LayerNorm" in names and "x + " not in names
    for norm in ("none", "pre"):  # the sum is the end: no LayerNorm is announced behind it
        items = board(page, place, "sub", "add", area, USUAL, norm)
        assert at + "sum" in items and not [key for key in items if key.startswith(at + "leaves")]


@pytest.mark.parametrize("area", [WIDE, PHONE], ids=str)
@pytest.mark.parametrize("zoom", ["sub", "head"])
def test_memory_comes_in_before_the_layer_norm_too(page: Page, zoom: str, area: tuple[int, int, int, bool]) -> None:
    seen = []
    for step in ("x", "norm"):
        items = board(page, "decoder.cross", zoom, step, area, USUAL, "pre")
        x, memory = (items[f"m:decoder.1.cross.{name}"] for name in ("x", "memory"))
        assert memory["h"] / 14 == pytest.approx(x["h"] / 11) and memory["w"] == x["w"] and memory["rowAxis"] == "key"
        assert memory.get("pick") == ({"matrix": "memory"} if step == "x" else None)
        assert (memory.get("alpha", 1) < 1) == (step == "norm")
        seen.append([[one[k] for k in "xywh"] for one in (x, memory)])
    assert seen[0] == seen[1]
    self_attention = board(page, "decoder.self", zoom, "x", area, USUAL, "pre")
    assert "m:decoder.1.self.memory" not in self_attention


@pytest.mark.parametrize("zoom", ["sub", "head"])
def test_what_memory_lights_is_not_what_x_lights(page: Page, zoom: str) -> None:
    items = board(page, "decoder.cross", zoom, "project", WIDE, USUAL)
    end = "" if zoom == "sub" else ".h2"
    x, memory, q, k, v = (
        items[f"m:decoder.1.cross.{name}"] for name in ("x", "memory", "W_q" + end, "W_k" + end, "W_v" + end)
    )
    assert x["colAxis"] == q["rowAxis"] != memory["colAxis"] == k["rowAxis"] == v["rowAxis"]
    assert {axis.split(":")[0] for axis in (x["colAxis"], memory["colAxis"])} == {"d_model"}  # what is shown
    alone = board(page, "decoder.self", zoom, "project", WIDE, USUAL)
    assert {alone[f"m:decoder.1.self.W_{one}{end}"]["rowAxis"] for one in "qkv"} == {"d_model"}


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_same_state_is_the_same_picture(page: Page, norm: str) -> None:
    steps = page.evaluate("(norm) => stepsOf('encoder.self', around(norm))", norm)
    there = [board(page, "encoder.self", "sub", step, WIDE, USUAL, norm) for step in steps]
    back = [board(page, "encoder.self", "sub", step, WIDE, USUAL, norm) for step in reversed(steps)]
    assert there == back[::-1]


@pytest.mark.parametrize("area", [WIDE, PHONE], ids=str)
@pytest.mark.parametrize(
    ("zoom", "step", "left", "top", "product"),
    [
        ("sub", "project", "x", "W_k", "keys"),
        ("head", "project", "x", "W_q.h2", "queries.h2"),
        ("sub", "dot", "queries.h5", "keys.h5", "scores.h5"),
        ("head", "dot", "queries.h2", "keys.h2", "scores.h2"),
        ("sub", "values", "weights.h0", "values.h0", "head_outputs.h0"),
        ("head", "values", "weights.h2", "values.h2", "head_outputs.h2"),
        ("sub", "output", "concat", "W_o", "update"),
    ],
)
def test_a_product_stands_in_the_corner(
    page: Page, area: Any, zoom: str, step: str, left: str, top: str, product: str
) -> None:
    items = board(page, "encoder.self", zoom, step, area, USUAL)
    a, b, c = (items[f"m:encoder.1.self.{name}"] for name in (left, top, product))
    assert (a["y"], a["h"]) == (c["y"], c["h"]) and a["x"] + a["w"] < c["x"]
    assert (b["x"], b["w"]) == (c["x"], c["w"]) and b["y"] + b["h"] < c["y"]
    # Hovering lights the lines by the names of the axes.
    assert a["rowAxis"] == c["rowAxis"] == "query" and b["colAxis"] == c["colAxis"]
    assert (
        a["colAxis"] == b["rowAxis"] and a.get("group") in (None, b.get("group")) and b.get("group") == c.get("group")
    )


@pytest.mark.parametrize("area", AREAS, ids=str)
@pytest.mark.parametrize("zoom", ["sub", "head"])
def test_scores_stay_where_they_are_while_they_become_weights(page: Page, area: Any, zoom: str) -> None:
    seen = []
    for step in ("dot", "scale", "mask", "softmax"):
        items = board(page, "decoder.cross", zoom, step, area, (13, 11, 8, 256))
        role = "weights" if step == "softmax" else "scores"
        one = items[f"m:decoder.1.cross.{role}.h2"]
        seen.append([one[k] for k in "xywh"])
        # Dot products and scores have one scale, that of the head with the largest: the division pales every head.
        assert one["top"] == {"dot": 8 + 7, "scale": 8 + 7, "mask": 2, "softmax": 1}[step]
    assert all(one == seen[0] for one in seen)


def test_numbers_of_a_step_are_those_of_the_step(page: Page) -> None:
    made = {"dot": "dot", "scale": "scaled", "mask": "scores", "softmax": "weights", "values": "weights"}
    for step, name in made.items():
        key = "weights" if name == "weights" else "scores"
        for zoom in ("sub", "head"):
            item = board(page, "encoder.self", zoom, step, WIDE, USUAL)[f"m:encoder.1.self.{key}.h2"]
            assert item["matrix"].startswith(f"place.{name}|2|")
    # One head's part of the bias: columns 64 to 95 of 256.
    items = board(page, "encoder.self", "head", "project", WIDE, USUAL, "post", {"numbers": True})
    assert items["m:encoder.1.self.b_k.h2"]["numbers"] == list(range(64, 96))
    assert items["m:encoder.1.self.queries.h2"]["colFrom"] == 64


def test_what_is_not_decoded_yet_is_pale(page: Page) -> None:
    late = board(page, "decoder.self", "sub", "split", WIDE, USUAL)
    assert (late["m:decoder.1.self.queries.h0"]["current"], late["m:decoder.1.self.queries.h0"]["dimAfter"]) == (2, 2)
    assert late["m:decoder.1.self.keys.h0"]["dimAfter"] == 2 and "current" not in late["m:decoder.1.self.keys.h0"]
    cross = board(page, "decoder.cross", "sub", "project", WIDE, USUAL)
    assert cross["m:decoder.1.cross.queries"]["dimAfter"] == 2
    assert "dimAfter" not in cross["m:decoder.1.cross.keys"] and "dimAfter" not in cross["m:decoder.1.cross.memory"]
    encoder = board(page, "encoder.self", "head", "dot", WIDE, USUAL)
    assert not [key for key, item in encoder.items() if "dimAfter" in item or "current" in item]


@pytest.mark.parametrize("step", ["split", "dot", "softmax", "values", "concat"])
def test_every_head_can_be_opened(page: Page, step: str) -> None:
    items = board(page, "encoder.self", "sub", step, WIDE, USUAL)
    buttons = [item for item in items.values() if item.get("go") and item.get("label")]
    assert [item["go"] for item in buttons] == [{"zoom": "head", "head": head} for head in range(8)]
    assert [item["label"] for item in buttons] == [f"Head {n} of 8: look inside" for n in range(1, 9)]
    assert not [key for key, item in items.items() if item.get("go") and not item["key"].startswith(("m:", "head:"))]


@pytest.mark.parametrize("place", PLACES)
def test_a_phone_gets_the_height_it_needs_and_no_step_changes_it(page: Page, place: str) -> None:
    for zoom in ("sub", "head"):
        asked = [[place, zoom, step, [366, 700, 15, True], USUAL] for step in SHOWN]
        high = page.evaluate("(all) => all.map((asked) => attentionBoardHeight(contextOf(...asked)))", asked)
        assert len(set(high)) == 1 and 400 < high[0] < 1300
        used = max(
            item["y"] + item["h"]
            for step in SHOWN
            for item in board(page, place, zoom, step, [366, 0, 15, True], USUAL).values()
        )
        assert 0.85 * high[0] < used <= high[0]


def test_names_say_what_a_switch_did(page: Page) -> None:
    key = "name:m:encoder.1.self.scores.h2"
    for factor, said in ((32**-0.5, "Q_{3} K_{3}^T ÷ √d_k"), (1.0, "Q_{3} K_{3}^T"), (0.7, "Q_{3} K_{3}^T × 0.7")):
        more = {"about": {"scale": [factor] * 8, "zero": [False] * 8}}
        assert board(page, "encoder.self", "head", "scale", WIDE, USUAL, "post", more)[key]["text"] == said
    more = {"about": {"scale": [1.0] * 8, "zero": [head == 2 for head in range(8)], "skipped": True}}
    values = board(page, "encoder.self", "head", "values", WIDE, USUAL, "post", more)
    assert values["shape:m:encoder.1.self.head_outputs.h2"]["text"] == "switched off"
    assert values["shape:m:encoder.1.self.weights.h2"]["text"] == "[11, 11]"
    output = board(page, "encoder.self", "sub", "output", WIDE, USUAL, "post", more)
    assert output["shape:m:encoder.1.self.update"]["text"] == "switched off"


def test_shapes_are_those_of_the_model(page: Page) -> None:
    items = board(page, "decoder.cross", "sub", "project", WIDE, (13, 11, 8, 256))
    said = {key.rpartition(".")[2]: item["text"] for key, item in items.items() if key.startswith("shape:")}
    whole, queries, keys = "[256, 256]", "[13, 256]", "[11, 256]"
    assert said == {
        "x": queries, "queries": queries, "memory": keys, "keys": keys, "values": keys,
        "W_q": whole, "W_k": whole, "W_v": whole,
    }  # fmt: skip
    split = board(page, "decoder.cross", "sub", "split", WIDE, (13, 11, 8, 256))
    assert split["shape:m:decoder.1.cross.keys"]["text"] == "[8, 11, 32]"
    dot = board(page, "decoder.cross", "head", "dot", WIDE, (13, 11, 8, 256))
    texts = [dot[f"shape:m:decoder.1.cross.{name}.h2"]["text"] for name in ("queries", "keys", "scores")]
    assert texts == ["[13, 32]", "[32, 11]", "[13, 11]"]


def test_tiles_always_name_their_keys(page: Page) -> None:
    for area in (*AREAS[5:], (640, 420, 20, False), (900, 400, 20, False), (340, 460, 20, True)):
        for size in (USUAL, (64, 64, 8, 512), (13, 56, 8, 256)):
            items = board(page, "encoder.self", "sub", "softmax", area, size)
            columns = [item for item in items.values() if item.get("orient") == "columns"]
            assert columns and all(item["h"] >= 1.5 * area[2] for item in columns), (area, size)


def test_heads_are_dealt_out_of_their_columns_and_joined_in_them(page: Page) -> None:
    project, split, concat = (
        board(page, "encoder.self", "sub", s, WIDE, USUAL) for s in ("project", "split", "concat")
    )
    start = "m:encoder.1.self."
    for role in ("queries", "keys", "values"):
        whole = project[start + role]
        for head in range(8):
            under, block = (items[f"{start}{role}.h{head}"] for items in (project, split))
            assert (under["x"], under["w"]) == pytest.approx((whole["x"] + head * whole["w"] / 8, whole["w"] / 8))
            assert (under["y"], under["h"], under["z"]) == (whole["y"], whole["h"], -1)
            assert under["matrix"] == block["matrix"] and under["top"] == block["top"]  # the same picture moves
            assert (under["first"], block["first"]) == ("x", "y")
            assert block["parentSlice"] == {"key": start + role, "from": 32 * head, "to": 32 * head + 32}
    joined = concat[start + "head_outputs.h3"]["parentSlice"]
    assert joined == {"key": start + "concat", "from": 96, "to": 128}


def test_weights_have_the_colour_of_their_side_and_a_scale(page: Page) -> None:
    items = board(page, "decoder.cross", "sub", "project", WIDE, USUAL)
    weights = [items[f"m:decoder.1.cross.W_{one}"] for one in "qkv"]
    assert [item["ramp"] for item in weights] == ["target", "source", "source"]
    alone = board(page, "decoder.self", "sub", "project", (1100, 700, 15, False), USUAL)
    assert {alone[f"scale:m:decoder.1.self.W_{one}"]["text"] for one in "qkv"} == {"±3.0"}
    for step in SHOWN:
        for item in board(page, "decoder.cross", "sub", step, WIDE, USUAL).values():
            assert item.get("ramp") != "ink", item["key"]
    ends = page.evaluate("[0.3149, 0.05, 1.26, 12.3, 140].map(sheetScale)")
    assert ends == ["±0.31", "±0.050", "±1.3", "±12", "±140"]


@pytest.mark.parametrize("area", [WIDE, (1500, 800, 20, False), PHONE], ids=str)
@pytest.mark.parametrize("step", ["softmax", "values"])
def test_a_head_that_is_off_says_so_at_its_tile(page: Page, step: str, area: Any) -> None:
    more = {"about": {"scale": [1.0] * 8, "zero": [head == 5 for head in range(8)]}}
    items = board(page, "encoder.self", "sub", step, area, USUAL, "post", more)
    asked = ["encoder.self", "sub", step, area, USUAL, "post", more]
    check = "(asked) => { const ctx = contextOf(...asked); return wrongs(attentionBoard(ctx), ctx); }"
    assert page.evaluate(check, asked) == []
    frames = {key: item for key, item in items.items() if key.startswith("head:")}
    assert [key for key, item in frames.items() if item["dash"]] == ["head:encoder.1.self.5"]
    assert frames["head:encoder.1.self.5"]["stroke"] == "dim"
    assert frames["head:encoder.1.self.5"]["tip"][1] == "switched off"
    assert [key for key in items if key.startswith("off:")] == ["off:head:encoder.1.self.5"]
