"""Beam search as a tree: every hypothesis of every step, the finished ones, and why the winner wins."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
import torch

from pages.components.live_picture import for_browser
from pages.components.sentences import decimals, part_layout, point
from pages.decoding import payload, step
from pages.frame.frame import PageFrame
from pages.frame.options import Options
from pages.frame.state import max_tokens
from pages.runtime.session import reported
from pages.runtime.shared import shared
from transformer.checkpoints.beam_rule import BeamRule
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import FINISHED, OPEN, Hypothesis, Trail, is_complete, n_best, output_limit
from transformer.texts import _
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style

OPTIONS = ("beams", "alpha", "node")
KEY = "beam"
MOST_BEAMS, MOST_ALPHA = 8, 2.0
POSITIONS = 20  # of the slider of the length penalty from one whole number to the next
CUT = "cut"

_picture = st.components.v2.component("headscope.beam", js=script("beam"), css=style("beam"))


@dataclass(frozen=True)
class Node:
    """A candidate of one step. parent: its rank in the step before; text: everything up to here; total: log p of it;
    fate: as in `Candidate`, or "cut": it reached the limit without </s>; ranked: it is compared with the finished
    hypotheses."""

    parent: int
    token: int
    text: str
    log_prob: float
    total: float
    fate: str
    ranked: bool


@dataclass(frozen=True)
class Search:
    """A beam search as a tree. steps: its nodes, best first; ends: `end` for every position of the slider; greedy: what
    greedy search writes."""

    steps: tuple[tuple[Node, ...], ...]
    beams: int
    limit: int
    rule: BeamRule
    greedy: Hypothesis
    ends: tuple[int | None, ...] = ()

    def score(self, node: tuple[int, int], alpha: float) -> float:
        """node: step and rank, from 0."""
        number, rank = node
        return self.steps[number][rank].total / self.rule.divisor(number + 1, alpha)

    def end(self, alpha: float) -> int | None:
        """After how many steps a search with this length penalty ends: the same candidates, and the rule of `n_best`.
        None if it goes on longer than this one."""
        best: list[float] = []
        for number, nodes in enumerate(self.steps):
            best += [self.score((number, rank), alpha) for rank, one in enumerate(nodes) if one.ranked]
            best = sorted(best, reverse=True)[: self.beams]
            going = [one.total for one in nodes if one.fate == OPEN]
            if not going or self.rule.ended(best, self.beams, number + 1, self.limit, max(going), alpha):
                return number + 1
        return None

    def ranking(self, alpha: float) -> list[tuple[int, int]]:
        """Step and rank of the last nodes of the n-best list, best first."""
        found = [
            (number, rank)
            for number, nodes in enumerate(self.steps[: self.end(alpha)])
            for rank, one in enumerate(nodes)
            if one.ranked
        ]
        return sorted(found, key=lambda node: -self.score(node, alpha))[: self.beams]

    def ids(self, number: int, rank: int) -> tuple[int, ...]:
        found = []
        for nodes in reversed(self.steps[: number + 1]):
            found.append(nodes[rank].token)
            rank = nodes[rank].parent
        return tuple(reversed(found))


def _tree(model: Pretrained, trail: Trail, limit: int) -> tuple[tuple[Node, ...], ...]:
    steps: list[tuple[Node, ...]] = []
    kept: list[tuple[int, tuple[int, ...]]] = [(0, ())]  # rank and ids of the open hypotheses of the step before
    for candidates in trail:
        nodes, going = [], []
        for rank, one in enumerate(candidates):
            parent, before = kept[one.parent]
            ids = (*before, one.token)
            unfinished = one.fate == OPEN and len(steps) + 1 == limit
            cut = unfinished or (
                one.fate == FINISHED and not is_complete(ids, limit, model.config.end_id, model.rule.constraints)
            )
            text = model.tokenizer.decode(ids)
            fate = CUT if cut else one.fate
            nodes.append(Node(parent, one.token, text, one.log_prob, one.total, fate, one.fate == FINISHED))
            if one.fate == OPEN:
                going.append((rank, ids))
        steps.append(tuple(nodes))
        kept = going
    return tuple(steps)


@shared(queued=True)
def search(model: Pretrained, source: str, beams: int, alpha: float, begin: tuple[int, ...], limit: int) -> Search:
    ids = torch.tensor([model.encode(source, limit=limit)], device=model.model.device)
    allowed = output_limit(model.model, ids.shape[1], model.token_limit(limit))
    trail: Trail = []
    n_best(model.model, ids, beams, alpha, allowed, rule=model.rule, prefixes=[begin], trail=trail)
    check_numbers(torch.tensor([one.total for candidates in trail for one in candidates]))
    plain = payload.continued(model, source, (begin,), limit)[0].hypothesis
    found = Search(_tree(model, trail, allowed), beams, allowed, model.rule, plain)
    positions = range(int(MOST_ALPHA * POSITIONS) + 1)
    return replace(found, ends=tuple(found.end(position / POSITIONS) for position in positions))


def reaching(model: Pretrained, source: str, beams: int, alpha: float, begin: tuple[int, ...], limit: int) -> Search:
    """A search that went on for as long as one with this length penalty does: the model's own serves all smaller ones,
    the one with the largest all others, so that moving the slider needs a second one at most."""
    shared_by = model.alpha if alpha <= model.alpha else max(alpha, MOST_ALPHA)
    tree = search(model, source, beams, shared_by, begin, limit)
    return tree if tree.end(alpha) is not None else search(model, source, beams, alpha, begin, limit)


def _node(options: Options, tree: Search, end: int) -> tuple[int, int] | None:
    """The node that a person chose, from 0; None if there is no such node, and the winner's last one is shown."""
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,2})", options.typed("node", ""), re.ASCII)
    number, rank = (int(part) - 1 for part in match.groups()) if match else (-1, -1)
    there = 0 <= number < end and 0 <= rank < len(tree.steps[number])
    options.shown["node"] = f"{number + 1}.{rank + 1}" if there else ""
    return (number, rank) if there else None


