"""Table 3 of the paper: one change at a time, here with three seeds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import streamlit as st

from pages.components import figure
from pages.components.descriptions import TABLE3
from pages.components.saving import saved
from pages.components.seeds import agreement, answers, direction, ranged
from pages.components.sentences import paragraph, point
from pages.components.translation import table
from pages.frame.frame import PageFrame
from transformer.figures.results import variations
from transformer.texts import _

# Our row -> the change of BLEU in the row of Table 3 that asks the same; the base has 25.8. (D) no dropout: 24.6.
PAPER = {
    "base": 25.8 - 25.8,
    "heads-1": 24.9 - 25.8,
    "heads-8": 25.4 - 25.8,
    "d_k-4": 25.1 - 25.8,
    "positions-learned": 25.7 - 25.8,
    "no-smoothing": 25.3 - 25.8,
    "dropout": 25.8 - 24.6,
}
WORST = 0.5  # of the exact answers; a row below it is not in the figure, whose axis it would stretch
SMALL = 0.15  # BLEU: less than that is no difference


@dataclass(frozen=True)
class Row:
    """name: of the recipe in recipes/table3. exact: share of exact answers of each seed."""

    name: str
    exact: tuple[float, ...]


@cache
def rows() -> tuple[Row, ...]:
    found: Mapping[str, Mapping[str, Sequence[float]]] = json.loads(TABLE3.read_text(encoding="utf-8"))["rows"]
    return tuple(Row(name, tuple(row["exact"])) for name, row in found.items())


def described() -> dict[str, tuple[str, str]]:
    """Name of a recipe -> what differs from the base, and what the paper says of that."""
    nothing = _("not in the table")
    return {
        "base": (_("the base: 4 heads, dₖ 16"), _("base 25.8: 8 heads, dₖ 64")),
        "heads-1": (_("1 head"), _("(A) 1 head: 24.9")),
        "heads-8": (_("8 narrow heads"), _("(A) 32 narrow heads: 25.4")),
        "d_k-4": (_("dₖ 4"), _("(B) dₖ 16: 25.1")),
        "positions-learned": (_("learned positions"), _("(E) 25.7, as good")),
        "positions-none": (_("no positions"), nothing),
        "no-scaling": (_("no division by √dₖ"), nothing),
        "no-warmup": (_("no warm-up"), nothing),
        "gelu": (_("GELU, not ReLU"), nothing),
        "pre-norm": (_("LayerNorm first"), nothing),
        "no-smoothing": (_("no label smoothing"), _("(D) 25.3")),
        "dropout": (_("dropout 0.1, not 0"), _("(D) 25.8 with it, 24.6 without")),
        "gain": (_("small initial sub-layers"), nothing),
    }


def verdict(row: Row, base: Row) -> str:
    """The agreement of our seeds with the paper's row; "" where the paper has no such row."""
    if row.name not in PAPER or row == base:
        return ""
    change = PAPER[row.name]
    paper = 0 if abs(change) < SMALL else (1 if change > 0 else -1)
    return agreement(direction(row.exact, base.exact), paper)


def draw(frame: PageFrame) -> None:
    ours = rows()
    base, texts = ours[0], described()
    verdicts = [verdict(row, base) for row in ours]
    text = _(
        "What a change brings depends on the task. Of {count} changes in the paper's Table 3, tried with a small model "
        "that writes letters backwards, {same} had the same effect as in the paper, {other} another one, and "
        "{unclear} no clear effect."
    )
    counts = {name: verdicts.count(name) for name in ("same", "unclear", "other")}
    point(text.format(count=sum(counts.values()), **counts))
    near = [(row, found) for row, found in zip(ours, verdicts, strict=True) if min(row.exact) > WORST]
    far = [row for row in ours if min(row.exact) <= WORST]
    left, right = st.columns(2)
    with left:
        drawn = figure.built(
            variations,
            [texts[row.name][0] for row, _verdict in near],
            [[100 * one for one in row.exact] for row, _verdict in near],
            [found for _row, found in near],
            [PAPER.get(row.name) for row, _verdict in near],
        )
        figure.draw(drawn, "results-table3", "table-3", first=True)
    head = (
        _("what differs"),
        _("outputs without a mistake: mean (three runs)"),
        _("the paper (BLEU, newstest2013)"),
        _("as in the paper?"),
    )
    said = {**answers(), "": "–"}
    lines = [
        (texts[row.name][0], _range(row.exact), texts[row.name][1], said[found])
        for row, found in zip(ours, verdicts, strict=True)
    ]
    about = _(
        "Ours: the task “reverse” with 40,000 inputs and 1,000 updates, so that differences show before everything is "
        "learned (docs/table3.md). Two ranges that overlap count as no difference. The paper: BLEU on newstest2013, "
        "one run each."
    )
    seeds = [f"exact, run {number}" for number in range(1, len(base.exact) + 1)]
    numbers: list[list[object]] = [["what differs", *seeds, "change of BLEU in the paper", "as in the paper"]]
    for row, found in zip(ours, verdicts, strict=True):
        change = round(PAPER[row.name], 2) if row.name in PAPER else None
        numbers.append([texts[row.name][0], *row.exact, change, found or None])
    with right, saved("table-3", ["table-3", "numbers"], [about], numbers):
        st.html(table(head, lines, "hs-results-table3"))
    paragraph(
        about,
        *(_("Outside the figure: {name}, {exact}.", name=texts[row.name][0], exact=_range(row.exact)) for row in far),
        quiet=True,
    )


def _range(values: Sequence[float]) -> str:
    return ranged([100 * value for value in values], 1, "%")
