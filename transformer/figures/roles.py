"""The heads of one kind of attention in the plane: near each other if their rows are alike."""

from collections.abc import Sequence

from transformer.figures.drawing import Drawing, plotly_figure
from transformer.figures.style import DARK, GREY, ROLE, dressed, plain, titled
from transformer.texts import _


def _apart(points: Sequence[Sequence[float]], first: int | None) -> list[bool]:
    """Which points have room above them for a label that touches no other label and no point; `first` always has it."""
    size = max(max(values) - min(values) or 1.0 for values in zip(*points, strict=True))
    wide, high = 0.11 * size, 0.12 * size  # of a label with its gaps, on a phone
    shown: list[int] = []
    for index in sorted(range(len(points)), key=lambda index: index != first):
        x, y = points[index]
        beside = ((abs(x - points[one][0]), abs(y - points[one][1])) for one in shown)
        above = any(abs(x - one[0]) < wide / 2 and 0 < one[1] - y < high for one in points)
        if index == first or (not above and all(dx > wide or dy > high for dx, dy in beside)):
            shown.append(index)
    return [index in shown for index in range(len(points))]


@plotly_figure
def heads_in_the_plane(
    points: Sequence[Sequence[float]],
    places: Sequence[tuple[int, int]],
    roles: Sequence[str | None],
    names: Sequence[str],
    chosen: int | None,
) -> Drawing:
    """points: [head, 2]; places: layer and head of each, from 1; roles: of `style.ROLE`, None: no role; names: the
    roles in words."""
    figure = Drawing()
    apart = _apart(points, chosen)
    figure.add_scatter(
        x=[point[0] for point in points], y=[point[1] for point in points], mode="markers+text",
        text=[f"{layer}.{head}" if shown else "" for (layer, head), shown in zip(places, apart, strict=True)],
        textposition="top center", cliponaxis=False,
        hovertext=[
            _("layer {layer}, head {head}: {role}", layer=layer, head=head, role=plain(name))
            for (layer, head), name in zip(places, names, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "size": [18 if index == chosen else 12 for index in range(len(points))],
            "color": [ROLE[role] if role else GREY for role in roles],
            "symbol": ["circle" if role else "circle-open" for role in roles],
        },
    )  # fmt: skip
    figure.update_layout(
        xaxis={"showticklabels": False, "showgrid": False},
        yaxis={"showticklabels": False, "showgrid": False, "scaleanchor": "x"}, showlegend=False, hovermode="closest",
    )  # fmt: skip
    title = _("Heads that attend alike stand together (1.7: layer 1, head 7)")
    subtitle = _(
        "the axes have no meaning; 1.2: layer 1, head 2; distance: square root of the mean Jensen-Shannon divergence "
        "between their rows (Clark et al. 2019)"
    )
    figure = dressed(titled(figure, title, subtitle))
    figure.meta["palette"]["light"] += ROLE.values()
    figure.meta["palette"]["dark"] += [DARK[colour] for colour in ROLE.values()]
    return figure
