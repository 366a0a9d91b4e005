"""Section 5 as figures: the learning rate, what warm-up, dropout and label smoothing do."""

from collections import Counter
from collections.abc import Mapping, Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import (
    BLUE,
    GREY,
    INK,
    LINE,
    ORANGE,
    PAPER,
    SIZE,
    TEAL,
    dressed,
    label_axis,
    plain,
    titled,
)
from transformer.texts import N_, _, translate

TICKS = (0.1, 0.2, 0.5, 1, 2, 5)  # of a logarithmic axis


@plotly_figure
def rates(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    recorded: tuple[Sequence[float], Sequence[float]] | None = None,
    name: str = "",
) -> Drawing:
    """Learning rates. lines: name -> (steps, rates): the chosen one, and up to two of the paper; recorded: those of a
    training, as points."""
    figure = Drawing()
    looks = [(TEAL, "solid", 4), (INK, "dot", 2), (GREY, "dash", 2)]
    for (label, (steps, values)), (colour, dash, width) in zip(lines.items(), looks[: len(lines)], strict=True):
        line = {"color": colour, "dash": dash, "width": width}
        figure.add_scatter(x=list(steps), y=list(values), name=plain(label), mode="lines", line=line)
    if recorded is not None:
        figure.add_scatter(
            x=list(recorded[0]), y=list(recorded[1]), name=plain(name), mode="markers",
            marker={"color": ORANGE, "size": 9},
        )  # fmt: skip
    figure.update_layout(
        xaxis={"title": _("training step")}, yaxis={"title": _("learning rate"), "rangemode": "tozero"}
    )
    subtitle = _("rate = peak · min(step / warm-up, √(warm-up / step))")
    return dressed(titled(figure, _("Learning rate: how far each step moves the weights"), subtitle))


@plotly_figure
def warmup_ends(losses: Mapping[int, Sequence[float]]) -> Drawing:
    """losses: steps of warm-up -> the last loss of each run."""
    figure = Drawing()
    means = [sum(runs) / len(runs) for runs in losses.values()]
    best = means.index(min(means))
    labels = [f"<b>{mean:.3f}</b>{'<br>' + _('lowest') if at == best else ''}" for at, mean in enumerate(means)]
    figure.add_bar(
        x=list(range(len(means))), y=means, name=_("mean"), text=labels, textposition="inside",
        insidetextanchor="middle", textangle=0, textfont={"color": PAPER, "size": SIZE + 2}, width=0.7,
        marker={"color": [BLUE if at == best else GREY for at in range(len(means))]},
    )  # fmt: skip
    runs = list(zip(*losses.values(), strict=True))
    subtitle = _("bar: mean of {count} runs; dot: one run; lower is better", count=len(runs))
    for number, values in enumerate(runs):  # beside each other: some are nearly equal
        figure.add_scatter(
            x=[at + 0.12 * (number - (len(runs) - 1) / 2) for at in range(len(values))], y=list(values),
            name=_("run {number}", number=number + 1), mode="markers",
            marker={"color": INK, "size": 8, "line": {"width": 1, "color": PAPER}},
        )  # fmt: skip
    figure.update_layout(
        xaxis={"title": _("warm-up: steps in which the learning rate rises")},
        yaxis={"title": _("loss, nats per token"), "rangemode": "tozero"}, showlegend=False, hovermode="closest",
    )  # fmt: skip
    title = _("Loss (error) at the end of training")
    return dressed(titled(label_axis(figure, "x", [str(steps) for steps in losses]), title, subtitle))


@plotly_figure
def warmup_losses(steps: Sequence[float], losses: Mapping[int, Sequence[Sequence[float]]], peak: float) -> Drawing:
    """losses: steps of warm-up -> a curve for each seed. The legend shows those of single runs."""
    figure = Drawing()
    for number, ((warmup, curves), colour) in enumerate(zip(losses.items(), (ORANGE, TEAL, BLUE, INK), strict=True)):
        label = _("warm-up {steps}", steps=warmup)
        mean = [sum(values) / len(values) for values in zip(*curves, strict=True)]
        line = {"color": colour, "width": 3}
        figure.add_scatter(x=list(steps), y=mean, name=label, mode="lines", line=line)
        for run, curve in enumerate(curves):
            figure.add_scatter(
                x=list(steps), y=list(curve), name=_("each run"), legendgroup="runs", visible="legendonly",
                showlegend=number == run == 0, legendrank=2000, mode="lines", hoverinfo="skip",
                line={"color": colour, "width": 1.5}, opacity=0.5,
            )  # fmt: skip
    figure.update_layout(
        xaxis={"title": _("training step")},
        yaxis={"title": _("loss, nats per token"), "type": "log", "tickvals": TICKS},
    )
    subtitle = _("loss on unseen inputs, mean of {count} runs; peak rate {peak}", peak=f"{peak:g}", count=len(curves))
    return dressed(titled(figure, _("How the loss falls, by warm-up"), subtitle))


