"""From a click to the grid of all heads in a browser, beside BertViz drawing the same weights in the same browser."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence

import torch
from playwright.sync_api import sync_playwright

from benchmarks import peer
from benchmarks.app import free_port, running
from benchmarks.browser import Ours, Theirs
from benchmarks.report import Table, load
from benchmarks.sentences import pairs
from tests.browser.find import FLAGS, find_browser
from transformer.inference.pretrained import Pretrained

FASTER = {12: 5, 64: 20, 128: 40}  # tokens a side -> how many times as fast the grid must be there
SMALLER = 10  # how many times as many bytes BertViz must take
ROUNDS = {12: 11, 64: 9, 128: 5}
# name -> what we do, what BertViz does; two of ours are set beside the same of theirs
STEPS = {
    "click": ("click on another kind of attention", "HTML built and opened"),
    "sentence": ("Enter, a sentence traced before", "HTML built and opened"),
    "new sentence": ("Enter, a new sentence", "traced, HTML built and opened"),
    "kind": ("click on another kind of attention", "another kind selected"),
    "head": ("click on a head until its exact numbers are there", "click on a head (no numbers)"),
    "link": ("a link opened in a new browser", "HTML built and opened"),
}
JUDGED = ("click", "sentence", "new sentence")
Times = dict[str, tuple[list[float], list[float]]]
_version = ""


def browser_version() -> str:
    return _version


def take_turns(
    ours: Ours, theirs: Theirs | None, model: Pretrained, sentences: Sequence[tuple[str, str]], rounds: int
) -> Times:
    """Step -> our milliseconds and theirs, one or more a round."""
    times: Times = {name: ([], []) for name in STEPS}
    known, new = sentences[:2], sentences[2:]
    for source, _ in (*known, *known):  # traced, and drawn once: what is measured is not the first time of anything
        ours.enter(source)
    for number in range(rounds):
        source, target = new[number]
        times["sentence"][0].append(ours.enter(known[number % 2][0]))
        times["new sentence"][0].append(ours.enter(source))
        times["head"][0].append(ours.head(number))
        clicks = [ours.kind() for _ in range(3)]
        times["click"][0].extend(clicks)
        times["kind"][0].extend(clicks)
        times["link"][0].append(ours.open())
        if theirs is not None:
            start = time.perf_counter()
            trace = model.trace(source, target)
            traced = (time.perf_counter() - start) * 1e3
            took = theirs.build_and_open(trace)
            times["click"][1].append(took)
            times["sentence"][1].append(took)
            times["new sentence"][1].append(traced + took)
            times["link"][1].append(took)
            times["head"][1].append(theirs.head(number))
            times["kind"][1].append(theirs.kind())
            theirs.close()
    return times


def _add(table: Table, tokens: int, times: Times) -> None:
    for name, (ours, theirs) in times.items():
        wanted = FASTER.get(tokens) if name in JUDGED else None
        cells = [tokens, *STEPS[name], f"{statistics.median(ours):.0f} / {min(ours):.0f}"]
        if theirs:
            median = statistics.median(theirs) / statistics.median(ours)
            best = min(theirs) / min(ours)
            cells += [f"{statistics.median(theirs):.0f} / {min(theirs):.0f}", f"{median:.1f} / {best:.1f}"]
            table.add(*cells, f"{wanted} x" if wanted else "", good=median >= wanted if wanted else None)
        else:
            table.add(*cells, "not run", "", f"{wanted} x" if wanted else "")


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    global _version
    speed = Table(
        "Until the grid of all heads is drawn, milliseconds (median / best)",
        ("tokens a side", "Headscope", "BertViz", "Headscope", "BertViz", "BertViz : Headscope", "wanted"),
        load(),
    )
    size = Table(
        "Data sent for one picture, KB",
        ("tokens a side", "Headscope, a new sentence", "BertViz, its HTML", "BertViz : Headscope", "wanted",
         "Headscope, first visit", "BertViz, with its libraries"),
    )  # fmt: skip
    torch.set_num_threads(1)  # as in the app, so that both trace alike
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(running(model.path))
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=find_browser(), args=FLAGS)
        stack.callback(browser.close)
        _version = f"Chromium {browser.version}"
        theirs = None
        try:
            site = stack.enter_context(peer.serving(free_port()))
            theirs = Theirs(site, browser, model.config.encoder_layers * model.config.heads)
        except peer.NoPeer as error:
            speed.notes.append(f"BertViz was not run: {error}.")
        for tokens, rounds in ({12: 1} if quick else ROUNDS).items():
            sentences = pairs(model.tokenizer, tokens, rounds + 4)
            ours = Ours(app, browser, sentences[-2])
            _add(speed, tokens, take_turns(ours, theirs, model, sentences[:-2], rounds))
            sent = ours.bytes_of_enter(sentences[-1][0])
            first = ours.bytes_of_first()
            ours.close()
            if theirs is not None:
                html = theirs.bytes
                whole = html + sum(map(len, site.libraries.values()))
                size.add(
                    tokens, _kb(sent), _kb(html), f"{html / sent:.1f}", f"{SMALLER} x", _kb(first), _kb(whole),
                    good=html >= SMALLER * sent,
                )  # fmt: skip
            else:
                size.add(tokens, _kb(sent), "not run", "", f"{SMALLER} x", _kb(first), "")
    speed.notes += NOTES
    return [speed, size]


def _kb(count: int) -> str:
    return f"{count / 1e3:,.0f}"


NOTES = [
    (
        "Both draw all heads of one kind of attention, for the same model and texts, and both have the data of all "
        "three kinds. Drawn: in the document, with a finished frame. For Headscope the time starts at the key or "
        "click, as stamped by the browser, and includes the server's work and both ways; the app is warm and the page "
        "is open. BertViz has no server: it builds the HTML (in this process, timed) and opens it, here from memory "
        "over loopback, with its libraries (from npm, in the versions that it names; jQuery 2.2.4 for 2.0.0) from "
        "this machine and cached by the browser. For a new sentence, both trace it first, on one thread. After each "
        "closed page there is a pause, so that the removal of half a million lines does not affect the next time."
    ),
    (
        "The limits apply to the first row of each length: a click until the grid is drawn, compared with opening "
        "BertViz. The next two rows apply the same limits to a harder case, which is more like BertViz's: from a key "
        "to a picture of other numbers, with the server. The fourth row compares our click with BertViz's own click."
    ),
    ("The first visit to a link also loads Streamlit's own page and scripts; BertViz's file needs none of them."),
]
