"""One output token: what every method says it rests on, how far they agree, and which of them is right."""

import html
import json
import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.attribution.heading import choose_step, method_names, of_all_steps
from pages.components import figure, headgrid, saving, task
from pages.components.sentences import decimals, paragraph, point
from pages.components.stored import stored
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.runtime.shared import SharedCache, identity, shared
from pages.runtime.texts import plain_markdown
from transformer.attribution import METHODS, one_head, one_token, removal_curve
from transformer.attribution.faithfulness import removable
from transformer.attribution.gradients import TOLERANCE, allowed
from transformer.attribution.one_token import CURVES, RANDOM, Attributed, add_row, of_methods
from transformer.checkpoints.folder import ATTRIBUTIONS
from transformer.figures import attribution as figures
from transformer.inference.pretrained import Pretrained
from transformer.probing.importance import Head, all_heads, name_of
from transformer.text.tokenizer import PIECE_MARK
from transformer.texts import _
from transformer.tracing.trace import Trace

OPTIONS = ("output", "one")
ATTENTION, ONE = "attention", "one"
POINTS = 600  # tokens through both stacks that integrated gradients and smaller methods take for each token
SAME = 0.001  # areas of curves that no reader can tell apart


JOBS: SharedCache[Attributed] = SharedCache("attributions of output tokens")


@shared()
def _shipped(model: Pretrained) -> list[Any]:
    """What was measured of the examples before the model was published."""
    try:
        found = json.loads(stored(model, ATTRIBUTIONS))
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _tokens(trace: Trace, step: int, curves: int, points: int = 0) -> int:
    """About how many tokens all passes have together. curves: of removal; points: of integrated gradients."""
    tokens = len(trace.source_ids) + step + 1
    return tokens * (curves * tokens + points)


def attributed(model: Pretrained, trace: Trace, step: int, head: Head | None) -> Attributed | None:
    """Every method, and one head, on one output token of a trace; None while a background job computes it."""
    key = (model.name, identity(model), trace.id, step)
    label = _("Attribute “{token}” by {count} methods").format(
        token=plain_markdown(trace.target_out_labels[step]), count=len(METHODS)
    )
    found = one_token.shipped(trace, step, _shipped(model)) or task.sized_result(
        JOBS,
        key,
        label,
        lambda progress: of_methods(
            model, trace, step, progress, lambda method, report: of_all_steps(model, trace, method, report)
        ),
        model,
        _tokens(trace, step, CURVES, POINTS),
    )
    if found is None or head is None:
        return found

    def work(progress: task.Progress) -> Attributed:
        one = one_head(trace, *head)
        removed = removal_curve(model, trace, step, {ONE: one}, None, progress)
        return add_row(trace, step, ONE, one, removed[ONE], found)

    return task.sized_result(JOBS, (*key, head), label, work, model, _tokens(trace, step, 1))


def draw(frame: PageFrame, trace: Trace) -> None:
    head = st.container()
    words = st.container()
    step = choose_step(frame, trace)
    grid, below = st.container(), st.container()
    with below:
        one = _choose_head(frame)
    with grid:
        found = attributed(frame.model, trace, step, one)
    names = _row_names(one)
    if found is None:
        with head:
            sentence = _("Which tokens does “{token}” rest on? Ask {count} methods, and see which of them is right.")
            point(sentence.format(token=trace.target_out_labels[step], count=len(METHODS)))
        return
    taus = found.taus[ATTENTION]
    point(_says(trace, step, found), head)
    with words:
        _words(trace, step, found)
    with grid:
        _grid(trace, step, found, names)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        paragraph(_worse(found))
        figure.draw(
            figure.built(
                figures.removal_curves,
                {name: [round(value, 6) for value in one.probabilities] for name, one in found.removed.items()},
                names,
            ),
            "removal",
            "faithfulness",
            trace=trace,
            about=trace.target_out_labels[step],
        )
        _agreement(trace, step, found, names)
        paragraph(_attention_agrees(found), quiet=True)
    with right:
        ranked = [
            (name, taus.get(name, math.nan), one.area)
            for name, one in sorted(found.removed.items(), key=lambda item: item[1].area)
        ]
        rows = [(names.get(name, _("random order")), _number(tau), f"{area:.3f}") for name, tau, area in ranked]
        token = trace.target_out_labels[step]
        with saving.saved(
            "attribution-areas", ["attribution-areas", trace.checkpoint, token],
            _caption(trace, step),
            [("method", "tau", "area"), *ranked],
        ):  # fmt: skip
            st.html(table((_("method"), _("agrees with attention"), _("area")), rows, "hs-attribution-areas"))
        short = abs(found.added - found.wanted) > allowed(found.wanted) + 1e-4  # what ships has four digits
        paragraph(
            _("Agreement: Kendall's τ over the tokens; 1 is the same order, 0 is no relation."),
            _("Area: the mean height of the curve; the smaller, the better the method knows what the model needs."),
            _("Integrated gradients add up to {added} nats, and have to add up to {wanted}.").format(
                added=_number(found.added), wanted=_number(found.wanted)
            ),
            _("So they stop short of their tolerance, {percent}%: read them with care.", percent=100 * TOLERANCE)
            if short
            else "",
            quiet=True,
        )


