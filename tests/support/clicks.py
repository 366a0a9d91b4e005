"""Clicks of viewers on every page of figures, in the form that the pages' scripts send them."""

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from pages.registry import pages
from tests.support.viewer import Run, Viewer, ViewerError
from transformer.inference.pretrained import Pretrained
from transformer.view.anatomy_state import PLACES, ZOOMS, fitting_zoom, steps_of
from transformer.view.state import View

Click = Callable[[Viewer, Pretrained, random.Random], Awaitable[Run]]
KINDS = ("encoder_self", "decoder_self", "cross")
FAR = 0.3  # of the clicks on a page with parts: on another part
# Another model, or a state of the training, fits no sentence that a viewer typed: the page says so in a message.
NEEDS_MORE = ("attribution_beside",)


def any_head(model: Pretrained, rng: random.Random) -> View:
    kind = rng.choice(KINDS)
    layers = model.config.encoder_layers if kind == "encoder_self" else model.config.decoder_layers
    return View(kind, rng.randrange(layers), rng.randrange(model.config.heads))


async def heads(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """Choose a head, any head of any kind."""
    return await viewer.pick(any_head(model, rng))


async def lab(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """A head, with the scaling on or off; or another part."""
    if rng.random() < FAR:
        return await viewer.choose("lab_part", rng.randrange(5))
    view = any_head(model, rng)
    switches = {"scaling": "off"} if rng.random() < 0.5 else {}
    told = {"kind": view.kind, "layer": view.layer, "head": view.head, "switches": switches, "revision": 0}
    return await viewer.report("headscope.lab", "lab", told)


async def positions(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """A slider of the encoding; or another part, the position lab excepted."""
    if "headscope.positions" not in viewer.seen or rng.random() < FAR:
        return await viewer.choose("positions_part", rng.randrange(4))
    length = rng.randrange(16, 257)
    told = {"d_model": rng.randrange(2, 513, 2), "length": length, "k": 3, "q": 5, "dims": None, "revision": 0}
    return await viewer.report("headscope.positions", "values", told)


async def embeddings(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """Another part: each is figures of the same trace."""
    return await viewer.choose("embeddings_part", rng.randrange(6))


async def feedforward(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """A layer, a stack, or another part but for the neurons, which are counted over a probe set at first."""
    place = rng.random()
    if place < FAR or "feedforward_layer" not in viewer.seen:
        return await viewer.choose("feedforward_part", rng.choice((0, 2, 3)))
    return await viewer.choose(*(("feedforward_stack", rng.randrange(2)) if place < 0.5 else
                                 ("feedforward_layer", rng.randrange(model.config.encoder_layers))))  # fmt: skip


async def anatomy(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """Any place at any distance, any step of it."""
    place = rng.choice(PLACES)
    told = {
        "place": place, "zoom": fitting_zoom(rng.choice(ZOOMS), place),
        "step": rng.choice(steps_of(place, model.config)), "head": rng.randrange(model.config.heads),
        "encoder": rng.randrange(model.config.encoder_layers), "decoder": rng.randrange(model.config.decoder_layers),
        "matrix": "queries", "row": 0, "col": -1, "t": 0, "switches": {}, "revision": 0,
    }  # fmt: skip
    return await viewer.report("headscope.anatomy", "anatomy", told)


async def another_part(viewer: Viewer, rng: random.Random) -> Run:
    """Another part of the page, any of them."""
    menu = f"{viewer.name}_part"
    return await viewer.choose(menu, rng.randrange(len(viewer.options[menu])))


async def any_choice(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """Another part, or anything else in the menus and rows of buttons of the part that is open."""
    own = sorted(name for name in viewer.seen & viewer.options.keys() if name.startswith(f"{viewer.name}_"))
    own = [name for name in own if name not in (f"{viewer.name}_part", *NEEDS_MORE)]
    if not own or rng.random() < FAR:
        return await another_part(viewer, rng)
    menu = rng.choice(own)
    return await viewer.choose(menu, rng.randrange(len(viewer.options[menu])))


async def decoding(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """What there is to click in the open part: a token, or another one to go on from; a node of the tree, the beam
    size or the length penalty; another seed; a head or a row to paint. Or another part."""
    if rng.random() < FAR:
        return await another_part(viewer, rng)
    if "headscope.paint" in viewer.seen:
        # Nothing is painted: a row does not fit the next sentence, and the page says so in a message.
        menu = rng.choice(sorted(one for one in viewer.seen & viewer.options.keys() if "_paint_" in one))
        return await viewer.choose(menu, rng.randrange(len(viewer.options[menu])))
    if "headscope.beam" in viewer.seen:
        return await rng.choice((node, penalty, beam_size))(viewer, rng)
    if "decoding_seed" in viewer.seen and rng.random() < 0.5:
        return await viewer.enter("decoding_seed", rng.randrange(1000))
    if "headscope.decoding" in viewer.seen:
        drawn = "decoding_seed" in viewer.seen
        return await (token if drawn or rng.random() < 0.5 else branch)(viewer, rng)
    return await another_part(viewer, rng)


async def token(viewer: Viewer, rng: random.Random) -> Run:
    lines = _picture(viewer)["numbers"]["lines"]
    line = rng.randrange(len(lines))
    return await _chosen(viewer, at=f"{line + 1}.{rng.randrange(len(lines[line]['tokens'])) + 1}")


async def branch(viewer: Viewer, rng: random.Random) -> Run:
    """Another token at the chosen step: the translation goes on from there. With many translations, undo."""
    found = _picture(viewer)["numbers"]
    branches = [one for one in _picture(viewer)["state"]["branches"].split("_") if one]
    if len(found["lines"]) > 4:
        return await _chosen(viewer, branches="_".join(branches[:-1]))
    step = f"{found['at']['line'] + 1}.{found['at']['step'] + 1}"
    branches.append(f"{step}.{rng.choice(found['bars']['ids'])}")
    return await _chosen(viewer, branches="_".join(branches))


def _picture(viewer: Viewer) -> dict[str, Any]:
    """What the picture was sent."""
    found: dict[str, Any] = json.loads(viewer.data["headscope.decoding"])
    return found


async def _chosen(viewer: Viewer, **state: str) -> Run:
    return await viewer.report("headscope.decoding", "state", {**state, "revision": _picture(viewer)["revision"]})


async def node(viewer: Viewer, rng: random.Random) -> Run:
    """A node of the tree of beam search: its attention."""
    found = json.loads(viewer.data["headscope.beam"])
    step = rng.randrange(found["end"])
    place = {"step": step, "rank": rng.randrange(len(found["steps"][step]))}
    return await viewer.report("headscope.beam", "node", place)


async def penalty(viewer: Viewer, rng: random.Random) -> Run:
    return await viewer.report("headscope.beam", "alpha", rng.randrange(0, 41) / 20)


async def beam_size(viewer: Viewer, rng: random.Random) -> Run:
    return await viewer.enter("decoding_beams", rng.randrange(1, 9))


async def paper(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """The page once more: everything on it is a link to another page."""
    return await viewer.refresh()


PAGES: dict[str, Click] = {
    "": heads, "lab": lab, "positions": positions, "embeddings": embeddings, "feedforward": feedforward,
    "anatomy": anatomy, "decoding": decoding, "paper": paper,
}  # fmt: skip
PAGES |= {page.path: any_choice for page in pages() if page.content.parts() and page.path not in (*PAGES, "lessons")}
NAMES = {page.path: page.title for page in pages()}


async def click(viewer: Viewer, model: Pretrained, rng: random.Random) -> Run:
    """Whatever there is to click on the viewer's page."""
    run = await PAGES[viewer.name](viewer, model, rng)
    own = {"": "headscope.explorer", "paper": "headscope.paper"}.get(viewer.name, f"{viewer.name}_part")
    if own not in viewer.seen:
        raise ViewerError(f"a click on {NAMES[viewer.name]} led to a page with {', '.join(sorted(viewer.seen))}")
    return run
