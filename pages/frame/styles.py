"""The style sheets of the frame and of the pages."""

from pathlib import Path

from pages.runtime.streamlit import server_loop

_HERE = Path(__file__).parent


def _text(file: Path) -> str:
    """A style sheet as one line: Streamlit removes the common indent of all lines of what it is given."""
    return " ".join(file.read_text(encoding="utf-8").split())


_FOLDED = _text(_HERE / "folded.css")
STYLES = {  # folder -> the text of all its style sheets
    folder.name: "".join(_text(file) for file in sorted(folder.glob("*.css")) if file != _HERE / "folded.css")
    for folder in _HERE.parent.iterdir()
    if folder.is_dir()
}
PHONE, PROJECTOR = 760, 1700  # pixels


def folded(narrow: bool = False) -> str:
    """Header and sentence fold to a line each on phones; if the page is narrow, as in big text or beside a lesson, on
    screens of up to 1,700 pixels."""
    return f"@media (max-width: {PROJECTOR if narrow else PHONE}px) {{{_FOLDED}}}"


def first_style() -> str:
    """What a page has before the app has answered."""
    return STYLES["frame"] + folded()


def run_style(page: str, big: bool, narrow: bool = False) -> str:
    """What a run of a page sends: the rest of the page's style, and `first_style` too if no server sent it before."""
    frame = STYLES["frame"] if server_loop() is None else ""
    scale = ":root{--hs-scale:1.3}" if big else ""
    return f"<style>{frame}{STYLES[page]}{folded(narrow)}{scale}</style>"
