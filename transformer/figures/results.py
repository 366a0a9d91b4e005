"""Section 6 as figures: scores of subsets of a test set, Table 2, and variations of a model with their spread."""

from collections.abc import Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, GREY, INK, ORANGE, TEAL, dressed, plain, titled
from transformer.texts import _


@plotly_figure
def subset_bars(names: Sequence[str], scores: Sequence[float], counts: Sequence[int]) -> Drawing:
    """One bar for each subset. scores: BLEU, 0 to 100; counts: sentences."""
    shown = [
        _("{name}<br>{count} sentences", name=plain(name), count=f"{count:,}")
        for name, count in zip(names, counts, strict=True)
    ]
    figure = Drawing()
    figure.add_bar(
        x=shown, y=list(scores), text=[f"{score:.1f}" for score in scores], textposition="outside",
        marker={"color": [TEAL, *[BLUE] * (len(shown) - 1)]}, cliponaxis=False,
    )  # fmt: skip
    figure.update_layout(yaxis={"title": _("BLEU"), "rangemode": "tozero"}, showlegend=False)
    subtitle = _("all references, but for the second bar; purple: the whole test set")
    return dressed(titled(figure, _("One test set, one model: BLEU of its parts"), subtitle))


@plotly_figure
def training_cost(
    names: Sequence[str], costs: Sequence[float], scores: Sequence[float], own: Sequence[bool]
) -> Drawing:
    """BLEU over floating-point operations, which have a logarithmic axis. own: the paper's models."""
    figure = Drawing()
    for wanted, label, colour in ((False, _("earlier models"), GREY), (True, _("the paper's models"), TEAL)):
        rows = [row for row in zip(names, costs, scores, own, strict=True) if row[3] == wanted]
        # The two most expensive ones are side by side at the right edge.
        places = ["bottom center" if 0.25 < row[1] / max(costs) < 0.5 else "top center" for row in rows]
        labels = [plain(row[0]).replace(", ", ",<br>") for row in rows]
        if wanted:
            places, labels = ["middle right"] * len(rows), [plain(row[0]) for row in rows]
        figure.add_scatter(
            x=[row[1] for row in rows], y=[row[2] for row in rows], text=labels, name=label,
            mode="markers+text", textposition=places, marker={"color": colour, "size": 12}, cliponaxis=False,
        )  # fmt: skip
    figure.update_layout(
        xaxis={
            "title": _("floating-point operations of training"),
            "type": "log",
            "exponentformat": "power",
            "dtick": 1,
        },
        yaxis={"title": _("BLEU")},
    )
    subtitle = _("English-German, newstest2014, as the paper gives them")
    return dressed(titled(figure, _("Table 2: BLEU against the cost of training"), subtitle))


@plotly_figure
def variations(
    names: Sequence[str], values: Sequence[Sequence[float]], verdicts: Sequence[str], paper: Sequence[float | None]
) -> Drawing:
    """A row for each variation; the first is the base. values: of the seeds, in percent. verdicts: how each
    compares with the paper: "same", "unclear", "other", or "" where it has no such row. paper: its change of BLEU,
    drawn beside; None where it has no such row."""
    figure = Drawing()
    rows = [plain(name) for name in names]
    means = [sum(seeds) / len(seeds) for seeds in values]
    looks = {"same": BLUE, "other": ORANGE}
    colours = [looks.get(one, GREY) for one in verdicts]
    figure.add_scatter(
        x=means, y=rows, name=_("here"), mode="markers", marker={"size": 12, "color": colours},
        error_x={
            "type": "data", "symmetric": False, "color": INK,
            "array": [max(seeds) - mean for seeds, mean in zip(values, means, strict=True)],
            "arrayminus": [mean - min(seeds) for seeds, mean in zip(values, means, strict=True)],
        },
    )  # fmt: skip
    there = [at for at, change in enumerate(paper) if change is not None]
    changes = [round(change, 2) for change in paper if change is not None]
    figure.add_scatter(
        x=changes, y=[rows[at] for at in there], name=_("± BLEU"), xaxis="x2", mode="markers+text",
        text=[f"{change:+.1f}".replace("-", "−") if change else "0" for change in changes],
        textposition=["middle right" if change > 0 else "middle left" for change in changes],  # away from the line at 0
        marker={"size": 12, "symbol": "diamond", "color": [colours[at] for at in there]}, cliponaxis=False,
    )  # fmt: skip
    line = {"type": "line", "y0": 0, "y1": 1, "yref": "y domain", "line": {"dash": "dot", "color": GREY}}
    figure.update_layout(
        shapes=[{**line, "x0": means[0], "x1": means[0], "xref": "x"}, {**line, "x0": 0, "x1": 0, "xref": "x2"}],
        xaxis={"title": _("right outputs, %"), "domain": [0, 0.6]},
        xaxis2={"title": _("± BLEU"), "domain": [0.66, 1], "anchor": "y", "range": [-1.9, 2.3],
                "tickvals": [-1, 0, 1]},
        yaxis={"autorange": "reversed", "automargin": True}, showlegend=False, hovermode="closest",
    )  # fmt: skip
    subtitle = _(
        "left: here, mean and range of three runs; right: the paper's change of BLEU; dotted: the base; blue: as in "
        "the paper; orange: not; grey: unclear"
    )
    return dressed(titled(figure, _("Table 3 in miniature: one change at a time"), subtitle))
