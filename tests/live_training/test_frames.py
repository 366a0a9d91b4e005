"""Frames: where their weights lie. That they travel unharmed: test_messages.py."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from transformer.live_training.frames import Frame, Opening

OPENING = Opening(
    source="abc", target="cb", source_tokens=("a", "b", "c", "</s>"), target_in=("<s>", "c", "b"),
    target_out=("c", "b", "</s>"), layers=2, heads=5, recorded=(0, 1, 7), parameters=99, unseen=11,
    shown=(("abc", "cb"), ("x", "y")),
)  # fmt: skip
SIZE = 2 * 5 * (4 * 4 + 3 * 3 + 3 * 4)
WEIGHTS = bytes(np.random.default_rng(1).integers(0, 256, SIZE, np.uint8))
FRAME = Frame(
    step=7, seconds=0.25, rate=0.003, loss=1.5, validation_loss=None, forced=0.5, exact=0.0, outputs=("cb", ""),
    predicted=("c", "b", "</s>"), weights=WEIGHTS,
)  # fmt: skip


def test_weights_lie_by_kind_layer_head_query_key() -> None:
    assert OPENING.frame_bytes == SIZE
    found = FRAME.attention(OPENING)
    assert list(found) == ["encoder_self", "decoder_self", "cross"]
    assert [array.shape for array in found.values()] == [(2, 5, 4, 4), (2, 5, 3, 3), (2, 5, 3, 4)]
    assert found["encoder_self"][0, 0, 0, 1] == WEIGHTS[1]
    assert found["decoder_self"][1, 2, 2, 0] == WEIGHTS[160 + (1 * 5 + 2) * 9 + 6]
    assert found["cross"][-1, -1, -1, -1] == WEIGHTS[-1]
    with pytest.raises(ValueError, match=f"{SIZE - 1} bytes of weights do not fit; a frame has {SIZE}"):
        dataclasses.replace(FRAME, weights=WEIGHTS[1:]).attention(OPENING)
