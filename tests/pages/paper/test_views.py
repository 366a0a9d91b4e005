"""The list of the paper: no view of the app without a place in it, and no dead link."""

import pytest

from pages.paper import views, visualised
from pages.paper.figures import BASE, sizes
from pages.paper.views import items
from pages.registry import pages
from tests.support import paper_table
from tests.support.app import ROOT, address, components, figures, messages, open_page, page_text, written
from transformer.model.config import ModelConfig

LISTED = [(item.name, view) for item in items() for view in item.views]
PAGES = {page.name: page for page in pages()}


def parts(page: str) -> list[str]:
    return list(PAGES[page].content.parts()) or [""]


def test_every_view_of_the_app_has_a_place_in_the_list() -> None:
    """But for parts that the paper, or its model, has nothing for."""
    paper = ModelConfig(vocab_size=37_000)
    listed = {(view.page, view.params.get("part", parts(view.page)[0])) for _, view in LISTED}
    contents = {name: page.content for name, page in PAGES.items()}
    there = {(name, part) for name in PAGES for part in parts(name) if contents[name].shown(paper, part)}
    beyond = {(name, part) for name, content in contents.items() for part in content.beyond}
    assert beyond <= there and listed == there - beyond


@pytest.mark.slow
@pytest.mark.parametrize("view", [view for _, view in LISTED], ids=lambda view: f"{view.page}-{view.label}")
def test_no_link_is_dead(view: views.View, monkeypatch: pytest.MonkeyPatch) -> None:
    if view.recorded:
        monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(ROOT / "checkpoints"))
    app = open_page(view.page, **view.params)
    assert not messages(app)
    assert {name: text for name, text in view.params.items() if name != "part"}.items() <= address(app).items()


def test_names_and_boxes_are_unique_and_every_section_has_a_view() -> None:
    names = [item.name for item in items()]
    boxes = [box for _, view in LISTED for box in view.boxes]
    assert len(set(names)) == len(names) and len(set(boxes)) == len(boxes)
    assert all(item.views or item.name == visualised.NAME for item in items())
    sections = "1 2 3.1 3.2.1 3.2.2 3.2.3 3.3 3.4 3.5 4 5.1 5.3 5.4 6.1 6.1-results 6.2 6.3 7"
    assert " ".join(name for name in names if name[0].isdigit()) == sections
    written = " ".join(item.title for item in items())
    named = ("equation 1", "equation 2", "equation 3", "Figure 2", "Figures 3 to 5", "Table 1", "Table 2", "Table 3")
    for what in named:
        assert what in written


# What the paper reports in a section, and what a page that shows it has: a figure, or a part of its HTML.
REPORTED = {"6.1-results": ("figure table-2", "3.3e+18", "hs-bleu-product"), "6.2": ("figure table-3",)}


@pytest.mark.parametrize("name", REPORTED)
def test_links_of_the_results_open_the_tables_of_the_paper(name: str) -> None:
    (item,) = (one for one in items() if one.name == name)
    shown = [open_page(view.page, **view.params) for view in item.views]
    for mark in REPORTED[name]:
        assert any(mark in {f"figure {one}" for one in figures(app)} or mark in written(app) for app in shown), mark


def test_the_page_shows_the_figures_with_both_sizes_and_every_item() -> None:
    app = open_page("paper")
    assert not messages(app) and len(components(app, "paper")) == 1
    text = page_text(app)
    assert all(item.title in text for item in items()) and "65,000,000" in text and "213,000,000" in text
    assert len(app.get("page_link")) >= sum(not view.recorded for _, view in LISTED)  # nothing is recorded here


def test_the_page_shows_every_equation_of_the_paper() -> None:
    with_equation = {item.name: item.equation for item in items() if item.equation}
    assert list(with_equation) == ["3.1", "3.2.1", "3.2.2", "3.3", "3.5", "4", "5.3", "6.1"]
    assert r"\mathrm{softmax}" in with_equation["3.2.1"] and r"\frac{QK^\top}{\sqrt{d_k}}" in with_equation["3.2.1"]
    assert r"step \cdot warmup^{-1.5}" in with_equation["5.3"] and r"{\alpha}" in with_equation["6.1"]
    shown = [one.value.removeprefix("$$").removesuffix("$$").strip() for one in open_page("paper").latex]
    assert shown == list(with_equation.values())


@pytest.mark.parametrize(("d_k", "wanted"), [(None, (11, 11)), (5, (5, 11))])
def test_queries_and_keys_may_have_another_width_than_values(d_k: int | None, wanted: tuple[int, int]) -> None:
    config = ModelConfig(vocab_size=9, d_model=22, heads=2, d_ff=7, encoder_layers=3, decoder_layers=1, d_k=d_k)
    found = sizes(config)
    assert (found["d_k"], found["d_v"]) == wanted
    assert (found["layers"], found["decoder_layers"], found["heads"]) == (3, 1, 2)
    assert set(BASE) < set(found)


def test_every_view_has_its_own_screenshot() -> None:
    names = [name for _, _, name in paper_table.entries()]
    assert len(set(names)) == len(names) == len(LISTED) + 1 + len(visualised.FIGURES)
