"""Section 4: formulas, hand counts, what PyTorch is asked to multiply, and paths that a second search finds."""

import math
from collections import deque
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from transformer.cost import complexity
from transformer.cost.complexity import (
    KINDS,
    Sizes,
    around,
    centred_by_kernel,
    costs,
    dilated,
    fewest,
    longest_path,
    looking_back,
    meeting,
    multiply_adds,
    order,
    path,
    path_order,
    products,
    sequential,
    sequential_order,
)
from transformer.cost.layer_types import layer

HAND = Sizes(n=3, d=4, heads=2, kernel=3, window=3)
LENGTHS = [*range(1, 41), 63, 64, 65, 81, 82, 127, 128, 129]


# -- multiply-adds ----------------------------------------------------------------------------------------------------


def test_a_layer_of_each_kind_counted_by_hand() -> None:
    """n = 3, d = 4, two heads of width 2, k = r = 3: every product written out."""
    projections = 4 * (3 * 4 * 4)
    scores_and_sums = 2 * (3 * 3 * 2) + 2 * (3 * 3 * 2)
    assert multiply_adds("attention", HAND) == projections + scores_and_sums == 264
    assert multiply_adds("attention", HAND, mixing=True) == 72
    assert multiply_adds("recurrent", HAND) == 3 * 4 * 12 + 3 * (1 * 4 * 12) == 288
    assert multiply_adds("recurrent", HAND, mixing=True) == 144
    assert multiply_adds("convolution", HAND) == 3 * 3 * 4 * 4 == 144 == multiply_adds("convolution", HAND, mixing=True)
    assert multiply_adds("separable", HAND) == 3 * 3 * 4 + 3 * 4 * 4 == 84
    assert multiply_adds("separable", HAND, mixing=True) == 36
    assert multiply_adds("restricted", HAND) == projections + 2 * (3 * 3 * 4) == 264  # r = n: as much as full attention
    assert multiply_adds("restricted", replace(HAND, n=1, window=9)) == 4 * 16 + 2 * 4  # one key, though r is 9


@pytest.mark.parametrize(("n", "d_k"), [(1, None), (2, 5), (7, None), (33, 5)])
def test_the_counts_have_the_orders_of_the_table_and_their_constants(n: int, d_k: int | None) -> None:
    d, heads, kernel, window = 12, 3, 5, 7
    sizes = Sizes(n, d, heads, kernel, window, d_k)
    wide = heads * d_k if d_k else d
    projections = 2 * n * d * wide + 2 * n * d * d
    assert multiply_adds("attention", sizes) == projections + n * n * (wide + d)
    assert multiply_adds("recurrent", sizes) == 6 * n * d * d
    assert multiply_adds("convolution", sizes) == kernel * n * d * d == order("convolution", sizes)
    assert multiply_adds("separable", sizes) == kernel * n * d + n * d * d == order("separable", sizes)
    assert multiply_adds("restricted", sizes) == projections + min(window, 2 * n - 1) * n * (wide + d)
    assert [order(kind, sizes) for kind in KINDS[:2]] == [n * n * d, n * d * d]
    assert order("restricted", sizes) == window * n * d


