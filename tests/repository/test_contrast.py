"""WCAG AA, 4.5 : 1, of text on what is drawn behind it, in both themes: what axe-core cannot see, on canvases, in SVG
and in the colours of figures. The pages themselves are looked at in browser/test_accessibility.py."""

import math
import re
import tomllib
from pathlib import Path

import pytest

from pages.embeddings.lens import FULL, STRONG
from tests.support.figures import colour_in
from transformer.figures import style
from transformer.figures.drawing import Drawing

ROOT = Path(__file__).resolve().parents[2]
FRONTEND = ROOT / "frontend" / "src"
CONFIG = tomllib.loads((ROOT / "pages" / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
THEMES = ("light", "dark")
Colour = tuple[float, float, float]


def rgb(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def luminance(colour: Colour) -> float:
    """Relative luminance of sRGB, WCAG 2.2."""
    linear = [one / 255 / 12.92 if one / 255 <= 0.04045 else ((one / 255 + 0.055) / 1.055) ** 2.4 for one in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Colour, other: Colour) -> float:
    lower, higher = sorted((luminance(one), luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """`share` of one colour over the other, as color-mix and an opacity make it."""
    return tuple(a * share + b * (1 - share) for a, b in zip(one, other, strict=True))  # type: ignore[return-value]


def source(name: str) -> str:
    return (FRONTEND / name).read_text(encoding="utf-8")


def ground(theme: str) -> Colour:
    return rgb(CONFIG[theme]["backgroundColor"])


def ink(theme: str) -> Colour:
    return rgb(CONFIG[theme]["textColor"])


BLACK, WHITE = (0.0, 0.0, 0.0), (255.0, 255.0, 255.0)
PAIR = r": light-dark\((#\w{6}), (#\w{6})\);"
RULES = {  # of theme.css: by theme, name -> colour
    theme: {name: pair[place] for name, *pair in re.findall(rf"--hs-(\w+){PAIR}", source("core/theme.css"))}
    for place, theme in enumerate(THEMES)
}


def test_contrast_is_computed_as_wcag_does() -> None:
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast(rgb("#777777"), WHITE) == pytest.approx(4.48, abs=0.005)  # the grey known to fail by a hair
    assert mixed(BLACK, WHITE, 0.25) == (191.25, 191.25, 191.25)


@pytest.mark.parametrize("theme", THEMES)
def test_the_theme_of_streamlit(theme: str) -> None:
    found = CONFIG[theme]
    for name in ("textColor", "linkColor", "primaryColor", "blueColor", "orangeColor", "violetColor", "greenColor",
                 "grayColor"):  # fmt: skip
        for behind in ("backgroundColor", "secondaryBackgroundColor"):
            assert contrast(rgb(found[name]), rgb(found[behind])) >= 4.5, (name, behind)


@pytest.mark.parametrize("theme", THEMES)
def test_the_colours_of_components(theme: str) -> None:
    """Kinds, sides and checks as text on the page and on a panel; the page's colour as text on a pressed button."""
    panel = mixed(ink(theme), ground(theme), 0.06)
    assert {"source", "target", "cross", "good", "wrong"} <= set(RULES[theme])
    for name, text in RULES[theme].items():
        for behind in (ground(theme), panel):
            assert contrast(rgb(text), behind) >= 4.5, name
    dim = mixed(ink(theme), ground(theme), 0.7)  # --hs-dim of theme.css
    assert "--hs-dim: color-mix(in srgb, var(--hs-ink) 70%, var(--hs-bg));" in source("core/theme.css")
    for behind in (ground(theme), panel):
        assert contrast(dim, behind) >= 4.5
    tip = mixed(ground(theme), ink(theme), 0.75)  # .hs-tip-dim, in a tooltip of the ink's colour
    assert ".hs-tip-dim { opacity: 0.75;" in source("core/theme.css") and contrast(tip, ink(theme)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_labels_on_canvases(theme: str) -> None:
    """`dim` of colour.js, in which axes and unchosen heads are labelled, and the hues of lit tokens."""
    shares = re.search(r"dim: mixColours\(ink, background, dark \? ([\d.]+) : ([\d.]+)\)", source("core/colour.js"))
    assert shares
    share = float(shares[1 if theme == "dark" else 2])
    assert contrast(mixed(ground(theme), ink(theme), share), ground(theme)) >= 4.5
    line = re.search(rf"{theme}: {{ (encoder_self.*?) }}", source("core/colour.js"))
    hues = dict(re.findall(r'(\w+): "(#\w{6})"', line[1] if line else ""))
    assert set(hues) == {"encoder_self", "decoder_self", "cross"}
    for hue in hues.values():
        assert contrast(rgb(hue), ground(theme)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_the_colours_of_runs(theme: str) -> None:
    """Of training.css: as text on the page, and apart from the hues of the kinds of attention by more than a shade."""
    runs = re.findall(rf'\[data-slot="(\d)"\] {{ --run{PAIR}', source("training/training.css"))
    assert [slot for slot, *_ in runs] == list("0123")
    line = re.search(rf"{theme}: {{ (encoder_self.*?) }}", source("core/colour.js"))
    hues = re.findall(r"#\w{6}", line[1] if line else "")
    assert len(hues) == 3
    for _slot, *pair in runs:
        colour = pair[THEMES.index(theme)]
        assert contrast(rgb(colour), ground(theme)) >= 4.5
        for hue in hues:
            assert math.dist(rgb(hue), rgb(colour)) > 50, (hue, colour)


def test_numbers_on_every_colour_a_cell_can_have() -> None:
    """`inkOn` of colour.js writes black or white; whatever is behind, one of the two has 4.5 : 1."""
    threshold = re.search(r'luminance\(rgb\) > ([\d.]+) \? "#000" : "#fff"', source("core/colour.js"))
    assert threshold
    steps = range(0, 256, 5)
    worst = 21.0
    for colour in ((float(r), float(g), float(b)) for r in steps for g in steps for b in steps):
        written = BLACK if luminance(colour) > float(threshold[1]) else WHITE
        worst = min(worst, contrast(written, colour))
    assert worst >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_the_table_of_the_logit_lens(theme: str) -> None:
    """Words on cells shaded by probability: embeddings.css, with the classes that lens.py gives."""
    css = (ROOT / "pages" / "embeddings" / "embeddings.css").read_text(encoding="utf-8")
    assert "color-mix(in srgb, var(--hs-target) var(--p), var(--hs-paper)); color: light-dark(#000, #fff);" in css
    assert ".hs-emb-strong { color: #000; }" in css and ".hs-emb-full { color: light-dark(#fff, #000); }" in css
    orange, paper = (rgb(colour_in(theme, colour)) for colour in (style.ORANGE, style.PAPER))
    for step in range(1001):
        p = step / 1000
        behind = mixed(orange, paper, p)
        written = {"light": WHITE if p > FULL else BLACK, "dark": BLACK if p > STRONG else WHITE}[theme]
        assert contrast(written, behind) >= 4.5, p


@pytest.mark.parametrize("theme", THEMES)
def test_the_colours_of_figures(theme: str) -> None:
    background, ink = (colour_in(theme, colour) for colour in (style.PAPER, style.INK))
    assert (background, ink) == (CONFIG[theme]["backgroundColor"], CONFIG[theme]["textColor"])
    paper = rgb(background)
    for colour in (style.INK, style.GREY, style.BLUE, style.ORANGE, style.PURPLE, style.TEAL):
        assert contrast(rgb(colour_in(theme, colour)), paper) >= 4.5
    dressed = style.dressed(style.titled(Drawing(), "t", "e"))
    drawn = (dressed.in_dark() if theme == "dark" else dressed).figure()
    hover = drawn.layout.hoverlabel
    assert contrast(rgb(hover.font.color), rgb(hover.bgcolor)) >= 4.5
    assert contrast(rgb(drawn.layout.title.subtitle.font.color), paper) >= 4.5
    for scale in (style.ramp(style.ORANGE), style.diverging()):
        lightness = [luminance(rgb(colour_in(theme, str(colour)))) for _, colour in scale]
        if len(scale) == 2:  # one way: readable without colour vision, and in print
            assert lightness == sorted(lightness, reverse=theme == "light")


@pytest.mark.parametrize("theme", THEMES)
def test_the_colours_of_pages(theme: str) -> None:
    """`light-dark(...)` of style.css on the page's ground; what is paler by an opacity still reaches 4.5 : 1."""
    css = (ROOT / "pages" / "frame" / "style.css").read_text(encoding="utf-8")
    for name in ("--hs-cross", "--hs-target", "--hs-source", "--hs-good"):
        pair = re.search(rf"{name}: light-dark\((#\w+), (#\w+)\)", css)
        assert pair and contrast(rgb(pair[1 if theme == "light" else 2]), ground(theme)) >= 4.5
    pair = re.search(r"\.hs-bad { color: light-dark\((#\w+), (#\w+)\)", css)
    assert pair and contrast(rgb(pair[1 if theme == "light" else 2]), ground(theme)) >= 4.5
    pale = {float(one) for one in re.findall(r"(?<!fill-)(?<!-)\bopacity: (0?\.\d+)", css)}
    assert pale and min(pale) >= 0.7
    assert contrast(mixed(ink(theme), ground(theme), min(pale)), ground(theme)) >= 4.5
