"""Patching: run one sentence with parts of another, and see how far the output moves."""

import contextlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from pages.components import headgrid, task
from pages.components.one_head import kind_names
from pages.components.sentences import decimals, paragraph, point
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.state import max_tokens
from pages.runtime import cache
from pages.runtime.shared import SharedCache, identity, shared
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import SUB_LAYERS, layers_of
from transformer.probing.patching import (
    Recovery,
    head_places,
    layer_places,
    recovery,
    stream_places,
    sub_layer_places,
)
from transformer.texts import UserError, _
from transformer.tracing.finite import check_numbers
from transformer.tracing.patch import PatchError, Place, check_pair
from transformer.tracing.trace import Trace

OPTIONS = ("other", "other_target", "watch", "way")
# Words that may take each other's place in an English sentence, for a second sentence to begin with.
EXCHANGED = {
    "brother": "sister", "sister": "brother", "man": "woman", "woman": "man", "car": "house", "house": "car",
    "dog": "cat", "cat": "dog", "yesterday": "today", "today": "yesterday", "he": "she", "she": "he", "him": "her",
    "father": "mother", "mother": "father", "boy": "girl", "girl": "boy", "big": "small", "old": "new", "new": "old",
    "coffee": "tea", "tea": "coffee", "book": "letter", "summer": "winter", "two": "three", "money": "time",
    "here": "there", "river": "city", "street": "garden", "i": "we", "my": "your",
    "your": "my", "the": "a", "is": "was",
}  # fmt: skip
_ORDER = {word: index for index, word in enumerate(EXCHANGED)}


def exchanged(source: str) -> list[str]:
    """The sentence with one word exchanged, for every word of `EXCHANGED` in it, in the order of that table."""
    found = []
    for match in sorted(re.finditer(r"[A-Za-z]+", source), key=lambda one: _ORDER.get(one[0].lower(), 0)):
        other = EXCHANGED.get(match[0].lower())
        if other:
            word = other.capitalize() if match.start() == 0 else other
            found.append(source[: match.start()] + word + source[match.end() :])
    return found


@shared(queued=True)
def fitting(model: Pretrained, trace: Trace) -> str:
    """A second sentence that can be patched into a trace: one word exchanged, another translation of equal length; ""
    if none is found."""
    for text in exchanged(trace.source_text):
        with contextlib.suppress(InputError):
            if len(model.encode(text)) == len(trace.source_ids):
                output = cache.trace(model, model.name, text, "", max_tokens()).target_out_ids
                if len(output) == len(trace.target_out_ids) and output != trace.target_out_ids:
                    return text
    return ""


def second_pair(frame: PageFrame, trace: Trace, name: str, label: str) -> tuple[str, str]:
    """The fields of a second sentence, which begins with one word of A exchanged, and of its translation, "" for the
    model's own. name: of the option of the first; "_target" follows in that of the other."""
    left, right = st.columns(2, vertical_alignment="bottom")
    text = frame.options.at(left).prefilled(name, label, fitting(frame.model, trace), 400)
    target = frame.options.at(right).text(f"{name}_target", _("Its translation (empty: the model's)"), 400)
    return text, target.strip()


@dataclass(frozen=True)
class Recovered:
    """heads, layers: kind of attention -> of every head, and of all heads of a layer together; streams, updates: stack
    -> of the residual stream after every layer, and of what every sub-layer adds, at every token."""

    heads: dict[str, Recovery]
    layers: dict[str, Recovery]
    streams: dict[str, Recovery]
    updates: dict[str, Recovery]


JOBS: SharedCache[Recovered] = SharedCache("patching")


def recovered(model: Pretrained, trace: Trace, other: Trace, step: int) -> Recovered | None:
    """How far the other's output token at one step is recovered; None while a background job computes it."""
    grids: tuple[Mapping[str, Sequence[Place]], ...] = (
        head_places(model), layer_places(model), stream_places(model, trace), sub_layer_places(model, trace),
    )  # fmt: skip
    places = [place for grid in grids for some in grid.values() for place in some]

    def work(progress: task.Progress) -> Recovered:
        found = recovery(model, trace, other, places, step, other.target_out_ids[step], progress)
        values = iter(found.values)
        return Recovered(*(
            {name: replace(found, values=tuple(itertools.islice(values, len(some))))
             for name, some in grid.items() if some}
            for grid in grids
        ))  # fmt: skip

    key = (model.name, identity(model), trace.id, other.id, step)
    label = _("Patch every head and every token: {count} places", count=f"{len(places):,}")
    tokens = len(places) * (len(trace.source_ids) + step + 1) // 2  # a pass begins with the layer of its place
    return task.sized_result(JOBS, key, label, work, model, tokens)


