"""Step by step: the distribution over the next token, and branches that go on from another token."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.components.live_picture import chosen, sent
from pages.decoding import payload
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.options import Options
from pages.frame.state import max_tokens
from transformer.inference.pretrained import Pretrained
from transformer.inference.steps import Continuation
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style

OPTIONS = ("begin", "branches", "at")
MOST = 8  # translations beside the first
LONGEST = 200  # letters of a beginning, and of the branches in a link
KEY = "decoding"
BRANCH = re.compile(r"(\d{1,2})\.(\d{1,3})\.(\d{1,6})", re.ASCII)

_picture = st.components.v2.component("headscope.decoding", js=script("decoding"), css=style("decoding"))


@dataclass(frozen=True)
class Branch:
    """Translation `line` goes on with token `token` at step `step`; both count from 0."""

    line: int
    step: int
    token: int


def read_branches(text: str) -> list[Branch] | None:
    """The branches of a link, "1.3.417_2.5.88"; None if it is something else."""
    matches = [BRANCH.fullmatch(part) for part in text.split("_")] if text else []
    if any(match is None or "0" in match.groups()[:2] for match in matches) or len(matches) > MOST:
        return None
    found = [match.groups() for match in matches if match is not None]
    return [Branch(int(line) - 1, int(step) - 1, int(token)) for line, step, token in found]


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
    closed = set(model.config.unwritten)
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


def begin_field(frame: PageFrame, source: str) -> tuple[int, ...]:
    """A field for what other searches begin with: its ids; a message if the model cannot write it."""
    text = frame.options.text("begin", _("Begin with"), placeholder=_("empty: the model begins"))
    ids, wrong = payload.beginning(frame.model, source, text, max_tokens())
    if wrong:
        message(wrong, "error")
    return ids


def _branches(options: Options) -> list[Branch]:
    asked = options.typed("branches", "", LONGEST)
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


def merge_browser(frame: PageFrame, key: str) -> None:
    """Store what a person chose in the picture since the last run."""
    told = chosen(key, frame)
    for name in OPTIONS:
        if isinstance(text := told.get(name), str):
            frame.options.report(name, text[:LONGEST], "")


def picture(frame: PageFrame, key: str, names: Sequence[str], drawn: Mapping[str, Any] | None) -> None:
    """The picture. names: of the options that a person chooses in it; drawn: None if the browser computes it."""
    state = {name: str(frame.options.shown.get(name, "")) for name in names}
    _picture(key=key, data=sent(frame, "decoding", state, drawn), on_state_change=lambda: None)


def draw(frame: PageFrame, trace: Trace | None) -> None:
    merge_browser(frame, KEY)
    begin, branches = frame.options.typed("begin", "", LONGEST), _branches(frame.options)
    frame.options.typed("at", "")
    drawn = None
    if trace is not None:
        drawn = numbers(frame.model, frame.options, trace.source_text, begin, branches)
    picture(frame, KEY, OPTIONS, drawn)


def numbers(model: Pretrained, options: Options, source: str, begin: str, branches: list[Branch]) -> dict[str, Any]:
    """What the picture draws; the browser computes the same in frontend/src/decoding/live.js."""
    limit = max_tokens()
    prefix, wrong = payload.beginning(model, source, begin, limit)
    unfit = False
    try:
        lines = translations(model, source, prefix, branches, limit)
    except ValueError:
        unfit = True
        lines = translations(model, source, prefix, [], limit)
    line, step = position(options, lines.found)
    found = lines.found[line]
    ids = found.hypothesis.ids
    drawn = zip(lines.found, lines.forced, lines.shared, strict=True)
    return {
        "source": source,
        "begin": begin,
        "wrong": wrong,
        "unfit": unfit,
        "lines": [payload.line(model, *one, drops=number > 0) for number, one in enumerate(drawn)],
        "at": {"line": line, "step": step},
        "bars": payload.bars(model, found.steps[step], ids[:step]),
        **payload.attention(model, source, ids, step, limit),
    }
