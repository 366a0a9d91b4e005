"""Section 4, Table 1: the cost of a layer of each kind for this sentence's n and this model's d."""

import html
import math
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.anatomy import layer_timing
from pages.anatomy.complexity_texts import as_built, by_table, longest_path, names, paths, winners
from pages.components import figure
from pages.components.saving import saved
from pages.components.sentences import paragraph
from pages.frame.frame import PageFrame
from transformer.cost.complexity import (
    KINDS,
    Cost,
    Product,
    Sizes,
    costs,
    fewest,
    multiply_adds,
    order,
    products,
)
from transformer.figures import complexity as figures
from transformer.texts import N_, _, translate
from transformer.tracing.trace import Trace

KERNELS = (3, 5, 7, 15, 31)  # k
WINDOWS = (3, 5, 9, 17, 33, 65)  # r
KERNEL, WINDOW = 3, 5
SHORTEST, LONGEST = 2, 10_000  # tokens that can be asked for: the longest search takes 30 ms
DRAWN = 4096  # tokens to which the curves run at least
# Section 4 of the paper.
QUOTE = N_(
    "self-attention layers are faster than recurrent layers when the sequence length n is smaller than the "
    "representation dimensionality d"
)
_ORDERS = {
    "attention": "<i>n</i>² · <i>d</i>",
    "recurrent": "<i>n</i> · <i>d</i>²",
    "convolution": "<i>k</i> · <i>n</i> · <i>d</i>²",
    "separable": "<i>k</i> · <i>n</i> · <i>d</i> + <i>n</i> · <i>d</i>²",
    "restricted": "<i>r</i> · <i>n</i> · <i>d</i>",
}
_STEPS = {"recurrent": "<i>n</i>"}  # the other kinds take a fixed number
_PATHS = {
    "recurrent": "<i>n</i>",
    "convolution": "log<sub><i>k</i></sub> <i>n</i>",
    "restricted": "<i>n</i> / <i>r</i>",
}
IN_TABLE = tuple(kind for kind in KINDS if kind != "separable")  # which is in the text of section 4 only


def _details(sizes: Sizes) -> dict[str, str]:
    """The small text below the name of a kind."""
    return {
        "attention": _("{heads} heads", heads=sizes.heads),
        "recurrent": "GRU",
        "convolution": f"k = {sizes.kernel}",
        "separable": _("k = {kernel}, in the text", kernel=sizes.kernel),
        "restricted": f"r = {sizes.window}",
    }


def _product_names() -> dict[str, tuple[str, str]]:
    """Every product of `complexity.products`: its name, and its formula as HTML where it has one."""
    return {
        "queries": (_("queries"), "<i>x W</i><sup>Q</sup>"),
        "keys": (_("keys"), "<i>x W</i><sup>K</sup>"),
        "values": (_("values"), "<i>x W</i><sup>V</sup>"),
        "scores": (_("scores"), "<i>Q K</i><sup>T</sup>"),
        "head_outputs": (_("weights times V"), ""),
        "output": (_("heads joined"), "<i>W</i><sup>O</sup>"),
        "inputs": (_("inputs of three gates"), ""),
        "states": (_("states of three gates, one after another"), ""),
        "kernel": (_("k positions to one"), ""),
        "depthwise": (_("k positions to one, each dimension by itself"), ""),
        "pointwise": (_("each position by itself"), ""),
    }


def _decimal(value: float) -> str:
    """The path length of a formula; without decimals if it is whole."""
    return f"{value:,.0f}" if math.isclose(value, round(value)) else f"{value:,.1f}"


def _cell(formula: str, number: str, best: bool) -> str:
    """formula: HTML. best: whether the number is the smallest of its column."""
    mark = f'<span class="hs-cx-hidden">{html.escape(_("smallest"))}: </span>' if best else ""
    highlight = ' class="hs-cx-best"' if best else ""
    return f"<td{highlight}><small><i>O</i>({formula})</small>{mark}<b>{html.escape(number)}</b></td>"


def _titles() -> tuple[str, str, str]:
    """The columns of Table 1."""
    return _("Complexity per layer"), _("Sequential operations"), _("Maximum path length")


def table_rows(layer_costs: Sequence[Cost]) -> list[list[str | float]]:
    """The numbers of both tables, under their headings: Table 1 beside the layers as built."""
    called = names()
    sides = (_("Table 1"), _("as built"))
    columns = [_("{column} · {side}", column=column, side=side) for column in _titles() for side in sides]
    rows: list[list[str | float]] = [[_("Layer"), *columns]]
    for cost in layer_costs:
        numbers = (cost.order, cost.multiply_adds, cost.sequential_order, cost.sequential, cost.path_order, cost.path)
        rows.append([called[cost.kind], *numbers])
    return rows


