"""When heads formed: recordings made up so that the answer is known."""

import dataclasses

import numpy as np
import pytest
import torch

from tests.support.build import HEADS, tiny_pretrained
from transformer.analysis.formation import Forming, formation, recorded
from transformer.analysis.heads import READINGS, Seen, head_statistics, read_word_list, statistics
from transformer.inference.pretrained import load
from transformer.probing.probes import PROBES
from transformer.tracing.trace import KINDS, Trace
from transformer.training.recording import Recording

LAYERS = 2


@pytest.fixture(scope="module")
def trace() -> Trace:
    return tiny_pretrained().trace("ka lo mi", "nu re ta")


def blank(trace: Trace, states: int) -> dict[str, np.ndarray]:
    """Every row of every head on its first key, at every state."""
    made = {}
    for kind in KINDS:
        made[kind] = np.zeros((states, *trace.attention(kind).weights.shape), np.uint8)
        made[kind][..., 0] = 255
    return made


def look(weights: np.ndarray, rows: int, back: int) -> None:
    """The first rows that have it in sight look `back` keys before their own, the others at their first key. weights:
    [query, key], changed in place."""
    weights[:] = 0
    weights[:, 0] = 255
    for row in range(max(0, back), max(0, back) + rows):
        weights[row, 0], weights[row, row - back] = 0, 255


def found(formings: tuple[Forming, ...], what: str, kind: str) -> Forming:
    return next(one for one in formings if (one.what, one.kind) == (what, kind))


