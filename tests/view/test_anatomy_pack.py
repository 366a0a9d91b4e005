"""What the anatomy's drawing is handed: every number is the trace's, and 8 bits lose no more than is said."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.anatomy import LAYERS, SWITCHES, tiny
from tests.support.build import (
    D_HEAD,
    HEADS,
    pretrained_variant,
    tiny_config,
)
from tests.support.payloads import array, unpack
from transformer.analysis.anatomy import matrices, places, predictions, steps
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.text.tokenizer import PIECE_MARK
from transformer.tracing.trace import Trace
from transformer.view import anatomy_pack
from transformer.view.anatomy_pack import open_pack, place_pack, trace_pack, weights_pack
from transformer.view.anatomy_state import (
    INNER_STEPS,
    MATRICES,
    PLACES,
    AnatomyState,
    anatomy_state_from_browser,
    fitting_zoom,
    size_of,
    steps_of,
    zooms_of,
)
from transformer.view.pack import Writer

ORDER = places(LAYERS)


@pytest.fixture(scope="module")
def model() -> Pretrained:
    """Three layers below two, and d_k is not d_head."""
    return tiny(d_k=13)


@pytest.fixture(scope="module")
def before(model: Pretrained) -> Trace:
    return model.trace("ka lo minu", "re <b>sta</b> vu", interventions=Interventions.parse({"pad": "3"}))


@pytest.fixture(scope="module")
def after(model: Pretrained, before: Trace) -> Trace:
    return model.retrace(before, Interventions.parse(SWITCHES["everything"]))


def strip(one: dict[str, Any], data: Any) -> np.ndarray:
    return (array(one["picture"], data).astype(np.float64) - 128) / 127 * one["top"]


def recorded(trace: Trace, name: str) -> torch.Tensor:
    """A stream of the drawing by its name, read off the trace in another way than the pack does."""
    stack, _, rest = name.partition(".")
    if rest in ("embedding", "positions", "output"):
        return getattr(trace, f"{stack}_{rest}")
    layer, part, _ = rest.split(".")
    kind = "cross" if part == "cross" else f"{stack}_{part}"
    return getattr(trace, kind).enters[int(layer)]


def test_the_whole_model_is_there(model: Pretrained, before: Trace) -> None:
    header, data = unpack(trace_pack(model, before, state={"zoom": "model", "revision": 3}))
    assert (header["format"], header["sort"], header["id"], header["checkpoint"]) == (1, "trace", before.id, "tiny")
    assert header["labels"]["source"] == list(before.source_labels)
    assert header["tokens"]["target_in"] == list(before.target_in) and header["ids"]["target_in"] == list(
        before.target_in_ids
    )
    assert header["config"]["d_k"] == 13 and header["config"]["d_head"] == D_HEAD and header["config"]["heads"] == HEADS
    assert header["config"]["parameters"] == model.model.parameter_count()
    assert header["own"] is False and header["state"] == {"zoom": "model", "revision": 3}
    assert header["texts"] == {} and header["switches"] == {} and header["changed"] == {}
    expected = {"source.embedding", "source.positions", "target.embedding", "target.positions"}
    expected |= {f"encoder.{layer}.{part}.enters" for layer in range(3) for part in ("self", "ff")}
    expected |= {f"decoder.{layer}.{part}.enters" for layer in range(2) for part in ("self", "cross", "ff")}
    assert set(header["strips"]) == expected | {"encoder.output", "decoder.output"}
    for name, one in header["strips"].items():
        stream = recorded(before, name)
        torch.testing.assert_close(torch.tensor(array(one["norms"], data)), stream.norm(dim=-1))
        assert strip(one, data).shape == tuple(stream.shape)


def test_the_error_of_eight_bits_is_bounded(model: Pretrained, before: Trace) -> None:
    header, data = unpack(trace_pack(model, before))
    for name, one in header["strips"].items():
        stream, top = recorded(before, name).double().numpy(), one["top"]
        size = np.abs(stream)
        assert top == np.float32(np.sort(size.ravel())[math.ceil(0.999 * size.size) - 1])
        assert np.abs(strip(one, data) - np.clip(stream, -top, top)).max() <= top / 254 * (1 + 1e-5)
        assert (size > top).sum() <= 0.001 * size.size
        assert array(one["picture"], data).min() >= 1


@pytest.mark.parametrize(
    "numbers, top",
    [([0.0] * 50, 0.0), ([0.0] * 4999 + [3.0], 3.0), ([1.0] * 4999 + [-900.0], 1.0), ([-2.0, 1.0], 2.0)],
    ids=["nothing", "one neuron of many", "one outlier", "two numbers"],
)
def test_the_scale_of_a_strip(numbers: list[float], top: float) -> None:
    writer = Writer()
    matrix = torch.tensor([numbers])
    one = anatomy_pack._strip(writer, matrix)
    found = strip(one, b"".join(writer.parts))
    assert one["top"] == top and np.abs(found - np.clip(matrix.numpy(), -top, top)).max() <= top / 254


def test_attention_in_8_bits(model: Pretrained, after: Trace) -> None:
    header, data = unpack(trace_pack(model, after))
    kinds = {"encoder.self": after.encoder_self, "decoder.self": after.decoder_self, "decoder.cross": after.cross}
    seen = 0
    for name, one in header["attention"].items():
        stack, layer, part = name.split(".")
        kind = kinds[f"{stack}.{part}"]
        weights = kind.weights[int(layer)].numpy()
        picture = array(one["picture"], data)
        assert picture.shape == weights.shape and np.abs(picture / 255 - weights).max() <= 1 / 510 + 1e-6
        seen += 1
    assert seen == 3 + 2 + 2


def test_the_words_predicted(model: Pretrained, before: Trace, after: Trace) -> None:
    header, data = unpack(trace_pack(model, after, before))
    outputs, found = header["outputs"], predictions(after)
    assert outputs["ids"] == found.ids.tolist() and outputs["chosen"] == list(after.target_out_ids)
    assert outputs["chosen_rank"] == found.chosen_rank.tolist()
    for name in ("probability", "logit", "chosen_probability", "chosen_logit", "log_sum"):
        assert np.array_equal(array(outputs[name], data), getattr(found, name).numpy()), name
    assert np.array_equal(array(outputs["chosen_probability"], data), after.probabilities.numpy())
    plain = before.logits.softmax(-1).gather(1, found.ids).numpy()
    assert np.array_equal(array(outputs["plain_probability"], data), plain)
    pieces = model.tokenizer.pieces(found.ids[0].tolist())
    assert outputs["labels"][0] == [piece.replace(PIECE_MARK, " ").strip() or "␣" for piece in pieces]
    assert unpack(trace_pack(model, before))[0]["outputs"]["plain_probability"] is None


def test_changes_by_switches_are_reported(model: Pretrained, before: Trace, after: Trace) -> None:
    header, _ = unpack(trace_pack(model, after, before, SWITCHES["everything"]))
    assert header["switches"] == SWITCHES["everything"] and header["id"] == after.id
    assert header["holding"] == after.interventions.to_params()
    form = {"kinds": ["decoder_self"], "bare": False, "settings": ["off"]}
    assert header["forms"]["causal"] == form and header["forms"]["zero"]["bare"]
    for name, value in header["changed"].items():
        if name in header["strips"]:
            assert value == pytest.approx(float((recorded(after, name) - recorded(before, name)).abs().max()))
    late = model.retrace(before, Interventions.parse({"pad": "3", "skip": "decoder.2.cross"}))
    changed = unpack(trace_pack(model, late, before))[0]["changed"]
    assert set(changed) == {"decoder.1.ff.enters", "decoder.output"} and min(changed.values()) > 0
    weights = model.retrace(before, Interventions.parse({"pad": "3", "weights": "uniform@cross.2.1"}))
    changed = unpack(trace_pack(model, weights, before))[0]["changed"]
    assert set(changed) == {"decoder.1.cross", "decoder.1.ff.enters", "decoder.output"}
    assert changed["decoder.1.cross"] == float((weights.cross.weights[1] - before.cross.weights[1]).abs().max())
    inside = unpack(trace_pack(model, weights, before))[0]["inside"]
    far = (weights.cross.weights[1] - before.cross.weights[1]).abs().amax((1, 2))
    assert inside["decoder.1.cross.weights"] == far.tolist() and far[0] > 0 and not far[1:].any()
    assert set(inside) == {"decoder.1.cross.weights", "decoder.1.ff.activation"}
    nothing = unpack(trace_pack(model, before, before))[0]
    assert nothing["changed"] == nothing["inside"] == {}


def test_parameters_add_up(model: Pretrained, before: Trace) -> None:
    boxes = unpack(trace_pack(model, before))[0]["boxes"]
    assert boxes["embedding"] == boxes["source.embedding"]
    assert boxes["embedding"]["shared_with"] == ["target.embedding", "output"]
    own = {name: one for name, one in boxes.items() if name not in ("embedding", "positions")}
    assert sum(one["adds"] for one in own.values()) == model.model.parameter_count()
    assert sum(one["share"] for one in own.values()) == pytest.approx(1)
    attention = boxes["encoder.0.self"]
    assert attention["count"] == sum(one["count"] for one in attention["tensors"]) and attention["shared_with"] is None
    assert {one["symbol"] for one in attention["tensors"]} >= {"W^Q", "W^K", "W^V", "W^O"}
    assert set(ORDER) - {"source", "target"} <= set(own) and "decoder.1.cross.norm" in own


def test_the_inside_of_a_layer_of_each_stack(model: Pretrained, after: Trace) -> None:
    header, data = unpack(open_pack(after, 2, 1))
    assert (header["sort"], header["id"], header["encoder"], header["decoder"]) == ("open", after.id, 2, 1)
    attention = ("queries", "keys", "values", "head_outputs", "update")
    names = {f"{place}.{one}" for place in ("encoder.2.self", "decoder.1.self", "decoder.1.cross") for one in attention}
    names |= {f"{place}.{one}" for place in ("encoder.2.ff", "decoder.1.ff") for one in ("activation", "update")}
    assert set(header["strips"]) == names
    for name, one in header["strips"].items():
        place, _, field = name.rpartition(".")
        tensor = getattr(steps(after, model.model, place), field)
        if tensor.dim() == 3:
            tensor = torch.cat(list(tensor), dim=-1)  # [token, heads x width]
        top = one["top"]
        assert np.abs(strip(one, data) - np.clip(tensor.numpy(), -top, top)).max() <= top / 254 * (1 + 1e-5)
    assert np.array_equal(array(header["weights"]["decoder.1.cross"], data), after.cross.weights[1].numpy())
    assert np.array_equal(array(header["weights"]["encoder.2.self"], data), after.encoder_self.weights[2].numpy())
    assert set(header["weights"]) == {"encoder.2.self", "decoder.1.self", "decoder.1.cross"}


@pytest.mark.parametrize("name", ORDER)
def test_every_number_of_a_place_is_the_traces(model: Pretrained, before: Trace, after: Trace, name: str) -> None:
    header, data = unpack(place_pack(model, after, name, 2, before))
    now, then = (steps(one, model.model, name, 2) for one in (after, before))
    assert (header["sort"], header["id"], header["place"]) == ("place", after.id, name)
    assert header["t"] == (2 if name == "output" else None)
    for one, reference in header["matrices"].items():
        assert np.array_equal(array(reference, data), getattr(now, one).numpy()), one
        same = torch.equal(getattr(now, one), getattr(then, one))
        assert (one in header["plain"]) == (not same and one != "rows"), one
    for one, reference in header["plain"].items():
        assert np.array_equal(array(reference, data), getattr(then, one).numpy()), one
    about = header["about"]
    if name.endswith(("self", "cross")):
        assert set(header["matrices"]) == set(anatomy_pack._ATTENTION) - {"normed"} - (
            set() if name.endswith("cross") else {"memory"}
        )
        for switched in ("scale", "rule", "zero", "replaced"):
            assert about[switched] == getattr(now, switched).tolist()
    elif name.endswith("ff"):
        assert set(header["matrices"]) == set(anatomy_pack._FEED_FORWARD) - {"normed"}
        assert tuple(about["silenced"]) == now.silenced  # type: ignore[union-attr]
    elif name == "output":
        assert about == {}
    else:
        assert about["factor"] ** 2 == pytest.approx(66) and len(about["position_ids"]) == len(
            array(header["matrices"]["x"], data)
        )


def test_nothing_switched_leaves_nothing_to_compare(model: Pretrained, before: Trace) -> None:
    for other in (None, before):
        assert unpack(place_pack(model, before, "encoder.0.self", 0, other))[0]["plain"] == {}


def test_a_pre_norm_model_includes_the_normed_inputs() -> None:
    model = pretrained_variant(norm="pre")
    trace = model.trace("ka lo", "re sta")
    for name in ("encoder.1.self", "decoder.0.cross", "decoder.0.ff"):
        header, data = unpack(place_pack(model, trace, name))
        assert np.array_equal(
            array(header["matrices"]["normed"], data),
            steps(trace, model.model, name).normed.numpy(),  # type: ignore[union-attr]
        )


STEPS = [
    ("encoder.1.self", "project"),
    ("decoder.0.cross", "output"),
    ("decoder.1.ff", "inner"),
    ("encoder.0.ff", "outer"),
]


@pytest.mark.parametrize("name, step", STEPS)
def test_matrices_have_the_papers_orientation(model: Pretrained, before: Trace, name: str, step: str) -> None:
    header, data = unpack(weights_pack(model, name, step))
    assert (header["sort"], header["checkpoint"], header["place"]) == ("weights", "tiny", name)
    assert tuple(header["matrices"]) == anatomy_pack.MATRICES[step]
    for one, reference in header["matrices"].items():
        assert reference["dtype"] == "float32"
        assert np.array_equal(array(reference, data), matrices(model.model, name)[one].numpy())
    found = steps(before, model.model, name)
    read, made = {"project": ("x", "queries"), "output": ("concat", "update"), "inner": ("x", "pre"),
                  "outer": ("activation", "update")}[step]  # fmt: skip
    bias = {"project": "b_q", "output": "b_o", "inner": "b_1", "outer": "b_2"}[step]
    matrix = torch.tensor(array(next(iter(header["matrices"].values())), data))
    product = getattr(found, read) @ matrix + getattr(found, bias)
    expected = getattr(found, made)
    expected = torch.cat(list(expected), dim=-1) if expected.dim() == 3 else expected
    torch.testing.assert_close(product, expected, rtol=0, atol=1e-4)


def test_sixteen_bits_are_used_only_if_exact(model: Pretrained) -> None:
    halved = pretrained_variant()
    inside = halved.model.encoder[0].feed_forward
    inside.inner.weight.copy_(inside.inner.weight.half().float())
    header, data = unpack(weights_pack(halved, "encoder.0.ff", "inner"))
    assert header["matrices"]["W_1"]["dtype"] == "float16"
    assert np.array_equal(array(header["matrices"]["W_1"], data).astype(np.float32), inside.inner.weight.t().numpy())
    assert unpack(weights_pack(halved, "encoder.0.ff", "outer"))[0]["matrices"]["W_2"]["dtype"] == "float32"


def test_packs_are_json_for_a_browser(model: Pretrained, before: Trace, after: Trace) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    for data in (
        trace_pack(model, after, before),
        open_pack(after, 0, 0),
        place_pack(model, after, "output", 1, before),
    ):
        (length,) = struct.unpack("<I", data[4:8])
        json.loads(data[8 : 8 + length], parse_constant=refuse)  # no NaN, no Infinity


# -- where one stands -------------------------------------------------------------------------------------------------


def test_steps_of_models_with_and_without_layernorm_and_residual() -> None:
    network = ("inner", "activation", "outer")
    attention = INNER_STEPS["decoder.cross"]
    for place, norm, residual, expected in (
        ("decoder.cross", "post", True, ("x", *attention, "add", "norm")),
        ("encoder.self", "pre", True, ("x", "norm", *attention, "add")),
        ("encoder.self", "none", True, ("x", *attention, "add")),
        ("encoder.ff", "post", True, ("x", *network, "add", "norm")),
        ("decoder.ff", "none", False, ("x", *network)),
        ("decoder.ff", "pre", False, ("x", "norm", *network)),
        ("decoder.ff", "post", False, ("x", *network, "norm")),
        ("source", "pre", True, ("row", "times", "plus")),
        ("output", "pre", True, ("hidden", "logits", "probabilities", "choose", "back")),
    ):
        assert steps_of(place, tiny_config(norm=norm, residual=residual)) == expected


MADE = {
    "x": "x", "add": "sum", "norm": "leaves", "split": "queries", "dot": "dot", "scale": "scaled", "mask": "scores",
    "softmax": "weights", "values": "head_outputs", "concat": "concat", "output": "update", "inner": "pre",
    "activation": "activation", "outer": "update", "row": "rows", "times": "embedding", "plus": "x", "hidden": "hidden",
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_sizes_are_those_of_the_tensors(model: Pretrained, before: Trace, place: str) -> None:
    found = steps(before, model.model, AnatomyState(place=place).name)
    source, target = len(before.source_ids), len(before.target_in_ids)
    for step in steps_of(place, model.config):
        size = size_of(place, step, "queries", model.config, source, target)
        if step == "project":
            assert size == (len(found.concat), HEADS * 13)  # type: ignore[union-attr]
            keys = size_of(place, step, "keys", model.config, source, target)
            assert keys == (found.keys.shape[1], HEADS * 13)  # type: ignore[union-attr]
        elif step in MADE:
            assert size == tuple(getattr(found, MADE[step]).shape[-2:]), step
        else:
            assert size == (10, 1)
    if place == "decoder.cross":
        assert size_of(place, "x", "memory", model.config, source, target) == tuple(found.memory.shape)  # type: ignore[union-attr]
        assert size_of(place, "split", "values", model.config, source, target) == tuple(found.values.shape[1:])  # type: ignore[union-attr]


def test_zooms_that_a_place_has() -> None:
    assert fitting_zoom("head", "encoder.ff") == "sub" and fitting_zoom("head", "output") == "sub"
    assert fitting_zoom("layer", "source") == "model" and fitting_zoom("head", "decoder.cross") == "head"
    assert all(zooms_of(place)[0] == "model" and zooms_of(place)[-1] == "number" for place in PLACES)


def test_a_report_of_the_browser_is_read(model: Pretrained) -> None:
    stand = AnatomyState("number", "decoder.cross", 2, 1, 2, "softmax", "keys", 4, 5, 3)
    assert anatomy_state_from_browser(stand.to_browser(), model.config) == stand
    assert stand.name == "decoder.1.cross" and AnatomyState(place="encoder.ff", encoder=2).name == "encoder.2.ff"
    assert AnatomyState(place="output").name == "output" and stand.near and not AnatomyState(zoom="layer").near


@pytest.mark.parametrize(
    "values, expected",
    [
        ({}, AnatomyState()),
        (
            {"place": "nowhere", "zoom": 7, "step": ["x"], "matrix": {}, "head": "two", "row": None, "col": True},
            AnatomyState(),
        ),
        ({"encoder": 99, "decoder": -3, "head": 1e300, "row": 10**9}, AnatomyState(encoder=2, head=2, row=63)),
        ({"t": math.nan, "col": -math.inf, "row": math.inf}, AnatomyState(row=63)),
        ({"encoder": 1.7, "col": -5}, AnatomyState(encoder=1)),
        ({"place": "output", "step": "softmax", "zoom": "head"}, AnatomyState("sub", "output", step="hidden")),
        ({"place": "encoder.ff", "step": "outer", "zoom": "head"}, AnatomyState("sub", "encoder.ff", step="outer")),
    ],
)
def test_nonsense_of_a_browser_becomes_the_nearest(model: Pretrained, values: Any, expected: AnatomyState) -> None:
    assert anatomy_state_from_browser(values, model.config) == expected
    assert expected.matrix in MATRICES
