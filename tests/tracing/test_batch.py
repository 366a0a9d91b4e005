"""Chosen tensors of many pairs in padded batches are those of single traces."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import torch

from tests.support.build import T5, pretrained_variant, tiny_pretrained
from transformer.cancellation import Stopped
from transformer.inference.pretrained import InputError
from transformer.tracing.batch import KeepError, names
from transformer.tracing.trace import KINDS

PAIRS = [("ka lo mi vu", "lo mi"), ("mi", "ka lo vu ti ka"), ("vu ti ka", "mi mi mi"), ("lo", "ti")]


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "d_k": 3}, {**T5, "scaling": True}], ids=str)
def test_every_tensor_is_that_of_a_single_trace(changes: dict[str, object], double: bool) -> None:
    """To 2e-6 of the tensor's largest number; to 1e-6 if numbers are not rounded to 32 bits on the way."""
    model = pretrained_variant(**changes) if changes else tiny_pretrained()
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
    with pytest.raises(KeepError, match="there is no tensor 'cross.weight' to keep"):
        tiny_pretrained().trace_all(PAIRS[:1], "cross.weight")


def test_progress_counts_pairs_and_stops() -> None:
    done: list[tuple[int, int]] = []
    tiny_pretrained().trace_all(PAIRS, batch_tokens=1, progress=lambda *args: not done.append(args))  # type: ignore[func-returns-value]
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    with pytest.raises(Stopped):
        tiny_pretrained().trace_all(PAIRS, progress=lambda done, total: False)


def test_a_wrong_name_or_text_gets_one_sentence() -> None:
    model = tiny_pretrained()
    with pytest.raises(KeepError, match="there is no tensor 'cross.weight' to keep; .*cross.weights"):
        model.trace_all(PAIRS, ["cross.weight"])
    with pytest.raises(InputError, match="pair 2: The source text is empty|pair 2: .*empty"):
        model.trace_all([PAIRS[0], ("", "ka")])
