import math

import pytest
import torch
from torch import nn

from transformer.model.attention import MultiHeadAttention, attend
from transformer.model.tap import FUSED, Tap

BATCH, HEAD, QUERY, KEY, D_HEAD = 2, 3, 5, 7, 11
D_MODEL = HEAD * D_HEAD


def _tensors(seed=1):
    torch.manual_seed(seed)
    shapes = ((BATCH, HEAD, QUERY, D_HEAD), (BATCH, HEAD, KEY, D_HEAD), (BATCH, HEAD, KEY, D_HEAD))
    mask = torch.rand(BATCH, 1, QUERY, KEY) < 0.6
    mask[..., 0] = True
    return *(torch.randn(shape) for shape in shapes), mask


def test_solved_by_hand():
    # q.k / sqrt(4) = ln 3 for the first key and 0 for the second: softmax gives 3/4 and 1/4.
    queries = torch.tensor([[[[2 * math.log(3), 0.0, 0.0, 0.0]]]])
    keys = torch.tensor([[[[1.0, 0.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0]]]])
    values = torch.tensor([[[[8.0, 0.0, 4.0], [0.0, 4.0, 8.0]]]])
    tap = Tap()
    output = attend(queries, keys, values, tap=tap)
    assert tap.records["scores"][0, 0].tolist() == [pytest.approx([1.0986123, 0.0])]
    assert tap.records["weights"][0, 0].tolist() == [pytest.approx([0.75, 0.25])]
    assert output[0, 0].tolist() == [pytest.approx([6.0, 1.0, 5.0])]  # 3/4 of the first value, 1/4 of the second


def test_solved_by_hand_with_a_mask():
    # Three keys with scores 0, ln 2 and 9; the last is hidden, so the first two share 1/3 and 2/3.
    queries = torch.tensor([[[[1.0]]]])
    keys = torch.tensor([[[[0.0], [math.log(2)], [9.0]]]])
    values = torch.tensor([[[[3.0], [6.0], [1e6]]]])
    tap = Tap()
    output = attend(queries, keys, values, torch.tensor([True, True, False]), tap=tap)
    assert tap.records["scores"].flatten().tolist() == [0, pytest.approx(math.log(2)), -math.inf]
    assert tap.records["weights"].flatten().tolist() == pytest.approx([1 / 3, 2 / 3, 0.0])
    assert output.item() == pytest.approx(5.0)


def test_identities():
    queries, keys, values, mask = _tensors()
    tap = Tap()
    output = attend(queries, keys, values, mask, tap=tap)
    records = tap.finish()
    assert list(records) == ["mask", "scores", "weights", "head_outputs"]
    weights = records["weights"]
    assert weights.shape == records["scores"].shape == (BATCH, HEAD, QUERY, KEY)
    assert output.shape == (BATCH, HEAD, QUERY, D_HEAD)
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEAD, QUERY))
    hidden = ~mask.expand_as(weights)
    assert hidden.any() and (weights[hidden] == 0).all() and (records["scores"][hidden] == -math.inf).all()
    assert (weights[~hidden] > 0).all()
    assert torch.equal(weights @ values, output) and torch.equal(records["head_outputs"], output)


def test_every_cell_against_loops():
    queries, keys, values, mask = _tensors()
    output = attend(queries, keys, values, mask)
    for b, h, q in [(0, 0, 0), (0, 2, 4), (1, 1, 3), (1, 2, 1)]:
        seen = [k for k in range(KEY) if mask[b, 0, q, k]]
        raw = [math.exp(sum(float(x * y) for x, y in zip(queries[b, h, q], keys[b, h, k], strict=True)) / 11**0.5)
               for k in seen]  # fmt: skip
        for d in range(D_HEAD):
            by_hand = sum(r * values[b, h, k, d].item() for r, k in zip(raw, seen, strict=True)) / sum(raw)
            assert output[b, h, q, d].item() == pytest.approx(by_hand, abs=1e-5)


def test_hidden_values_do_not_leak():
    queries, keys, values, mask = _tensors()
    hidden = ~mask[:, :, 0, :, None]  # what query 0 may not see: [batch, 1, key, 1]
    shouted = torch.where(hidden, values + 1e4, values)
    assert not torch.equal(values, shouted)
    assert torch.equal(attend(queries, keys, values, mask)[:, :, 0], attend(queries, keys, shouted, mask)[:, :, 0])


def test_a_query_without_keys_is_nan_and_not_an_average():
    queries, keys, values, mask = _tensors()
    mask[1, :, 2] = False
    output = attend(queries, keys, values, mask)
    assert output[1, :, 2].isnan().all()
    assert output[0].isfinite().all() and output[1, :, [0, 1, 3, 4]].isfinite().all()


@pytest.mark.parametrize("masked", [False, True])
def test_fused_kernel_agrees(masked):
    queries, keys, values, mask = _tensors()
    chosen = mask if masked else None
    torch.testing.assert_close(
        attend(queries, keys, values, chosen, tap=FUSED), attend(queries, keys, values, chosen), rtol=0, atol=1e-5
    )


def test_dropped_weights_are_not_recorded():
    queries, keys, values, _ = _tensors()
    tap = Tap()
    output = attend(queries, keys, values, dropout=0.5, tap=tap)
    torch.testing.assert_close(tap.records["weights"].sum(-1), torch.ones(BATCH, HEAD, QUERY))
    assert not torch.allclose(output, tap.records["weights"] @ values)


def _multi_head(seed=3):
    torch.manual_seed(seed)
    ours = MultiHeadAttention(D_MODEL, HEAD)
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.3)
    return ours, torch.randn(BATCH, QUERY, D_MODEL), torch.randn(BATCH, KEY, D_MODEL)


def test_heads_against_torch():
    ours, x, memory = _multi_head()
    theirs = nn.MultiheadAttention(D_MODEL, HEAD, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat((ours.query.weight, ours.key.weight, ours.value.weight)))
        theirs.in_proj_bias.copy_(torch.cat((ours.query.bias, ours.key.bias, ours.value.bias)))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    mask = torch.ones(QUERY, KEY, dtype=torch.bool).tril(1)
    tap = Tap()
    output = ours(x, memory, mask[None, None], tap=tap)
    wanted, weights = theirs(x, memory, memory, attn_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(output, wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(tap.records["weights"], weights, rtol=0, atol=1e-6)


def test_head_i_owns_its_rows_of_each_projection():
    ours, x, memory = _multi_head()
    tap = Tap()
    ours(x, memory, tap=tap)
    for head in range(HEAD):
        rows = slice(head * D_HEAD, (head + 1) * D_HEAD)
        for name, matrix in (("queries", ours.query), ("keys", ours.key), ("values", ours.value)):
            fed = x if name == "queries" else memory
            wanted = fed @ matrix.weight[rows].T + matrix.bias[rows]
            torch.testing.assert_close(tap.records[name][:, head], wanted, rtol=1e-5, atol=1e-5)


def test_output_projection_reads_the_heads_side_by_side():
    ours, x, memory = _multi_head()
    tap = Tap()
    output = ours(x, memory, tap=tap)
    parts = [
        tap.records["head_outputs"][:, head] @ ours.output.weight[:, head * D_HEAD : (head + 1) * D_HEAD].T
        for head in range(HEAD)
    ]
    torch.testing.assert_close(output, sum(parts) + ours.output.bias, rtol=1e-5, atol=1e-5)