def _caption(trace: Trace, step: int) -> list[str]:
    """Lines of saved pictures: the sentences, and the output token."""
    sentences = _("{source} → {target}", source=trace.source_text, target=trace.target_text)
    return [sentences, _("What “{token}” rests on", token=trace.target_out_labels[step])]


def _words(trace: Trace, step: int, found: Attributed) -> None:
    """The source, and what was written before the step, each token shaded by how many methods put it first."""
    votes = one_token.votes(trace, step, found)
    sources = len(trace.source_ids)
    sides = (
        ("source", trace.source_tokens, trace.source_labels, votes[:sources]),
        ("target", trace.target_in[1 : step + 1], trace.target_in_labels[1 : step + 1], votes[sources + 1 :]),
    )
    lines = []
    for side, pieces, labels, counts in sides:
        spans = []
        for piece, label, count in zip(pieces, labels, counts, strict=False):
            title = _("{token}: first for {count} of {all} methods", token=label, count=count, all=len(METHODS))
            gap = " " if piece.startswith(PIECE_MARK) or piece == "</s>" else ""
            text = html.escape(piece.removeprefix(PIECE_MARK) or label)
            spans.append(
                f'{gap}<span style="--level: {count / len(METHODS):.3f}" title="{html.escape(title)}">{text}</span>'
            )
        if side == "target":
            spans.append(f" <b>{html.escape(trace.target_out_labels[step])}</b>")
        lines.append(f'<p class="hs-attribution-words hs-attribution-{side}" dir="auto">{"".join(spans)}</p>')
    counted = [("source", *one) for one in zip(trace.source_labels, votes, strict=False)]
    counted += [("target", *one) for one in zip(sides[1][2], sides[1][3], strict=False)]
    token = trace.target_out_labels[step]
    stem = ["attribution-words", trace.checkpoint, token]
    with saving.saved("attribution-words", stem, _caption(trace, step)[1:], [("side", "token", "methods"), *counted]):
        st.html("".join(lines))
    text = _("The darker a word, the more of the {count} methods put it first for “{token}”.")
    paragraph(text.format(count=len(METHODS), token=token), quiet=True)


def _agreement(trace: Trace, step: int, found: Attributed, names: Mapping[str, str]) -> None:
    order = list(names)
    numbered = [f"{number} {name}" for number, name in enumerate(names.values(), start=1)]
    cells = []
    for one in order:
        row = []
        for other in order:
            tau = found.taus[one][other]
            says = _("{method} and {other}: {tau}", method=names[one], other=names[other], tau=_number(tau))
            level = 0.0 if math.isnan(tau) else abs(tau)
            row.append({"text": _number(tau), "tone": "below" if tau < 0 else "cross", "level": level, "says": [says]})
        cells.append(row)
    title = _("Agreement of every two methods: 1 is the same order of tokens")
    panel = {"kind": "cross", "title": title, "rows": numbered, "columns": [*map(str, range(1, len(order) + 1))],
             "cells": cells}  # fmt: skip
    headgrid.draw(
        "attribution_taus",
        title,
        [panel],
        ["agreement", trace.checkpoint, trace.target_out_labels[step]],
        _caption(trace, step),
        [["method", *order], *([one, *(found.taus[one][other] for other in order)] for one in order)],
    )


def _choose_head(frame: PageFrame) -> Head | None:
    """One head whose weights stand above the methods; none if the model's decoder has no attention."""
    every = all_heads(frame.model.config)
    heads = {name_of(head): head for kind in ("cross", "decoder_self") for head in every if head[0] == kind}
    if not heads:
        return None
    first = next(iter(heads.values()))[0]
    default = next(name for name, (kind, *_place) in reversed(heads.items()) if kind == first)
    chosen = frame.options.choose(
        "one", _("One head, beside the methods"), list(heads), default, lambda name: _head_label(heads[name])
    )
    return heads[str(chosen)]


def _head_label(head: Head) -> str:
    kind, layer, number = head
    label = (
        _("cross-attention, layer {layer}, head {head}")
        if kind == "cross"
        else _("decoder self-attention, layer {layer}, head {head}")
    )
    return label.format(layer=layer + 1, head=number + 1)


