"""Chosen tensors of many pairs in padded batches are those of single traces."""

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.build import T5, pretrained_variant, tiny_pretrained
from tests.support.reports import Reports
from transformer.cancellation import Stopped
from transformer.checks import WrongTypeError
from transformer.inference.pretrained import InputError
from transformer.interventions.sets import Interventions
from transformer.model.tap import Tap, TapError
from transformer.texts import UserError
from transformer.tracing.batch import KeepError, names
from transformer.tracing.export import arrays
from transformer.tracing.trace import KINDS, AttentionTrace, FeedForwardTrace, Trace

PAIRS = [("ka lo mi vu", "lo mi"), ("mi", "ka lo vu ti ka"), ("vu ti ka", "mi mi mi"), ("lo", "ti")]


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "d_k": 3}, {**T5, "scaling": True}], ids=str)
def test_every_tensor_is_that_of_a_single_trace(changes: dict[str, object], double: bool) -> None:
    """To 2e-6 of the tensor's largest number; to 1e-6 if numbers are not rounded to 32 bits on the way."""
    model = pretrained_variant(**changes)
    if double:
        model = dataclasses.replace(model, model=copy.deepcopy(model.model).double())
    found = model.trace_all(PAIRS, names(model.config), batch_tokens=40)
    for pair, kept in zip(PAIRS, found, strict=True):
        trace = model.trace(*pair)
        assert kept.source_ids == trace.source_ids and kept.target_out_ids == trace.target_out_ids
        assert kept.target_in_ids == trace.target_in_ids
        for name in names(model.config):
            kind, _, field = name.partition(".")
            single = getattr(getattr(trace, kind), field) if field else getattr(trace, kind)
            assert kept[name].shape == single.shape, name
            if single.dtype == torch.bool:
                assert torch.equal(kept[name], single), name
            else:
                finite = single[single.isfinite()].abs()
                close = 1e-6 if double else 2e-6 * float(finite.max())
                torch.testing.assert_close(kept[name].clone(), single.clone(), atol=close, rtol=0, msg=name)


@pytest.mark.parametrize("pair", ["ka lo", ("ka",), ("ka", "lo", "mi")])
def test_what_is_not_a_pair_gets_one_sentence(pair: Any) -> None:
    with pytest.raises(ValueError, match=r"pair 2 is .*; give two texts, \(source, target\)"):
        tiny_pretrained().trace_all([PAIRS[0], pair])


def test_nothing_else_is_kept() -> None:
    (kept, *_) = tiny_pretrained().trace_all(PAIRS)
    assert set(kept.tensors) == {"cross.weights"}
    known = names(tiny_pretrained().config)
    assert set(f"{kind}.weights" for kind in KINDS) < set(known) and not {"cross.scale", "cross.bias"} & set(known)
    assert tiny_pretrained().trace_all([]) == []


def test_one_name_need_not_be_in_a_tuple() -> None:
    (kept,) = tiny_pretrained().trace_all(PAIRS[:1], "encoder_output")
    (same,) = tiny_pretrained().trace_all(PAIRS[:1], ("encoder_output",))
    assert list(kept.tensors) == ["encoder_output"]
    assert torch.equal(kept["encoder_output"], same["encoder_output"])
    with pytest.raises(KeepError, match="there is no tensor 'cross.weight'; did you mean cross.weights"):
        tiny_pretrained().trace_all(PAIRS[:1], "cross.weight")


def test_progress_counts_pairs_and_stops() -> None:
    done = Reports()
    tiny_pretrained().trace_all(PAIRS, batch_tokens=1, progress=done)
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    with pytest.raises(Stopped):
        tiny_pretrained().trace_all(PAIRS, progress=lambda done, total: False)


def test_a_wrong_name_or_text_gets_one_sentence() -> None:
    model = tiny_pretrained()
    with pytest.raises(KeepError, match="there is no tensor 'decoder.2.cross.weights'; did you mean decoder.1"):
        model.trace_all(PAIRS, ["decoder.2.cross.weights"])
    with pytest.raises(InputError, match="pair 2: The source text is empty|pair 2: .*empty"):
        model.trace_all([PAIRS[0], ("", "ka")])


