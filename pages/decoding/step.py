"""Step by step: the distribution over the next token, and branches that go on from another token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from pages.components.sentences import controls_and_picture, point
from pages.decoding import payload
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.options import Options
from pages.frame.state import max_tokens
from pages.runtime.ahead import AHEAD
from pages.runtime.streamlit import session_id
from transformer.inference.pretrained import InputError, Pretrained
from transformer.inference.search import output_limit
from transformer.inference.steps import Continuation
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts

OPTIONS = ("begin", "branches", "at")
MOST = 8  # translations beside the first
KEY = "decoding"
BEGUN = "headscope_decoding_begun"  # the beginning that the last run drew
BRANCH = re.compile(r"(\d{1,2})\.(\d{1,3})\.(\d{1,6})", re.ASCII)

_picture = st.components.v2.component("headscope.decoding", js=script("decoding"), css=style("decoding"))


@dataclass(frozen=True)
class Branch:
    """Translation `line` goes on with token `token` at step `step`; both count from 0."""

    line: int
    step: int
    token: int

    def __str__(self) -> str:
        return f"{self.line + 1}.{self.step + 1}.{self.token}"


def read_branches(text: str) -> list[Branch] | None:
    """The branches of a link, "1.3.417_2.5.88"; None if it is something else."""
    matches = [BRANCH.fullmatch(part) for part in text.split("_")] if text else []
    if any(match is None or "0" in match.groups()[:2] for match in matches) or len(matches) > MOST:
        return None
    found = [match.groups() for match in matches if match is not None]
    return [Branch(int(line) - 1, int(step) - 1, int(token)) for line, step, token in found]


def written(branches: list[Branch]) -> str:
    return "_".join(map(str, branches))


def without(branches: list[Branch], line: int) -> list[Branch]:
    """The branches without translation `line` (0 is the first, which stays) and those that branch off from it."""
    gone, number = {line}, {0: 0}
    kept: list[Branch] = []
    for index, branch in enumerate(branches, start=1):
        if index in gone or branch.line in gone:
            gone.add(index)
            continue
        number[index] = len(kept) + 1
        kept.append(Branch(number[branch.line], branch.step, branch.token))
    return kept


def after_beginning(branches: list[Branch], length: int) -> list[Branch]:
    """The branches without those inside a beginning of this many tokens, and what branches off from them."""
    kept = branches
    while inside := [line for line, branch in enumerate(kept, start=1) if branch.step < length]:
        kept = without(kept, inside[0])
    return kept


@dataclass(frozen=True)
class Lines:
    """The translations: the first, and one for each branch. shared: tokens that each has in common with the one it
    branches from; forced: those that were given."""

    found: tuple[Continuation, ...]
    shared: tuple[int, ...]
    forced: tuple[int, ...]


def translations(model: Pretrained, source: str, begin: tuple[int, ...], branches: list[Branch], limit: int) -> Lines:
    """Raises ValueError for a branch at a token that its translation does not have."""
    found = list(payload.continued(model, source, (begin,), limit))
    shared, forced = [0], [len(begin)]
    closed = {model.config.pad_id, model.config.start_id}
    for branch in branches:
        if branch.line >= len(found) or branch.token >= model.config.output_size or branch.token in closed:
            raise ValueError(branch)
        ids = found[branch.line].hypothesis.ids
        if branch.step >= len(ids):
            raise ValueError(branch)
        found += payload.continued(model, source, ((*ids[: branch.step], branch.token),), limit)
        shared.append(branch.step)
        forced.append(branch.step + 1)
    return Lines(tuple(found), tuple(shared), tuple(forced))


def beginning(frame: PageFrame, source: str, label: str) -> tuple[int, ...]:
    """Ids of the text that a person wants the translation to begin with; a message if the model cannot write it."""
    model = frame.model
    text = frame.options.text("begin", label, placeholder=_("empty: the model begins by itself"))
    allowed = output_limit(model.model, len(model.encode(source)), model.token_limit(max_tokens()))
    try:
        return tuple(model.beginning(text, allowed))
    except InputError as error:
        message(capital(error) + ".", "error")
        return ()


def _branches(options: Options) -> list[Branch]:
    asked = options.typed("branches", "", longest=200)
    found = read_branches(asked)
    if found is None:
        sentence = _("The link asks for the branches {asked!r}, which cannot be read; they are left out.")
        message(sentence.format(asked=asked[:40]))
        options.report("branches", "", "")
    return found or []


def position(options: Options, lines: tuple[Continuation, ...]) -> tuple[int, int]:
    """The chosen translation and step, from 0; the nearest that there is. At first the step with the largest entropy,
    where the model is least certain."""
    match = re.fullmatch(r"(\d{1,2})\.(\d{1,3})", options.typed("at", ""), re.ASCII)
    entropies = [one.entropy for one in lines[0].steps]
    line, step = (int(part) - 1 for part in match.groups()) if match else (0, entropies.index(max(entropies)))
    line = max(0, min(line, len(lines) - 1))
    step = max(0, min(step, len(lines[line].hypothesis.ids) - 1))
    options.shown["at"] = f"{line + 1}.{step + 1}" if match else ""
    return line, step


def _reported(name: str) -> Any:
    return getattr(st.session_state.get(KEY), name, None)


def chosen(options: Options) -> None:
    """The browser's report of the chosen token."""
    at = _reported("at")
    if isinstance(at, Mapping) and all(type(at.get(name)) is int and 0 <= at[name] < 999 for name in ("line", "step")):
        options.report("at", f"{at['line'] + 1}.{at['step'] + 1}")


