"""Table 2 of the paper: BLEU against the cost of training."""

import math

import streamlit as st

from pages.components import figure
from pages.components.saving import saved
from pages.components.sentences import paragraph, point
from pages.components.training_log import training_cost
from pages.components.translation import table
from pages.frame.frame import PageFrame
from transformer.figures.results import training_cost as cost_figure
from transformer.texts import _


def rows() -> tuple[tuple[str, float, float, bool], ...]:
    """English-German: model, operations of training, BLEU, whether it is the paper's."""
    return (
        (_("GNMT + RL"), 2.3e19, 24.6, False),
        (_("ConvS2S"), 9.6e18, 25.16, False),
        (_("MoE"), 2.0e19, 26.03, False),
        (_("GNMT + RL, ensemble"), 1.8e20, 26.30, False),
        (_("ConvS2S, ensemble"), 7.7e19, 26.36, False),
        (_("Transformer, base"), 3.3e18, 27.3, True),
        (_("Transformer, big"), 2.3e19, 28.4, True),
    )


def draw(frame: PageFrame) -> None:
    found = rows()
    earlier, (base, big) = [row for row in found if not row[3]], [row for row in found if row[3]]
    text = _(
        "Better and cheaper: the paper's base model gets {base} BLEU for {cost} operations of training. Of the earlier "
        "models the best gets {best}, and the cheapest takes {least}. The big model gets {big}."
    )
    point(
        text.format(
            base=f"{base[2]:.1f}", cost=f"{base[1]:.1e}", best=f"{max(row[2] for row in earlier):.1f}",
            least=f"{min(row[1] for row in earlier):.1e}", big=f"{big[2]:.1f}",
        )
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        columns = zip(*found, strict=True)
        figure.draw(figure.built(cost_figure, *map(list, columns)), "results-table2", "table-2", first=True)
    with right:
        _numbers(frame)


def _numbers(frame: PageFrame) -> None:
    """Table 2 in numbers, and the open model in a last row: its BLEU is of other sentences, so no figure has it."""
    model, cost = frame.model, training_cost(frame.model)
    lines = [(name, f"{score:.2f}", "newstest2014", f"{spent:.1e}") for name, spent, score, _own in rows()]
    score = model.metrics.get("bleu")
    known = isinstance(score, int | float) and math.isfinite(score)
    spent = "–" if cost is None else f"{cost.operations:.1e}"
    lines.append((model.name, f"{score:.2f}" if known else "–", _("its own test set") if known else "–", spent))
    head = (_("model"), _("BLEU"), _("test set"), _("operations"))
    numbers: list[list[object]] = [
        ["model", "BLEU", "test set", "operations"],
        *([name, bleu, "newstest2014", spent] for name, spent, bleu, _own in rows()),
        [model.name, score if known else None, "its own" if known else None, cost.operations if cost else None],
    ]
    caption = _("Table 2: BLEU against the cost of training")
    with saved("table-2", [model.name, "table-2"], [caption], numbers):
        st.html(table(head, lines, "hs-results-table2"))
    paragraph(_("The last row is the open model."), _verdict(None if cost is None else cost.operations, known))
    if cost is not None:
        paragraph(_("Its operations are counted from its log: 6 × parameters × target tokens."), quiet=True)


def _verdict(spent: float | None, scored: bool) -> str:
    """What of the paper's claim, more BLEU for less training than earlier models, can be said of the open model.

    spent: its operations of training, None if unknown; scored: whether it has a BLEU score."""
    *earlier, base, big = (row[1] for row in rows())
    if not spent:
        cost = _("As in the paper? Cost: not known, it has no training log.")
    elif spent < min(earlier):
        cost = _(
            "As in the paper? Cost: yes, lower than that of every earlier model. The base model took {base} times as "
            "many operations, the big one {big} times."
        )
    else:
        cost = _(
            "As in the paper? Cost: no, not lower than that of every earlier model. The base model took {base} times "
            "as many operations, the big one {big} times."
        )
    score = (
        _("BLEU: on other sentences, so it cannot be compared (Comparing scores).")
        if scored
        else _("BLEU: it has no score.")
    )
    times = {name: f"{float(f'{of / spent:.2g}'):,g}" for name, of in (("base", base), ("big", big))} if spent else {}
    return f"{cost.format(**times)} {score}"
