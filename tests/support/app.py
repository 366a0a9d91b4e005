"""The app without a browser: Streamlit's AppTest on any page, and what its tests read from one."""

import base64
import functools
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.components import figure, task
from pages.frame.state import Session, State
from pages.registry import pages
from pages.runtime.job import Started
from pages.runtime.session import KEY, Kept
from tests.support.payloads import unpack
from transformer.inference.pretrained import Pretrained, load
from transformer.inference.speed import reorder

# Every AppTest would look for components in the metadata of all installed packages, which takes four times as long as a
# page. Nothing is installed during the tests: one look is enough.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)

ROOT = Path(__file__).resolve().parents[2]
config._main_script_path = str(ROOT / "pages" / "app.py")  # settings as in a server: they are in a folder beside it
EXAMPLE = {
    "title": "Two of a kind", "look": "Head 2 <b>looks back</b>.", "source": "nu nu",
    "view": {"kind": "encoder_self", "layer": 2, "head": 2},
}  # fmt: skip
SOURCE, TARGET = "ka lo minu", "zen pol"
LEFT_OUT: dict[str, dict[str, Any]] = {
    "bare": {
        "residual": False, "norm": "none", "causal": False, "positions": "none", "scaling": False, "heads": 1,
        "encoder_layers": 1, "decoder_layers": 1, "d_k": 5, "activation": "gelu",
    },
    "alone": {"residual": False, "causal": False, "positions": "learned"},
    "plain": {"norm": "none", "embedding_scale": False},
    "before": {"norm": "pre", "residual": False, "d_k": 13},
}  # fmt: skip
MODELS: dict[str, Pretrained] = {}  # what `content_test` draws with: AppTest runs the text of a script, not this module


def loaded(name: str | Path) -> Pretrained:
    """Load a checkpoint as the app does, with its matrices reordered, so that all bits are equal."""
    model = load(name)
    reorder(model.model)
    return model


def every_part() -> list[tuple[str, str]]:
    """(page, part) of all that the registry lists; "" for a page without parts."""
    return [(page.name, part) for page in pages() for part in page.content.parts() or ("",)]


def linked(part: str, **params: str) -> dict[str, str]:
    """Parameters of a link to a part; "" for a page without parts."""
    return {"part": part, **params} if part else params


def app_test(page: str = "heads", /, **params: str) -> AppTest:
    """The app as a link to a page opens it, not yet run. page: its folder under pages/."""
    task.WAIT = 60.0  # no browser runs the page again when the work is done
    app = AppTest.from_file(str(ROOT / "pages" / "app.py"), default_timeout=60)
    app.query_params.update(params)
    return switch_page(app, page)


def open_page(page: str = "heads", /, **params: str) -> AppTest:
    """A page by link, drawn without an error, with a sentence pair unless the link has another."""
    return without_error(app_test(page, **{"source": "ka lo mi", "target": "re sta vu", **params}).run())


def open_link(page: str, /, **params: str) -> AppTest:
    """A page by link, drawn without an error; without a sentence in the link, it begins with the model's example."""
    return without_error(app_test(page, **params).run())


def open_variant(kind: str, page: str = "heads", part: str = "", **params: str) -> AppTest:
    """A part of a page with one of the checkpoints of the fixture `variants`, drawn without an error."""
    return open_page(page, **{"checkpoint": kind, "source": SOURCE, "target": TARGET, **linked(part), **params})


