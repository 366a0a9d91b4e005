"""The course of a training, from its training.csv."""

from collections.abc import Mapping, Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import BLUE, ORANGE, TEAL, dressed, titled
from transformer.texts import _


@plotly_figure
def training_curve(rows: Sequence[Mapping[str, str]]) -> Drawing:
    """Loss in nats per target token (left axis) and BLEU (right axis) over the step.

    rows: of training.csv, names to text; empty fields are not drawn, and a column without values has no line and no
    axis. The training loss is the mean since the row before, with dropout and sampled pieces, so it may be above the
    validation loss.
    """

    def column(name: str) -> tuple[list[int], list[float]]:
        points = [(int(row["step"]), float(row[name])) for row in rows if row.get(name)]
        return [step for step, _ in points], [value for _, value in points]

    figure = Drawing()
    drawn = []
    for name, label, colour, axis, dash in (
        ("loss", _("training loss"), ORANGE, "y", "dot"),
        ("validation_loss", _("validation loss"), BLUE, "y", "solid"),
        ("validation_bleu", _("validation BLEU"), TEAL, "y2", "solid"),
    ):
        steps, values = column(name)
        if steps:
            drawn.append(axis)
            line = {"color": colour, "dash": dash}
            figure.add_scatter(x=steps, y=values, name=label, yaxis=axis, mode="lines+markers", line=line)
    figure.update_layout(
        xaxis={"title": _("training step")},
        yaxis={"title": _("loss: lower is better"), "rangemode": "tozero", "automargin": True},
    )
    if "y2" in drawn:
        figure.update_layout(
            yaxis2={
                "title": {"text": _("BLEU: higher is better"), "font": {"color": TEAL}},
                "tickfont": {"color": TEAL},
                "overlaying": "y",
                "side": "right",
                "rangemode": "tozero",
                "showgrid": False,
                "tickmode": "auto",
                "automargin": True,
            }
        )
    subtitle = _("loss: mean cross-entropy in nats per target token; the training loss includes dropout")
    return dressed(titled(figure, _("Training"), subtitle))