def _row(cost: Cost, details: dict[str, str], cells: str) -> str:
    """HTML of a table row: the name of the kind, and its cells."""
    detail = f"<small>{html.escape(details[cost.kind])}</small>" if cost.kind in details else ""
    return f'<tr><th scope="row">{html.escape(names()[cost.kind])} {detail}</th>{cells}</tr>'


def _table(name: str, titles: Sequence[str], bodies: str) -> str:
    """HTML of a table. bodies: HTML of what stands below its titles."""
    head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in titles)
    return f'<div class="hs-cx-scroll"><table class="hs-cx-{name}"><thead><tr>{head}</tr></thead>{bodies}</table></div>'


def table_html(layer_costs: Sequence[Cost], sizes: Sizes) -> str:
    """HTML of Table 1 as the paper prints it: each formula, and below it its number for these sizes."""
    layer_costs = [cost for cost in layer_costs if cost.kind in IN_TABLE]
    best = [fewest(layer_costs, column) for column in ("order", "sequential_order", "path_order")]
    details = {"convolution": f"k = {sizes.kernel}", "restricted": f"r = {sizes.window}"}
    rows = []
    for cost in layer_costs:
        cells = (
            (_ORDERS[cost.kind], f"{cost.order:,}"),
            (_STEPS.get(cost.kind, "1"), f"{cost.sequential_order:,}"),
            (_PATHS.get(cost.kind, "1"), _decimal(cost.path_order)),
        )
        body = "".join(_cell(*cell, cost.kind in winners) for cell, winners in zip(cells, best, strict=True))
        rows.append(_row(cost, details, body))
    return _table("table", (_("Layer"), *_titles()), f"<tbody>{''.join(rows)}</tbody>")


def built_html(layer_costs: Sequence[Cost], sizes: Sizes) -> str:
    """HTML of the same layers as built here, with everything counted."""
    titles = (
        _("Layer"), _("Multiply-adds"), _("of these between tokens"), _("Products one after another"),
        _("Longest path"),
    )  # fmt: skip
    details, dilated = _details(sizes), _("{dilated} (dilated; {contiguous} contiguous)")
    rows = []
    for cost in layer_costs:
        path = f"{cost.path:,}"
        if cost.contiguous is not None:
            path = dilated.format(dilated=path, contiguous=f"{cost.contiguous:,}")
        numbers = (f"{cost.multiply_adds:,}", f"{cost.mixing:,}", f"{cost.sequential:,}", html.escape(path))
        rows.append(_row(cost, details, "".join(f"<td>{number}</td>" for number in numbers)))
    return _table("built", titles, f"<tbody>{''.join(rows)}</tbody>")


def _choose(frame: PageFrame, sentence_tokens: int) -> Sizes:
    """The fields for n, k and r."""
    config = frame.model.config
    with st.container(key="hs-cx-choose"):
        first, second, third = st.columns([2, 2, 3], gap="medium")
    with first:
        n = frame.options.number(
            "n", _("Tokens n; this sentence has {own}", own=sentence_tokens), SHORTEST, LONGEST, sentence_tokens
        )
        if n != sentence_tokens:
            label = _("Back to the sentence's {own}", own=sentence_tokens)
            st.button(
                label, key="anatomy_n_own", on_click=frame.options.report, args=("n", sentence_tokens, sentence_tokens)
            )
    kernel = int(frame.options.at(second).segment("kernel", _("Kernel width k"), KERNELS, KERNEL))
    with third:
        window = int(frame.options.segment("restricted", _("Restricted to r keys around each token"), WINDOWS, WINDOW))
    return Sizes(n, config.d_model, config.heads, kernel, window, config.d_k, config.d_v)


def _lengths(n: int) -> list[int]:
    """The values of n for the curves: eight per doubling, and n itself."""
    last = max(DRAWN, 2 * n)
    steps = math.ceil(8 * math.log2(last / 2))
    grid = {round(2 * (last / 2) ** (step / steps)) for step in range(steps + 1)}
    return sorted({*grid, n})


def _curves(sizes: Sizes) -> None:
    """Both counts as curves over n."""
    lengths = _lengths(sizes.n)
    values = {"n": sizes.n, "d": sizes.d, "kernel": sizes.kernel, "window": sizes.window}
    for column, exact in zip(st.columns(2, gap="medium"), (False, True), strict=True):
        count = multiply_adds if exact else order
        counts = {kind: [count(kind, replace(sizes, n=n)) for n in lengths] for kind in KINDS}
        name = "anatomy-multiply-adds" if exact else "anatomy-orders"
        with column:
            figure.draw(figure.built(figures.counts, lengths, counts, names(), values, exact), name, name)


