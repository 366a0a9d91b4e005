"""What the anatomy explains: a text for every place, step and kind of model, and no text without a use."""

from __future__ import annotations

import base64
import html
import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.find import FLAGS, NoBrowser, find_browser
from tests.support.build import tiny_config
from transformer.interventions.sets import Interventions
from transformer.view import bundle
from transformer.view.anatomy_state import steps_of

NODE = shutil.which("node")
pytestmark = [] if NODE else [pytest.mark.browser]
Run = Callable[[str], Any]

# A model of every kind, far enough for the texts; every state of it; and what the panel says there.
GLUE = """
const t = makeTexts({}, ANATOMY_TEXTS);
const sizes = {
  d_model: 256, d_ff: 1024, d_k: 32, d_head: 32, heads: 8, encoder_layers: 2, decoder_layers: 3, vocab_size: 4000,
  norm: "post", activation: "relu", positions: "sinusoidal", scaling: true, layer_norm_eps: 1e-5, max_positions: 512,
  parameters: 8396800, output_size: 4000, target_vocab_size: null, layout: "interleaved", embedding_scale: true,
  tied_output: true, output_bias: false, residual: true, causal: true,
};
const tensor = (symbol, ...shape) => ({ symbol, shape, count: shape.reduce((a, b) => a * b, 1) });
const box = (count, tensors, shared_with = null) => ({ count, share: 0, tensors, shared_with });
const table = (...others) => box(1024000, [tensor("E", 4000, 256)], others);
const boxes = {
  "source.embedding": table("target.embedding", "output"), "target.embedding": table("source.embedding", "output"),
  output: table("source.embedding", "target.embedding"),
  "encoder.0.self": box(65792, [tensor("W^O", 256, 256), tensor("b^O", 256)]),
  "encoder.0.self.norm": box(512, [tensor("γ", 256), tensor("β", 256)]),
};
const made = (config = {}, more = {}) => ({
  id: "x", config: { ...sizes, ...config }, steps: 4, about: null,
  header: { own: true, switches: {}, changed: {}, boxes }, plain: () => null,
  labels: (side) => (side === "source" ? ["The", "cat", "</s>"] : side === "target_in" ? ["<s>", "Die", "Kat", "ze"]
    : ["Die", "Kat", "ze", "</s>"]),
  outputs: {
    labels: [["Die", "Der"], ["Kat", "Hund"], ["ze", "zen"], ["</s>", "."]], chosen_rank: [0, 0, 1, 0],
    probability: Float32Array.from([0.9, 0.05, 0.8, 0.1, 0.6, 0.4, 0.7, 0.2]),
    logit: Float32Array.from([9, 5, 8, 6, 7, 6, 9, 8]),
    chosen_probability: Float32Array.from([0.9, 0.8, 0.4, 0.7]),
  },
  ...more,
});
const at = (more) => ({
  zoom: "sub", place: "encoder.self", encoder: 0, decoder: 0, head: 2, step: "x", row: 0, col: -1, t: 0, ...more,
});
const scores = (hidden) => {
  const data = Float32Array.from([1, 2, hidden ? -Infinity : 3, 4]);
  const shape = [1, 1, 2, 2];
  const axes = ["batch", "head", "query", "key"];
  return { name: "scores", rows: 2, cols: 2, data, shape, axes, masked: hidden, at: (i, j) => data[2 * i + j] };
};
const every = [];
for (const norm of ["post", "pre", "none"])
  for (const residual of [true, false])
    for (const causal of [true, false])
      for (const positions of ["sinusoidal", "none"]) every.push({ norm, residual, causal, positions });
for (const norm of ["post", "pre"])
  for (const activation of ["relu", "gelu", "swish"])
    for (const positions of ["sinusoidal", "learned", "none"])
      for (const scaling of [true, false])
        for (const d_k of [32, 16]) every.push({ norm, activation, positions, scaling, d_k });
for (const embedding_scale of [true, false])
  for (const tied_output of [true, false])
    for (const output_bias of [true, false])
      for (const [target_vocab_size, output_size] of [[null, 4000], [5000, 5000]])
        every.push({ embedding_scale, tied_output, output_bias, target_vocab_size, output_size });
const abouts = [null, { skipped: true }];
for (const [factor, rule] of [[0.5, 0], [1, 1], [32 ** -0.5, 2]]) {
  const eight = (value) => Array(8).fill(value);
  abouts.push({ scale: eight(factor), rule: eight(rule), zero: eight(rule > 0) });
}
// {keys: every key that a state calls for, left: texts with a {name} that nothing fills}
const reached = () => {
  const keys = new Set();
  const left = [];
  const say = (key, values) => {
    keys.add(key);
    const text = t(key, values);
    if (/\\{\\w+\\}/.test(text) || text === key) left.push([key, text]);
  };
  for (const config of every)
    for (const about of abouts)
      for (const place of PLACES)
        for (const zoom of zoomsOf(place).filter((one) => one !== "head" && one !== "number"))
          for (const step of zoom === "sub" ? stepsOf(place, made(config).config) : ["x"])
            for (const [layer, row, own] of [[0, 2, true], [1, 3, true], [1, 2, false]])
              for (const matrix of step === "mask" ? [null, scores(true), scores(false)] : [null]) {
                const data = made(config, { about });
                data.header = { ...data.header, own, holding: layer ? { causal: "off@decoder_self.2" } : {} };
                const state = at({ place, step, zoom, encoder: layer, decoder: layer, t: row });
                const values = textValues(state, data);
                const found = textKeys(state, data, matrix);
                for (const name of ["title", "text", "more"]) say(found[name], values);
              }
  return { keys: [...keys], left };
};
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs an expression of JavaScript behind the panel's code, in node or in a browser; the answer comes as JSON."""
    folder = tmp_path_factory.mktemp("script")
    # what is not imported along the way, in the same one script
    order: list[str] = []
    for name in ("anatomy_tell.js", "anatomy_texts.js", "texts.js"):
        bundle._order(name, order)
    parts = [(bundle.FOLDER / name).read_text(encoding="utf-8") for name in order]
    code = "\n".join(bundle._EXPORT.sub("", bundle._IMPORT.sub("", part)) for part in parts) + GLUE

    def in_node(expression: str) -> Any:
        file = folder / "run.cjs"
        file.write_text(f"{code}console.log(JSON.stringify({expression}));", encoding="utf-8")
        done = subprocess.run([NODE or "", str(file)], capture_output=True, timeout=120, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def in_browser(expression: str) -> Any:
        file = folder / "run.html"
        script = base64.b64encode(f"{code}\nanswer = JSON.stringify({expression});".encode()).decode()
        run_it = f"const bytes = Uint8Array.from(atob('{script}'), (c) => c.charCodeAt(0)); let answer;"
        run_it += "document.querySelector('pre').textContent = Function('let answer;' + new TextDecoder().decode(bytes)"
        run_it += " + ';return answer')();"
        file.write_text(f"<!doctype html><meta charset=utf-8><pre></pre><script>{run_it}</script>", encoding="utf-8")
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


def keys_of(name: str) -> list[str]:
    return re.findall(r"^  (\w+):", (bundle.FOLDER / name).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def reached(run: Run) -> dict[str, Any]:
    return run("reached()")


def test_every_state_of_every_model_has_its_texts_and_none_is_idle(reached: dict[str, Any]) -> None:
    assert reached["left"] == []
    tells = keys_of("anatomy_tells.js") + keys_of("anatomy_tells_ends.js")
    assert len(tells) == len(set(tells))
    places = {key for key in keys_of("anatomy_texts.js") if re.fullmatch(r"place_(?!chip_|at_)\w+", key)}
    assert set(reached["keys"]) == set(tells) | places


def test_every_text_of_the_panel_and_the_bars_is_used() -> None:
    keys = keys_of("anatomy_texts.js")
    tells = keys_of("anatomy_tells.js") + keys_of("anatomy_tells_ends.js")
    assert len(keys) == len(set(keys)) and not set(keys) & set(tells)
    names = ("tell", "facts", "spoken", "bars", "math")
    code = "\n".join((bundle.FOLDER / f"anatomy_{name}.js").read_text(encoding="utf-8") for name in names)
    used = set(re.findall(r'"([a-z_0-9]+)"', code))
    # put together from a name of the model's: of a place, a step, a matrix, an axis, a box, ...
    built = tuple(one for one in re.findall(r'"([a-z_]+_)" \+', code))
    assert {key for key in keys if key not in used and not key.startswith(built)} == set()


def test_explanations_name_the_paper(run: Run) -> None:
    texts: dict[str, str] = run("EXPLANATIONS")
    for key, text in texts.items():
        if key.startswith(("tell_title_", "tell_more_")):
            continue
        assert re.search(r"\((?:equation \d, )?sections? \d|section 3|Figure 1|Table 3", text), key
        assert 1 <= len(re.findall(r"[.:?”)](?: |$)", text)) <= 8 and len(text) < 420, key
    for section in re.findall(r"\b(\d\.\d(?:\.\d)?)\b", " ".join(texts.values())):
        assert section in {"3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "5.4", "6.1", "6.2", "0.9", "0.1",
                           "0.6", "2.72"}  # fmt: skip
    assert len({text for key, text in texts.items() if not key.startswith("tell_model_")}) > len(texts) - 20


def test_chips_are_short(run: Run) -> None:
    texts: dict[str, str] = run("ANATOMY_TEXTS")
    chips = [text for key, text in texts.items() if key.startswith(("step_", "place_chip_"))]
    assert len(chips) > 30 and all(0 < len(text) <= 12 for text in chips)


def test_numbers_in_the_texts_are_the_models(run: Run) -> None:
    found = run("textValues(at({place: 'decoder.cross', t: 2}), made())")
    assert found["root"] == f"{math.sqrt(32):.3f}" and found["root_model"] == "16" and found["ratio"] == "4"
    assert (found["n"], found["m"], found["layers"], found["steps"]) == (4, 3, 3, 4)
    assert found["products"] == str(4 * 3 * 32) and found["rank"] == "2" and found["token"] == "ze"
    assert found["share"] == "100.0%" and found["fed"] == "Kat" and "factor" not in run("switchedText(at({}), made())")
    two = "{about: {scale: [1, 1, 0.5, 1, 1, 1, 1, 1]}}"
    assert run(f"textValues(at({{}}), made({{}}, {two})).factor") == "0.5"
    assert run(f"textKeys(at({{step: 'scale', head: 1}}), made({{}}, {two})).text") == "tell_scale_removed"
    assert run(f"textKeys(at({{step: 'scale', head: 1}}), made({{scaling: false}}, {two})).text") == "tell_scale_off"


def test_the_chosen_word_is_told_as_on_the_board(run: Run) -> None:
    """The board says "chosen" of the model's own sentence and "given" of another, whatever the rank."""
    for own, t, key in (
        (1, 0, "choose_own"),
        (1, 2, "choose_own_rank"),
        (0, 0, "choose_given"),
        (0, 2, "choose_given"),
    ):
        data = f"{{header: {{own: {json.dumps(bool(own))}, switches: {{}}}}}}"
        found = run(f"textKeys(at({{place: 'output', step: 'choose', t: {t}}}), made({{}}, {data}))")
        assert found["text"] == "tell_" + key
    texts: dict[str, str] = run("ANATOMY_TEXTS")
    assert "teacher forcing" in texts["tell_choose_given"]
    assert "teacher forcing" not in texts["tell_choose_own_rank"] + texts["tell_choose_own"]


def test_what_follows_is_predicted_only_where_the_model_prefers_it(run: Run) -> None:
    for own, t, predicts in ((True, 0, True), (True, 2, False), (False, 0, False)):
        data = f"made({{}}, {{header: {{own: {json.dumps(own)}, switches: {{}}, boxes: {{}}}}}})"
        said = run(f"spokenState(t, at({{zoom: 'model', t: {t}}}), {data}, null, 'encoder_self', false)")
        assert ("predicts “" in said) == predicts and ("next comes “" in said) != predicts, said


@pytest.mark.parametrize(
    ("causal", "here", "anywhere"),
    [("off", 1, 1), ("off@all", 1, 1), ("off@decoder_self", 1, 1), ("off@decoder_self.2", 1, 1), ("", 0, 0),
     ("off@decoder_self.1", 0, 1), ("off@all.1", 0, 1), ("off@decoder_self.1,off@decoder_self.2", 1, 1)],
)  # fmt: skip
def test_masked_attention_is_called_so_only_where_it_is_masked(run: Run, causal: str, here: int, anywhere: int) -> None:
    holding = Interventions.parse(f"causal={causal}").to_params() if causal else {}
    data = f"made({{}}, {{header: {{own: true, holding: {json.dumps(holding)}, switches: {{}}}}}})"
    off = "_off" if here else ""
    for zoom in ("model", "layer"):
        keys = run(f"textKeys(at({{zoom: '{zoom}', place: 'decoder.self', decoder: 1}}), {data})")
        assert (keys["text"], keys["title"]) == (f"tell_{zoom}_decoder_self{off}", "place_decoder_self" + off)
    assert run(f"textKeys(at({{place: 'decoder.self', decoder: 1, step: 'mask'}}), {data})")["text"] == (
        "tell_mask_off" if here else "tell_mask_decoder"
    )
    assert run(f"textKeys(at({{place: 'output', step: 'back'}}), {data})")["more"] == (
        "tell_more_back_off" if anywhere else "tell_more_back"
    )
    assert run(f"maskSuffix(at({{place: 'encoder.self', decoder: 1}}), {data})") == ""


def test_changes_of_numbers_and_of_masks_are_told_apart(run: Run) -> None:
    change = "changeOf({data: [1, -Infinity, -Infinity, 4]}, {data: [1.5, -Infinity, 2, 4]})"
    assert run(change) == {"most": 0.5, "cells": 1}
    assert run("changeOf({data: [1]}, {data: [1.0000005]})")["most"] == 0  # rounding
    assert run("changeOf({data: [1]}, null)") == {"most": 0, "cells": 0}


def test_probabilities_are_the_softmax_of_the_logits(run: Run) -> None:
    logits = [1.0, 3.0, -2.0, 900.0, 899.0]
    found = run(
        f"((made) => [[...made.data], made.range, made.top, made.name, made.shape])(probabilitiesOf("
        f"{{id: 'a', name: 'logits', shape: [1, 5], data: Float32Array.from({logits})}}))"
    )
    expected = [math.exp(one - 900) / (1 + math.exp(-1) + math.exp(-897)) for one in logits]
    assert found[0] == pytest.approx(expected) and found[1:] == [[0, 1], 1, "probabilities", [1, 5]]


def test_a_root_is_equal_only_where_it_is_exact(run: Run) -> None:
    for d_k, d_model, one, two in ((32, 256, "≈", "="), (16, 250, "=", "≈")):
        found = run(f"textValues(at({{}}), made({{d_k: {d_k}, d_model: {d_model}}}))")
        assert (found["root_is"], found["root_model_is"]) == (one, two)


def test_what_a_switch_puts_in_the_place_of_the_arithmetic(run: Run) -> None:
    about = "{about: {scale: [1, 1, 0.5], rule: [0, 1, 2], zero: [false, true, false], skipped: true}}"
    one, two = (run(f"switchedText(at({{head: {head}}}), made({{}}, {about}))") for head in (1, 2))
    assert one == {"factor": 1, "rule": 1, "zero": True, "skipped": True, "silenced": []}
    assert (two["factor"], two["rule"], two["zero"]) == (0.5, 2, False)
    assert run("switchedText(at({place: 'encoder.ff'}), made({}, {about: {silenced: [4]}}))")["silenced"] == [4]
    # times the root of d_model at the embeddings is no switch
    assert "factor" not in run("switchedText(at({place: 'source'}), made({}, {about: {factor: 16}}))")


@pytest.mark.parametrize(
    ("config", "state", "about", "words"),
    [
        ("{}", "{}", "{}", ["Q, K and V are x times", "divided by the square root of 32", "8 heads"]),
        ("{norm: 'pre'}", "{}", "{}", ["z is LayerNorm of x. Q, K and V are z times"]),
        ("{norm: 'pre'}", "{place: 'decoder.cross'}", "{}", ["Q is z times W Q, K and V are memory times"]),
        ("{}", "{}", "{factor: 1}", ["not divided by the square root of 32"]),
        ("{scaling: false}", "{}", "{}", ["not divided by the square root of 32", "Q, K and V are x times"]),
        ("{}", "{}", "{factor: 0.5}", ["softmax of 0.5 times Q times K transposed, plus"]),
        ("{}", "{}", "{rule: 1}", ["equal weights on all visible keys"]),
        ("{}", "{}", "{rule: 2}", ["all weight on the best key"]),
        ("{norm: 'pre'}", "{place: 'encoder.ff'}", "{}", ["FFN of z is the larger of 0 and z times W 1"]),
        ("{}", "{place: 'output'}", "{}", ["softmax of h t times the embedding table transposed."]),
        ("{output_bias: true}", "{place: 'output'}", "{}", ["times the embedding table transposed, plus a bias."]),
        ("{tied_output: false}", "{place: 'output'}", "{}", ["softmax of h t times the output matrix transposed."]),
        ("{activation: 'swish'}", "{place: 'encoder.ff'}", "{}", ["FFN of x is swish of x times W 1 plus b 1, times"]),
        ("{}", "{place: 'source'}", "{}", ["row of the embedding table times the square root of 256, plus the"]),
        ("{embedding_scale: false}", "{place: 'source'}", "{}", ["row of the embedding table, plus the position's"]),
        ("{norm: 'none', residual: false}", "{}", "{}", ["Q, K and V are x times", "8 heads"]),
        ("{norm: 'pre', residual: false}", "{place: 'encoder.ff'}", "{}", ["z is LayerNorm of x. FFN of z is"]),
    ],
)
def test_the_equation_that_is_read_out(run: Run, config: str, state: str, about: str, words: list[str]) -> None:
    places = {"output": "output", "ff": "ff", "source": "embedding"}
    sort = next((sort for place, sort in places.items() if place in state), "attention")
    said = run(f"spokenEquation('{sort}', at({state}), made({config}).config, true, t, {about})")
    assert all(one in said for one in words) and "{" not in said, said
    assert ("divided by" in said) == (sort == "attention" and about in ("{}", "{factor: 1}"))


@pytest.mark.parametrize(
    ("config", "steps", "from_afar"),
    [
        ({}, ["x", "add", "norm"], "LayerNorm of x plus the sub-layer's result for x."),
        ({"norm": "pre"}, ["x", "norm", "add"], "x plus the sub-layer's result for LayerNorm of x."),
        ({"norm": "none"}, ["x", "add"], "x plus the sub-layer's result for x."),
        ({"residual": False}, ["x", "norm"], "LayerNorm of the sub-layer's result for x."),
        ({"norm": "pre", "residual": False}, ["x", "norm"], "The sub-layer's result for LayerNorm of x."),
        ({"norm": "none", "residual": False}, ["x"], "The sub-layer's result for x."),
    ],
)
def test_what_goes_around_a_sub_layer_is_what_the_model_has(
    run: Run, config: dict[str, Any], steps: list[str], from_afar: str
) -> None:
    given = json.dumps(config)
    for place in ("encoder.self", "decoder.cross", "decoder.ff"):
        assert run(f"spokenEquation('attention', at({{}}), made({given}).config, false, t, {{}})") == from_afar
        own = tiny_config(**config)
        assert run(f"stepsOf('{place}', made({given}).config)") == list(steps_of(place, own))
        assert [one for one in steps_of(place, own) if one in ("x", "add", "norm")] == steps
        assert run(f"lastStep('{place}', made({given}).config)") == steps_of(place, own)[-1]
    said: dict[str, str] = run("ANATOMY_TEXTS")
    alone = not config.get("residual", True)
    norm = config.get("norm", "post")
    for step in ("x", "output", "norm", "add"):
        if step in steps_of("encoder.self", own):
            keys = run(f"textKeys(at({{step: '{step}', encoder: 1}}), made({given}))")
            text = said[keys["text"]]
            assert alone == ("no residual connection" in text or "nothing goes around" in text or (step == "norm"
                             and "LayerNorm(Sublayer(x))" in text)), text  # fmt: skip
            assert ("added" in text) <= (not alone or step == "norm"), text
    more = said[run(f"textKeys(at({{zoom: 'layer'}}), made({given}))")["more"]]
    total = ("" if alone else "x + ") + ("Sublayer(LayerNorm(x))" if norm == "pre" else "Sublayer(x)")
    assert (f"LayerNorm({total})" if norm == "post" else total) in more


def test_a_model_without_the_mask_is_never_said_to_have_one(run: Run) -> None:
    """Nor that a switch took it away, whatever is switched."""
    texts: dict[str, str] = run("ANATOMY_TEXTS")
    for holding in ("{}", "{causal: 'off'}"):
        data = f"made({{causal: false}}, {{header: {{own: true, holding: {holding}, switches: {{}}, boxes: {{}}}}}})"
        for zoom in ("model", "layer"):
            keys = run(f"textKeys(at({{zoom: '{zoom}', place: 'decoder.self'}}), {data})")
            assert keys["text"] == f"tell_{zoom}_decoder_self_bare" and keys["title"] == "place_decoder_self_bare"
        keys = run(f"textKeys(at({{place: 'decoder.self', step: 'mask'}}), {data})")
        assert (keys["text"], keys["more"]) == ("tell_mask_bare", "tell_more_mask_bare")
        assert run(f"textKeys(at({{place: 'output', step: 'back'}}), {data})")["more"] == "tell_more_back_bare"
        assert run(f"textKeys(at({{place: 'output', step: 'hidden'}}), {data})")["text"] == "tell_hidden_bare"
        for t in (0, 2):  # whatever its rank in the pass that is shown, it was chosen in another
            keys = run(f"textKeys(at({{place: 'output', step: 'choose', t: {t}}}), {data})")
            assert keys["text"] == "tell_choose_own_bare"
        said = run(f"spokenState(t, at({{step: 'mask', place: 'decoder.self'}}), {data}, scores(false), 'decoder_self',"
                   " false)")  # fmt: skip
        assert "self-attention, which has no mask, of decoder layer 1" in said
        assert run(f"maskSuffix(at({{place: 'encoder.self'}}), {data})") == ""
    for key in ("tell_mask_bare", "tell_model_decoder_self_bare", "tell_layer_decoder_self_bare"):
        assert "made without" in texts[key] and "switch" not in texts[key]


def test_a_matrix_has_one_side_on_the_board_and_in_the_panel(run: Run) -> None:
    sides = {
        "encoder.self": {"x": "source", "keys": "source", "weights": "source", "sum": "source"},
        "decoder.self": {"x": "target", "keys": "target", "weights": "target", "update": "target"},
        "decoder.cross": {"x": "target", "memory": "source", "queries": "target", "keys": "source", "values": "source",
                          "weights": "cross", "head_outputs": "cross", "update": "cross", "sum": "target"},
        "source": {"x": "source"}, "target": {"x": "target"}, "output": {"hidden": "target", "logits": "target"},
    }  # fmt: skip
    for place, names in sides.items():
        assert run(f"{json.dumps(list(names))}.map((name) => sideOf('{place}', name))") == list(names.values())


def test_parameters_of_a_step_are_those_it_multiplies_with(run: Run) -> None:
    def said(**state: str) -> tuple[int, str, list[Any]]:
        found = run(f"boxesOf(at({json.dumps(state)}), made())")
        return found["count"], found["key"], [[one["symbol"], one["shape"]] for one in found["tensors"]]

    both = [["W^O", [256, 256]], ["b^O", [256]], ["γ", [256]], ["β", [256]]]
    assert said(step="output") == (256 * 256 + 256, "tell_parameters", both[:2])
    assert said(step="norm") == (512, "tell_parameters", both[2:])
    assert said(step="softmax") == (256 * 256 + 768, "tell_parameters_not", both)
    assert said(zoom="layer") == (256 * 256 + 768, "tell_parameters", both)
    assert said(place="output", step="logits")[:2] == (1_024_000, "tell_parameters_shared")
    assert said(place="target", step="row")[:2] == (1_024_000, "tell_parameters_shared")
    assert said(place="source", step="times")[:2] == (0, "tell_parameters_none")
    assert said(place="source", step="plus")[1] == "tell_parameters_fixed"


def test_what_is_said_for_a_picture(run: Run) -> None:
    state = "at({step: 'mask', place: 'decoder.self', head: 2})"
    said = run(f"spokenState(t, {state}, made(), scores(true), 'decoder_self', false)")
    assert said.startswith("Step 6 of 12, mask, masked self-attention of decoder layer 1: head 3 of 8, scores of 2 ")
    assert said.endswith(
        "queries by 2 keys, hidden cells: 1, the rest from 1 to 4, largest at row “Die”, column “Die”."
    )
    said = run("spokenState(t, at({place: 'output', step: 'choose', t: 2}), made(), null, 'output', false)")
    assert (
        said
        == "Step 4 of 5, the token chosen, output. Step 3 of decoding, fed “Kat”: “ze”, probability 0.4000, "
        + ("rank 2 of 4000.")
    )
    said = run("spokenState(t, at({step: 'dot'}), made(), null, 'encoder_self', true)")
    assert said == "Step 4 of 12, dot products, self-attention of encoder layer 1: the numbers are on their way."


def test_the_modules_are_plain() -> None:
    for name in ("tell", "tells", "tells_ends", "texts", "facts", "math", "spoken", "bars"):
        code = (bundle.FOLDER / f"anatomy_{name}.js").read_text(encoding="utf-8")
        assert "innerHTML" not in code and "eval(" not in code, name
        assert len(code.splitlines()) <= 400 and max(map(len, code.splitlines())) <= 120, name
