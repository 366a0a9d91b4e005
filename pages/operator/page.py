"""The operator's page: memory, viewers, queue and trainings of this process. Nothing links to it."""

import html
import os
from collections.abc import Mapping

import streamlit as st

from pages.frame.messages import message
from pages.frame.styles import run_style
from pages.runtime import viewer
from pages.runtime.operator import Stats, stats
from transformer.operator_key import opens
from transformer.texts import _

NAME = "operator"  # its path
KEY = "key"  # of the address
UPDATE = 2.0  # seconds


def draw() -> None:
    """The whole page, without the frame of the others; the key stays in the address of this page alone."""
    title = _("Operator")
    st.set_page_config(page_title=f"{title} · Headscope", page_icon="🔬", layout="wide")
    st.html(run_style(NAME, viewer.start_big()))
    st.html(f'<h1 class="hs-operator-title">Head<span>scope</span> · {html.escape(title)}</h1>')
    if opens(st.query_params.get(KEY, "")):
        _numbers()
    else:
        message(_("This page is for the operator of the server: open it with the key, as /operator?key=KEY."))


@st.fragment(run_every=UPDATE)
def _numbers() -> None:
    show(stats())


def _megabytes(size: int | None) -> str:
    return _("unknown") if size is None else _("{size} MB", size=f"{size / 1e6:,.0f}")


def _group(title: str, numbers: dict[str, str]) -> str:
    cells = "".join(
        f"<div><dt>{html.escape(label)}</dt><dd>{html.escape(number)}</dd></div>" for label, number in numbers.items()
    )
    return f'<h2 class="hs-group">{html.escape(title)}</h2><dl>{cells}</dl>'


def _caches(caches: Mapping[str, tuple[int, int]]) -> str:
    """A table of the caches, the largest first."""
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{number:,}</td><td>{size / 1e6:,.1f}</td></tr>'
        for name, (number, size) in sorted(caches.items(), key=lambda found: -found[1][1])
    )
    titles = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in (_("Cache"), _("Values"), _("MB")))
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<h2 class="hs-group">{html.escape(_("Memory by cache"))}</h2>{table}'


def show(now: Stats) -> None:
    """Draw the statistics."""
    groups = {
        _("Visitors"): {
            _("Open pages"): f"{now.viewers:,}",
            _("New sentences"): f"{now.sentences:,}",
            _("New sentences a second"): f"{now.sentences_per_second:.2f}",
        },
        _("Passes of a model"): {
            _("Running"): _("{count} of {most}", count=now.running, most=now.at_once),
            _("Waiting"): f"{now.waiting:,}",
            _("A second"): f"{now.passes_per_second:.2f}",
        },
        _("Trainings"): {
            _("Running"): _("{count} of {most}", count=now.trainings, most=now.most_trainings),
            _("Waiting"): f"{now.trainings_waiting:,}",
        },
        _("Memory of the process"): {
            _("Now"): _megabytes(now.resident),
            _("Budget"): _megabytes(now.budget),
            _("In caches"): _megabytes(now.in_caches),
            _("Caches at most"): _megabytes(now.cache_limit),
        },
    }
    numbers = "".join(_group(title, numbers) for title, numbers in groups.items())
    st.html(f'<div class="hs-operator"><div>{numbers}</div><div>{_caches(now.caches)}</div></div>')
    minutes = int(now.uptime) // 60
    st.caption(
        _(
            "This is process {number}; it started {hours} h {minutes} min ago. Its trainings are processes of their "
            "own and not in its memory. Open pages: this one too. New sentences: since the start, without those that "
            "were in a cache. Numbers a second: the mean of the last minute.",
            number=os.getpid(), hours=minutes // 60, minutes=minutes % 60,
        )
    )  # fmt: skip
