"""Statistics of heads, worked out by hand on attention that is made up."""

import dataclasses
import math

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.analysis.heads import OFFSETS, READINGS, head_statistics, read_word_list
from transformer.analysis.tokens import repeats
from transformer.tracing.trace import Trace


def with_weights(trace: Trace, kind: str, rows: list[list[float]]) -> Trace:
    """The trace with one made-up matrix in every layer and head of a kind."""
    attention = trace.attention(kind)
    weights = torch.tensor(rows).expand(*attention.weights.shape[:2], -1, -1)
    assert weights.shape == attention.weights.shape
    return dataclasses.replace(trace, **{kind: dataclasses.replace(attention, weights=weights)})


@pytest.fixture(scope="module")
def trace() -> Trace:
    found = tiny_pretrained().trace("ka lo", "nu re")
    assert found.attention("decoder_self").weights.shape[-1] >= 3
    return found


def test_a_head_that_looks_back(trace: Trace) -> None:
    count = len(trace.target_in)
    back = torch.zeros(count, count)
    back[0, 0] = 1
    back[torch.arange(1, count), torch.arange(count - 1)] = 1
    found = head_statistics([with_weights(trace, "decoder_self", back.tolist())])["decoder_self"]
    assert torch.all(found.previous == 1)  # of the rows that have a previous token
    assert torch.all(found.same == 1 / count)  # the first row sees itself alone
    assert found.next.isnan().all()  # the mask hides it
    assert torch.all(found.entropy == 0) and found.rows == count
    assert found.positional() == found.previous.numel()


def test_half_sharp_rows_have_the_entropy_worked_out_by_hand(trace: Trace) -> None:
    count = len(trace.source_tokens)
    rows = torch.zeros(count, count)
    rows[:, 0] = rows[:, 1] = 0.5
    found = head_statistics([with_weights(trace, "encoder_self", rows.tolist())] * 2)["encoder_self"]
    assert torch.allclose(found.entropy, torch.full_like(found.entropy, math.log(2) / math.log(count)))
    assert found.rows == 2 * count


def test_alignment_is_measured_by_the_token_predicted_and_by_the_token_fed_in(trace: Trace) -> None:
    words = {"ka": frozenset({"nu"}), "lo": frozenset({"re"})}
    targets, sources = len(trace.target_out), len(trace.source_tokens)
    # The source is "▁", "k", "a", "▁lo", </s>. Rows are fed <s>, "▁nu", "▁re" and predict "▁nu", "▁re", </s>.
    rows = torch.zeros(targets, sources)
    rows[0, 1] = rows[1, 2] = rows[2, 3] = 1
    cross = head_statistics([with_weights(trace, "cross", rows.tolist())], words)["cross"]
    assert cross.links == 2  # "nu" and "re"; </s> is not a word
    assert torch.all(
        cross.aligned_out == 0.5
    )  # row 0 predicts "nu" and looks at "k"; row 1 predicts "re", looks at "a"
    assert torch.all(cross.aligned_in == 1)  # row 1 is fed "nu" and looks at "a"; row 2 is fed "re" and looks at "lo"
    assert torch.equal(cross.aligned(), cross.aligned_in)
    unknown = head_statistics([trace], {"mi": frozenset({"ta"})})["cross"]
    assert unknown.links == 0 and unknown.aligned_in.isnan().all() and unknown.aligned_out.isnan().all()


def test_cross_attention_has_no_offsets_and_self_attention_no_alignment(trace: Trace) -> None:
    """An index in the target cannot be compared with an index in the source."""
    by_kind = head_statistics([trace], {"ka": frozenset({"nu"})})
    for name in OFFSETS:
        assert getattr(by_kind["cross"], name).isnan().all()
    for kind in ("encoder_self", "decoder_self"):
        for name in READINGS:
            assert getattr(by_kind[kind], name).isnan().all()


def test_a_head_that_rests_on_the_start_or_end_token(trace: Trace) -> None:
    keys = len(trace.source_tokens)
    rows = torch.zeros(keys, keys)
    rows[:3, keys - 1], rows[3:, 0] = 1, 1  # three rows on </s>
    assert torch.all(
        head_statistics([with_weights(trace, "encoder_self", rows.tolist())])["encoder_self"].resting == 3 / keys
    )
    count = len(trace.target_in)
    rows = torch.zeros(count, count)
    rows[:, 0] = 1  # all rows on <s>; the first one sees nothing else and does not count
    rows[count - 1, 0], rows[count - 1, 1] = 0, 1
    resting = head_statistics([with_weights(trace, "decoder_self", rows.tolist())])["decoder_self"].resting
    assert torch.allclose(resting, torch.full_like(resting, (count - 2) / (count - 1)))


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one trace is needed"):
        head_statistics([])


def test_word_lists_join_lines_and_ignore_case() -> None:
    assert read_word_list("Cat\tKatze Kater\n\ncat\tKätzchen\n") == {"cat": {"katze", "kater", "kätzchen"}}


@pytest.mark.parametrize(
    ("tokens", "most"),
    [
        ("", 0), ("a", 1), ("abcdef", 1), ("aab", 2), ("aaaa", 4), ("abab", 2), ("xabababy", 3), ("abcabcabc", 3),
        ("aabaab", 2), ("abcdefghiabcdefghi", 1),
    ],
)  # fmt: skip
def test_repeats(tokens: str, most: int) -> None:
    assert repeats(list(tokens)) == most
