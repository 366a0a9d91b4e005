"""The Decoding page in Chromium: branches, the tree of beam search, samples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import params_of, wait_for_params
from transformer.inference.pretrained import Pretrained

SOURCE = "The man who called me yesterday is my brother."


@pytest.fixture
def page(context: BrowserContext, server: str) -> Iterator[Page]:
    page = context.new_page()
    page.goto(f"{server}/decoding?source={SOURCE.replace(' ', '+')}")
    page.wait_for_selector("[data-testid=decoding-bar-1]")
    yield page
    page.close()


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
    other = context.new_page()
    other.goto(page.url)
    other.wait_for_selector("[data-testid=decoding-bar-1]")
    assert lines(other, 3) == [first, branch, third] and params_of(other)["at"] == params_of(page)["at"]
    other.close()
    page.get_by_test_id("decoding-drop-1").click()  # and with it what branched off from it
    assert lines(page, 1) == [first]
    page.get_by_test_id("decoding-bar-1").click()
    lines(page, 2)
    page.get_by_role("button", name="Undo").click()
    assert lines(page, 1) == [first]


def test_a_beginning_is_kept_and_marked(page: Page) -> None:
    page.get_by_label("Begin with").fill("Mein Bruder")
    page.keyboard.press("Enter")
    page.wait_for_selector(".decoding-chip[data-forced]")
    (line,) = lines(page, 1)
    assert line.startswith("Mein Bruder ")
    page.get_by_label("Begin with").fill("漢字")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("decoding-notes")).to_contain_text("cannot write")
    expect(page.get_by_label("Begin with")).to_have_value("漢字")


def test_a_typed_beginning_leaves_out_the_branches_inside_it(page: Page) -> None:
    page.get_by_test_id("decoding-chip-0-1").click()
    expect(page.get_by_test_id("decoding-chip-0-1")).to_have_attribute("aria-pressed", "true")
    page.get_by_test_id("decoding-bar-1").click()
    lines(page, 2)
    page.get_by_label("Begin with").fill("Mein Bruder hat")
    lines(page, 1)
    expect(page.get_by_test_id("decoding-notes")).to_contain_text("do not fit")
    page.wait_for_function("() => !new URLSearchParams(location.search).has('branches')")
    assert params_of(page)["begin"] == "Mein Bruder hat"


def test_the_tree_of_beam_search_grows_and_every_node_opens_its_attention(page: Page) -> None:
    page.get_by_text("Beam search", exact=True).click()
    page.wait_for_selector("[data-testid=beam-node-0-0]")
    assert page.locator("[data-testid^=beam-node-0-]").count() == 8
    said = page.get_by_test_id("beam-says").inner_text()
    assert "the winner" in said and "÷" in said
    page.get_by_test_id("beam-node-1-5").focus()
    page.keyboard.press("Enter")
    wait_for_params(page, node="2.6")
    expect(page.get_by_test_id("beam-says")).to_contain_text("pruned: 4 better ones are kept")
    before = page.get_by_test_id("decoding-cross").get_attribute("aria-label")
    page.get_by_test_id("beam-node-4-0").click()
    expect(page.get_by_test_id("decoding-cross")).not_to_have_attribute("aria-label", before or "")
    field = page.get_by_role("spinbutton", name="Beams")
    field.fill("8")
    field.press("Enter")
    page.wait_for_selector("[data-testid=beam-node-0-15]")
    wait_for_params(page, beams="8", part="beam")


def test_the_length_penalty_ranks_again_before_the_server_answers(
    page: Page, context: BrowserContext, model: Pretrained
) -> None:
    page.goto(f"{page.url.split('?')[0]}?part=beam&source={SOURCE.replace(' ', '+')}")
    page.wait_for_selector("[data-testid=beam-alpha]")
    rows = page.locator("[data-testid^=beam-found-]")
    at_once = page.get_by_test_id("beam-alpha").evaluate(
        """slider => {
          slider.value = 0;
          slider.dispatchEvent(new Event("input"));
          return [...slider.getRootNode().querySelectorAll(".beam-found tbody tr")].map((row) => row.innerText);
        }"""
    )
    best = model.n_best(SOURCE, 4, 0.0, 128)
    greedy = model.translate(SOURCE).text
    cells = [row.split("\t") for row in at_once]
    assert [row[1].split("\n")[0] for row in cells] == [*(one.text for one in best), greedy]
    assert cells[-1][0] == "greedy"
    assert [row[5] for row in cells[:-1]] == [f"{one.score:.4f}".replace("-", "−") for one in best]
    assert {row[4] for row in cells} == {"1.0000"}  # α = 0: no penalty
    wait_for_params(page, alpha="0.0")
    page.get_by_test_id("beam-alpha").fill("2")
    best = model.n_best(SOURCE, 4, 2.0, 128)  # the server goes on searching
    expect(rows.locator("td:nth-child(2) > span")).to_have_text([one.text for one in best])
    other = context.new_page()
    wait_for_params(page, alpha="2.0")
    other.goto(page.url)
    expect(other.locator("[data-testid^=beam-found-]").locator("td:nth-child(2) > span")).to_have_text(
        [one.text for one in best]
    )
    expect(other.get_by_test_id("beam-alpha")).to_have_value("2")
    other.close()


def test_samples_change_with_the_seed_and_narrow_with_top_k(page: Page) -> None:
    page.get_by_text("Sampling", exact=True).click()
    lines(page, 6)
    drawn = page.locator(".decoding-lines")
    before = drawn.inner_text()
    field = page.get_by_role("spinbutton", name="Seed")
    field.fill("50")
    field.press("Enter")
    wait_for_params(page, seed="50")
    expect(drawn).not_to_have_text(before, use_inner_text=True)
    field = page.get_by_role("spinbutton", name="Top-k")
    field.fill("1")
    field.press("Enter")
    wait_for_params(page, top_k="1")
    expect(page.locator(".hs-point")).to_contain_text("all 6 samples have the same text")
    assert len(set(lines(page, 6))) == 1


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
    page.wait_for_function("() => !new URLSearchParams(location.search).has('paint')")


BIG, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}


def opened(page: Page, selector: str, size: dict[str, int], **params: str) -> None:
    """The page with these parameters in a window of this size, in big text unless that is a phone's."""
    if size != PHONE:
        page.context.add_cookies([{"name": "headscope_big", "value": "1", "url": page.url.split("/decoding")[0]}])
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    query = "&".join(f"{name}={value}" for name, value in params.items())
    page.goto(f"{page.url.split('?')[0]}?source={SOURCE.replace(' ', '+')}&{query}")
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
    page.goto(f"{page.url.split('?')[0]}?source={SOURCE.replace(' ', '+')}&part=beam")
    page.wait_for_selector(".beam-tree")
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
def test_a_new_tree_shows_where_the_winner_leaves_greedy_search(page: Page, size: dict[str, int]) -> None:
    if size == BIG:
        page.context.add_cookies([{"name": "headscope_big", "value": "1", "url": page.url.split("/decoding")[0]}])
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    page.goto(f"{page.url.split('?')[0]}?source=The+teacher+saw+the+way+home+after+the+rain.&part=beam")
    expect(page.get_by_test_id("beam-differs")).to_contain_text("Step 4 makes the difference")
    tree = page.locator(".beam-scroll").bounding_box()
    for name in ("beam-node-3-1", "beam-node-4-0"):  # den Weg
        box = page.get_by_test_id(name).locator("rect").bounding_box()
        assert tree and box and tree["x"] <= box["x"] and box["x"] + box["width"] <= tree["x"] + tree["width"]
    assert page.get_by_test_id("beam-node-3-1").locator(".beam-p").text_content() == "0.39"
    left = page.locator(".beam-scroll").evaluate("tree => { tree.scrollLeft = 300; return tree.scrollLeft; }")
    page.get_by_test_id("beam-node-4-0").click()  # what a person scrolls to stays
    wait_for_params(page, node="5.1")
    assert page.locator(".beam-scroll").evaluate("tree => tree.scrollLeft") == left