def _differing(first: Trace, second: Trace) -> list[int]:
    return [
        step
        for step, (one, other) in enumerate(zip(first.target_out_ids, second.target_out_ids, strict=True))
        if one != other
    ]


def draw(frame: PageFrame, trace: Trace) -> None:
    model, options = frame.model, frame.options
    head = st.container()
    text, target = second_pair(frame, trace, "other", _("Second sentence, B"))
    first, second = st.columns(2, vertical_alignment="bottom")
    check_numbers(trace.logits)
    question = _("Where is the difference between two sentences kept? Patch parts of one into the other.")
    if not text.strip():
        with head:
            point(question)
            needed = _("Type a second sentence with as many tokens as the first: {count}.")
            message(needed.format(count=len(trace.source_ids)), "note")
        return
    try:
        other = cache.trace(model, model.name, text, target, max_tokens())
        check_pair(trace, other)
        steps = _differing(trace, other)
        if not steps:
            raise PatchError("both sentences have the same output; choose two that differ in one word")
    except UserError as error:
        with head:
            point(question)
            message(capital(error) + ".", "error")
        return
    ways = {"denoise": _("put B's parts into A"), "noise": _("put A's parts into B")}
    way = options.at(second).labelled("way", _("Direction"), ways)
    labels = {step: f"{step + 1}: {trace.target_out_labels[step]} → {other.target_out_labels[step]}" for step in steps}
    watched = options.at(first).choose(
        "watch", _("Watch the step"), [one + 1 for one in steps], steps[0] + 1, lambda value: labels[value - 1]
    )
    step = int(watched) - 1
    base, donor = (trace, other) if way == "denoise" else (other, trace)
    try:
        found = recovered(model, base, donor, step)
    except PatchError as error:
        with head:
            message(capital(error) + ".", "error")
        return
    if found is None:
        point(question, head)
        return
    point(_says(base, donor, ("A", "B") if base is trace else ("B", "A"), step, found.heads, found.streams), head)
    _heads(frame, donor, step, found)
    _tokens(frame, donor, step, found.streams, ("leaves",))
    _tokens(frame, donor, step, found.updates, ("self", "cross", "ff"))
    paragraph(
        _("A: “{a}” → “{a_target}”. B: “{b}” → “{b_target}”.").format(
            a=trace.source_text, a_target=trace.target_text, b=other.source_text, b_target=other.target_text
        ),
        _("100: the log-probability moves the whole way to the other sentence's; 0: it does not move."),
        _("Below 0 it moves away. Every cell is a pass of its own, with this part alone; “all”: the whole layer."),
        quiet=True,
    )


def _strongest(heads: Mapping[str, Recovery], count: int) -> tuple[tuple[int, int], str, float]:
    """Layer and head, from 0, of the single head that recovers most, of `count` in a layer; its kind and its value."""
    value, kind, index = max(
        (value, kind, index) for kind, one in heads.items() for index, value in enumerate(one.values)
    )
    return divmod(index, count), kind, value


def _says(
    base: Trace,
    donor: Trace,
    names: tuple[str, str],
    step: int,
    heads: dict[str, Recovery],
    streams: dict[str, Recovery],
) -> str:
    """names: what the page calls the two sentences."""
    (layer, number), kind, value = _strongest(heads, base.cross.heads)
    kinds = {
        "encoder_self": _("encoder self-attention"),
        "decoder_self": _("decoder self-attention"),
        "cross": _("cross-attention"),
    }
    any_one = next(iter(streams.values()))
    sentence = _(
        "Which part carries “{token}”? Its log-probability is {first} in {base} and {other} in {donor}. The strongest "
        "single head, {kind}, layer {layer}, head {head}, moves it {share}% of the way."
    )
    return sentence.format(
        token=donor.target_out_labels[step], first=decimals(any_one.first, 2),
        other=decimals(any_one.other, 2), kind=kinds[kind], layer=layer + 1,
        head=number + 1, share=f"{100 * value:.0f}", base=names[0], donor=names[1],
    )  # fmt: skip


