"""Pictures of every page, in every size and theme that people use: `make screenshots`, then look at them.

`make screenshots ARGS=--paper` takes only the views that the Paper page links to. `ARGS=--class` takes the lesson on
the paper, on the screens of a teacher and of three students (tests/browser/class_walk.py). `ARGS="--readme docs"` makes
the pictures of README.md and README.ko.md, `ARGS="--lessons lessons"` those on the cards of the lessons;
`ARGS="--language ko"` all pages in Korean.
"""

import argparse
import re
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote_plus, urlencode

from PIL import Image, ImageOps
from playwright.sync_api import Browser, Page, sync_playwright

from pages.registry import pages
from tests.browser.class_walk import walk
from tests.browser.find import FLAGS, find_browser
from tests.browser.stillness import still
from tests.pages.test_links import LINKS
from tests.support.paper_table import address_of, entries
from tests.support.server import served
from transformer.view.languages import languages

SIZES = {"desk": (1440, 900), "phone": (390, 844), "projector": (1280, 720)}
SENTENCE = "The man who called me yesterday is my brother."
# Beside the links of tests/pages/links.txt: what a link asks for in vain, and what is long.
ODD = (
    f"/?{urlencode({'source': ' '.join([SENTENCE] * 9), 'kind': 'cross'})}",
    f"/?{urlencode({'source': 'word ' * 200, 'layer': '99'})}",
    "/lab?hide=target.1&kind=decoder_self",
    "/positions?d_model=9999&length=x&part=none",
    f"/embeddings?{urlencode({'part': 'residual', 'source': ' '.join([SENTENCE] * 9)})}",
    "/feedforward?part=neurons&layer=99&neuron=123456",
    "/anatomy?zoom=head&place=output&step=none&encoder=99&row=x",
    f"/anatomy?{urlencode({'source': ' '.join([SENTENCE] * 9)})}",
    "/training?heads=3&d_model=64&rate=x",
)
README = {
    "explorer": ("", {"sight": "first", "layer": "2", "head": "6", "rows": "fed", "cell": "8,4"}),
    "lab": ("lab", {"scaling": "off", "kind": "cross", "layer": "3", "head": "3"}),
    "anatomy": ("anatomy", {"zoom": "layer", "place": "decoder.cross", "decoder": "3", "head": "3", "t": "6"}),
}
LESSONS: dict[str, tuple[str, dict[str, str], str]] = {  # name -> page, link, what of it is on the card
    "attention-in-10-minutes": ("", README["explorer"][1] | {"source": SENTENCE}, "sight"),
    "numbers-in-korean": ("", {"checkpoint": "ko-numbers"}, "head-cross"),
    "paper-in-45-minutes": ("paper", {}, "paper-figure1"),
    "reading-heads": ("roles", {}, "headgrid"),
}
SETTLED = 700  # milliseconds after the page is still: exact numbers follow the picture
HIGH = 3400  # Streamlit scrolls inside its page, so a whole one is taken in a high window


def take(page: Page, address: str, path: Path) -> None:
    page.goto(address)
    page.wait_for_selector("#hs-content", state="attached", timeout=60_000)
    still(page)
    page.wait_for_timeout(SETTLED)
    page.screenshot(path=path)
    print(path)


def views() -> dict[str, str]:
    """Name of the picture -> link: every view but the examples of the checkpoints, and every page in big text."""
    links = [link for link in LINKS if not link.startswith("/?checkpoint=")]
    links += [*ODD, *(f"/{page.path}?big=1" for page in pages())]
    return {
        re.sub(r"[^\w.]+", "-", unquote_plus(link[1:]))[:80].strip("-") or "heads": link
        for link in dict.fromkeys(links)
    }


def every_page(browser: Browser, address: str, folder: Path) -> None:
    for size, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            for name, link in views().items():
                if size == "projector" and "big=1" not in link:
                    continue
                path = folder / f"{name}-{size}-{scheme}.png"
                given = "" if "source=" in link else f"{'&' if '?' in link else '?'}{urlencode({'source': SENTENCE})}"
                take(page, f"{address}{link}{given}", path)
                # On a wide screen the anatomy's drawing is as high as the window.
                fills = link.startswith("/anatomy") and "part=" not in link and size != "phone"
                if size != "projector" and not fills:
                    page.set_viewport_size({"width": width, "height": HIGH})
                    page.wait_for_timeout(SETTLED)
                    page.screenshot(path=path.with_stem(f"{path.stem}-whole"))
                    page.set_viewport_size({"width": width, "height": height})
            page.close()


def readme_views(browser: Browser, address: str, folder: Path) -> None:
    """The pictures of README.md, and those of the README in each other language, as NAME.LANGUAGE.png."""
    for code in languages():
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
        for name, (path, params) in README.items():
            link = f"{address}/{path}?{urlencode({'source': SENTENCE, **params, 'lang': code})}"
            take(page, link, folder / (f"{name}.png" if code == "en" else f"{name}.{code}.png"))
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
        take(page, f"{address}{address_of(view)}", folder / name)
    page.close()


def main(folder: Path, shoot: Callable[[Browser, str, Path], None], language: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as logs, sync_playwright() as playwright:
        given = {"HEADSCOPE_ROOMS": f"{logs}/rooms.sqlite", "HEADSCOPE_LANGUAGE": language}
        with served(Path(logs), **given) as app:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            shoot(browser, app.address, folder)
            browser.close()


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