def _shape(product: Product) -> str:
    """Count and shapes of a matrix product: "8 × [12, 32]·[32, 12]"."""
    shapes = f"[{product.rows:,}, {product.inner:,}] · [{product.inner:,}, {product.columns:,}]"
    return shapes if product.times == 1 else f"{product.times:,} × {shapes}"


def products_html(sizes: Sizes) -> str:
    """Every matrix product of every layer."""
    head = (_("matrix product"), _("count and shapes"), _("multiply-adds"), _("of these between tokens"))
    called, words, parts = names(), _product_names(), []
    for kind in KINDS:
        whole = f"{multiply_adds(kind, sizes):,}"
        mixing = f"{multiply_adds(kind, sizes, mixing=True):,}"
        title = f'<th scope="rowgroup" colspan="2">{html.escape(called[kind])}</th>'
        rows = [f'<tr class="hs-cx-group">{title}<td>{whole}</td><td>{mixing}</td></tr>']
        for product in products(kind, sizes):
            count = f"{product.multiply_adds:,}"
            label, written = words[product.name]
            rows.append(
                f'<tr><th scope="row">{html.escape(label)} {written}</th><td>{_shape(product)}</td>'
                f"<td>{count}</td><td>{count if product.mixes else '–'}</td></tr>"
            )
        parts.append(f"<tbody>{''.join(rows)}</tbody>")
    return _table("products", head, "".join(parts))


def _explain(frame: PageFrame, sizes: Sizes, layer_costs: Sequence[Cost]) -> None:
    with frame.options.panel("columns", _("What do the three columns mean?")):
        st.markdown(
            _(
                "Section 4 asks three things about a layer that maps n vectors of width d to n others: how many "
                "operations it takes, how many of them must wait for one another, and how long the path of a signal "
                "between two positions is, because “the shorter these paths between any combination of positions in "
                "the input and output sequences, the easier it is to learn long-range dependencies”. About the first "
                "it says: “{quote}”. Separable convolutions are in its text, not in its table: O(k·n·d + n·d²), which "
                "for k = n is as much as self-attention and a point-wise feed-forward layer together."
            ).format(quote=translate(QUOTE))
        )
        st.markdown(
            _(
                "*Products one after another*, of the layers as built here, are the matrix products on the longest "
                "chain. Self-attention has four, whatever n is (Q, K and V side by side, scores, weights times V, the "
                "heads joined). A GRU has one for all inputs and then one per token. *Longest paths* are found by a "
                "breadth-first search from one end of the sentence, layer by layer, until every position is reached. A "
                "GRU reads in one direction only: its path leads from the first token to the last; a way back needs a "
                "second GRU in the other direction."
            )
        )
        paragraph(paths(sizes), quiet=True)
    with frame.options.panel("products", _("The layers as built here: every multiplication counted")):
        st.html(built_html(layer_costs, sizes))
        paragraph(winners(layer_costs))
        paragraph(_("The same counts, matrix product by matrix product:"))
        st.html(products_html(sizes))
        paragraph(
            _(
                "One multiply-add is one multiplication and the addition that follows it. Not counted: softmax, "
                "biases, scaling by 1 / √dₖ and the gates' elementwise products, which grow more slowly. Cells "
                "beyond the ends of the sentence, zeros or hidden, are counted where a layer computes them."
            ),
            quiet=True,
        )


def draw(frame: PageFrame, trace: Trace) -> None:
    """The table, conclusions from it, both counts over n, and the measured curve on demand."""
    above = st.container()
    sizes = _choose(frame, min(max(len(trace.source_ids), SHORTEST), LONGEST))
    layer_costs = costs(sizes)
    legend = _(
        "Table 1 of the paper: each formula, and below it its number for n = {n} tokens and d = {d} numbers of a "
        "token's vector. Framed: the smallest of each column."
    ).format(n=f"{sizes.n:,}", d=f"{sizes.d:,}")
    with above:
        paragraph(longest_path(sizes))
        stem = ["table-1", f"n{sizes.n}", f"d{sizes.d}", f"h{sizes.heads}", f"k{sizes.kernel}", f"r{sizes.window}"]
        with saved("table-1", stem, [legend], table_rows(layer_costs)):
            st.html(table_html(layer_costs, sizes))
        st.html(f'<p class="hs-tr-legend">{html.escape(legend)}</p>')
    paragraph(by_table(sizes))
    paragraph(as_built(sizes), quiet=True)
    _explain(frame, sizes, layer_costs)
    _curves(sizes)
    layer_timing.draw(sizes)
