"""The Decoding page in Chromium: branches, the tree of beam search, samples."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import params_of, wait_for_params
from tests.browser.navigation import opened_at
from transformer.inference.pretrained import Pretrained

SOURCE = "The man who called me yesterday is my brother."


@pytest.fixture
def page(context: BrowserContext, server: str) -> Page:
    return opened_at(context, f"{server}/decoding", "[data-testid=decoding-bar-1]", source=SOURCE)


def lines(page: Page, count: int) -> list[str]:
    expect(page.locator(".decoding-line")).to_have_count(count)
    return [" ".join(one.locator(".decoding-chip").all_inner_texts()) for one in page.locator(".decoding-line").all()]


def test_another_token_starts_a_translation_that_can_be_undone_and_sent(page: Page, context: BrowserContext) -> None:
    (first,) = lines(page, 1)
    page.get_by_test_id("decoding-chip-0-0").click()
    expect(page.get_by_test_id("decoding-chip-0-0")).to_have_attribute("aria-pressed", "true")
    token = page.get_by_test_id("decoding-bar-3").locator(".decoding-token").inner_text()
    page.get_by_test_id("decoding-bar-3").click()
    kept, branch = lines(page, 2)
    assert kept == first and branch.startswith(f"{token} ") and branch != first
    expect(page.locator(".hs-point")).to_contain_text(f"but “{token}” was taken")
    taken = page.locator(".decoding-row[data-taken]")
    page.wait_for_function("() => new URLSearchParams(location.search).has('branches')")
    assert params_of(page)["branches"] == f"1.1.{taken.get_attribute('data-id')}"  # marked by its id, not by its text
    page.get_by_test_id("decoding-chip-1-3").click()
    expect(page.get_by_test_id("decoding-chip-1-3")).to_have_attribute("aria-pressed", "true")
    page.get_by_test_id("decoding-bar-2").click()
    third = lines(page, 3)[2]
    assert third.split()[:3] == branch.split()[:3] and third != branch
    page.wait_for_function("() => (new URLSearchParams(location.search).get('branches') ?? '').includes('_')")
    other = opened_at(context, page.url, "[data-testid=decoding-bar-1]")
    assert lines(other, 3) == [first, branch, third] and params_of(other)["at"] == params_of(page)["at"]
    other.close()
    page.get_by_test_id("decoding-drop-1").click()  # and with it what branched off from it
    assert lines(page, 1) == [first]
    page.get_by_test_id("decoding-bar-1").click()
    lines(page, 2)
    page.get_by_role("button", name="Undo").click()
    assert lines(page, 1) == [first]


def test_a_beginning_is_kept_and_marked_and_leaves_out_the_branches_inside_it(page: Page) -> None:
    page.get_by_test_id("decoding-chip-0-1").click()
    expect(page.get_by_test_id("decoding-chip-0-1")).to_have_attribute("aria-pressed", "true")
    page.get_by_test_id("decoding-bar-1").click()
    lines(page, 2)
    begin, notes = page.get_by_label("Begin with"), page.get_by_test_id("decoding-notes")
    begin.fill("Mein Bruder hat")
    (line,) = lines(page, 1)
    assert line.startswith("Mein Bruder hat ")
    expect(page.locator(".decoding-chip[data-forced]")).to_have_count(3)
    expect(notes).to_contain_text("do not fit")
    wait_for_params(page, begin="Mein Bruder hat")
    assert "branches" not in params_of(page)
    begin.fill("漢字")
    page.keyboard.press("Enter")
    expect(notes).to_contain_text("cannot write")
    expect(begin).to_have_value("漢字")


def test_the_tree_of_beam_search_grows_and_every_node_opens_its_attention(page: Page) -> None:
    page.get_by_text("Beam search", exact=True).click()
    page.wait_for_selector("[data-testid=beam-node-0-0]")
    assert page.locator("[data-testid^=beam-node-0-]").count() == 8
    expect(page.get_by_test_id("beam-says")).to_contain_text("the winner")
    page.get_by_test_id("beam-node-1-5").focus()
    page.keyboard.press("Enter")
    wait_for_params(page, node="2.6")
    expect(page.get_by_test_id("beam-says")).to_contain_text("pruned: 4 better ones are kept")
    before = page.get_by_test_id("decoding-cross").get_attribute("aria-label")
    page.get_by_test_id("beam-node-4-0").click()
    expect(page.get_by_test_id("decoding-cross")).not_to_have_attribute("aria-label", before or "")
    enter(page, "Beams", "8")
    page.wait_for_selector("[data-testid=beam-node-0-15]")
    wait_for_params(page, beams="8", part="beam")


def enter(page: Page, name: str, number: str) -> None:
    field = page.get_by_role("spinbutton", name=name)
    field.fill(number)
    field.press("Enter")


def test_the_length_penalty_ranks_again_before_the_server_answers(page: Page, model: Pretrained) -> None:
    opened(page, "[data-testid=beam-alpha]", DESK, part="beam")
    slider = page.get_by_test_id("beam-alpha")
    at_once = slider.evaluate(
        """slider => {
          slider.value = 0;
          slider.dispatchEvent(new Event("input"));
          return [...slider.getRootNode().querySelectorAll(".beam-found tbody tr")].map((row) => row.innerText);
        }"""
    )
    assert {row.split("\t")[4] for row in at_once} == {"1.0000"}  # α = 0: no penalty
    wait_for_params(page, alpha="0.0")
    slider.fill("2")
    wait_for_params(page, alpha="2.0")
    best = [one.text for one in model.n_best(SOURCE, 4, 2.0, 128)]  # the server goes on searching
    for _ in range(2):  # and where the link is opened
        expect(page.locator("[data-testid^=beam-found-]").locator("td:nth-child(2) > span")).to_have_text(best)
        expect(slider).to_have_value("2")
        page.goto(page.url)


def test_painted_attention_changes_the_translation_and_is_in_the_link(page: Page, context: BrowserContext) -> None:
    page.get_by_text("Attention by hand", exact=True).click()
    page.wait_for_selector("[data-testid=paint-0]")
    point = page.locator(".hs-point")
    expect(point).to_contain_text("Move a weight")
    page.get_by_test_id("paint-only-9").click()  # everything on the full stop
    expect(point).to_contain_text("becomes")
    shares = page.locator(".paint-row output").all_inner_texts()
    assert shares[9] == "100%" and set(shares) == {"100%", "0%"}
    said = point.inner_text()
    page.wait_for_function("() => new URLSearchParams(location.search).has('paint')")
    other = context.new_page()
    other.goto(page.url)
    expect(other.locator(".hs-point")).to_have_text(said, use_inner_text=True)
    other.close()
    page.get_by_test_id("paint-head-2.3").click()  # of all heads only this one; and then a second
    expect(point).to_contain_text("Cross-attention, layer 2, head 3, ")
    page.get_by_test_id("paint-head-4.1").click()
    expect(point).to_contain_text("layer 2, head 3; cross-attention, layer 4, head 1, ")
    wait_for_params(page, paint_heads="2.3_4.1")
    assert page.locator(".paint-row output").all_inner_texts() == shares
    page.get_by_role("button", name="As the model had it").click()
    expect(point).to_contain_text("Move a weight")
    wait_for_params(page, paint=None)


DESK, BIG, PHONE = (1440, 900), (1280, 720), (390, 844)


def opened(page: Page, selector: str, size: tuple[int, int], source: str = SOURCE, **params: str) -> None:
    """The page with these parameters in a window of this size, in big text on a projector."""
    address = page.url.split("?")[0]
    if size == BIG:
        page.context.add_cookies([{"name": "headscope_big", "value": "1", "url": address}])
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{address}?{urlencode({'source': source, **params})}")
    page.wait_for_selector(selector)
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)


def test_the_tree_grows_with_big_text_and_nothing_in_it_overlaps(page: Page) -> None:
    measured = """svg => [...svg.querySelectorAll(".beam-node")].slice(0, 40).map(node => {
        const box = node.querySelector("rect").getBoundingClientRect();
        const texts = [...node.querySelectorAll("text")];
        const sides = one => [one.left, one.top, one.right, one.bottom];
        return {
            box: sides(box),
            texts: texts.map(text => sides(text.getBoundingClientRect())),
            size: parseFloat(getComputedStyle(texts[0]).fontSize),
        };
    })"""
    opened(page, ".beam-tree", DESK, part="beam")
    small = page.locator(".beam-tree").evaluate(measured)
    opened(page, ".beam[data-big] .beam-tree", BIG, part="beam")
    big = page.locator(".beam-tree").evaluate(measured)
    ratio = big[0]["size"] / small[0]["size"]
    assert ratio == pytest.approx(20.25 / 15, abs=0.01)
    for nodes in (small, big):
        boxes = [node["box"] for node in nodes]
        for n, node in enumerate(nodes):
            left, _, right, bottom = node["box"]
            assert all(apart(node["box"], other) for other in boxes[:n])
            for a, _, b, below in node["texts"]:
                assert left < a and b < right and below < bottom + 1
            _, probability, total = node["texts"]
            assert probability[2] < total[0]
    assert big[0]["box"][2] - big[0]["box"][0] == pytest.approx(ratio * 96, abs=1)


@pytest.mark.parametrize("size", [BIG, PHONE], ids=["big", "phone"])
def test_a_new_tree_shows_where_the_winner_leaves_greedy_search(page: Page, size: tuple[int, int]) -> None:
    opened(page, ".beam-tree", size, "The teacher saw the way home after the rain.", part="beam")
    expect(page.get_by_test_id("beam-differs")).to_contain_text("Step 4 makes the difference")
    tree = page.locator(".beam-scroll").bounding_box()
    for name in ("beam-node-3-1", "beam-node-4-0"):  # den Weg
        box = page.get_by_test_id(name).locator("rect").bounding_box()
        assert tree and box and tree["x"] <= box["x"] and box["x"] + box["width"] <= tree["x"] + tree["width"]
    left = page.locator(".beam-scroll").evaluate("tree => { tree.scrollLeft = 300; return tree.scrollLeft; }")
    page.get_by_test_id("beam-node-4-0").click()  # what a person scrolls to stays
    wait_for_params(page, node="5.1")
    assert page.locator(".beam-scroll").evaluate("tree => tree.scrollLeft") == left


def apart(one: list[float], other: list[float]) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


@pytest.mark.parametrize("size", [DESK, BIG, PHONE], ids=["desk", "big", "phone"])
def test_the_attention_of_a_chosen_node_comes_into_sight(page: Page, size: tuple[int, int]) -> None:
    opened(page, ".beam-tree", size, part="beam")
    page.get_by_test_id("beam-node-2-1").click()
    wait_for_params(page, node="3.2")
    for name in ("decoding-cross", "beam-says"):
        expect(page.get_by_test_id(name)).to_be_in_viewport(ratio=0.99)


def test_sampling_shows_samples_and_their_distribution_in_the_first_screen(page: Page) -> None:
    opened(page, ".decoding[data-big] [data-testid=decoding-bar-1]", BIG, part="sampling")
    box = page.get_by_test_id("decoding-bar-0").bounding_box()
    assert box and box["y"] + box["height"] <= BIG[1]
    tops = [chip.bounding_box() for chip in page.locator("[data-testid^=decoding-chip-0-]").all()]
    assert len({round(top["y"]) for top in tops if top}) == 1


def test_maps_beside_one_another_have_the_same_token_at_the_same_place(page: Page) -> None:
    for kind in ("cross", "decoder_self"):
        opened(page, "[data-drawn] .nsewdrag", BIG, part="given", given_kind=kind)
        expect(page.locator(".hs-fig[data-drawn]")).to_have_count(2)
        places = page.evaluate(
            """() => [...document.querySelectorAll(".hs-fig")].map(figure => {
                const from = figure.getBoundingClientRect();
                const at = one => one.getBoundingClientRect();
                const ticks = name => [...figure.querySelectorAll(name)].slice(0, 6).map(at);
                const plot = at(figure.querySelector(".nsewdrag"));
                const rows = ticks(".ytick text").map(one => (one.top + one.bottom) / 2);
                return [plot.left - from.left, plot.top, ...rows];
            })"""
        )
        assert places[0] == pytest.approx(places[1], abs=1)


def test_on_a_phone_what_one_moves_stands_above_its_picture(page: Page) -> None:
    def top(selector: str) -> float:
        box = page.locator(selector).first.bounding_box()
        assert box
        return box["y"]

    for part, controls, picture in (
        ("beam", "[data-testid=stNumberInput]", ".beam-tree"),
        ("sampling", "[data-testid=stNumberInput]", ".decoding-lines"),
        ("paint", "[data-testid=stSelectbox]:has-text('predicts')", ".hs-tr-words"),
    ):
        opened(page, picture, PHONE, part=part)
        assert 0 < top(picture) - top(controls) < 300
    slider, words = top("[data-testid=paint-0]"), top(".hs-tr-words")
    assert 0 < slider - words < PHONE[1] / 2
