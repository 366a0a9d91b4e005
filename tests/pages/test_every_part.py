"""Every part of every page: it opens with every kind of model and every text, and its figures say what they draw."""

import pytest

from tests.support.app import (
    SOURCE,
    TARGET,
    address,
    every_part,
    failed_checks,
    figures,
    linked,
    messages,
    open_page,
    open_variant,
    page_text,
    payloads,
    written,
)
from tests.support.families import KINDS as FAMILIES
from tests.support.marian import KINDS as MARIAN
from transformer.figures.style import DARK, PALETTE

FIGURES = {
    ("embeddings", "norms"): {"embedding-norms-source", "embedding-norms-target"},
    ("embeddings", "neighbours"): {"embedding-neighbours"},
    ("embeddings", "map"): {"embedding-map-encoder"},
    ("embeddings", "residual"): {
        "residual-lengths-encoder",
        "residual-lengths-tokens-encoder",
        "residual-shares-encoder",
    },
    ("embeddings", "lens"): {"logit-lens"},
    ("embeddings", "output"): {"output-steps", "output-candidates", "output-row"},
    ("feedforward", "neurons"): {"feedforward-strongest", "feedforward-vocabulary"},
    ("feedforward", "nonlinearity"): {"feedforward-nonlinearity"},
}


OPENED = [(page, part) for page, part in every_part() if page in ("embeddings", "feedforward", "lab", "recipe")]
DRAWN = [*FIGURES, ("positions", "order"), pytest.param("positions", "learned", marks=pytest.mark.slow)]


@pytest.mark.parametrize("page, part", OPENED)
def test_a_part_opens(page: str, part: str) -> None:
    app = open_page(page, part=part)
    assert not messages(app) and not failed_checks(app) and address(app).get("part", part) == part


@pytest.mark.parametrize("page, part", DRAWN)
def test_figures_have_title_equation_axes_and_both_palettes(page: str, part: str) -> None:
    drawn = figures(open_page(page, part=part))
    assert drawn and set(drawn) == FIGURES.get((page, part), set(drawn))
    for name, figure in drawn.items():
        layout = figure["layout"]
        assert layout["title"]["text"] and layout["title"]["subtitle"]["text"], name
        palette = {"light": list(PALETTE), "dark": [DARK[colour] for colour in PALETTE]}
        assert layout["meta"]["palette"] == palette
        assert layout["font"]["size"] >= 15 and layout["paper_bgcolor"] == "rgba(0,0,0,0)"
        for axis_name, axis in layout.items():
            if axis_name.startswith("xaxis"):  # named, unless tokens stand under it
                title = axis.get("title", {}).get("text")
                assert title or axis_name.replace("axis", "") in layout["meta"]["labels"], (name, axis_name)


@pytest.mark.slow
@pytest.mark.parametrize("page, part", every_part())
def test_odd_text_stays_text(page: str, part: str) -> None:
    odd = "<script>alert(1)</script> $x^2$ **b** a\x00b שלום"
    app = open_page(page, **linked(part), source=odd, target=odd, word=odd, other=odd)
    assert "<script>" not in written(app) and address(app)["source"] == odd


PAGES = {
    "heads": "",
    "anatomy": "flow",
    "embeddings": "lens",
    "feedforward": "neurons",
    "lab": "leak",
    "decoding": "step",
}


@pytest.mark.parametrize("text", ["", " ", "ka " * 400], ids=["empty", "blank", "long"])
@pytest.mark.parametrize("page", PAGES)
def test_unusable_text_gets_one_sentence_and_stays(page: str, text: str) -> None:
    app = open_page(page, **linked(PAGES[page]), source=text)
    assert messages(app).count("The source text") == 1 and app.text_input("source").value == text
    assert not figures(app) and not payloads(app, page)
    app.text_input("source").input("ka lo mi").run()
    assert not app.exception and not messages(app) and app.text_input("target").value == "re sta vu"


SOME = [
    ("heads", ""), ("anatomy", "flow"), ("embeddings", "norms"), ("embeddings", "residual"), ("embeddings", "output"),
    ("feedforward", "neurons"), ("positions", "encoding"), ("model", ""),
]  # fmt: skip
ALL = ("apart-untied", "bart", "mbart", "m2m", "pegasus", "t5-1.0", "t5-1.1")  # at least one of each family
WALKED = [(kind, *part) for kind in ALL for part in every_part()]
WALKED += [(kind, *part) for kind in (*MARIAN, *FAMILIES) if kind not in ALL for part in SOME]


@pytest.mark.slow
@pytest.mark.usefixtures("variants")
@pytest.mark.filterwarnings("ignore:integrated gradients:UserWarning")  # with random weights it may not settle
@pytest.mark.parametrize(("kind", "page", "part"), WALKED)
def test_a_part_opens_with_every_kind_of_model(kind: str, page: str, part: str) -> None:
    app = open_variant(kind, page, part, source=SOURCE, target=TARGET)
    assert not messages(app) and not failed_checks(app)
    if kind.startswith("t5") or kind in MARIAN:  # they have no such token: their decoder is fed <pad> first
        assert "<s>" not in page_text(app)
