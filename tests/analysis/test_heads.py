"""Statistics of heads, worked out by hand on attention that is made up."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.analysis.heads import head_statistics, read_word_list
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


def test_a_flat_head(trace: Trace) -> None:
    count = len(trace.source_tokens)
    flat = torch.full((count, count), 1 / count)
    found = head_statistics([with_weights(trace, "encoder_self", flat.tolist())])["encoder_self"]
    assert torch.allclose(found.entropy, torch.ones_like(found.entropy))
    assert found.aligned.isnan().all()


def test_half_sharp_rows_have_the_entropy_worked_out_by_hand(trace: Trace) -> None:
    count = len(trace.source_tokens)
    rows = torch.zeros(count, count)
    rows[:, 0] = rows[:, 1] = 0.5
    found = head_statistics([with_weights(trace, "encoder_self", rows.tolist())] * 2)["encoder_self"]
    assert torch.allclose(found.entropy, torch.full_like(found.entropy, math.log(2) / math.log(count)))
    assert found.rows == 2 * count


def test_alignment_counts_the_rows_the_list_knows(trace: Trace) -> None:
    words = {"ka": frozenset({"nu"}), "lo": frozenset({"re"})}
    targets, sources = len(trace.target_out), len(trace.source_tokens)
    first = torch.zeros(targets, sources)
    first[:, 1] = 1  # every row looks at the second piece of "ka", which is "▁", "k", "a"
    found = head_statistics([with_weights(trace, "cross", first.tolist())], words)["cross"]
    assert found.links == 2  # "nu" and "re"; </s> is no word
    assert torch.all(found.aligned == 0.5)  # right for "nu", wrong for "re"
    nobody = head_statistics([trace], {"mi": frozenset({"ta"})})["cross"]
    assert nobody.links == 0 and nobody.aligned.isnan().all()


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
