"""Beam search as a tree: every hypothesis of every step, the finished ones, and why the winner wins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
import torch

from pages.components.sentences import controls_and_picture, paragraph, point
from pages.components.translation import table
from pages.decoding import payload, step
from pages.frame.frame import PageFrame
from pages.frame.options import Options
from pages.frame.state import max_tokens
from pages.runtime.shared import shared
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import FINISHED, OPEN, Candidate, Hypothesis, Trail, greedy, n_best, output_limit
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts

OPTIONS = ("beams", "alpha", "node")
KEY = "beam"
MOST_BEAMS, MOST_ALPHA = 8, 2.0

_picture = st.components.v2.component("headscope.beam", js=script("beam"), css=style("beam"))


@dataclass(frozen=True)
class Search:
    """A finished beam search. trail: its candidates, step by step; found: the finished hypotheses, best first; greedy:
    what greedy search writes."""

    trail: tuple[tuple[Candidate, ...], ...]
    found: tuple[Hypothesis, ...]
    greedy: Hypothesis

    def parents(self, number: int) -> list[int]:
        """For every candidate of a step, from the second on, the rank of the one it continues in the step before."""
        kept = [rank for rank, one in enumerate(self.trail[number - 1]) if one.fate == OPEN]
        return [kept[one.parent] for one in self.trail[number]]

    def path(self, number: int, rank: int) -> list[int]:
        """The ranks from the first step to a candidate."""
        ranks = [rank]
        for later in range(number, 0, -1):
            ranks.append(self.parents(later)[ranks[-1]])
        return ranks[::-1]

    def ids(self, number: int, rank: int) -> tuple[int, ...]:
        return tuple(self.trail[at][one].token for at, one in enumerate(self.path(number, rank)))

    def node_of(self, hypothesis: Hypothesis) -> tuple[int, int]:
        """Step and rank at which a hypothesis was finished."""
        number = len(hypothesis.ids) - 1
        return next(
            (number, rank)
            for rank, one in enumerate(self.trail[number])
            if one.fate == FINISHED and self.ids(number, rank) == hypothesis.ids
        )


@shared(queued=True)
def search(model: Pretrained, source: str, beams: int, alpha: float, begin: tuple[int, ...], limit: int) -> Search:
    ids = torch.tensor([model.encode(source, limit=limit)], device=model.model.device)
    allowed = output_limit(model.model, ids.shape[1], model.token_limit(limit))
    trail: Trail = []
    (found,) = n_best(model.model, ids, beams, alpha, allowed, rule=model.rule, prefixes=[begin], trail=trail)
    (plain,) = greedy(model.model, ids, allowed, prefixes=[begin])
    return Search(tuple(map(tuple, trail)), tuple(found), plain)


def _node(options: Options, tree: Search, start: tuple[int, int]) -> tuple[int, int]:
    """The chosen node, from 0; the winner's last one if there is no such node."""
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,2})", options.typed("node", ""), re.ASCII)
    number, rank = (int(part) - 1 for part in match.groups()) if match else start
    if not (0 <= number < len(tree.trail) and 0 <= rank < len(tree.trail[number])):
        number, rank = start
    options.shown["node"] = f"{number + 1}.{rank + 1}" if match else ""
    return number, rank


def draw(frame: PageFrame, trace: Trace) -> None:
    model, options, limit = frame.model, frame.options, max_tokens()
    source = trace.source_text
    head = st.container()
    controls, picture = controls_and_picture()
    first, *fields = controls.columns([3, 1, 1], vertical_alignment="bottom")
    with first:
        begin = step.beginning(frame, source, _("Begin with"))
    with fields[0]:
        help_ = _("Hypotheses that stay open at every step.")
        beams = options.number("beams", _("Beams"), 1, MOST_BEAMS, 4, help=help_)
    with fields[1]:
        help_ = _("α of the length penalty ((5 + length) / 6)^α: 0 prefers short translations, 1 allows long ones.")
        alpha = options.fraction("alpha", _("Length penalty α"), 0.0, MOST_ALPHA, model.alpha, 0.1, "%.1f", help=help_)
    tree = search(model, source, beams, alpha, begin, limit)
    winner = tree.found[0]
    start = tree.node_of(winner)
    wins = dict(enumerate(tree.path(*start)))
    number, rank = _node(options, tree, start)

    def chosen() -> None:
        node = getattr(st.session_state.get(KEY), "node", None)
        place: list[Any] = [node.get(name) for name in ("step", "rank")] if isinstance(node, Mapping) else []
        if place and all(type(value) is int and 0 <= value < 999 for value in place):
            options.report("node", f"{place[0] + 1}.{place[1] + 1}")

    with head:
        point(_says(model, tree, beams, alpha))
    with picture:
        _picture(
            key=KEY,
            data={
                "beams": beams,
                "steps": [_column(model, tree, at, wins, alpha) for at in range(len(tree.trail))],
                "node": {"step": number, "rank": rank},
                **payload.attention(model, source, tree.ids(number, rank), number, limit),
                **payload.caption(trace),
                "big": frame.state.view.big,
                "texts": browser_texts("beam"),
            },
            on_node_change=chosen,
        )
    _finished(model, tree, alpha)