class Multiplied(TorchDispatchMode):
    """Adds up what PyTorch is asked to multiply: matrix products, convolutions, and the restricted layer's products
    of whole tensors, number by number."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        name = str(function)
        if name.startswith(("aten.mm", "aten.bmm")):
            self.total += args[0].numel() * args[1].shape[-1]
        elif name.startswith("aten.addmm"):
            self.total += args[1].numel() * args[2].shape[-1]
        elif name.startswith("aten.convolution"):
            self.total += found.numel() * args[1][0].numel()
        elif name.startswith("aten.addcmul") or (name == "aten.mul.Tensor" and isinstance(args[1], Tensor)):
            self.total += found.numel()
        return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [Sizes(7, 12, 3, 5, 3), Sizes(2, 12, 2, 3, 9, 5), Sizes(20, 6, 1, 7, 11)], ids=str)
def test_pytorch_is_asked_for_as_many(kind: str, sizes: Sizes) -> None:
    made = layer(kind, sizes)
    x = torch.randn(1, sizes.n, sizes.d)
    with torch.no_grad(), Multiplied() as seen:
        assert made(x).shape == x.shape
    assert seen.total == multiply_adds(kind, sizes)


# -- sequential steps and the table's orders --------------------------------------------------------------------------


def test_sequential_steps() -> None:
    for n in (1, 5, 100):
        sizes = Sizes(n, 8, 2)
        found = {kind: sequential(kind, sizes) for kind in KINDS}
        assert found == {"attention": 4, "recurrent": n + 1, "convolution": 1, "separable": 2, "restricted": 4}
        assert [sequential_order(kind, sizes) for kind in KINDS] == [1, n, 1, 1, 1]
        waits = [one.step for one in products("attention", sizes)]
        assert waits == [0, 0, 0, 1, 2, 3]  # Q, K and V wait for nothing


def test_path_orders() -> None:
    sizes = Sizes(81, 8, 2, 3, 9)
    found = [path_order(kind, sizes) for kind in KINDS]
    assert found == pytest.approx([1, 81, 4, 4, 9])
    assert [path_order(kind, replace(sizes, n=2)) for kind in KINDS] == [1, 2, 1, 1, 1]  # no path is shorter than one


# -- paths ------------------------------------------------------------------------------------------------------------


def farthest(n: int, layers: list[list[int]], start: int) -> int | None:
    """A plain breadth-first search over the graph of (layer, position): layers until all positions are reached."""
    queue, seen = deque([(0, start)]), {(0, start)}
    while queue:
        depth, at = queue.popleft()
        if depth < len(layers):
            for offset in layers[depth]:
                node = (depth + 1, at + offset)
                if 0 <= node[1] < n and node not in seen:
                    seen.add(node)
                    queue.append(node)
    full = [depth for depth in range(1, len(layers) + 1) if all((depth, at) in seen for at in range(n))]
    return min(full, default=None)


@pytest.mark.parametrize("width", [3, 5, 7, 15])
def test_search_formula_and_a_second_search_from_every_position_agree(width: int) -> None:
    reach = width // 2
    for n in (2, 3, 4, 5, 8, 9, 10, 16, 17, 27, 28):
        sizes = Sizes(n, 4, kernel=width, window=width)
        plain = [list(around(width))] * n
        wide = [list(one) for one in dilated(n, around(width), reach + 1)]
        contiguous = max(farthest(n, plain, start) or n + 1 for start in range(n))
        stacked = max(farthest(n, wide, start) or n + 1 for start in range(n))
        assert path("restricted", sizes) == path("convolution", sizes, contiguous=True) == contiguous
        assert path("convolution", sizes) == path("separable", sizes) == stacked


def test_paths_by_their_closed_formulas() -> None:
    for n in LENGTHS:
        for width in (3, 5, 9, 31):
            sizes = Sizes(n, 4, kernel=width, window=width)
            reach = width // 2
            assert path("attention", sizes) == 1 and path("recurrent", sizes) == n
            assert path("restricted", sizes) == max(1, math.ceil((n - 1) / reach))
            assert path("convolution", sizes, contiguous=True) == max(1, math.ceil((n - 1) / reach))
            power = next(layers for layers in range(1, 99) if (reach + 1) ** layers >= n)
            assert path("convolution", sizes) == power
            back = next(layers for layers in range(1, 99) if width**layers >= n)
            assert looking_back(sizes) == back == max(1, math.ceil(path_order("convolution", sizes) - 1e-9))


def test_dilations_by_k_leave_gaps_where_the_kernel_is_centred() -> None:
    """k = 3, dilations 1, 3, 9: from position 0 two to the right is 3 - 1, and -1 lies outside."""
    assert centred_by_kernel(Sizes(2, 4)) == 1
    assert all(centred_by_kernel(Sizes(n, 4)) is None for n in range(3, 40))
    layers = [list(one) for one in dilated(9, around(3), 3)]
    assert [list(one) for one in layers] == [[-1, 0, 1], [-3, 0, 3]] and farthest(9, layers, 0) is None
    assert centred_by_kernel(Sizes(3, 4, kernel=5)) == 1


def test_unconnected_positions_have_no_path() -> None:
    assert longest_path(3, [(0,), (0,)]) is None and longest_path(3, [(0, 1)]) is None
    assert longest_path(3, [(0, 1), (0, 1), (0,)]) == 2 and longest_path(1, [(0,)]) == 1


def test_long_sentences_are_searched_quickly_enough_to_be_a_page() -> None:
    found = costs(Sizes(10_000, 256, 8))
    assert [one.path for one in found] == [1, 10_000, 14, 14, 9_999] and found[2].contiguous == 9_999


# -- compared ---------------------------------------------------------------------------------------------------------


def test_the_winner_of_each_column() -> None:
    found = costs(Sizes(12, 256, 8, 3, 5))
    assert fewest(found, "order") == ("restricted",) and fewest(found, "multiply_adds") == ("separable",)
    assert fewest(found, "sequential_order") == ("attention", "convolution", "separable", "restricted")
    assert fewest(found, "sequential") == ("convolution",)
    assert fewest(found, "path_order") == fewest(found, "path") == ("attention",)
    assert all(hasattr(found[0], column) for column in complexity.COLUMNS)


@pytest.mark.parametrize("d", [2, 64, 256, 1000])
def test_where_two_kinds_meet(d: int) -> None:
    sizes = Sizes(5, d, 2, 5, 9)
    assert meeting("attention", "recurrent", sizes, exact=False) == d  # n^2 d = n d^2
    assert meeting("attention", "recurrent", sizes) == d  # 4 n d^2 + 2 n^2 d = 6 n d^2
    assert meeting("attention", "convolution", sizes, exact=False) == 5 * d
    assert meeting("attention", "convolution", sizes) == max(1, math.ceil(d / 2))  # 4 d + 2 n = 5 d
    assert meeting("attention", "restricted", sizes, exact=False) == 9
    assert meeting("attention", "separable", sizes) == 1  # the projections alone are more
    assert meeting("attention", "recurrent", replace(sizes, d=complexity.MOST)) == complexity.MOST
    assert meeting("attention", "recurrent", replace(sizes, d=2 * complexity.MOST)) is None


def test_meeting_equals_a_count_step_by_step() -> None:
    sizes = Sizes(1, 12, 3, 3, 5, 5)
    for other in ("recurrent", "convolution", "separable"):
        for exact, count in ((True, multiply_adds), (False, order)):
            more = [n for n in range(1, 99) if count("attention", at := replace(sizes, n=n)) >= count(other, at)]
            assert meeting("attention", other, sizes, exact) == more[0] and more == list(range(more[0], 99))


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"d": 5}, {"heads": 0}, {"kernel": 4}, {"kernel": 1}, {"window": 0}, {"d_k": 0}], ids=str
)
def test_sizes_that_are_no_layer_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="sizes must be positive|odd number from 3"):
        Sizes(**{"n": 3, "d": 4, "heads": 2, **wrong})
    with pytest.raises(ValueError, match="unknown layer type 'pooling'"):
        products("pooling", HAND)