def apart(one: list[float], other: list[float]) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


@pytest.mark.parametrize("size", [{"width": 1440, "height": 900}, BIG, PHONE], ids=["1440", "big", "phone"])
def test_the_attention_of_a_chosen_node_comes_into_sight(page: Page, size: dict[str, int]) -> None:
    opened(page, ".beam-tree", size, part="beam")
    page.get_by_test_id("beam-node-2-1").click()
    wait_for_params(page, node="3.2")
    page.wait_for_function(
        """height => {
            const find = name => {
                const parts = [document];
                while (parts.length) {
                    const part = parts.pop();
                    const found = part.querySelector(name);
                    if (found) return found.getBoundingClientRect();
                    for (const one of part.querySelectorAll("*")) if (one.shadowRoot) parts.push(one.shadowRoot);
                }
            };
            const [heads, said] = [find("[data-testid=decoding-cross]"), find("[data-testid=beam-says]")];
            return heads.bottom <= height && said.top >= 0;
        }""",
        arg=size["height"],
    )


def test_hypotheses_of_one_text_show_their_tokens(page: Page) -> None:
    page.goto(f"{page.url.split('?')[0]}?source=The+teacher+found+the+red+key+in+the+garden.&part=beam")
    page.wait_for_selector(".beam-found")
    rows = page.locator("[data-testid^=beam-found-]")
    found = [(row.locator("td").first.inner_text().split("\n"), row.locator("b").count()) for row in rows.all()]
    texts = [text for (text, *_), _ in found]
    alike = [pieces for (text, *pieces), bold in found if texts.count(text) > 1 and bold]  # "roten" and "rote n"
    assert len(alike) >= 2 and all(len(pieces) == 1 for pieces in alike) and len({*map(tuple, alike)}) == len(alike)
    assert all(not (pieces or bold) for (text, *pieces), bold in found if texts.count(text) == 1)
    page.locator("[data-testid=beam-list-save] summary").click()
    with page.expect_download() as download:
        page.locator("[data-testid=beam-list-save]").get_by_role("button", name="CSV").click()
    head, *saved = download.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert head.split(",")[1:4] == ["translation", "its tokens", "log p"]
    assert all(any(pieces in line for line in saved) for (pieces,) in alike)


def test_sampling_shows_samples_and_their_distribution_in_the_first_screen(page: Page) -> None:
    opened(page, ".decoding[data-big] [data-testid=decoding-bar-1]", BIG, part="sampling")
    box = page.get_by_test_id("decoding-bar-0").bounding_box()
    assert box and box["y"] + box["height"] <= BIG["height"]
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
    assert 0 < slider - words < PHONE["height"] / 2