def _column(
    model: Pretrained, tree: Search, number: int, wins: Mapping[int, int], alpha: float
) -> list[dict[str, Any]]:
    """The nodes of one step."""
    candidates = tree.trail[number]
    parents = tree.parents(number) if number else [0] * len(candidates)
    tokens = payload.labels(model, [one.token for one in candidates])
    divisor = model.rule.divisor(number + 1, alpha)
    return [
        {
            "parent": parents[rank],
            "token": tokens[rank],
            "text": model.tokenizer.decode(tree.ids(number, rank)),
            "log_prob": one.log_prob,
            "total": one.total,
            "fate": one.fate,
            "score": one.total / divisor,
            "divisor": divisor,
            "wins": wins.get(number) == rank,
        }
        for rank, one in enumerate(candidates)
    ]


def _score(model: Pretrained, hypothesis: Hypothesis, alpha: float) -> float:
    return hypothesis.score / model.rule.divisor(len(hypothesis.ids), alpha)


def _says(model: Pretrained, tree: Search, beams: int, alpha: float) -> str:
    winner, plain = tree.found[0], tree.greedy
    text = model.tokenizer.decode(winner.ids)
    if winner.ids == plain.ids:
        sentence = _(
            "Beam search keeps the {beams} most probable beginnings at every step and drops the others. Here it ends "
            "with the same words as greedy search, which keeps one: “{text}”"
        )
    else:
        sentence = _(
            "Beam search keeps the {beams} most probable beginnings at every step. Here it finds “{text}” (score "
            "{score}); greedy search, which keeps one, writes “{greedy}” ({other})."
        )
    return sentence.format(
        beams=beams,
        text=text,
        greedy=model.tokenizer.decode(plain.ids),
        score=f"{_score(model, winner, alpha):.3f}",
        other=f"{_score(model, plain, alpha):.3f}",
    )


def _finished(model: Pretrained, tree: Search, alpha: float) -> None:
    """The finished hypotheses and greedy's, with what their scores are made of."""
    head = ("", _("translation"), _("log p"), _("tokens"), _("length penalty"), _("score"))

    def row(name: str, hypothesis: Hypothesis) -> tuple[str, ...]:
        length = len(hypothesis.ids)
        numbers = (f"{hypothesis.score:.4f}", str(length), f"{model.rule.divisor(length, alpha):.4f}")
        return (name, model.tokenizer.decode(hypothesis.ids), *numbers, f"{_score(model, hypothesis, alpha):.4f}")

    rows = [row(str(number), one) for number, one in enumerate(tree.found, start=1)]
    st.html(table(head, [*rows, row(_("greedy"), tree.greedy)], "hs-decoding-finished"))
    likeliest = max(tree.found, key=lambda one: one.score)
    if likeliest.ids != tree.found[0].ids:
        text = _("“{text}” has the highest log p. Divided by the length penalty, the winner's score is higher.")
        paragraph(text.format(text=model.tokenizer.decode(likeliest.ids)))
    legend = _(
        "The tree has {steps} steps, scroll it to the right. Purple: the winner; white: kept; green: finished; grey: "
        "dropped. The number is log p of everything up to there, or the score where it ends; {count} hypotheses in all."
    )
    paragraph(legend.format(steps=len(tree.trail), count=f"{sum(map(len, tree.trail)):,}"), quiet=True)
    if model.rule.penalty == "wu":
        formula = _("Score = log p ÷ ((5 + length) / 6)^α (section 6.1; Wu et al. 2016).")
    else:
        formula = _("Score = log p ÷ length^α, as this model's files ask for.")
    paragraph(formula, _("log p is negative, so a longer translation, with a larger divisor, loses less."), quiet=True)
