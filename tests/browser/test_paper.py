"""The Paper page in Chromium: its figures and its list open the views, and the session stays."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import transformer
from pages.paper.views import View, items
from pages.registry import pages
from tests.browser.canvas import plot
from tests.browser.explorer_page import params_of, wait_for_params
from tests.browser.navigation import link_to, opened_at, sized_page
from tests.browser.stillness import still
from tests.support.paper_table import address_of


def figure_named(name: str) -> str:
    return f"[data-testid=figure][data-name={name}]"


# Page and part -> the picture or table that its links lead to.
SUBJECTS = {
    "anatomy": "[data-testid=anatomy-stage]",
    "anatomy before": figure_named("input-length"),
    "anatomy compare": ".hs-cx-table",
    "attribution": "[data-testid=headgrid]",
    "attribution compare": "[data-testid=figure]",
    "attribution source": "[data-testid=figure]",
    "decoding beam": "[data-testid=beam]",
    "decoding given": "[data-testid=figure]",
    "decoding paint": "[data-testid=paint]",
    "decoding sampling": "[data-testid=decoding]",
    "decoding step": "[data-testid=decoding]",
    "embeddings": "[data-testid=figure]",
    "embeddings lens": ".hs-emb-table",
    "embeddings layernorm": figure_named("layer-norm"),
    "feedforward": "[data-testid=figure]",
    "feedforward activity": "[data-testid=feedforward]",
    "heads": "[data-testid^=grid-]",
    "heads training": "[data-testid=formation-slider]",
    "lab": "[data-testid=pane-after]",
    "lab leak": ".hs-leak-punch",
    "lab measures": "[data-testid=measures-scatter]",
    "lab scaling": "[data-testid=why-histogram]",
    "lab softmax": "[data-testid=softmax]",
    "model": ".hs-tr-table",
    "positions": ".pos-figure, [data-testid=figure]",
    "positions lab": "[data-testid=lab]",
    "recipe batches": ".hs-batch",
    "recipe cost": ".hs-recipe-cost",
    "recipe dropout": figure_named("dropout"),
    "recipe rate": figure_named("warm-up-ends"),
    "recipe smoothing": figure_named("label-smoothing"),
    "results bleu": ".hs-bleu-texts",
    "results subsets": figure_named("bleu-subsets"),
    "results table2": figure_named("table-2"),
    "results tables": figure_named("table-3"),
    "roles": "[data-testid=headgrid]",
    "roles search": ".hs-tr-table",
    "training": "[data-testid=training]",
}
SCREENS = ((390, 844), (1440, 900))


def subject(view: View) -> str:
    if view.page == "heads" and not view.params:
        return "[data-testid=sight]"  # the first sight of a sentence
    part = "training" if "training" in view.params else view.params.get("part", "")
    return SUBJECTS.get(f"{view.page} {part}".strip()) or SUBJECTS[view.page]


@pytest.fixture
def page(context: BrowserContext, server: str) -> Page:
    return opened_at(context, f"{server}/paper", "[data-testid=paper] .paper-box", source="The dog sees the cat.")


def test_every_box_is_a_link_with_its_sizes_and_every_equation_is_drawn(page: Page) -> None:
    boxes = page.locator("[data-testid=paper] .paper-box")
    assert boxes.evaluate_all("(all) => all.every((one) => one.tagName === 'a' && one.getAttribute('href'))")
    assert boxes.count() == 16 + 11
    equations = page.locator(".st-key-hs-paper-list .katex-display")
    expect(equations).to_have_count(sum(bool(item.equation) for item in items()))
    expect(page.locator(".katex-error")).to_have_count(0)
    (left,) = {round(box["x"]) for box in [equations.first.bounding_box(), equations.nth(1).bounding_box()] if box}
    listed = page.locator(".st-key-hs-paper-list").bounding_box()
    assert listed is not None and left == round(listed["x"])
    start = page.locator(".paper-box[data-start]")
    expect(start).to_have_count(1)
    assert (start.get_attribute("aria-label") or "").startswith("Start here. Multi-Head Attention")
    # The paper's sizes and those of the open model.
    config = transformer.load("en-de").config
    first, second = page.get_by_test_id("paper-figure1"), page.get_by_test_id("paper-figure2")
    layers = (f"N = 6, here {config.encoder_layers}", f"N = 6, here {config.decoder_layers}")
    expect(first.locator(".paper-frame + .paper-size")).to_have_text(layers)
    for box, text in (
        ("source", f"dmodel = 512, here {config.d_model}"), ("cross", f"h = 8, here {config.heads}"),
        ("decoder_feedforward", f"dff = 2048, here {config.d_ff}"), ("scale", f"√dₖ = √64, here √{config.d_head}"),
    ):  # fmt: skip
        expect((second if box == "scale" else first).get_by_test_id(f"paper-box-{box}")).to_contain_text(text)
    for letter, size in (("Q", "d_k"), ("K", "d_k"), ("V", "d_v")):
        linear = second.get_by_test_id(f"paper-box-linear_{letter}")
        shown = size.replace("_", "")  # its letter is a subscript
        expect(linear.locator(".paper-size")).to_have_text((f"{shown} = 64", f"here {config.d_head}"))
        assert f"{size} = 64, here {config.d_head}" in (linear.get_attribute("aria-label") or "")


def test_the_figures_stay_in_sight_while_the_list_is_scrolled(page: Page) -> None:
    last = page.locator(".st-key-hs-paper-list > *").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport()
    expect(page.get_by_test_id("paper")).to_be_in_viewport(ratio=0.9)


def test_boxes_open_their_views_and_keep_the_session(page: Page) -> None:
    page.evaluate("window.stays = true")
    for box, path, wanted in (
        ("encoder_attention", "/", {"kind": "encoder_self"}),
        ("mask", "/lab", {"part": "leak"}),
        ("concat", "/anatomy", {"step": "concat"}),
    ):
        page.get_by_test_id(f"paper-box-{box}").click()
        page.wait_for_function("(path) => location.pathname === path && window.stays", arg=path)
        wait_for_params(page, source="The dog sees the cat.", **wanted)
        link_to(page, "Paper").click()
        page.wait_for_selector("[data-testid=paper] .paper-box")


def test_the_papers_own_sentence_opens_with_its_head(page: Page) -> None:
    page.locator(".st-key-hs-paper-figures3to5-1").get_by_role("link").click()
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    params = params_of(page)
    assert params["source"].startswith("The Law will never be perfect") and params["kind"] == "encoder_self"
    said = page.get_by_test_id("explorer").inner_text()
    assert f"Layer {params['layer']}, head {params['head']}" in said


# The two pages whose pictures are lowest on the screen; `make test-long` has the others.
LINKED = [
    pytest.param(name, marks=() if name in ("decoding", "heads") else pytest.mark.long)
    for name in sorted({view.page for item in items() for view in item.views})
]


@pytest.mark.parametrize("name", LINKED)
def test_what_a_link_names_is_in_its_first_screen(context: BrowserContext, server: str, name: str) -> None:
    """At least the upper 160 pixels of its picture, on a phone and on a desk."""
    asked = {address_of(view): subject(view) for item in items() for view in item.views if view.page == name}
    page = sized_page(context, *SCREENS[0])
    for address, selector in asked.items():
        page.goto(f"{server}{address}")
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_selector(selector)
            still(page)
            box = page.locator(selector).first.bounding_box()
            assert box and box["height"] > 20, (address, width, box)
            assert box["y"] >= 0 and box["y"] + min(box["height"], 160) <= height, (address, width, box)


def test_a_model_without_a_recording_has_no_link_to_it(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    recorded = page.locator(".st-key-hs-paper-5-3").get_by_role("link", name="How the heads of this model formed")
    for name, count in (("en-de", 1), ("sort", 0)):
        page.goto(f"{server}/paper?{urlencode({'checkpoint': name})}")
        page.wait_for_selector("[data-testid=paper] .paper-box")
        still(page)
        expect(recorded).to_have_count(count)
    page.goto(f"{server}/paper")
    recorded.click()
    expect(page.get_by_test_id("formation-slider")).to_be_in_viewport()
    assert params_of(page)["training"] == "0"


def test_paper_is_second_in_the_header_and_every_page_is_two_clicks_away(context: BrowserContext, server: str) -> None:
    page = opened_at(context, f"{server}/", kind="cross")
    lead = page.locator(".st-key-hs-heads-lead").get_by_role("link", name="In the paper")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 844})
        still(page)
        expect(lead).to_be_in_viewport(ratio=1)
        for listed in pages():
            expect(link_to(page, listed.title)).to_be_in_viewport(ratio=1)  # after one click that opens its menu
            if listed == pages()[0]:
                menu = page.locator(".hs-pages-wide, .hs-pages-folded").filter(visible=True)
                assert menu.get_by_role("link").all_inner_texts()[:2] == ["Lessons", "Paper"]
            page.keyboard.press("Escape")
    # On a phone, too, the first head begins in the upper half.
    grid = page.get_by_test_id("grid-cross")
    box = grid.bounding_box()
    assert box and box["y"] + plot(grid)[0]["y"] < 844 / 2
    lead.click()
    page.wait_for_selector("[data-testid=paper] .paper-box")
