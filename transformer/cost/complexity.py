"""The cost of one layer of each type: section 4 and Table 1 of the paper, for n tokens of width d.

There are two ways of counting. Table 1 gives orders of growth, without constants and lower terms; `order` and similar
functions evaluate them as printed. `products` lists every matrix product of the layers built here (`layer_types`), so
its multiply-adds and sequential steps are exact. It counts multiplications in matrix products, each with its addition,
including cells beyond the ends of the sentence if a layer computes them. It does not count softmax, biases, scaling and
the elementwise products of gates, which are all of lower order.

Path lengths are found by search, layer by layer, not from a formula.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

# The rows of Table 1, and the separable convolution, which only the text of section 4 has.
KINDS = ("attention", "recurrent", "convolution", "separable", "restricted")
MOST = 10**9  # tokens: the largest n at which two kinds are compared
GATES = 3  # of a GRU: reset, update and the new state


@dataclass(frozen=True)
class Sizes:
    """n: tokens; d: d_model; heads: h; kernel: k, of a convolution; window: r, the keys that a query of restricted
    attention sees; both are odd because they are centred. d_k, d_v: width of a head's queries and keys, and of its
    values; None: d_v, and d / h. Raises ValueError."""

    n: int
    d: int
    heads: int = 1
    kernel: int = 3
    window: int = 3
    d_k: int | None = None
    d_v: int | None = None

    def __post_init__(self) -> None:
        given = [width for width in (self.n, self.d, self.heads, self.d_k, self.d_v) if width is not None]
        if min(given) < 1 or (self.d_v is None and self.d % self.heads):
            raise ValueError(f"{self}: sizes must be positive, and d divisible by heads")
        for name, width in (("kernel", self.kernel), ("window", self.window)):
            if width < 3 or width % 2 == 0:
                raise ValueError(f"{name} is {width}; choose an odd number from 3, so that both sides are seen")

    @property
    def head_width(self) -> int:
        """d_k."""
        return self.d_k or self.value_width

    @property
    def value_width(self) -> int:
        """d_v."""
        return self.d_v or self.d // self.heads

    @property
    def seen(self) -> int:
        """Keys that each query of restricted attention is multiplied with: r, or fewer in a short sentence."""
        return min(self.window, 2 * self.n - 1)


@dataclass(frozen=True)
class Product:
    """`times` products of a matrix [rows, inner] with one [inner, columns].

    step: products wait for those with a lower step; chained: each of the `times` products waits for the previous one;
    mixes: it combines numbers of different positions, other products work on each position alone.
    """

    name: str
    step: int
    times: int
    rows: int
    inner: int
    columns: int
    mixes: bool = False
    chained: bool = False

    @property
    def multiply_adds(self) -> int:
        return self.times * self.rows * self.inner * self.columns


def products(kind: str, sizes: Sizes) -> tuple[Product, ...]:
    """Every matrix product of a layer of `layer_kinds`, batch 1."""
    n, d, heads, width = sizes.n, sizes.d, sizes.heads, sizes.head_width
    if kind in ("attention", "restricted"):
        if kind == "attention":  # equation 1: one matrix [n, n] a head
            rows, times, keys = n, heads, n
        else:  # one row of `seen` keys for each query
            rows, times, keys = 1, heads * n, sizes.seen
        return (
            Product("queries", 0, 1, n, d, heads * width),
            Product("keys", 0, 1, n, d, heads * width),
            Product("values", 0, 1, n, d, heads * sizes.value_width),
            Product("scores", 1, times, rows, width, keys, mixes=True),
            Product("head_outputs", 2, times, rows, keys, sizes.value_width, mixes=True),
            Product("output", 3, 1, n, heads * sizes.value_width, d),
        )
    if kind == "recurrent":
        return (
            Product("inputs", 0, 1, n, d, GATES * d),
            Product("states", 1, n, 1, d, GATES * d, mixes=True, chained=True),
        )
    if kind == "convolution":
        return (Product("kernel", 0, 1, n, sizes.kernel * d, d, mixes=True),)
    if kind == "separable":
        return (
            Product("depthwise", 0, d, n, sizes.kernel, 1, mixes=True),
            Product("pointwise", 1, 1, n, d, d),
        )
    raise ValueError(f"unknown layer type {kind!r}; choose {', '.join(KINDS)}")


def multiply_adds(kind: str, sizes: Sizes, mixing: bool = False) -> int:
    """Of a whole layer; mixing: only of products that combine positions, without projections."""
    return sum(product.multiply_adds for product in products(kind, sizes) if product.mixes or not mixing)


def sequential(kind: str, sizes: Sizes) -> int:
    """Matrix products that must wait for each other: the longest chain through the layer."""
    longest: dict[int, int] = {}
    for product in products(kind, sizes):
        longest[product.step] = max(longest.get(product.step, 0), product.times if product.chained else 1)
    return sum(longest.values())


# -- Table 1 as printed -----------------------------------------------------------------------------------------------


def order(kind: str, sizes: Sizes) -> int:
    """Complexity per layer; for "separable" from the text of section 4."""
    n, d = sizes.n, sizes.d
    return {
        "attention": n * n * d,
        "recurrent": n * d * d,
        "convolution": sizes.kernel * n * d * d,
        "separable": sizes.kernel * n * d + n * d * d,
        "restricted": sizes.window * n * d,
    }[kind]


def sequential_order(kind: str, sizes: Sizes) -> int:
    """Sequential operations."""
    return sizes.n if kind == "recurrent" else 1


def path_order(kind: str, sizes: Sizes) -> float:
    """Maximum path length, at least one layer; for (dilated) convolutions log_k(n)."""
    n = sizes.n
    logarithm = math.log(n, sizes.kernel)
    return {
        "attention": 1.0,
        "recurrent": float(n),
        "convolution": max(1.0, logarithm),
        "separable": max(1.0, logarithm),
        "restricted": max(1.0, n / sizes.window),
    }[kind]


# -- paths ------------------------------------------------------------------------------------------------------------

Reach = Sequence[int]  # offsets that one layer sees: position p sees p + offset


def longest_path(n: int, layers: Iterable[Reach]) -> int | None:
    """Layers until the first of n positions has reached all positions; None if it never does.

    A breadth-first search: bit p of `reached` says whether a path of this length leads to position p. For symmetric
    offsets it is enough to start at an end of the sentence, because the farthest pair lies there.
    """
    everywhere = (1 << n) - 1
    reached = 1
    for depth, offsets in enumerate(layers, 1):
        shifted = 0
        for offset in offsets:
            shifted |= reached << offset if offset >= 0 else reached >> -offset
        reached = shifted & everywhere
        if reached == everywhere:
            return depth
    return None


def around(width: int) -> Reach:
    """Offsets of a centred kernel or window."""
    return range(-(width // 2), width // 2 + 1)


def dilated(n: int, reach: Reach, base: int) -> Iterator[Reach]:
    """Layers whose dilation grows by the factor `base`, while an offset other than 0 fits into n positions."""
    dilation = 1
    while dilation < n:
        yield [offset * dilation for offset in reach if abs(offset * dilation) < n]
        dilation *= base


@lru_cache(maxsize=256)
def path(kind: str, sizes: Sizes, contiguous: bool = False) -> int:
    """Layers (steps of a recurrent layer) that a signal needs between the two positions that are farthest apart.

    contiguous: convolutions without dilation. Otherwise they dilate by 1, b, b^2, ... with b = (k + 1) / 2. With b = k,
    as in the paper's log_k(n), a centred kernel leaves gaps near the ends (`centred_by_kernel` finds them). The
    recurrent layer reads in one direction, so only pairs with the input before the output count.
    """
    n = sizes.n
    if kind == "recurrent":
        steps = itertools.chain([(0,)], itertools.repeat((0, 1), n))  # into the first state, then from state to state
        layers = longest_path(n, steps)
    elif kind == "attention":
        layers = longest_path(n, [range(-(n - 1), n)])
    elif kind == "restricted" or contiguous:
        width = sizes.window if kind == "restricted" else sizes.kernel
        layers = longest_path(n, itertools.repeat(around(width), n))
    elif n == 1:
        layers = 1
    else:
        layers = longest_path(n, dilated(n, around(sizes.kernel), sizes.kernel // 2 + 1))
    assert layers is not None, (kind, sizes)
    return layers


def centred_by_kernel(sizes: Sizes) -> int | None:
    """Layers of a centred kernel dilated by 1, k, k^2, ...; None if some pair of positions is never connected."""
    return longest_path(sizes.n, dilated(sizes.n, around(sizes.kernel), sizes.kernel))


def looking_back(sizes: Sizes) -> int:
    """Layers of a kernel that sees itself and k - 1 positions before it, dilated by 1, k, k^2, ...: about log_k(n)."""
    layers = longest_path(sizes.n, dilated(sizes.n, range(sizes.kernel), sizes.kernel))
    return 1 if layers is None else layers


# -- comparisons ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """One row of the table. order, sequential_order, path_order: from Table 1; multiply_adds, mixing, sequential, path:
    of the layer as built; contiguous: path of a convolution without dilation, else None."""

    kind: str
    order: int
    multiply_adds: int
    mixing: int
    sequential_order: int
    sequential: int
    path_order: float
    path: int
    contiguous: int | None = None


COLUMNS = ("order", "multiply_adds", "sequential_order", "sequential", "path_order", "path")


def costs(sizes: Sizes, kinds: Sequence[str] = KINDS) -> tuple[Cost, ...]:
    return tuple(
        Cost(
            kind,
            order(kind, sizes),
            multiply_adds(kind, sizes),
            multiply_adds(kind, sizes, mixing=True),
            sequential_order(kind, sizes),
            sequential(kind, sizes),
            path_order(kind, sizes),
            path(kind, sizes),
            path(kind, sizes, contiguous=True) if kind in ("convolution", "separable") else None,
        )
        for kind in kinds
    )


def fewest(costs: Sequence[Cost], column: str) -> tuple[str, ...]:
    """The kinds with the smallest number in a column; several if they are equal."""
    least = min(getattr(cost, column) for cost in costs)
    return tuple(cost.kind for cost in costs if getattr(cost, column) == least)


def meeting(kind: str, other: str, sizes: Sizes, exact: bool = True) -> int | None:
    """The smallest n at which a layer of this kind costs at least as much as one of the other kind; None if there is
    none up to MOST. The cost of `kind` must grow faster. exact: counted as built; else by Table 1."""

    def reached(n: int) -> bool:
        at_n = replace(sizes, n=n)
        count = multiply_adds if exact else order
        return count(kind, at_n) >= count(other, at_n)

    below = bisect.bisect(range(1, MOST + 1), False, key=reached)
    return below + 1 if below < MOST else None
