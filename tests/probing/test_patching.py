"""Patching: everything gives the other sentence, nothing changes nothing, a batch equals single passes."""

import re
from typing import Any

import pytest
import torch

from tests.support.build import pretrained_variant, tiny_pretrained
from tests.support.reports import Reports
from transformer.cancellation import Stopped
from transformer.interventions.sets import Interventions
from transformer.probing.patching import head_places, layer_places, recovery, stream_places, sub_layer_places
from transformer.tracing.patch import PatchError, Place

MODEL = tiny_pretrained()

FIRST, SECOND = ("ka lo mi", "lo mi"), ("ka lo vu", "lo vu")


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}], ids=str)
def test_patching_everything_gives_the_other_sentence(changes: dict[str, str]) -> None:
    model = pretrained_variant(**changes)
    first, second = (model.trace(*pair) for pair in (FIRST, SECOND))
    assert len(first.source_ids) == len(second.source_ids) and first.source_ids != second.source_ids
    last = model.config.decoder_layers - 1
    assert not torch.allclose(first.logits, second.logits, atol=1e-3)
    whole = model.patch(first, second, [Place("leaves", f"decoder.{last}.ff")])
    assert torch.equal(whole.logits, second.logits)
    by_token = [Place("leaves", f"decoder.{last}.ff", token=token) for token in range(len(first.target_in_ids))]
    assert torch.equal(model.patch(first, second, by_token).logits, second.logits)


def test_patching_nothing_changes_nothing() -> None:
    first = MODEL.trace(*FIRST)
    assert torch.equal(MODEL.patch(first, MODEL.trace(*SECOND), []).logits, first.logits)
    places = [Place("update", "encoder.0.self"), Place("head_outputs", "decoder.1.cross", 1, 0)]
    torch.testing.assert_close(MODEL.patch(first, first, places).logits.clone(), first.logits.clone())


def test_a_head_at_one_token() -> None:
    first, second = (MODEL.trace(*pair) for pair in (FIRST, SECOND))
    found = MODEL.patch(first, second, [Place("head_outputs", "decoder.0.cross", 1, 2)]).cross.head_outputs[0]
    expected = first.cross.head_outputs[0].clone()
    expected[1, 2] = second.cross.head_outputs[0, 1, 2]
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    "changes, switches",
    [({}, ""), ({}, "zero=cross.1.2 hide=source.1"), ({"norm": "pre"}, ""), ({"causal": False}, "")],
    ids=str,
)
def test_recovery_of_every_place_alone(changes: dict[str, Any], switches: str) -> None:
    """Each as a whole pass of its own."""
    model = pretrained_variant(**changes)
    first, second = (model.trace(*pair, interventions=Interventions.parse(switches)) for pair in (FIRST, SECOND))
    step = 1
    token = second.target_out_ids[step]
    grids = (head_places(model), layer_places(model), stream_places(model, first), sub_layer_places(model, first))
    places = [place for grid in grids for some in grid.values() for place in some]
    found = recovery(model, first, second, places, step, token)
    ends = [float(one.logits[step].double().log_softmax(-1)[token]) for one in (first, second)]
    assert (found.first, found.other) == pytest.approx(ends)
    for place, value in zip(places, found.values, strict=True):
        alone = model.patch(first, second, [place]).logits[step].double().log_softmax(-1)[token]
        assert value == pytest.approx((float(alone) - ends[0]) / (ends[1] - ends[0]), abs=1e-3)
    if changes.get("causal") is False:
        return
    # The last layer's stream at the step itself is all that the step's output depends on.
    last = Place("leaves", f"decoder.{model.config.decoder_layers - 1}.ff", token=step)
    assert recovery(model, first, second, [last], step, token).values == pytest.approx((1.0,), abs=1e-4)


def test_the_grids_name_every_head_and_every_token() -> None:
    trace, config = MODEL.trace(*FIRST), MODEL.config
    grids = head_places(MODEL)
    assert [len(grids[kind]) for kind in ("encoder_self", "cross")] == [
        config.encoder_layers * config.heads, config.decoder_layers * config.heads,
    ]  # fmt: skip
    assert len(set(grids["decoder_self"])) == config.decoder_layers * config.heads
    assert layer_places(MODEL)["decoder_self"] == [
        Place("head_outputs", f"decoder.{layer}.self") for layer in range(config.decoder_layers)
    ]
    streams = stream_places(MODEL, trace)
    assert streams["encoder"] == [
        Place("leaves", f"encoder.{layer}.ff", token=token)
        for layer in range(config.encoder_layers)
        for token in range(len(trace.source_ids))
    ]
    updates = sub_layer_places(MODEL, trace)
    assert updates["decoder"] == [
        Place("update", f"decoder.{layer}.{part}", token=token)
        for layer in range(config.decoder_layers)
        for part in ("self", "cross", "ff")
        for token in range(len(trace.target_in_ids))
    ]


def test_a_sub_layer_at_one_token() -> None:
    """Only that token's row of the sum after it changes, by the difference of the two updates."""
    first, second = (MODEL.trace(*pair) for pair in (FIRST, SECOND))
    found = MODEL.patch(first, second, [Place("update", "decoder.0.self", token=2)]).decoder_self
    expected = first.decoder_self.sum[0].clone()
    expected[2] += second.decoder_self.update[0, 2] - first.decoder_self.update[0, 2]
    torch.testing.assert_close(found.sum[0].clone(), expected)
    assert not torch.allclose(expected[2], first.decoder_self.sum[0, 2])


