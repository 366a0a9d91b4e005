"""The recurrent encoder-decoder by hand, against the equations of its paper with PyTorch's GRU cells, and itself."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.build import padded_sources, random_ids, targets_in
from tests.support.recurrent import ALIGN, VOCAB, M, N
from tests.support.recurrent import model as random_model
from transformer.model.config import ConfigError
from transformer.rnn import RecurrentConfig, RecurrentModel
from transformer.rnn.attention import AdditiveAttention
from transformer.rnn.decoding import greedy
from transformer.rnn.gru import GatedUnit

LENGTHS = (6, 2, 4)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(7)


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def like(unit: GatedUnit, cell: nn.GRUCell) -> None:
    """Give PyTorch's cell the weights of ours."""
    with torch.no_grad():
        for name, ours in (("ih", unit.input), ("hh", unit.recurrent)):
            getattr(cell, f"weight_{name}").copy_(ours.weight)
            getattr(cell, f"bias_{name}").copy_(ours.bias)


# -- the gated unit ---------------------------------------------------------------------------------------------------


def test_a_step_solved_by_hand() -> None:
    unit = GatedUnit(1, 1)
    with torch.no_grad():
        unit.input.weight.copy_(torch.tensor([[2.0], [-1.0], [0.5]]))  # W_r, W_z, W
        unit.input.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
        unit.recurrent.weight.copy_(torch.tensor([[1.0], [3.0], [-2.0]]))  # U_r, U_z, U
        unit.recurrent.bias.copy_(torch.tensor([0.0, -0.5, 0.4]))
        state, reset, update = unit.step(unit.input(torch.tensor([[3.0]])), torch.tensor([[0.5]]))
    r, z = sigma(2 * 3 + 0.1 + 0.5), sigma(-3 + 0.2 + 3 * 0.5 - 0.5)
    proposed = math.tanh(0.5 * 3 + 0.3 + r * (-2 * 0.5 + 0.4))
    assert reset.item() == pytest.approx(r) and update.item() == pytest.approx(z)
    assert state.item() == pytest.approx(z * 0.5 + (1 - z) * proposed)


# -- additive attention -----------------------------------------------------------------------------------------------


def test_additive_attention_solved_by_hand() -> None:
    """Scores tanh(0) and tanh(1): weights in the ratio 1 : e^tanh(1)."""
    attention = AdditiveAttention(1, 1, 1)
    with torch.no_grad():
        for linear in (attention.query, attention.key, attention.score):
            linear.weight.fill_(1.0)
        annotations = torch.tensor([[[-2.0], [-1.0]]])
        context, scores, weights = attention(
            torch.tensor([[2.0]]), attention.key(annotations), annotations, torch.ones(1, 2, dtype=torch.bool)
        )
    ratio = math.exp(math.tanh(1.0))
    assert scores[0].tolist() == pytest.approx([0.0, math.tanh(1.0)])
    assert weights[0].tolist() == pytest.approx([1 / (1 + ratio), ratio / (1 + ratio)])
    assert context.item() == pytest.approx((-2 - ratio) / (1 + ratio))


# -- the whole model --------------------------------------------------------------------------------------------------


both = pytest.mark.parametrize("attention", [True, False], ids=["attention", "no-attention"])


def reference(ours: RecurrentModel, source: Tensor, target: Tensor) -> Tensor:
    """Logits of one pair, [target, vocab], from the equations, with PyTorch's GRU cells and vectors only.

    source: ids [source]; target: ids [target].
    """
    p = dict(ours.named_parameters())
    cells = {}
    for name, width in (("reader_forward", M), ("reader_backward", M), ("writer", M + 2 * N)):
        cells[name] = nn.GRUCell(width, N)
        like(getattr(ours, name), cells[name])
    words = [p["embedding.weight"][one] for one in source]
    forward, backward = [torch.zeros(N)], [torch.zeros(N)]
    for word in words:
        forward.append(cells["reader_forward"](word, forward[-1]))
    for word in words[::-1]:
        backward.append(cells["reader_backward"](word, backward[-1]))
    h = [torch.cat(pair) for pair in zip(forward[1:], backward[:0:-1], strict=True)]
    s = torch.tanh(p["first_state.weight"] @ h[0][N:] + p["first_state.bias"])
    u_o, v_o, c_o = p["output.weight"].split((N, M, 2 * N), 1)
    rows = []
    for one in target:
        y = p["embedding.weight"][one]
        if ours.config.attention:
            e = [
                p["attention.score.weight"][0]
                @ torch.tanh(p["attention.query.weight"] @ s + p["attention.key.weight"] @ hj)
                for hj in h
            ]
            alpha = torch.stack(e).softmax(0)
            c = sum((a * hj for a, hj in zip(alpha, h, strict=True)), torch.zeros(2 * N))
        else:
            c = torch.cat((forward[-1], backward[-1]))  # both readers at their ends
        s = cells["writer"](torch.cat((y, c)), s)
        t = u_o @ s + v_o @ y + c_o @ c + p["output.bias"]
        maxout = torch.stack([torch.maximum(t[2 * j], t[2 * j + 1]) for j in range(M)])
        rows.append(p["embedding.weight"] @ maxout)
    return torch.stack(rows)


@both
def test_a_pass_is_the_equations_of_the_appendix(attention: bool) -> None:
    ours, source, target = random_model(attention=attention), random_ids(1, 1, 6), targets_in(2, 1, 4)
    torch.testing.assert_close(ours(source, target)[0], reference(ours, source[0], target[0]).detach())