def _cell(value: float, tone: str, says: str) -> dict[str, Any]:
    percent = round(100 * value)
    text = str(percent).replace("-", "−")
    level = min(1.0, abs(value))
    return {"text": text, "tone": tone if percent >= 0 else "below", "level": level, "says": [f"{says}: {text}"]}


def _heads(frame: PageFrame, donor: Trace, step: int, found: Recovered) -> None:
    config = frame.model.config
    panels: list[dict[str, Any]] = []
    rows: list[list[Any]] = [["kind", "layer", "head", "recovery"]]
    place, best, _value = _strongest(found.heads, config.heads)
    for kind in sorted(found.heads, key=lambda kind: kind != best):  # the one that the page speaks of is in sight
        cells = []
        for layer in range(layers_of(config, kind)):
            values = list(found.heads[kind].values[layer * config.heads : (layer + 1) * config.heads])
            values += [sum(values) / len(values), found.layers[kind].values[layer]]
            names = [_("Layer {layer}, head {head}", layer=layer + 1, head=head + 1)
                     for head in range(config.heads)]  # fmt: skip
            names += [
                _("Layer {layer}, mean of heads", layer=layer + 1),
                _("Layer {layer}, all heads together", layer=layer + 1),
            ]
            cells.append([_cell(value, kind, name) for value, name in zip(values, names, strict=True)])
            places = [*range(1, config.heads + 1), "mean", "all"]
            rows += [[kind, layer + 1, place, value] for place, value in zip(places, values, strict=True)]
        panels.append(
            {
                "kind": kind,
                "title": kind_names()[kind],
                "rows": [str(layer + 1) for layer in range(len(cells))],
                "columns": [*(str(head + 1) for head in range(config.heads)), _("mean"), _("all")],
                "cells": cells,
            }
        )
    _draw(frame, "patching_heads", _("Recovery by every head, percent"), panels, donor, step, rows, (0, *place))


def _tokens(frame: PageFrame, donor: Trace, step: int, found: dict[str, Recovery], parts: Sequence[str]) -> None:
    """Grids of places at tokens: a row for each layer and part. parts: "leaves", the residual stream, or sub-layers."""
    stream = parts == ("leaves",)
    part_names = {"self": _("self"), "cross": _("cross"), "ff": _("FFN")}
    sides = {
        "encoder": (
            "encoder_self",
            _("Residual stream of the encoder, after each layer") if stream else _("Encoder, what each sub-layer adds"),
            donor.source_labels,
        ),
        "decoder": (
            "decoder_self",
            _("Residual stream of the decoder, at the token fed in")
            if stream
            else _("Decoder, what each sub-layer adds at the token fed in"),
            donor.target_in_labels,
        ),
    }
    panels: list[dict[str, Any]] = []
    rows: list[list[Any]] = [["stack", "layer", "part", "token", "recovery"]]
    for stack, one in found.items():
        kind, title, labels = sides[stack]
        of_stack = parts if stream else SUB_LAYERS[stack]
        cells, names = [], []
        for number in range(len(one.values) // len(labels)):
            layer, part = number // len(of_stack) + 1, of_stack[number % len(of_stack)]
            name = str(layer) if stream else f"{layer} {part_names[part]}"
            says = _("Layer {layer}, {token}")
            values = one.values[number * len(labels) : (number + 1) * len(labels)]
            names.append(name)
            cells.append([
                _cell(value, kind, says.format(layer=name, token=label))
                for value, label in zip(values, labels, strict=True)
            ])  # fmt: skip
            rows += [[stack, layer, part, label, value] for value, label in zip(values, labels, strict=True)]
        panels.append({"kind": kind, "title": title, "rows": names, "columns": list(labels), "cells": cells})
    region = (
        _("Recovery by every place of the residual stream, percent")
        if stream
        else _("Recovery by every sub-layer at every token, percent")
    )
    _draw(frame, "patching_streams" if stream else "patching_updates", region, panels, donor, step, rows)


def _draw(
    frame: PageFrame,
    key: str,
    region: str,
    panels: Sequence[Any],
    donor: Trace,
    step: int,
    rows: Sequence[Any],
    marked: headgrid.Cell | None = None,
) -> None:
    headgrid.draw(
        key,
        region,
        panels,
        ["headscope", key.replace("_", "-"), frame.model.name, donor.target_out_labels[step]],
        [region, donor.source_text],
        rows,
        chosen=marked,
    )