def draw(frame: PageFrame, trace: Trace) -> None:
    model, options, limit = frame.model, frame.options, max_tokens()
    source = trace.source_text
    head, controls, picture = part_layout(near=True)
    first, second = controls.columns([3, 1], vertical_alignment="bottom")
    with first:
        begin = step.begin_field(frame, source)
    with second:
        help_ = _("Hypotheses that stay open at every step.")
        beams = options.number("beams", _("Beams"), 1, MOST_BEAMS, 4, help=help_)
    alpha = options.decimal("alpha", 0.0, MOST_ALPHA, model.alpha)
    tree = reaching(model, source, beams, alpha, begin, limit)
    end = tree.end(alpha) or len(tree.steps)
    winner = tree.ranking(alpha)[0]
    chosen = _node(options, tree, end)
    number, rank = chosen or winner

    def pick() -> None:
        node = reported(KEY, "node")
        place: list[Any] = [node.get(name) for name in ("step", "rank")] if isinstance(node, Mapping) else []
        if place and all(type(value) is int and 0 <= value < 999 for value in place):
            options.report("node", f"{place[0] + 1}.{place[1] + 1}")

    def slide() -> None:
        value = reported(KEY, "alpha")
        if isinstance(value, int | float) and 0 <= value <= MOST_ALPHA:
            options.report("alpha", round(float(value), 4), model.alpha)

    point(says(model, tree, winner, alpha), head)
    with picture:
        _picture(
            key=KEY,
            data={
                "steps": [_column(model, nodes) for nodes in tree.steps],
                "greedy": _hypothesis(model, tree.greedy),
                "beams": beams,
                "limit": tree.limit,
                "penalty": tree.rule.penalty,
                "alpha": alpha,
                "end": end,
                "ends": list(tree.ends),
                "positions": POSITIONS,
                "picked": chosen is not None,
                "node": {"step": number, "rank": rank},
                **payload.attention(model, source, tree.ids(number, rank), number, limit),
                **payload.caption(trace),
                **for_browser("beam"),
            },
            on_node_change=pick,
            on_alpha_change=slide,
        )


def _column(model: Pretrained, nodes: tuple[Node, ...]) -> list[dict[str, Any]]:
    """The nodes of one step."""
    tokens = payload.labels(model, [one.token for one in nodes])
    return [{**vars(one), "token": token} for one, token in zip(nodes, tokens, strict=True)]


def _hypothesis(model: Pretrained, hypothesis: Hypothesis) -> dict[str, Any]:
    return {
        "text": model.tokenizer.decode(hypothesis.ids),
        "tokens": payload.labels(model, hypothesis.ids),
        "total": hypothesis.score,
        "cut": not hypothesis.complete,
    }


def says(model: Pretrained, tree: Search, winner: tuple[int, int], alpha: float) -> str:
    """What the search found, compared with greedy search."""
    best, plain = tree.steps[winner[0]][winner[1]], tree.greedy
    if best.fate == CUT:
        sentence = _(
            "No hypothesis ended within {limit} tokens, the most for this source, so the search was cut off there and "
            "its best is unfinished; try another source."
        )
    elif tree.ids(*winner) == plain.ids:
        sentence = _(
            "Beam search keeps the {beams} most probable beginnings at every step and drops the others. Here it ends "
            "with the same words as greedy search, which keeps one: “{text}”"
        )
    else:
        sentence = _(
            "Beam search keeps the {beams} most probable beginnings at every step. Here it finds “{text}” (score "
            "{score}, the higher the better); greedy search, which keeps one, writes “{greedy}” ({other})."
        )
    return sentence.format(
        beams=tree.beams,
        limit=tree.limit,
        text=best.text,
        greedy=model.tokenizer.decode(plain.ids),
        score=decimals(tree.score(winner, alpha), 3),
        other=decimals(plain.score / tree.rule.divisor(len(plain.ids), alpha), 3),
    )
