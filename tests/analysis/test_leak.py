"""What moves when a later token is exchanged: nothing before it under the mask, and much without."""

import dataclasses
import math
from dataclasses import replace

import pytest
import torch

from tests.support.build import tiny_model, tiny_pretrained
from transformer.analysis.leak import LITTLE, moved, peeking, step_by_step
from transformer.analysis.translation import perplexity
from transformer.interventions.sets import NONE, Interventions
from transformer.tracing.trace import Trace


def pair(switches: str, place: int, number: int = 9) -> tuple[Trace, Trace]:
    model = tiny_pretrained()
    trace = model.trace("ka lo mi", "nu re sta ti vu")
    on = Interventions.parse(switches) if switches else NONE
    return model.retrace(trace, on), model.retrace(trace, on, fed={place: number})


@pytest.mark.parametrize(
    ("switches", "place"),
    [("", 1), ("", 4), ("scaling=off", 2), ("zero=cross", 4), ("weights=uniform@decoder_self", 1),
     ("padding=off pad=3", 2)],
)  # fmt: skip
def test_the_mask_hides_the_future_exactly(switches: str, place: int) -> None:
    found = moved(*pair(switches, place))
    assert found[:place].max() == 0 and (found[place:] > 0).all()


@pytest.mark.parametrize("switches", ["causal=off", "causal=off@decoder_self.2.1"])
def test_without_the_mask_the_past_moves(switches: str) -> None:
    found = moved(*pair(switches, 4))
    assert (found[:4] > 0).all()


def test_moved_by_hand() -> None:
    one = tiny_pretrained().trace("ka", "mi")
    length, vocab = one.logits.shape
    logits = torch.zeros(length, vocab)
    changed = logits.clone()
    changed[1, 5], changed[1, 7] = -3.0, 2.0
    other = dataclasses.replace(one, logits=changed)
    assert moved(dataclasses.replace(one, logits=logits), other).tolist() == [0.0, 3.0, *[0.0] * (length - 2)]
    assert moved(one, one).tolist() == [0.0] * length
    with pytest.raises(ValueError, match="cannot be compared"):
        moved(one, tiny_pretrained().trace("ka", "mi nu re sta"))


def test_peeking_by_ratio() -> None:
    assert peeking(4.0, 2.0) == "helps" and peeking(2.0, 4.0) == "confuses" and peeking(2.0, 2.0) == "little"
    assert peeking(2.0, 2.0 * LITTLE - 1e-6) == "little" and peeking(2.0, 2.0 * LITTLE + 1e-6) == "confuses"
    assert peeking(2.0, 2.0 / LITTLE + 1e-6) == "little" and peeking(2.0, 2.0 / LITTLE - 1e-6) == "helps"
    for wrong in (0.5, float("nan")):
        with pytest.raises(ValueError, match="perplexities are at least 1"):
            peeking(wrong, 2.0)


@pytest.mark.parametrize("causal", [True, False])
def test_step_by_step_is_the_perplexity_of_what_decoding_sees(causal: bool) -> None:
    """Under the mask that of one pass; without it that of a pass a step, worked out again here; switches hold."""
    model = replace(tiny_pretrained(), model=tiny_model(5, vocab_size=67, causal=causal, norm="pre"))
    for value in (NONE, Interventions.parse("zero=cross.1 pad=2")):
        trace = model.trace("ka lo mi", "re sta vu", interventions=value)
        wanted = 0.0
        for step, token in enumerate(trace.target_out_ids):
            prefix = model._pass(trace.source_ids, trace.target_in_ids[: step + 1], [token] * (step + 1), value)
            wanted -= float(prefix["probabilities"][-1].log())
        found = step_by_step(trace, model.model)
        assert found == pytest.approx(math.exp(wanted / len(trace.target_out_ids)), rel=1e-4)
        assert (found == pytest.approx(perplexity(trace), rel=1e-4)) == causal
