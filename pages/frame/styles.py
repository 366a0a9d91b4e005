"""The style sheets of the frame and of the pages."""

from __future__ import annotations

from pathlib import Path

_FOLDED = Path(__file__).parent / "folded.css"
STYLES = {  # folder -> the text of all its style sheets
    folder.name: "".join(file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.css")) if file != _FOLDED)
    for folder in Path(__file__).parents[1].iterdir()
    if folder.is_dir()
}
PHONE, PROJECTOR = 760, 1700  # pixels


def folded(narrow: bool = False) -> str:
    """Header and sentence fold to a line each on phones; if the page is narrow, as in big text or beside a lesson, on
    screens of up to 1,700 pixels."""
    return f"@media (max-width: {PROJECTOR if narrow else PHONE}px) {{{_FOLDED.read_text(encoding='utf-8')}}}"


def first_style() -> str:
    """What a page has before the app has answered."""
    return STYLES["frame"] + folded()