def _row_names(head: Head | None) -> dict[str, str]:
    if head is None:
        return method_names()
    kind, layer, number = head
    short = _("one head (cross {layer}.{head})") if kind == "cross" else _("one head (decoder {layer}.{head})")
    return {ONE: short.format(layer=layer + 1, head=number + 1)} | method_names()


def _number(value: float) -> str:
    return "–" if math.isnan(value) else decimals(value, 2)


def _says(trace: Trace, step: int, found: Attributed) -> str:
    """The token that matters most by the method that ranks them best, and what hiding it does."""
    columns = removable(trace, step)
    labels = (*trace.source_labels, *trace.target_in_labels)
    best = min(METHODS, key=lambda name: found.removed[name].area)
    token, word = trace.target_out_labels[step], labels[max(columns, key=lambda index: found.rows[best][index])]
    if len(columns) == 1:
        return _("“{token}” has only “{word}” to rest on, so there is no order to compare.", token=token, word=word)
    probabilities = found.removed[best].probabilities[:2]
    before, after = (f"{100 * one:.0f}%" if one >= 0.01 else _("under 1%") for one in probabilities)
    text = _("“{token}” rests most on “{word}”: hide that word, and its probability goes from {before} to {after}.")
    return text.format(token=token, word=word, before=before, after=after)


def _worse(found: Attributed) -> str:
    """How many methods order the tokens worse than chance; "" for none."""
    chance = found.removed[RANDOM].area
    worse = sum(found.removed[name].area > chance + SAME for name in METHODS)
    one, more = (
        _("One of {all} methods ranks the tokens worse than random order."),
        _("{count} of {all} methods rank the tokens worse than random order."),
    )
    return (one if worse == 1 else more).format(count=worse, all=len(METHODS)) if worse else ""


def _attention_agrees(found: Attributed) -> str:
    """With which methods attention agrees most and least; nothing where no order can be compared."""
    names, with_attention = method_names(), found.taus[ATTENTION]
    others = {
        name: with_attention[name] for name in METHODS if name != ATTENTION and not math.isnan(with_attention[name])
    }
    if not others:
        return ""
    near, far = max(others, key=lambda name: others[name]), min(others, key=lambda name: others[name])
    text = (
        _("Attention agrees with each of them alike ({high}).")
        if others[near] - others[far] < 0.005
        else _("Attention agrees most with {near} ({high}) and least with {far} ({low}).")
    )
    return text.format(near=names[near], high=_number(others[near]), far=names[far], low=_number(others[far]))


def _grid(trace: Trace, step: int, found: Attributed, names: Mapping[str, str]) -> None:
    sources = len(trace.source_ids)
    order = list(names)
    sides = (
        ("encoder_self", _("Source"), trace.source_labels, 0),
        ("decoder_self", _("Tokens fed in so far"), trace.target_in_labels[: step + 1], sources),
    )
    panels = []
    for kind, title, labels, start in sides:
        cells: list[list[dict[str, Any]]] = []
        for name in order:
            largest = max(map(abs, found.rows[name])) or 1.0
            row = []
            for index, label in enumerate(labels):
                share = found.rows[name][start + index]
                percent = str(round(100 * share)).replace("-", "−")
                says = _("{method}: {share}% from {token}", method=names[name], share=percent, token=label)
                row.append(
                    {
                        "text": percent,
                        "tone": kind if round(100 * share) >= 0 else "below",
                        "level": abs(share) / largest,
                        "says": [says],
                    }
                )
            cells.append(row)
        panels.append(
            {
                "kind": kind,
                "title": title,
                "rows": [names[name] for name in order],
                "columns": list(labels),
                "cells": cells,
            }
        )
    labels = (*trace.source_labels, *trace.target_in_labels[: step + 1])
    rows: list[list[Any]] = [["method", *labels]]
    rows += [[name, *found.rows[name][: len(labels)]] for name in order]
    text = _(
        "Each row is one method: the share of each token, in %. Below 0, in grey: it makes “{token}” less likely. "
        "Methods disagree: the curves below test them."
    )
    paragraph(text.format(token=trace.target_out_labels[step]), quiet=True)
    headgrid.draw(
        "attribution_grid",
        _("What every method says the token rests on: methods down, tokens across"),
        panels,
        ["attribution", trace.checkpoint, trace.target_out_labels[step]],
        _caption(trace, step),
        rows,
    )
    paragraph(
        _("Percent of the sum of a row's absolute values."),
        _("{start}, {end} and the token fed in last cannot be hidden, so they are not shaded above.").format(
            start=trace.target_in_labels[0], end=trace.source_labels[-1]
        ),
        quiet=True,
    )