def test_a_name_of_one_layer_keeps_that_layer_alone() -> None:
    model = tiny_pretrained()
    both = ("cross.weights", "decoder.1.cross.weights", "source.embedding", "source_embedding", "target.position_ids")
    for kept in model.trace_all(PAIRS, both):
        assert torch.equal(kept[both[1]], kept["cross.weights"][1]) and torch.equal(kept[both[2]], kept[both[3]])
        assert kept["target.position_ids"].tolist() == list(range(len(kept.target_in_ids)))


@pytest.mark.parametrize("switches", ["", "pad=2 hide=source.1 zero=cross.1.1"])
@pytest.mark.parametrize("target", ["lo mi", None])
def test_kept_tensors_of_one_sentence_are_those_of_its_trace(target: str | None, switches: str) -> None:
    model, on = tiny_pretrained(), Interventions.parse(switches)
    edits: Any = {"encoder_ff.activation": lambda tensor: tensor * 0.5}
    trace = model.trace("ka lo mi vu", target, interventions=on, edits=edits, limit=9)
    kept = model.trace("ka lo mi vu", target, keep=names(model.config), interventions=on, edits=edits, limit=9)
    assert (kept.source_ids, kept.target_in_ids, kept.target_out_ids) == (
        trace.source_ids, trace.target_in_ids, trace.target_out_ids
    )  # fmt: skip
    for name in names(model.config):
        kind, _, field = name.partition(".")
        assert torch.equal(kept[name], getattr(getattr(trace, kind), field) if field else getattr(trace, kind)), name
    with pytest.raises(TapError, match="the edit of encoder.0.ff.activation returned NaN"):
        model.trace("ka", "lo", keep="logits", edits={"encoder_ff.activation": lambda tensor: tensor * float("nan")})
    with pytest.raises(WrongTypeError, match="keep must be a name of a tensor, or a list of names; this is 3"):
        model.trace("ka", keep=3)  # type: ignore[call-overload]


def test_names_are_those_of_a_pass_with_its_shapes() -> None:
    """Three source and five target tokens, the ends included; every other size is the model's."""
    model = pretrained_variant(norm="pre", d_k=3)
    tap, sizes = Tap(), {"batch": 1, "source": 3, "target": 5}
    model.model(torch.tensor([[4, 5, 3]]), torch.tensor([[2, 4, 5, 6, 7]]), tap)
    found = {name: tuple(sizes.get(str(size), size) for size in shape) for name, shape in model.names().items()}
    assert list(found.items()) == [(name, tuple(tensor.shape)) for name, tensor in tap.finish().items()]
    assert model.names()["decoder.1.cross.weights"] == ("batch", model.config.heads, "target", "source")


def test_whole_traces_of_a_batch_are_those_of_single_ones_in_their_order() -> None:
    model = tiny_pretrained()
    pairs: list[tuple[str, str | None]] = [*PAIRS, ("ka lo", None), ("re", " ")]
    drawn: list[int] = []
    many = model.trace_many((pair for number, pair in enumerate(pairs) if not drawn.append(number)), batch_tokens=12)  # type: ignore[func-returns-value]
    for number, (pair, trace) in enumerate(zip(pairs, many, strict=True)):
        assert len(drawn) <= number + 4  # no more are read than share a pass
        single = model.trace(*pair)
        for field in dataclasses.fields(Trace):
            one, other = getattr(trace, field.name), getattr(single, field.name)
            if not isinstance(one, torch.Tensor | AttentionTrace | FeedForwardTrace):
                assert one == other, field.name
        ours, alone = arrays(trace), arrays(single)
        for name, array in alone.items():
            assert ours[name].shape == array.shape and np.allclose(ours[name], array, atol=3e-5, rtol=0), name
        storages = {tensor.untyped_storage().nbytes() for tensor in (trace.logits, trace.source_embedding)}
        assert storages == {trace.logits.nbytes, trace.source_embedding.nbytes}  # it does not hold the batch
    assert list(model.trace_many([])) == []
    with pytest.raises(InputError, match="pair 2: the source text is empty"):
        list(model.trace_many([PAIRS[0], ("", "ka")]))
    with pytest.raises(UserError, match="pair 1 is 'ka'; give two texts"):
        list(model.trace_many(["ka"]))  # type: ignore[list-item]
