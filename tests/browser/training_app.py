"""A page with nothing but the picture of runs while they train, made-up ones, as training_pack.py says it is mounted.

Options in the address: runs, how many; rate, steps a second (0: done); sizes, layers,heads,letters,steps; line=1: the
last run waits; big=1; lines above the picture. "Away" takes the picture down.
"""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from tests.browser.training_runs import NAMES, Sizes, a_run
from transformer.view.bundle import script, style
from transformer.view.training_messages import FileError, read_file, read_message
from transformer.view.training_pack import training_pack

STYLE = Path(__file__).parents[2] / "pages" / "frame" / "style.css"
FINDINGS = [
    {"run": "000000000000", "title": "Baseline", "predicts": "The task is learned.", "section": "",
     "happened": "Free-running exact match reached 95% at step 236.", "verdict": "as predicted"},
    {"run": "000000000001", "title": "no causal mask", "section": "3.2.3",
     "predicts": "Positions must not attend to subsequent positions: teacher-forced loss falls, and writing by itself "
     "fails.",
     "happened": "Teacher-forced exact match 100%, free-running 3%.", "verdict": "as predicted"},
    {"run": "000000000002", "title": "no positions", "section": "3.5",
     "predicts": "Without positions the order of the letters is lost: <b>reverse</b> cannot be learned.",
     "happened": "Free-running exact match 98%.", "verdict": "differs"},
    {"run": "000000000003", "title": "one head", "section": "3.2.2", "predicts": "One head is a little worse.",
     "happened": "It is still training.", "verdict": "open"},
]  # fmt: skip

_picture = st.components.v2.component("headscope.training", js=script("training"), css=style("training"))
_feed = st.components.v2.component("headscope.training_feed", js=script("feed"))
_file = st.components.v2.component("headscope.training_file", js=script("training_file"), css=style("training"))

st.set_page_config(page_title="Training", layout="wide")
st.html(f"<style>{STYLE.read_text(encoding='utf-8')}</style>")
st.html('<h1 class="hs-spoken">Training</h1>')
params = st.query_params
big = params.get("big") == "1"
if "runs" not in st.session_state:
    layers, heads, letters, steps = (int(size) for size in params.get("sizes", "2,4,10,400").split(","))
    sizes = Sizes(layers, heads, letters, steps)
    count, rate = int(params.get("runs", "1")), float(params.get("rate", "0"))
    st.session_state["runs"] = [a_run(number, sizes, rate) for number in range(count)]
    if params.get("line") == "1":
        st.session_state["runs"][-1] = a_run(count - 1, sizes, rate, "waiting", 2)
    st.session_state["log"] = []
    st.session_state["asks"] = 0
for _ in range(int(params.get("lines", "0"))):
    st.button(f"A line of the page {_}")


@st.fragment
def live() -> None:
    messages = _picture(key="training", on_ask_change=lambda: None, on_command_change=lambda: None)
    runs = st.session_state["runs"]
    asked = read_message(messages.ask, messages.command, tuple(run.id for run in runs))
    st.session_state["asks"] += asked.number > 0
    if asked.do:
        st.session_state["log"].append([asked.run, asked.do])
        for run in [candidate for candidate in runs if candidate.id == asked.run]:
            run.do(asked.do)
            if asked.do == "remove":
                runs.remove(run)
    labels = {run.id: NAMES[int(run.id, 16) % 4] for run in runs}
    run_ids = {finding["run"] for finding in FINDINGS} & set(labels)
    findings = [finding for finding in FINDINGS if finding["run"] in run_ids and len(runs) > 1]
    more = {"labels": labels, "waiting": 3, "big": big, "findings": findings}
    with st.container(key="hs-feeds"):
        _feed(key="training_feed", data=training_pack(runs, asked.have, more, asked.number), height=1)
    st.text(json.dumps({"asks": st.session_state["asks"], "log": st.session_state["log"]}))


if not st.checkbox("Away"):
    live()
sent = _file(
    key="file", data={"label": "Load a model (zip)", "accept": ".zip", "big": big}, on_file_change=lambda: None
)
try:
    file = read_file(sent.file)
    st.text(f"file: {file.name}, {len(file.data)} bytes" if file else "no file")
except FileError as error:
    st.text(str(error))
