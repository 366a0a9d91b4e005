"""Pictures of every page, in every size and theme that people use: `make screenshots`, then look at them.

`make screenshots ARGS=--paper` takes only the views that the Paper page links to. `ARGS=--class` takes the lesson on
the paper, on the screens of a teacher and of three students (tests/browser/class_walk.py). `ARGS="--readme docs"` makes
the pictures of README.md and README.ko.md, `ARGS="--lessons lessons"` those on the cards of the lessons;
`ARGS="--language ko"` all pages in Korean.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image, ImageOps
from playwright.sync_api import Browser, Page, sync_playwright

from pages.frame.frame import Page as Entry
from pages.registry import pages
from tests.browser.class_walk import walk
from tests.browser.find import FLAGS, find_browser
from tests.browser.stillness import still
from tests.support.app import linked
from tests.support.paper_table import address_of, entries
from tests.support.server import start, stop
from transformer.view.languages import languages

SIZES = {"desk": (1440, 900), "phone": (390, 844), "projector": (1280, 720)}
SENTENCE = "The man who called me yesterday is my brother."
HEADS: dict[str, dict[str, str]] = {
    "cross": {"kind": "cross", "layer": "3", "head": "3"},
    "cell": {"kind": "cross", "layer": "4", "head": "1", "cell": "2,2"},
    "encoder": {"kind": "encoder_self", "layer": "1", "head": "7"},
    "decoder": {"kind": "decoder_self", "layer": "1", "head": "1", "rows": "fed"},
    "three": {"kind": "all", "layer": "2", "head": "1"},
    "lines": {"kind": "cross", "layer": "3", "head": "2", "view": "lines"},
    "words": {"kind": "cross", "layer": "all", "head": "all", "pieces": "words", "special": "renormalised"},
    "big": {"kind": "cross", "layer": "3", "head": "3", "big": "1"},
    "long": {"source": " ".join([SENTENCE] * 9), "kind": "cross", "layer": "3", "head": "3"},
    "error": {"source": "word " * 200, "layer": "99"},
    "reverse": {"checkpoint": "reverse", "source": "headscope", "kind": "cross", "layer": "2", "head": "3"},
    "sort": {"checkpoint": "sort", "source": "31415926", "kind": "all", "layer": "2", "head": "1"},
}
LAB: dict[str, dict[str, str]] = {
    "plain": {"kind": "cross", "layer": "3", "head": "3"},
    "scaling": {"scaling": "off", "kind": "cross", "layer": "3", "head": "3"},
    "causal": {"causal": "off", "kind": "decoder_self", "layer": "2", "head": "3", "part": "leak"},
    "everything": {"scaling": "0.5@cross", "padding": "off", "pad": "3", "hide": "source.3", "zero": "cross.2",
                   "weights": "uniform@encoder_self.1", "kind": "cross", "layer": "1", "head": "4"},
    "numbers": {"scaling": "off", "zero": "cross.2.3", "part": "measures", "kind": "cross", "layer": "1", "head": "1"},
    "why": {"part": "scaling"},
    "softmax": {"part": "softmax"},
    "refused": {"hide": "target.1", "kind": "decoder_self"},
    "big": {"scaling": "off", "big": "1"},
    "toy": {"checkpoint": "reverse", "source": "headscope", "causal": "off", "kind": "decoder_self"},
}  # fmt: skip
GELU = {"checkpoint": "reverse-gelu", "source": "headscope"}
VIEWS: dict[str, dict[str, dict[str, str]]] = {  # page -> name of the picture -> link
    "heads": HEADS,
    "lab": LAB,
    "positions": {
        "encoding": {},
        "long": {"d_model": "512", "length": "512"},
        "distance": {"part": "distance"},
        "learned": {"part": "learned", "checkpoint": "reverse-learned", "source": "headscope"},
        "order": {"part": "order"},
        "lab": {"part": "lab", "positions": "remove@source", "kind": "encoder_self", "layer": "2", "head": "7"},
        "refused": {"d_model": "9999", "length": "x", "part": "none"},
        "big": {"big": "1"},
    },
    "embeddings": {
        "norms": {},
        "neighbours": {"part": "neighbours", "token": "2"},
        "map": {"part": "map"},
        "residual": {"part": "residual"},
        "lens": {"part": "lens", "step": "5"},
        "output": {"part": "output", "step": "5"},
        "toy": {"part": "lens", "checkpoint": "sort", "source": "31415926"},
        "long": {"part": "residual", "source": " ".join([SENTENCE] * 9)},
        "big": {"part": "lens", "big": "1"},
    },
    "feedforward": {
        "activity": {},
        "gelu": GELU,
        "neurons": {"part": "neurons", "stack": "decoder", "layer": "2", "token": "3"},
        "nonlinearity": {"part": "nonlinearity", **GELU},
        "knock": {"part": "knock", "skip": "encoder.2.ff,decoder.3.cross", "neurons": "decoder.1.5,decoder.1.6"},
        "refused": {"part": "neurons", "layer": "99", "neuron": "123456"},
        "big": {"big": "1"},
    },
}
TOY = {"checkpoint": "reverse", "source": "headscope"}
CROSS = {"place": "decoder.cross", "decoder": "3", "head": "3", "t": "7"}
VIEWS["anatomy"] = {
    "model": {},
    "output": {"zoom": "model", "place": "output", "t": "9"},
    "encoder": {"zoom": "layer", "place": "encoder.self", "encoder": "2"},
    "decoder": {"zoom": "layer", **CROSS},
    "x": {"zoom": "sub", "place": "encoder.self", "step": "x"},
    "project": {"zoom": "sub", "place": "encoder.self", "step": "project"},
    "split": {"zoom": "sub", **CROSS, "step": "split"},
    "softmax": {"zoom": "sub", **CROSS, "step": "softmax"},
    "concat": {"zoom": "sub", **CROSS, "step": "concat"},
    "norm": {"zoom": "sub", "place": "decoder.self", "step": "norm", "t": "7"},
    "inner": {"zoom": "sub", "place": "encoder.ff", "step": "inner"},
    "activation": {"zoom": "sub", "place": "decoder.ff", "step": "activation", "t": "7"},
    "plus": {"zoom": "sub", "place": "source", "step": "plus"},
    "logits": {"zoom": "sub", "place": "output", "step": "logits", "t": "7"},
    "back": {"zoom": "sub", "place": "output", "step": "back", "t": "7"},
    "head": {"zoom": "head", **CROSS, "step": "softmax"},
    "mask": {"zoom": "head", "place": "decoder.self", "step": "mask", "head": "2", "t": "7"},
    "number": {"zoom": "number", **CROSS, "step": "dot", "row": "7", "col": "6"},
    "sum": {"zoom": "number", "place": "encoder.ff", "step": "outer", "row": "3", "col": "5"},
    "switched": {"scaling": "off@cross", "zero": "encoder_self.2.1", "zoom": "model"},
    "changed": {"scaling": "off@cross", "zoom": "sub", **CROSS, "step": "softmax"},
    "compare": {"part": "compare"},
    "before": {"part": "before", **TOY},
    "toy": TOY,
    "toy-head": {"zoom": "head", "place": "decoder.cross", "step": "softmax", "decoder": "2", "head": "3", **TOY},
    "refused": {"zoom": "head", "place": "output", "step": "none", "encoder": "99", "row": "x"},
    "long": {"source": " ".join([SENTENCE] * 4)},
    "too-long": {"source": " ".join([SENTENCE] * 9)},
    "big": {"big": "1"},
    "big-sub": {"zoom": "sub", **CROSS, "step": "dot", "big": "1"},
    "big-head": {"zoom": "head", **CROSS, "step": "softmax", "big": "1"},
    "big-number": {"zoom": "number", **CROSS, "step": "values", "row": "7", "col": "6", "big": "1"},
    "big-compare": {"part": "compare", "big": "1"},
}
VIEWS["training"] = {
    "form": {},
    "no-mask": {"preset": "no-mask"},
    "own": {"preset": "own"},
    "refused": {"heads": "3", "d_model": "64", "rate": "x"},
    "big": {"big": "1"},
}
VIEWS["model"] = {name: {"checkpoint": name} for name in ("en-de", "reverse", "sort")}
README = {
    "explorer": ("", {"sight": "first", "layer": "2", "head": "6", "rows": "fed", "cell": "8,4"}),
    "lab": ("lab", LAB["scaling"]),
    "anatomy": ("anatomy", VIEWS["anatomy"]["decoder"] | {"t": "6"}),
}
LESSONS: dict[str, tuple[str, dict[str, str], str]] = {  # name -> page, link, what of it is on the card
    "attention-in-10-minutes": ("", README["explorer"][1] | {"source": SENTENCE}, "sight"),
    "numbers-in-korean": ("", {"checkpoint": "ko-numbers"}, "head-cross"),
    "paper-in-45-minutes": ("paper", {}, "paper-figure1"),
    "reading-heads": ("roles", {}, "headgrid"),
}
READY = {
    "feedforward-knock": ".hs-tr-title", "anatomy-too-long": ".hs-message", "heads-error": ".hs-error",
    "lab-why": "[data-testid=why]", "lab-softmax": "[data-testid=softmax]", "training": "[data-testid=training]",
}  # fmt: skip
SETTLED = 700  # milliseconds after the page is still: exact numbers follow the picture
HIGH = 3400  # Streamlit scrolls inside its page, so a whole one is taken in a high window


def take(page: Page, address: str, ready: str, path: Path) -> None:
    page.goto(address)
    page.wait_for_selector(ready, state="attached", timeout=60_000)
    still(page)
    page.wait_for_timeout(SETTLED)
    page.screenshot(path=path)
    print(path)


def views_of(entry: Entry) -> dict[str, dict[str, str]]:
    """The listed views of a page, or else every part of it, and the first one in big text."""
    parts = {part or "page": linked(part) for part in entry.content.parts() or ("",)}
    return VIEWS.get(entry.name, parts | {"big": {"big": "1"}})


def every_page(browser: Browser, address: str, folder: Path) -> None:
    for size, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            for page_entry in pages():
                for name, params in views_of(page_entry).items():
                    if size == "projector" and name != "three" and not name.startswith("big"):
                        continue
                    link = f"{address}/{page_entry.path}?{urlencode({'source': SENTENCE, **params})}"
                    part = params.get("part", "")
                    ready = READY.get(page_entry.name) or READY.get(f"{page_entry.name}-{name}")
                    path = folder / f"{page_entry.name}-{name}-{size}-{scheme}.png"
                    take(page, link, ready or ("[data-drawn]" if page_entry.name in VIEWS else "#hs-content"), path)
                    # On a wide screen the anatomy's drawing is as high as the window.
                    fills = page_entry.name == "anatomy" and not part and size != "phone"
                    if size != "projector" and not fills:
                        page.set_viewport_size({"width": width, "height": HIGH})
                        page.wait_for_timeout(700)
                        page.screenshot(path=path.with_stem(f"{path.stem}-whole"))
                        page.set_viewport_size({"width": width, "height": height})
            page.close()


def readme_views(browser: Browser, address: str, folder: Path) -> None:
    """The pictures of README.md, and those of the README in each other language, as NAME.LANGUAGE.png."""
    for code in languages():
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
        for name, (path, params) in README.items():
            link = f"{address}/{path}?{urlencode({'source': SENTENCE, **params, 'lang': code})}"
            take(page, link, "[data-drawn]", folder / (f"{name}.png" if code == "en" else f"{name}.{code}.png"))
        page.close()


def lesson_views(browser: Browser, address: str, folder: Path) -> None:
    """The pictures of the shipped lessons, NAME.webp (transformer/lessons/thumbnail.py)."""
    page = browser.new_page(viewport={"width": 800, "height": 900}, color_scheme="light")
    for name, (path, params, part) in LESSONS.items():
        page.goto(f"{address}/{path}?{urlencode(params)}")
        still(page)
        page.wait_for_timeout(SETTLED)
        with Image.open(BytesIO(page.get_by_test_id(part).screenshot())) as image:
            ImageOps.pad(image.convert("RGB"), (320, 200), color=image.getpixel((0, 0))).save(
                folder / f"{name}.webp", quality=80
            )
    page.close()


def paper_views(browser: Browser, address: str, folder: Path) -> None:
    """A picture of every view in the Paper page's list."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    for _title, view, name in entries():
        take(page, f"{address}{address_of(view)}", "#hs-content", folder / name)
    page.close()


def main(folder: Path, shoot: Callable[[Browser, str, Path], None], language: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as logs, sync_playwright() as playwright:
        process, address = start(
            Path(logs) / "log.txt", HEADSCOPE_ROOMS=str(Path(logs) / "rooms.sqlite"), HEADSCOPE_LANGUAGE=language
        )
        try:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            shoot(browser, address, folder)
            browser.close()
        finally:
            stop(process)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("screenshots"))
    parser.add_argument("--paper", action="store_true", help="only the views of the Paper page")
    parser.add_argument("--class", dest="walk", action="store_true", help="only the lesson on the paper, in a room")
    parser.add_argument("--readme", action="store_true", help="only the pictures of the READMEs, in their languages")
    parser.add_argument("--lessons", action="store_true", help="only the pictures on the cards of the lessons")
    parser.add_argument("--language", choices=languages(), default="en", help="of the pages (default en)")
    options = parser.parse_args()
    views = {
        paper_views: options.paper,
        walk: options.walk,
        readme_views: options.readme,
        lesson_views: options.lessons,
    }
    main(options.folder, next((shoot for shoot, asked in views.items() if asked), every_page), options.language)