def test_the_first_state_with_half_of_the_rows_and_the_head_that_has_them(trace: Trace) -> None:
    made = blank(trace, 4)
    keys = len(trace.source_tokens)
    rows = keys - 1  # have a previous token
    assert rows >= 5
    # On the first key alone: the second row's previous token is that key, so one row of them counts.
    half = -(-rows // 2)
    look(made["encoder_self"][1][1][2], half - 1, 1)
    look(made["encoder_self"][2][1][2], half, 1)  # state 2: layer 2, head 3 in half of the rows
    look(made["encoder_self"][3][1][2], rows, 1)
    look(made["encoder_self"][3][0][1], half, 1)
    one = found(formation([recorded(made, trace)])[1], "previous", "encoder_self")
    assert (one.state, one.layer, one.head, one.rows) == (2, 1, 2, rows)
    assert one.shares == pytest.approx((1 / rows, (half - 1) / rows, half / rows, 1.0))
    assert one.first == pytest.approx(1 / rows) and one.needed == 0.5
    assert one.stays and one.count == 2


def test_a_head_that_does_not_stay(trace: Trace) -> None:
    made = blank(trace, 3)
    look(made["encoder_self"][1][0][0], len(trace.source_tokens) - 1, -1)
    one = found(formation([recorded(made, trace)])[1], "next", "encoder_self")
    assert (one.state, one.layer, one.head, one.shares) == (1, 0, 0, (0.0, 1.0, 0.0))
    assert not one.stays and one.count == 0


def test_a_habit_of_untrained_heads_must_double(trace: Trace) -> None:
    """In a short decoder chance alone reaches half of the rows."""
    rows = len(trace.target_in) - 1
    assert rows >= 3
    made = blank(trace, 2)
    look(made["decoder_self"][0][0][1], rows - 1, 1)
    look(made["decoder_self"][1][1][0], rows, 1)
    one = found(formation([recorded(made, trace)])[1], "previous", "decoder_self")
    assert one.needed == pytest.approx(2 * (rows - 1) / rows) and one.state is None
    assert (one.layer, one.head) == (1, 0) and one.shares[-1] == 1 and not one.stays and one.count == 0


def test_alignment_is_that_of_the_word_list(trace: Trace) -> None:
    words = {"ka": frozenset({"nu"}), "lo": frozenset({"re"})}
    made = blank(trace, 3)
    # The source is "▁", "k", "a", "▁lo", "▁mi", </s>, the target begins "▁nu", "▁re": two rows the list knows.
    made["cross"][2][1][0][:2] = 0
    made["cross"][2][1][0][0][2] = made["cross"][2][1][0][1][3] = 255
    numbers, formings = formation([recorded(made, trace)], words)
    one = found(formings, "aligned_out", "cross")
    assert numbers["cross"].aligned_out.shape == (3, LAYERS, HEADS) and numbers["cross"].links == one.rows == 2
    assert one.first == 0.5 and one.needed == 1.0  # the first key is a piece of "ka", so "nu" is right at once
    assert (one.state, one.layer, one.head, one.shares, one.count) == (2, 1, 0, (0.5, 0.5, 1.0), 1)
    assert not [one for one in formation([recorded(made, trace)])[1] if one.what in READINGS]
    assert not [one for one in formation([recorded(made, trace)], {"a": frozenset("b")})[1] if one.what in READINGS]


def test_recorded_bytes_give_the_statistics_of_the_weights_themselves(trace: Trace) -> None:
    made = {kind: (trace.attention(kind).weights * 255).round().byte().numpy()[None] for kind in KINDS}
    eight, exact = formation([recorded(made, trace)])[0], head_statistics([trace])
    for kind in KINDS:
        for name in ("previous", "same", "next", "entropy"):
            ours, theirs = getattr(eight[kind], name), getattr(exact[kind], name)
            assert ours.shape == (1, *theirs.shape)
            assert torch.allclose(ours[0].nan_to_num(), theirs.nan_to_num(), atol=0.02 if name == "entropy" else 0.2)
        assert eight[kind].rows == exact[kind].rows


def test_equal_weights_share_a_link(trace: Trace) -> None:
    flat = {kind: torch.full_like(trace.attention(kind).weights, 0.25) for kind in KINDS}
    masks = {kind: torch.ones_like(trace.attention(kind).mask) for kind in KINDS}
    none = [None] * len(trace.target_out)
    one = Seen(flat, masks, [None] * len(trace.source_tokens), none, none)
    found = statistics([one])
    assert torch.allclose(found["encoder_self"].same, torch.tensor(1 / len(trace.source_tokens)).double())
    assert torch.allclose(found["decoder_self"].previous, torch.tensor(1 / len(trace.target_in)).double())


def test_different_tokens_and_empty_input_are_errors(trace: Trace) -> None:
    other = dataclasses.replace(tiny_pretrained().trace("ka lo", "nu re"))
    with pytest.raises(ValueError, match="the recorded encoder_self weights have shape"):
        recorded(blank(trace, 2), other)
    with pytest.raises(ValueError, match="at least one trace is needed"):
        formation([])


def test_how_the_bundled_model_formed() -> None:
    """Which states these are does not hang on the second word list: with the first alone, a quarter of the rows, the
    first head aligns between the same ones."""
    model = load("en-de")
    recording = Recording.from_file(model.path / "learning.npz")
    sentences = []
    for number, pair in enumerate(recording.sentences):
        weights = {kind: arrays[number] for kind, arrays in recording.weights.items()}
        trace = model.trace(*pair)
        sentences.append(recorded(weights, trace))
        for kind in KINDS:  # the last state is the model: one byte at most, where another machine rounds another way
            now = (trace.attention(kind).weights * 255).round().numpy()
            assert np.abs(weights[kind][-1] - now).max() <= 1
    probes, examples = (
        (PROBES / f"en-de.{name}.tsv").read_text(encoding="utf-8") for name in ("words", "examples.words")
    )
    numbers, formings = formation(sentences, read_word_list(probes + examples))
    texts = [
        (one.what, one.kind, one.rows, one.state and recording.steps[one.state], one.layer + 1, one.head + 1, one.stays)
        for one in formings
    ]
    assert texts == [
        ("aligned_out", "cross", 119, 542, 4, 5, False),
        ("aligned_in", "cross", 119, 2744, 2, 6, True),
        ("previous", "encoder_self", 161, 2744, 1, 7, True),
        ("previous", "decoder_self", 152, 8031, 1, 1, True),
        ("next", "encoder_self", 161, 2744, 2, 7, True),
    ]
    assert numbers["cross"].aligned_out[6].max() < 0.5 < numbers["cross"].aligned_out[7].max()  # 41 and 73 of 119 rows
    first = found(formation(sentences, read_word_list(probes))[1], "aligned_out", "cross")
    assert (first.rows, recording.steps[first.state or 0]) == (28, 542)