@plotly_figure
def scatter(
    labels: Sequence[str], passes: Sequence[Sequence[float]], without: Sequence[float], probability: float
) -> Drawing:
    """passes: [pass][target]; without: [target]."""
    places = list(range(len(labels)))
    figure = Drawing()
    figure.add_scatter(
        x=[place for _ in passes for place in places], y=[value for one in passes for value in one],
        name=_("with dropout"), mode="markers", marker={"color": ORANGE, "size": 6, "opacity": 0.45},
    )  # fmt: skip
    figure.add_scatter(
        x=places,
        y=list(without),
        name=_("without dropout"),
        mode="markers",
        marker={"color": TEAL, "symbol": "diamond", "size": 11},
    )
    figure.update_layout(
        xaxis={"tickvals": places, "ticktext": [plain(label) for label in labels]},
        yaxis={"title": _("probability"), "range": [-0.02, 1.02]},
    )
    if len(passes) > 1:
        text = N_("dots: {passes} passes with dropout {probability}; diamonds: without dropout")
    else:
        text = N_("dots: one pass with dropout {probability}; diamonds: without dropout")
    subtitle = translate(text, passes=len(passes), probability=f"{probability:g}")
    return dressed(titled(figure, _("Probability of each token predicted, pass by pass"), subtitle))


@plotly_figure
def smoothed_targets(
    labels: Sequence[str], wanted: Sequence[float], said: Sequence[float], epsilon: float, token: str
) -> Drawing:
    """Wanted and predicted probabilities of the likeliest tokens, and their difference, the gradient."""
    shown = [plain(label) for label in labels]
    figure = Drawing()
    for name, values, colour in ((_("target distribution"), wanted, BLUE), (_("the model"), said, ORANGE)):
        figure.add_bar(x=shown, y=list(values), name=name, marker={"color": colour})
    difference = [one - other for one, other in zip(said, wanted, strict=True)]
    marker = {"color": INK, "size": 9, "symbol": "diamond"}
    figure.add_scatter(
        x=shown, y=difference, name=_("gradient: the model minus the target"), mode="markers", marker=marker
    )
    figure.update_layout(barmode="group", yaxis={"title": _("p, gradient")})
    subtitle = _("ε = {epsilon}; counted as right: {token}", epsilon=f"{epsilon:g}", token=plain(token))
    return dressed(titled(figure, _("The target of the loss, and what the model says"), subtitle))


@plotly_figure
def calibration(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Drawing:
    """curves: epsilon -> (mean largest probability, share of right tokens) of every bin."""
    figure = Drawing()
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"dash": "dot", "color": GREY}, showlegend=False)
    for (epsilon, (said, right)), colour in zip(curves.items(), (ORANGE, TEAL, BLUE), strict=True):
        figure.add_scatter(
            x=list(said), y=list(right), name=_("ε = {epsilon}", epsilon=epsilon), mode="lines+markers",
            line={"color": colour},
        )  # fmt: skip
    figure.update_layout(
        xaxis={"title": _("the model's largest probability"), "range": [0, 1.02]},
        yaxis={"title": _("share of right tokens"), "range": [0, 1.02]},
    )
    title = _("Calibration: is a token as likely to be right as the model says?")
    subtitle = _("small models that write letters backwards; above the dotted line: right more often than they say")
    return dressed(titled(figure, title, subtitle))


@plotly_figure
def length_histogram(
    source: Sequence[int], target: Sequence[int], source_here: Sequence[int], target_here: Sequence[int], number: int
) -> Drawing:
    """How many sentences have each length. source, target: of all pairs; the others: of batch `number`."""
    figure = Drawing()
    for name, lengths, colour in ((_("sources"), source, BLUE), (_("targets"), target, ORANGE)):
        counts = sorted(Counter(lengths).items())
        figure.add_bar(
            x=[length for length, _count in counts], y=[count for _length, count in counts], name=name,
            marker={"color": colour},
        )  # fmt: skip
    here = [*source_here, *target_here]
    band = {"type": "rect", "xref": "x", "yref": "y domain", "x0": min(here) - 0.5, "x1": max(here) + 0.5, "y0": 0,
            "y1": 1, "layer": "below", "line": {"width": 0}, "fillcolor": LINE}  # fmt: skip
    figure.update_layout(
        shapes=[band],
        barmode="group",
        xaxis={"title": _("tokens, with the end token")},
        yaxis={"title": _("sentences")},
    )
    subtitle = _("all pairs; grey: from the shortest to the longest of batch {number}", number=number)
    return dressed(titled(figure, _("How long the sentences are"), subtitle))


@plotly_figure
def step_tokens(source: Sequence[int], target: Sequence[int], padding: Sequence[int], number: int) -> Drawing:
    """What the positions of every batch hold, in the order of the steps. number: of the batch to point at, from 1."""
    at = list(range(1, len(source) + 1))
    figure = Drawing()
    bars = ((_("source tokens"), source, BLUE), (_("target tokens"), target, ORANGE), (_("padding"), padding, GREY))
    for name, values, colour in bars:
        marker = {"color": colour, "line": {"width": 0}}
        figure.add_bar(x=at, y=list(values), name=name, marker=marker)
    figure.add_shape(
        type="line", x0=number, x1=number, xref="x", y0=0, y1=1, yref="y domain",
        line={"dash": "dot", "color": INK},
    )  # fmt: skip
    figure.update_layout(barmode="stack", bargap=0.05, xaxis={"title": _("batch")}, yaxis={"title": _("positions")})
    subtitle = _("both sides of every batch; the line: batch {number}", number=number)
    return dressed(titled(figure, _("Tokens a step"), subtitle))