def draw(frame: PageFrame, trace: Trace) -> None:
    model, options, limit = frame.model, frame.options, max_tokens()
    source = trace.source_text
    head = st.container()
    controls, picture = controls_and_picture()
    left, right = controls.columns([5, 1], vertical_alignment="bottom")
    with left:
        begin = beginning(frame, source, _("Begin with"))
    asked = branches = _branches(options)
    before = st.session_state.get(BEGUN)
    st.session_state[BEGUN] = begin
    if not frame.arrived and before != begin:  # typed here; a link shows what it showed before
        branches = after_beginning(asked, len(begin))
    if branches != asked:
        message(_("The branches do not fit this translation, so they are left out."), "note")
        options.report("branches", written(branches), "")
    try:
        lines = translations(model, source, begin, branches, limit)
    except ValueError:
        message(_("The branches do not fit this translation, so they are left out."), "note")
        branches = []
        options.report("branches", "", "")
        lines = translations(model, source, begin, branches, limit)
    line, step = position(options, lines.found)
    found = lines.found[line]
    ids = found.hypothesis.ids

    def change(kept: list[Branch]) -> None:
        options.report("branches", written(kept), "")

    def take() -> None:
        asked = _reported("take")
        values: list[Any] = [asked.get(name) for name in ("line", "step", "id")] if isinstance(asked, Mapping) else []
        if len(values) != 3 or not all(type(value) is int and 0 <= value < 10**6 for value in values):
            return
        at, number, token = values
        if at >= len(lines.found) or number >= len(lines.found[at].hypothesis.ids):
            return
        same = (*lines.found[at].hypothesis.ids[:number], token)
        known = [index for index, one in enumerate(lines.found) if one.hypothesis.ids[: number + 1] == same]
        if not known and len(branches) < MOST:
            change([*branches, Branch(at, number, token)])
            known = [len(branches) + 1]
        if known:
            options.report("at", f"{known[0] + 1}.{number + 1}")

    def drop() -> None:
        asked = _reported("drop")
        if type(asked) is int and 0 < asked <= len(branches):
            change(without(branches, asked))

    if branches:
        help_ = _("Removes the newest translation.")
        right.button(_("Undo"), on_click=lambda: change(branches[:-1]), width="stretch", help=help_)
    with head:
        if len(branches) == MOST:
            sentence = _("At most {count} translations stand side by side; remove one to add another.")
            message(sentence.format(count=MOST + 1), "note")
        point(_says(model, found, step))
    with picture:
        _picture(
            key=KEY,
            data={
                "lines": [
                    payload.line(model, one, lines.forced[number], lines.shared[number], number > 0)
                    for number, one in enumerate(lines.found)
                ],
                "at": {"line": line, "step": step},
                "bars": payload.bars(model, found.steps[step], ids[:step]),
                "grows": len(branches) < MOST,
                **payload.attention(model, source, ids, step, limit),
                **payload.caption(trace),
                "big": frame.state.view.big,
                "texts": browser_texts("decoding"),
            },
            on_at_change=lambda: chosen(options),
            on_take_change=take,
            on_drop_change=drop,
        )
    others = [token for token in found.steps[step].ids if token != ids[step]]
    expected = [partial(payload.continued, model, source, ((*ids[:step], token),), limit) for token in others]
    AHEAD.expect(session_id(), expected if len(branches) < MOST else [])


def _says(model: Pretrained, found: Continuation, step: int) -> str:
    """What the decoder does at the chosen step, with its numbers."""
    here = found.steps[step]
    token, taken = payload.labels(model, (here.ids[0], found.hypothesis.ids[step]))
    text = _(
        "The decoder writes one token at a time. At step {step} “{token}” is the most probable next token, with {p}; "
        "press another one and the translation goes on from there."
    )
    if here.ids[0] != found.hypothesis.ids[step]:
        text = _(
            "The decoder writes one token at a time. At step {step} “{token}” would be the most probable next token, "
            "with {p}, but “{taken}” was taken."
        )
    return text.format(step=step + 1, token=token, taken=taken, p=f"{100 * here.probabilities[0]:.0f}%")
