"""One layer of each kind: that it computes what it says, and that its time is measured within bounds."""

import math
import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from transformer.cancellation import Stopped
from transformer.cost import layer_timing
from transformer.cost.complexity import Sizes
from transformer.cost.layer_timing import (
    BUDGET,
    ENOUGH,
    KINDS,
    LEAST,
    LENGTHS,
    MEMORY,
    MOST,
    ROUNDS,
    SLOWEST,
    Timing,
    fits,
    layers,
    measure,
    pass_bytes,
    weight_bytes,
)
from transformer.cost.layer_types import (
    Convolution,
    Recurrent,
    RestrictedAttention,
    SelfAttention,
    SeparableConvolution,
    layer,
)
from transformer.model.attention import MultiHeadAttention

D, HEADS = 12, 3


def draw(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def band(n: int, window: int) -> Tensor:
    """True where a key lies within the window of a query, [query, key]."""
    return torch.tensor([[abs(query - key) <= window // 2 for key in range(n)] for query in range(n)])


# -- layers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "window", "scaling", "d_k"),
    [(1, 3, True, None), (1, 99, False, 5), (2, 5, True, 5), (2, 7, False, None), (3, 3, False, 5), (3, 7, True, None),
     (11, 3, True, 5), (11, 5, False, None), (11, 7, True, 5), (11, 99, True, None)],
)  # fmt: skip
def test_restricted_attention_is_full_attention_with_a_band_mask(
    n: int, window: int, scaling: bool, d_k: int | None
) -> None:
    torch.manual_seed(0)
    full = MultiHeadAttention(D, HEADS, d_k=d_k, scaling=scaling).requires_grad_(False).eval()
    x = draw(2, n, D)
    torch.testing.assert_close(RestrictedAttention(full, window)(x), full(x, x, band(n, window)))
    if window >= 2 * n - 1:
        torch.testing.assert_close(RestrictedAttention(full, window)(x), full(x, x))


def test_self_attention_is_ours_and_fused_the_same() -> None:
    torch.manual_seed(0)
    full, x = MultiHeadAttention(D, HEADS).requires_grad_(False).eval(), draw(1, 7, D)
    assert torch.equal(SelfAttention(full)(x), full(x, x))
    torch.testing.assert_close(SelfAttention(full, fused=True)(x), full(x, x))


def test_the_recurrent_layer_is_a_gru_step_by_step() -> None:
    torch.manual_seed(0)
    made, x = Recurrent(D).requires_grad_(False).eval(), draw(1, 5, D)
    cells = made.cells
    state, states = torch.zeros(D), []
    for token in x[0]:
        ours = (cells.weight_ih_l0 @ token + cells.bias_ih_l0).chunk(3)
        theirs = (cells.weight_hh_l0 @ state + cells.bias_hh_l0).chunk(3)
        reset, update = (torch.sigmoid(one + other) for one, other in zip(ours[:2], theirs[:2], strict=True))
        new = torch.tanh(ours[2] + reset * theirs[2])
        state = (1 - update) * new + update * state
        states.append(state)
    torch.testing.assert_close(made(x)[0], torch.stack(states))


@pytest.mark.parametrize("kernel", [3, 5])
def test_convolutions_by_loops(kernel: int) -> None:
    torch.manual_seed(0)
    x, n = draw(1, 7, D), 7
    made, thin = (sort(D, kernel).requires_grad_(False).eval() for sort in (Convolution, SeparableConvolution))
    expected, apart = made.kernel.bias.repeat(n, 1), torch.zeros(n, D)
    for at in range(n):
        for offset in range(kernel):
            near = at + offset - kernel // 2
            if 0 <= near < n:
                expected[at] += made.kernel.weight[:, :, offset] @ x[0, near]
                apart[at] += thin.depthwise.weight[:, 0, offset] * x[0, near]
    torch.testing.assert_close(made(x)[0], expected)
    torch.testing.assert_close(thin(x)[0], apart @ thin.pointwise.weight.T + thin.pointwise.bias)


@pytest.mark.parametrize("kind", [*KINDS, "separable"])
def test_layers_keep_shapes_and_need_no_gradient(kind: str) -> None:
    sizes = Sizes(9, D, HEADS, 5, 3)
    made = layer(kind, sizes)
    assert not made.training and not any(one.requires_grad for one in made.parameters())
    assert made(draw(1, 9, D)).shape == (1, 9, D) and made(draw(1, 2, D)).shape == (1, 2, D)
    if kind in KINDS:
        matrices = sum(one.nbytes for one in made.parameters() if one.dim() > 1)
        assert weight_bytes(kind, sizes) == matrices


def test_an_unknown_layer_is_an_error() -> None:
    with pytest.raises(ValueError, match="'pooling'"):
        layer("pooling", Sizes(3, D, HEADS))


# -- measured ---------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that layers put forward."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def layer(self, seconds: Callable[[int, int], float]) -> Callable[[Tensor], None]:
        """One whose pass takes seconds(n, how often it ran at this n before)."""
        ran: dict[int, int] = {}

        def run(x: Tensor) -> None:
            assert x.shape[0] == 1 and x.shape[2] == D and torch.is_inference_mode_enabled()
            ran[x.shape[1]] = ran.get(x.shape[1], -1) + 1
            self.now += seconds(x.shape[1], ran[x.shape[1]])

        return run


SIZES = Sizes(4, D, HEADS)


def test_points_come_in_rounds_and_hold_all_passes_so_far() -> None:
    clock = Clock()
    times = iter([5, 0.1, 0.3, 5, 0.2, 0.2, 5, 0.5, 0.1])  # the first of each round warms up
    found = list(measure({"fused": clock.layer(lambda n, ran: next(times))}, SIZES, [8], clock=clock))
    sofar = [[0.1, 0.3], [0.1, 0.3, 0.2, 0.2], [0.1, 0.3, 0.2, 0.2, 0.5, 0.1]]
    assert (LEAST, ROUNDS) == (2, 3) and ENOUGH < 0.2
    for one, taken in zip(found, sofar, strict=True):
        assert one.passes == len(taken) and one.median == pytest.approx(statistics.median(taken))
        _low, _middle, high = statistics.quantiles(taken, n=4, method="inclusive")
        assert (one.fastest, one.high) == (pytest.approx(min(taken)), pytest.approx(high))


def test_fast_passes_are_not_repeated_for_ever() -> None:
    clock = Clock()
    kinds = {kind: clock.layer(lambda n, ran: 1e-6) for kind in ("attention", "recurrent")}
    found = list(measure(kinds, SIZES, [8, 16], clock=clock))
    assert [(one.n, one.kind) for one in found] == [
        (8, "attention"), (8, "recurrent"), (16, "attention"), (16, "recurrent"),
    ] * ROUNDS  # fmt: skip
    assert [one.passes for one in found[::4]] == [MOST, 2 * MOST, 3 * MOST][:ROUNDS]


def test_a_kind_ends_where_a_pass_would_take_too_long() -> None:
    """Time grows with n^2; at 16 a pass takes 0.2 s, so that 32 would take 0.8 s."""
    clock = Clock()
    asked: list[int] = []

    def grows(n: int, ran: int) -> float:
        asked.append(n)
        return 0.2 * (n / 16) ** 2

    made = {"attention": clock.layer(grows), "convolution": clock.layer(lambda n, ran: 0.2 * n / 16)}
    found = list(measure(made, SIZES, [8, 16, 32, 64], clock=clock))
    assert set(asked) == {8, 16} and SLOWEST == 0.5
    left = {(one.kind, one.n): one.unmeasured for one in found}
    assert left["attention", 16] == "" and left["attention", 32] == left["attention", 64] == "slow"
    assert left["convolution", 32] == "" and left["convolution", 64] == "slow"  # 0.4 s, then it would be 0.8
    assert len(found) == ROUNDS * 8 and all(one.passes == 0 for one in found if one.unmeasured)


def test_one_slow_pass_of_a_busy_machine_ends_nothing() -> None:
    clock = Clock()
    made = {"attention": clock.layer(lambda n, ran: 2.0 if ran == 1 else 0.001)}
    assert [one.unmeasured for one in measure(made, SIZES, [8, 16], clock=clock)] == [""] * (2 * ROUNDS)


def test_the_measurement_ends_with_its_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    made = {"recurrent": clock.layer(lambda n, ran: 0.9 * BUDGET / (LEAST + 1) if n == 8 else 0.3 * BUDGET)}
    monkeypatch.setattr(layer_timing, "SLOWEST", math.inf)
    found = list(measure(made, SIZES, [8, 16, 32], clock=clock))
    # 0.9 of the budget for the first point, 0.9 for the second, nothing for the third and for later rounds
    assert [one.unmeasured for one in found] == ["", "", "budget"] * ROUNDS
    assert [one.passes for one in found[:3]] == [one.passes for one in found[-3:]] == [LEAST, LEAST, 0]
    assert clock.now - 100 == pytest.approx(1.8 * BUDGET)


def test_memory_is_bounded() -> None:
    asked: list[int] = []
    clock = Clock()

    def note(n: int, ran: int) -> float:
        asked.append(n)
        return 1e-6

    heads = 3 * 4
    sizes = Sizes(4, D, heads)
    # scores, scaled scores and weights of 12 heads: 3 * 4 * 12 n^2 bytes
    largest = max(n for n in (64, 1024, 2048, 4096) if pass_bytes("attention", replace(sizes, n=n)) <= MEMORY)
    assert largest == 2048 and pass_bytes("attention", replace(sizes, n=4096)) >= 144 * 4096**2 > MEMORY
    found = list(measure({"attention": clock.layer(note)}, sizes, [64, 2048, 4096], clock=clock))
    assert set(asked) == {64, 2048} and found[2] == Timing("attention", 4096, unmeasured="memory")
    assert all(pass_bytes(kind, Sizes(n, 256, 8)) <= MEMORY for kind in KINDS for n in LENGTHS)
    assert fits(Sizes(4, 1024, 16, kernel=31)) and not fits(Sizes(4, 8192, 8))


def test_a_cancelled_measurement_stops_before_the_next_pass() -> None:
    clock, told = Clock(), []
    made = {"attention": clock.layer(lambda n, ran: told.append(n) or 0.001)}
    found: list[Timing] = []
    with pytest.raises(Stopped):
        for one in measure(made, SIZES, [8, 16], wanted=lambda: len(told) < MOST + 5, clock=clock):
            found.append(one)
    assert len(told) == MOST + 5 and told[-1] == 16 and [one.n for one in found] == [8]


def test_real_layers_are_measured_and_threads_left_alone() -> None:
    threads = torch.get_num_threads()
    sizes = Sizes(4, D, HEADS, 5, 3)
    made = layers(sizes)
    assert tuple(made) == KINDS and all(isinstance(one, nn.Module) for one in made.values())
    found = list(measure(made, sizes, [8, 16]))
    assert len(found) == ROUNDS * 2 * len(KINDS) and torch.get_num_threads() == threads
    assert all(0 < one.fastest <= one.median <= one.high for one in found)