def without_error(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    return app


def finish_task(app: AppTest) -> AppTest:
    """Press the button of a background job and wait. Returns the page after the job."""
    app.button(key="hs-task-start").click().run()
    started_task(app).thread.join(60)
    return without_error(app.run())


def switch_page(app: AppTest, page: str) -> AppTest:
    """Go to another page, which the next run shows. Streamlit's own method knows pages that are files only."""
    app._page_hash = calc_hash(page)
    return app


def kept(app: AppTest, kind: type[Kept]) -> Kept:
    """This session's object of a class, as `from_session` gives it to the app."""
    if KEY not in app.session_state:
        app.session_state[KEY] = {}
    objects: dict[type, Any] = app.session_state[KEY]
    found: Kept = objects.setdefault(kind, kind())
    return found


def state_of(app: AppTest) -> State:
    """The state that all pages share."""
    state = kept(app, Session).state
    assert state is not None
    return state


def started_task(app: AppTest) -> task.Task[Any]:
    """The task that this session started last."""
    found: task.Task[Any] = kept(app, Started).jobs[task.Task]
    return found


def address(app: AppTest) -> dict[str, str]:
    """The parameters in the address bar."""
    return {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()}


def messages(app: AppTest, notes: bool = False) -> str:
    """All messages on the page; notes too if asked (a random model rarely ends its sentence, and the page says so)."""
    bodies = [one.proto.body for one in app.get("html") if 'class="hs-message' in one.proto.body]
    return " ".join(body for body in bodies if notes or "hs-note" not in body)


def components(app: AppTest, name: str) -> list[Any]:
    """What a component of ours was sent, as protobuf messages."""
    found = [one.proto for one in app.get("bidi_component")]
    return [proto for proto in found if proto.component_name == f"headscope.{name}"]


def pictures(app: AppTest) -> int:
    """How many pictures of all heads the page has."""
    return len(components(app, "explorer"))


def checkpoints(app: AppTest) -> list[str]:
    """The names in the menu of checkpoints."""
    return [option.split(": ")[0] for option in app.selectbox(key="checkpoint").options]


def payloads(app: AppTest, picture: str) -> dict[str, bytes]:
    """What the small components that bring a picture's data were sent, by name."""
    found = {one.proto.component_name: one.proto.bytes for one in app.get("bidi_component")}
    start = f"headscope.{picture}_"
    return {name.removeprefix(start): data for name, data in found.items() if name.startswith(start)}


def trace_ids(app: AppTest) -> tuple[str, str]:
    """The traces before and after the switches that the lab's picture shows."""
    before, after = (unpack(payloads(app, "lab")[side])[0]["id"] for side in ("before", "after"))
    return before, after


def figures(app: AppTest) -> dict[str, Any]:
    """Name -> figure, of what the page draws."""
    found = [json.loads(one.proto.json) for one in app.get("bidi_component") if one.proto.json]
    return {one["name"]: json.loads(one["figure"]) for one in found if "figure" in one}


def click_figure(monkeypatch: pytest.MonkeyPatch, key: str, clicks: list[int]) -> None:
    """Each run that draws the figure of a key reports the next of the clicks (indices of points), if any."""
    draw = figure.draw

    def clicked(drawn: Any, name: str, *rest: Any, on_pick: Any = None, **more: Any) -> Any:
        if name == key and clicks:
            on_pick(clicks.pop(0))
        return draw(drawn, name, *rest, on_pick=on_pick, **more)

    monkeypatch.setattr(figure, "draw", clicked)


def array(packed: Any) -> np.ndarray:
    """Numbers of a figure, which plotly packs where they are many."""
    if not isinstance(packed, dict):
        return np.array(packed, float)
    flat = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    return flat.reshape([int(size) for size in str(packed.get("shape", flat.size)).split(",")])


def model_sizes(app: AppTest) -> dict[str, str]:
    """Name -> value of the table of the Model page, for its own model."""
    (table,) = [one.proto.body for one in app.get("html") if "hs-model-sizes" in one.proto.body]
    return dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', table))


def written(app: AppTest) -> str:
    """All HTML of the page but its style sheets."""
    assert not app.exception, app.exception
    return " ".join(one.proto.body for one in app.get("html") if "<style" not in one.proto.body)


def page_text(app: AppTest) -> str:
    """All text of a page, markup of the page's own left out and that of texts turned back."""
    texts = [re.sub("<[^>]*>", " ", written(app))] + [one.value for one in [*app.markdown, *app.caption]]
    return " ".join(html.unescape(" ".join(texts)).split())


def failed_checks(app: AppTest) -> int:
    """How many computed checks on the page do not hold."""
    return written(app).count("hs-check hs-bad")


def content(page: str, part: str, model: str, source: str, asked: dict[str, str]) -> None:
    import streamlit as st

    from pages.frame.frame import PageFrame
    from pages.frame.options import Options
    from pages.frame.state import State, current_state, store_state, write_address
    from pages.registry import pages
    from pages.runtime import cache
    from tests.support.app import MODELS

    if current_state() is None:
        store_state(State("tiny", source, chosen={page: asked}))
    found = MODELS[st.session_state.get("model", model)]
    trace = cache.trace(found, found.name, st.session_state.get("sentence", source), "", 128)
    options = Options(page, False)
    frame = PageFrame(found, options, {}, st.container(), False, st.session_state.get("part", part), trace)
    drawn = next(one.content for one in pages() if one.name == page)
    drawn.draw(frame)
    write_address(frame.state, options.for_address(), drawn.names)
    for last in frame._drawn_last:
        last()


def content_test(page: str, part: str, model: str, source: str, **asked: str) -> AppTest:
    """A part of a page without the frame, with one of MODELS, run; session state may change "model", "part" and
    "sentence"."""
    given = {"page": page, "part": part, "model": model, "source": source, "asked": asked}
    return AppTest.from_function(content, default_timeout=60, kwargs=given).run()
