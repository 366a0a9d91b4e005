"""Relative positions: what each head adds to a score, by distance."""

import streamlit as st

from pages.components import figure
from pages.components.descriptions import stack_name
from pages.components.sentences import decimals, paragraph, point
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from transformer.analysis.relative_positions import ByDistance, by_distance
from transformer.figures.relative_positions import bias_by_distance
from transformer.model.tap import STACKS
from transformer.texts import _


def distance_name(low: int | None, high: int | None) -> str:
    """A range of distances without signs: "3", "8–11", "91+"."""
    near, far = sorted((abs(low or 0), abs(high or 0)))
    if low is None or high is None:
        return f"{far}+"
    return str(far) if near == far else f"{near}–{far}"


def _where(low: int | None, high: int | None) -> str:
    name = distance_name(low, high)
    if (low, high) == (0, 0):
        return _("at the query's own place")
    if high is None or high > 0:
        return _("{distance} after the query", distance=name)
    return _("{distance} before the query", distance=name)


def _sentence(found: ByDistance, stack: str) -> str:
    """The head whose number depends most on distance, at its two ends."""
    spread = found.bias.amax(1) - found.bias.amin(1)
    head = int(spread.argmax())
    row = found.bias[head]
    high, low = int(row.argmax()), int(row.argmin())
    return _(
        "Head {head} of the {stack} depends most on distance: it adds {high} to the score of a key {near}, and {low} "
        "to one {far}.",
        head=head + 1,
        stack=stack_name(stack),
        high=decimals(float(row[high]), 2),
        low=decimals(float(row[low]), 2),
        near=_where(*found.ranges[high]),
        far=_where(*found.ranges[low]),
    )


def draw(frame: PageFrame) -> None:
    """The tables of both stacks; a model without them gets one sentence."""
    network = frame.model.model
    tables = dict(zip(STACKS, (network.encoder_bias, network.decoder_bias), strict=True))
    found = {stack: by_distance(table) for stack, table in tables.items() if table is not None}
    if not found:
        message(
            _("{name} has no relative positions; models such as T5 add them to the scores.", name=frame.model.name),
            "note",
        )
        return
    point(" ".join(_sentence(one, stack) for stack, one in found.items()))
    for stack, column in zip(found, st.columns((1.6, 1), gap="medium"), strict=True):
        names = [distance_name(*ends) for ends in found[stack].ranges]
        with column:
            drawn = figure.built(bias_by_distance, stack, names, found[stack].bias.numpy())
            figure.draw(drawn, f"relative_{stack}", f"positions-bias-{stack}", first=True)
    paragraph(
        _(
            "Nothing is added to the embeddings (section 3.5). Instead, self-attention adds a learned number to each "
            "score, by head and distance, before the softmax; one table serves all layers of a stack, and "
            "cross-attention has none (Raffel et al. 2020). Near distances have a number each, far ones share one."
        ),
        quiet=True,
    )
