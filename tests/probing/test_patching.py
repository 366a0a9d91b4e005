"""Patching: everything gives the other sentence, nothing changes nothing, a batch equals single passes."""

from __future__ import annotations

import pytest
import torch

from tests.support.build import pretrained_variant, tiny_pretrained
from transformer.model.tap import TapError
from transformer.probing.patching import head_places, recovery, stream_places
from transformer.tracing.patch import PatchError, Place

FIRST, SECOND = ("ka lo mi", "lo mi"), ("ka lo vu", "lo vu")


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}], ids=str)
def test_patching_everything_gives_the_other_sentence(changes: dict[str, str]) -> None:
    model = pretrained_variant(**changes) if changes else tiny_pretrained()
    first, second = (model.trace(*pair) for pair in (FIRST, SECOND))
    assert len(first.source_ids) == len(second.source_ids) and first.source_ids != second.source_ids
    last = model.config.decoder_layers - 1
    whole = model.patch(first, second, [Place("leaves", f"decoder.{last}.ff")])
    assert torch.equal(whole.logits, second.logits)
    by_token = [Place("leaves", f"decoder.{last}.ff", token=token) for token in range(len(first.target_in_ids))]
    assert torch.equal(model.patch(first, second, by_token).logits, second.logits)


def test_patching_nothing_changes_nothing() -> None:
    model = tiny_pretrained()
    first = model.trace(*FIRST)
    assert torch.equal(model.patch(first, model.trace(*SECOND), []).logits, first.logits)
    places = [Place("update", "encoder.0.self"), Place("head_outputs", "decoder.1.cross", 1, 0)]
    torch.testing.assert_close(model.patch(first, first, places).logits.clone(), first.logits.clone())


def test_a_head_at_one_token() -> None:
    model = tiny_pretrained()
    first, second = (model.trace(*pair) for pair in (FIRST, SECOND))
    found = model.patch(first, second, [Place("head_outputs", "decoder.0.cross", 1, 2)]).cross.head_outputs[0]
    expected = first.cross.head_outputs[0].clone()
    expected[1, 2] = second.cross.head_outputs[0, 1, 2]
    assert torch.equal(found, expected)


def test_recovery_of_every_place_alone() -> None:
    model = tiny_pretrained()
    first, second = (model.trace(*pair) for pair in (FIRST, SECOND))
    step = 1
    token = second.target_out_ids[step]
    places = [*head_places(model)["cross"], *stream_places(model, first)["decoder"], Place("update", "encoder.1.ff")]
    found = recovery(model, first, second, places, step, token)
    ends = [float(one.logits[step].double().log_softmax(-1)[token]) for one in (first, second)]
    assert (found.first, found.other) == pytest.approx(ends)
    for place, value in zip(places, found.values, strict=True):
        alone = model.patch(first, second, [place]).logits[step].double().log_softmax(-1)[token]
        assert value == pytest.approx((float(alone) - ends[0]) / (ends[1] - ends[0]), abs=1e-3)
    # The last layer's stream at the step itself is all that the step's output depends on.
    last = Place("leaves", f"decoder.{model.config.decoder_layers - 1}.ff", token=step)
    assert recovery(model, first, second, [last], step, token).values == pytest.approx((1.0,), abs=1e-4)


def test_the_grids_name_every_head_and_every_token() -> None:
    model = tiny_pretrained()
    trace, config = model.trace(*FIRST), model.config
    grids = head_places(model)
    assert [len(grids[kind]) for kind in ("encoder_self", "cross")] == [
        config.encoder_layers * config.heads, config.decoder_layers * config.heads,
    ]  # fmt: skip
    streams = stream_places(model, trace)
    assert len(streams["encoder"]) == config.encoder_layers * len(trace.source_ids)


def test_what_cannot_be_patched_gets_one_sentence() -> None:
    model = tiny_pretrained()
    first, longer = model.trace(*FIRST), model.trace("ka lo mi vu ti", "lo mi")
    with pytest.raises(PatchError, match=r"source tokens, .* patching needs two pairs of equal length"):
        model.patch(first, longer, [])
    with pytest.raises(PatchError, match="nothing to recover"):
        recovery(model, first, first, [Place("leaves", "decoder.0.ff")], 0, 5)
    with pytest.raises((TapError, IndexError)):
        model.patch(first, model.trace(*SECOND), [Place("leaves", "decoder.99.ff")])