@both
def test_padding_in_a_batch_does_not_change_results(attention: bool) -> None:
    ours, source, target = random_model(attention=attention), padded_sources(4, LENGTHS), targets_in(5, 3, 4)
    together, written = ours(source, target), greedy(ours, source, 9)
    for row, length in enumerate(LENGTHS):
        alone = source[row : row + 1, :length]
        torch.testing.assert_close(together[row], ours(alone, target[row : row + 1])[0])
        torch.testing.assert_close(ours.encode(source)[row, :length], ours.encode(alone)[0])
        (single,) = greedy(ours, alone, 9)
        assert written[row].ids == single.ids
        assert written[row].log_probs == pytest.approx(single.log_probs, abs=1e-5)


def test_without_attention_only_the_two_last_states_reach_the_decoder() -> None:
    ours, target = random_model(attention=False), targets_in(2, 1, 4)
    annotations = torch.randn(1, 6, 2 * N)
    other = annotations + torch.randn_like(annotations)
    other[0, -1, :N], other[0, 0, N:] = annotations[0, -1, :N], annotations[0, 0, N:]
    source = random_ids(1, 1, 6)
    assert torch.equal(ours.decode(target, annotations, source), ours.decode(target, other, source))
    other[0, 0, N] += 1
    assert not torch.equal(ours.decode(target, annotations, source), ours.decode(target, other, source))
    assert {name.split(".")[0] for name, _ in ours.named_parameters()} == {
        "embedding", "reader_forward", "reader_backward", "first_state", "writer", "output",
    }  # fmt: skip


def test_greedy_takes_the_likeliest_token_of_every_step() -> None:
    ours, source = random_model(seed=3), padded_sources(6, LENGTHS)
    for row, found in enumerate(greedy(ours, source, 9)):
        fed = torch.tensor([[2, *found.ids[:-1]]])
        log_probs = ours(source[row : row + 1, : LENGTHS[row]], fed)[0].log_softmax(-1)
        candidates = log_probs.clone()
        candidates[:, [0, 2]] = -math.inf
        assert candidates.argmax(-1).tolist() == list(found.ids)
        wanted = log_probs.gather(1, torch.tensor(found.ids)[:, None])[:, 0].tolist()
        assert found.log_probs == pytest.approx(wanted, abs=1e-5)
        assert len(found.ids) == 9 or found.ids[-1] == 3


def test_writing_ends_at_the_limits() -> None:
    ours = random_model()
    with torch.no_grad():
        ours.output.weight.zero_()
        ours.output.bias.fill_(1.0)
        ours.embedding.weight[7] = 5.0  # always the likeliest
    assert [len(one.ids) for one in greedy(ours, padded_sources(1, LENGTHS))] == [56, 52, 54]  # input + 50
    assert [len(one.ids) for one in greedy(ours, padded_sources(1, LENGTHS), 3)] == [3, 3, 3]
    short = random_model(max_positions=8)
    short.load_state_dict(ours.state_dict())
    assert {len(one.ids) for one in greedy(short, padded_sources(1, LENGTHS), 99)} == {8}


def test_initial_weights() -> None:
    torch.manual_seed(1)
    ours = RecurrentModel(RecurrentConfig(VOCAB, d_embedding=16, d_state=24, d_align=20))
    for unit in (ours.reader_forward, ours.reader_backward, ours.writer):
        for part in unit.recurrent.weight.detach().chunk(3):
            torch.testing.assert_close(part @ part.T, torch.eye(24), atol=1e-5, rtol=0)
    assert all(bool((value == 0).all()) for name, value in ours.named_parameters() if name.endswith("bias"))
    assert ours.embedding.weight.std().item() == pytest.approx(0.25, rel=0.1)


def test_the_number_of_parameters() -> None:
    gru = [3 * (inputs * N + N * N + 2 * N) for inputs in (M, M, M + 2 * N)]
    rest = VOCAB * M + ALIGN * (N + 2 * N + 1) + N * N + N + 2 * M * (N + M + 2 * N) + 2 * M
    assert random_model().parameter_count() == sum(gru) + rest
    assert random_model().device == torch.device("cpu")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "has no vocab_size"),
        ({"vocab_size": 31, "heads": 4}, "a recurrent model has no field 'heads'; choose from vocab_size,"),
        ({"vocab_size": 4}, "vocab_size is 4; choose a whole number from 5 to 1,000,000"),
        ({"vocab_size": 31, "d_state": 0}, "d_state is 0"),
        ({"vocab_size": 31, "d_align": 8.0}, "d_align is 8.0"),
        ({"vocab_size": 31, "d_embedding": True}, "d_embedding is True"),
        ({"vocab_size": 31, "max_positions": 10**9}, "max_positions is 1000000000"),
        ({"vocab_size": 31, "attention": 1}, "attention is 1; choose true or false"),
        ({"vocab_size": 31, "kind": "lstm"}, "kind is 'lstm'; choose 'recurrent'"),
        ({"vocab_size": 31, "pad_id": 31}, "special ids"),
        ({"vocab_size": 31, "pad_id": 1}, "must differ"),
        ([], "a recurrent model must be a table of names and values; this is list"),
    ],
)
def test_a_configuration_is_checked(values: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RecurrentConfig.from_dict(values)


def test_a_configuration_survives_being_written() -> None:
    config = RecurrentConfig(31, d_state=9)
    assert RecurrentConfig.from_dict(config.to_dict()) == config and config.to_dict()["kind"] == "recurrent"
