"""What the anatomy's drawing is handed beside the numbers of a sentence, and the places of the drawing.

tests/web/test_anatomy_packs.py compares every number of every pack with what the engine makes of its own trace."""

import math
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
from transformer.analysis.anatomy import places, steps
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace
from transformer.view import anatomy_pack
from transformer.view.anatomy_pack import trace_pack, weights_pack
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


def test_the_model_and_the_view_are_named(model: Pretrained, before: Trace, after: Trace) -> None:
    header, _ = unpack(trace_pack(model, before, state={"zoom": "model", "revision": 3}))
    assert (header["format"], header["sort"], header["id"], header["checkpoint"]) == (1, "trace", before.id, "tiny")
    assert header["config"]["d_k"] == 13 and header["config"]["d_head"] == D_HEAD and header["config"]["heads"] == HEADS
    assert header["config"]["parameters"] == model.model.parameter_count()
    assert header["own"] is False and header["state"] == {"zoom": "model", "revision": 3}
    assert header["texts"] == {} and header["switches"] == {} and header["changed"] == header["inside"] == {}
    form = {"kinds": ["decoder_self"], "bare": False, "settings": ["off"]}
    assert header["forms"]["causal"] == form and header["forms"]["zero"]["bare"]
    header, _ = unpack(trace_pack(model, after, before, SWITCHES["everything"]))
    assert header["switches"] == SWITCHES["everything"] and header["holding"] == after.interventions.to_params()


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


def test_sixteen_bits_are_used_only_if_exact(model: Pretrained) -> None:
    halved = pretrained_variant()
    inside = halved.model.encoder[0].feed_forward
    inside.inner.weight.copy_(inside.inner.weight.half().float())
    header, data = unpack(weights_pack(halved, "encoder.0.ff", "inner"))
    assert header["matrices"]["W_1"]["dtype"] == "float16"
    assert np.array_equal(array(header["matrices"]["W_1"], data).astype(np.float32), inside.inner.weight.t().numpy())
    assert unpack(weights_pack(halved, "encoder.0.ff", "outer"))[0]["matrices"]["W_2"]["dtype"] == "float32"


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