def test_what_cannot_be_patched_gets_one_sentence() -> None:
    first = MODEL.trace(*FIRST)
    with pytest.raises(PatchError, match="nothing to recover"):
        recovery(MODEL, first, first, [Place("leaves", "decoder.0.ff")], 0, 5)
    for step, token in ((9, 5), (-1, 5), (0, 5000), (0, -1)):
        with pytest.raises(PatchError, match=f"no token {token} at step {step} to watch; there are 3 steps"):
            recovery(MODEL, first, MODEL.trace(*SECOND), [], step, token)
    other = pretrained_variant(d_model=30)
    place, elsewhere = Place("update", "decoder.0.self"), other.trace(*SECOND)
    with pytest.raises(PatchError, match="decoder.0.self.update has the sizes .* patch traces of one model"):
        MODEL.patch(first, elsewhere, [place])
    with pytest.raises(PatchError, match="patch traces of one model"):
        recovery(MODEL, first, elsewhere, [place], 0, 5)
    with pytest.raises(PatchError, match="'decoder.0.self' is not a place; write Place"):
        MODEL.patch(first, first, ["decoder.0.self"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "place, said",
    [
        (Place("leaves", "decoder.99.ff"), "asks for layer 99; the decoder has 2, counted from 0"),
        (Place("head_outputs", "cross.0", 3), "decoder.0.cross.head_outputs has no head 3; there are 3"),
        (Place("update", "encoder.1.self", token=99), "has no token 99; there are "),
        (Place("update", "encoder.1.self", token=1, other=99), "has no token 99; there are "),
    ],
    ids=str,
)
def test_a_place_that_the_model_lacks_gets_one_sentence(place: Place, said: str) -> None:
    first, second = (MODEL.trace(*pair) for pair in (FIRST, SECOND))
    for patched in (
        lambda: MODEL.patch(first, second, [place]),
        lambda: recovery(MODEL, first, second, [place], 1, second.target_out_ids[1]),
    ):
        with pytest.raises(PatchError, match=re.escape(said)):
            patched()


@pytest.mark.parametrize(
    "place, said",
    [
        (("weights", "decoder.0.cross"), "no part 'weights' to patch; choose head_outputs, update or leaves"),
        (("leave", "decoder.0.cross"), "no part 'leave' to patch; choose .* did you mean leaves"),
        (("leaves", "decoder.-1.ff"), "'decoder.-1.ff' is no sub-layer"),
        (("leaves", "encoder.0.cross"), "'encoder.0.cross' is no sub-layer"),
        (("leaves", "decoder"), "'decoder' is no sub-layer"),
        (("leaves", 3), "'3' is no sub-layer"),
        (("head_outputs", "decoder.0.cross", -1), "head cannot be -1; give an index from 0, or None"),
        (("leaves", "decoder.0.ff", None, "2"), "token cannot be '2'; give an index from 0, or None"),
        (("update", "encoder.1.self", 0), "is of all heads together"),
        (("head_outputs", "encoder.1.ff", 0), "a feed-forward network has no heads"),
        (("leaves", "encoder.1.ff", None, None, 3), "give token, the row that it replaces, too"),
    ],
    ids=str,
)
def test_what_is_no_place_is_refused_when_it_is_made(place: tuple[Any, ...], said: str) -> None:
    with pytest.raises(PatchError, match=said):
        Place(*place)


def test_chosen_tokens_of_pairs_of_unequal_length() -> None:
    """The encoder's output of some tokens is all that the decoder knows of them; one row of it is put elsewhere."""
    first, longer = MODEL.trace(*FIRST), MODEL.trace("ka lo mi vu ti", "lo mi vu ti ka")
    sources, last = len(first.source_ids), MODEL.config.encoder_layers - 1
    assert len(longer.source_ids) > sources and len(longer.target_in_ids) > len(first.target_in_ids)
    places = [Place("leaves", f"encoder_ff.{last}", token=1, other=sources)]
    patched = MODEL.patch(first, longer, places)
    wanted = first.encoder_ff.leaves[last].clone()
    wanted[1] = longer.encoder_ff.leaves[last, sources]
    assert torch.equal(patched.encoder_ff.leaves[last], wanted)
    step, there = len(first.target_in_ids) - 1, len(longer.target_in_ids) - 1
    place = Place("leaves", f"decoder.{MODEL.config.decoder_layers - 1}.ff", token=step, other=there)
    token = int(longer.logits[there].argmax())
    found = recovery(MODEL, first, longer, [place, *places], step, token, other_step=there)
    assert found.values[0] == pytest.approx(1, abs=1e-4)  # the row that the logits are made of
    watched = [one.logits[at].log_softmax(-1)[token] for one, at in ((patched, step), (first, step), (longer, there))]
    assert found.values[1] == pytest.approx(float((watched[0] - watched[1]) / (watched[2] - watched[1])), abs=1e-3)
    with pytest.raises(PatchError, match="rows in one trace and .* choose rows, for example Place.*token=1, other=2"):
        MODEL.patch(first, longer, [Place("leaves", "encoder.0.ff")])
    same = [Place("leaves", "encoder.0.ff", token=1, other=1)]
    assert torch.equal(MODEL.patch(first, first, same).logits, first.logits)


def test_patching_reports_every_batch_and_stops() -> None:
    first, second = (MODEL.trace(*pair) for pair in (FIRST, SECOND))
    places = [place for some in head_places(MODEL).values() for place in some]
    seen = Reports()
    token = second.target_out_ids[1]
    asked = (MODEL, first, second, places, 1, token)
    assert recovery(*asked, seen) == recovery(*asked)
    layers = MODEL.config.encoder_layers + MODEL.config.decoder_layers
    assert len(seen) == layers and seen == sorted(seen) and seen[-1] == (len(places), len(places))
    with pytest.raises(Stopped):
        recovery(*asked, lambda done, total: False)
