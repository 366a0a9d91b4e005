"""The lab in a real Chromium: switch, knock out, read the numbers, go by link, two people at once."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from statistics import fmean
from urllib.parse import urlencode

import pytest
import torch

from pages.components.descriptions import trained_exact
from pages.frame.state import START
from tests.browser.explorer_page import params_of, plot, wait_for_params, weight_in
from transformer.analysis.saturation import saturation
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions, Resample, Where
from transformer.tracing.trace import Trace

pytest.importorskip("playwright")
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.navigation import link_to, sized_page

SENTENCE, TARGET = "The dog sees the cat.", "Der Hund sieht die Katze."


def opened(context: BrowserContext, server: str, **params: str) -> Page:
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    shown = {"try": "nothing", "cards": "open"}  # every switch, and none set
    page.goto(f"{server}/lab?{urlencode({'source': SENTENCE, 'target': TARGET, **shown, **params})}")
    page.wait_for_selector("[data-drawn]" if params.get("part") not in ("scaling", "softmax") else ".hs-brand")
    page.problems = problems  # type: ignore[attr-defined]
    return page


def traced(model: Pretrained, switches: str = "") -> Trace:
    return model.trace(SENTENCE, TARGET, interventions=Interventions.parse(switches))


def until_drawn(page: Page, before: Trace, after: Trace, kind: str = "cross") -> None:
    page.wait_for_selector(f'[data-drawn="{before.id}:{after.id}:{kind}"]')


def click_tile(page: Page, side: str, layer: int | str, head: int | str) -> None:
    grid = page.get_by_test_id(f"lab-grid-{side}")
    tile = next(tile for tile in plot(grid) if (tile["layer"], tile["head"]) == (layer, head))
    grid.click(position={"x": tile["x"] + tile["w"] / 2, "y": tile["y"] + tile["h"] / 2})


def read_cell(page: Page, side: str, row: int, column: int) -> str:
    head = page.get_by_test_id(f"lab-head-{side}")
    at = plot(head)
    head.hover(position={"x": at["left"] + (column + 0.5) * at["cw"], "y": at["top"] + (row + 0.5) * at["ch"]})
    tip = page.get_by_test_id("tooltip").first
    expect(tip).to_be_visible()
    return tip.inner_text()


def pixels(page: Page, name: str) -> int:
    page.mouse.move(2, 2)
    # Not toDataURL: Chromium packs equal pixels into PNGs of different bytes.
    return page.get_by_test_id(name).evaluate(
        """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
             .reduce((hash, byte) => Math.imul(hash ^ byte, 16777619), canvas.width * 65537 + canvas.height)"""
    )


def exact(page: Page) -> None:
    """Until the chosen head's exact numbers are there on both sides, and everything below them."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    for side in ("before", "after"):
        expect(page.get_by_test_id(f"lab-numbers-{side}")).not_to_contain_text("≈")


def test_switching_scaling_off_and_on_again(context: BrowserContext, server: str, model: Pretrained) -> None:
    plain, switched = traced(model), traced(model, "scaling=off")
    page = opened(context, server, kind="cross", layer="3", head="5")
    until_drawn(page, plain, plain)
    exact(page)
    first = [pixels(page, f"lab-{what}-after") for what in ("grid", "head")]
    page.get_by_test_id("scaling-off").click()
    until_drawn(page, plain, switched)
    wait_for_params(page, scaling="off")
    exact(page)
    for row, column in ((0, 0), (2, 1), (4, 3)):
        before, after = (float(trace.cross.weights[2, 4, row, column]) for trace in (plain, switched))
        assert weight_in(read_cell(page, "before", row, column)) == pytest.approx(before, abs=0.5001e-4)
        assert weight_in(read_cell(page, "after", row, column)) == pytest.approx(after, abs=0.5001e-4)
    assert [pixels(page, f"lab-{what}-after") for what in ("grid", "head")] != first
    page.get_by_test_id("lab-show-difference").click()
    wait_for_params(page, pane="difference")
    for row, column in ((0, 0), (2, 1), (4, 3)):
        before, after = (float(trace.cross.weights[2, 4, row, column]) for trace in (plain, switched))
        change = read_cell(page, "difference", row, column).replace("−", "-")
        assert float(re.findall(r"difference ([+-]?[\d.]+)", change)[0]) == pytest.approx(after - before, abs=0.501e-3)
        assert ("gained" if after > before else "lost") in change
    page.get_by_test_id("scaling-on").click()
    until_drawn(page, plain, plain)
    exact(page)
    assert [pixels(page, f"lab-{what}-after") for what in ("grid", "head")] == first
    assert "scaling" not in params_of(page) and not page.problems  # type: ignore[attr-defined]


def test_heads_are_knocked_out_by_clicking_and_by_key(context: BrowserContext, server: str, model: Pretrained) -> None:
    page = opened(context, server, kind="cross", layer="1", head="1")
    page.get_by_test_id("knock").click()
    click_tile(page, "after", 1, 4)
    wait_for_params(page, zero="cross.2.5")
    click_tile(page, "before", 2, "all")
    wait_for_params(page, zero="cross.2.5,cross.3")
    until_drawn(page, traced(model), traced(model, "zero=cross.2.5,cross.3"))
    expect(page.get_by_test_id("knocked")).to_have_text("9 heads knocked out")
    expect(page.locator(".hs-note", has_text="Every head is knocked out in cross-attention, layer 3")).to_be_visible()
    click_tile(page, "difference", 1, 4)
    wait_for_params(page, zero="cross.3")
    page.get_by_test_id("knock").click()  # clicks choose again
    click_tile(page, "after", 0, 3)
    wait_for_params(page, head="4")
    page.get_by_test_id("lab-grid-after").press("x")
    wait_for_params(page, zero="cross.1.4,cross.3")
    page.get_by_test_id("knock-clear").click()
    page.wait_for_function("() => !new URLSearchParams(location.search).has('zero')")
    assert not page.problems  # type: ignore[attr-defined]


def test_a_head_gets_its_mean_or_the_output_for_a_typed_sentence(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page, sentence = opened(context, server, kind="cross", layer="2", head="5"), "A bird, <b>maybe</b> @ 5%."
    page.get_by_test_id("resample-mean").click()
    wait_for_params(page, mean="cross.2.5")
    until_drawn(page, traced(model), traced(model, "mean=cross.2.5"))
    expect(page.get_by_test_id("lab-numbers-after")).to_contain_text("its output is replaced")
    page.get_by_test_id("resample-other").click()
    wait_for_params(page, resample="1@cross.2.5")
    assert "mean" not in params_of(page)
    page.get_by_test_id("resample-text").fill(sentence)
    page.get_by_test_id("resample-text").press("Enter")
    switch = Interventions((Resample(sentence, Where("cross", 1, 4)),))
    wait_for_params(page, **switch.to_params())
    until_drawn(page, traced(model), traced(model, str(switch)))
    page.goto(page.url)
    until_drawn(page, traced(model), traced(model, str(switch)))
    expect(page.get_by_test_id("resample-text")).to_have_value(sentence)
    page.get_by_test_id("resample-own").click()
    until_drawn(page, traced(model), traced(model))
    assert not {"mean", "resample"} & set(params_of(page)) and not page.problems  # type: ignore[attr-defined]


def test_every_switch_is_in_the_link_and_reset_removes_them(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, kind="decoder_self", layer="2", head="3")
    field = page.get_by_test_id("pads").element_handle()
    page.get_by_test_id("causal-off").click()
    page.get_by_test_id("where-causal").select_option("decoder_self.2")
    page.get_by_test_id("pads").fill("2")
    until_drawn(page, traced(model), traced(model, "causal=off@decoder_self.2"), "decoder_self")
    assert field.evaluate("pads => [pads.isConnected, pads.value]") == [True, "2"]  # the cards stay in place
    page.get_by_test_id("pads").press("Enter")
    wait_for_params(page, causal="off@decoder_self.2", pad="2")
    page.get_by_test_id("padding-off").click()
    page.get_by_test_id("hide").select_option("source.3")
    page.get_by_test_id("weights-argmax").click()
    page.get_by_test_id("where-weights").select_option("decoder_self.2.3")
    slider = page.get_by_test_id("scaling-slider")
    slider.focus()
    for _ in range(4):
        slider.press("ArrowRight")
    wait_for_params(
        page, padding="off", pad="2", hide="source.3", weights="argmax@decoder_self.2.3", scaling="0.19"
    )  # 2 ** 0.4 / sqrt(48)
    switches = "scaling=0.19 causal=off@decoder_self.2 padding=off pad=2 hide=source.3 weights=argmax@decoder_self.2.3"
    until_drawn(page, traced(model, "pad=2"), traced(model, switches), "decoder_self")
    link = page.url
    page.get_by_test_id("reset").click()
    until_drawn(page, traced(model), traced(model), "decoder_self")
    assert not {"scaling", "causal", "padding", "pad", "hide", "weights"} & set(params_of(page))
    page.goto(link)
    until_drawn(page, traced(model, "pad=2"), traced(model, switches), "decoder_self")
    expect(page.get_by_test_id("pads")).to_have_value("2")
    expect(page.get_by_test_id("where-causal")).to_have_value("decoder_self.2")
    expect(page.get_by_test_id("scaling-factor")).to_have_text("× 0.19")
    expect(page.get_by_test_id("weights-argmax")).to_have_attribute("aria-pressed", "true")


def test_two_people_never_see_the_switches_of_each_other(browser: Browser, server: str, model: Pretrained) -> None:
    contexts = [browser.new_context(viewport={"width": 1440, "height": 900}) for _ in range(2)]
    names = ("scaling", "causal")
    pages = [opened(context, server, kind="decoder_self", layer="1", head="1") for context in contexts]
    plain = traced(model)
    switched = {name: traced(model, f"{name}=off") for name in names}
    for _ in range(2):
        for page, name in zip(pages, names, strict=True):  # both are asked before either has answered
            page.get_by_test_id(f"{name}-off").click()
        for page, name in zip(pages, names, strict=True):
            until_drawn(page, plain, switched[name], "decoder_self")
            wait_for_params(page, **{name: "off"})
            assert len({*names} & set(params_of(page))) == 1
            exact(page)
            weight = weight_in(read_cell(page, "after", 2, 1))
            assert weight == pytest.approx(float(switched[name].decoder_self.weights[0, 0, 2, 1]), abs=0.5001e-4)
        for page, name in zip(pages, names, strict=True):
            page.get_by_test_id(f"{name}-on").click()
        for page in pages:
            until_drawn(page, plain, plain, "decoder_self")
    for context in contexts:
        context.close()


def test_the_sections_below_follow_the_switches(context: BrowserContext, server: str, model: Pretrained) -> None:
    page = opened(context, server, target="", scaling="0.03")
    page.wait_for_selector("[data-testid=lab-translation-after]")
    before = model.translate(SENTENCE).text
    after = model.translate(SENTENCE, interventions=Interventions.parse("scaling=0.03")).text
    point = page.locator(".hs-lab-translations .hs-point")
    expect(point).to_have_text("With scores × 0.03, the translation changes:")
    sides = [page.get_by_test_id(f"lab-translation-{side}") for side in ("before", "after")]
    translations = [side.locator("span").inner_text() for side in sides]
    assert [re.sub(r"\s", "", text) for text in translations] == [re.sub(r"\s", "", text) for text in (before, after)]
    page.get_by_test_id("reset").click()
    expect(point).to_contain_text("As trained")
    page.get_by_role("radio", name="The leak").or_(page.get_by_role("button", name="The leak")).click()
    wait_for_params(page, part="leak")
    expect(page.locator(".hs-check")).to_contain_text("before it change by exactly 0")
    page.get_by_label("Token to feed there").fill("Tisch")
    page.get_by_label("Token to feed there").press("Enter")
    wait_for_params(page, token="Tisch")
    page.get_by_role("link", name="Watch a model learn to cheat").click()
    expect(page.get_by_role("radio", name="No causal mask")).to_be_checked()
    wait_for_params(page, preset="no-mask", source=SENTENCE)
    assert not page.problems  # type: ignore[attr-defined]


def test_a_head_chosen_in_the_numbers_is_shown_above(context: BrowserContext, server: str) -> None:
    page = opened(context, server, part="measures", scaling="off", kind="cross")
    page.get_by_test_id("measures-after-encoder_self-2-3").click()
    wait_for_params(page, kind="encoder_self", layer="2", head="3")
    page.wait_for_function("() => !new URLSearchParams(location.search).has('part')")
    expect(page.get_by_test_id("lab-kind-encoder_self")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("pane-after").locator("h3")).to_have_text("Layer 2, head 3")
    assert not page.problems  # type: ignore[attr-defined]


def test_the_picture_of_d_k_is_redrawn_without_the_server(context: BrowserContext, server: str) -> None:
    page = opened(context, server, part="scaling")
    page.wait_for_selector("[data-testid=why-histogram] svg")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    before = page.get_by_test_id("why-histogram").inner_html()
    slider = page.get_by_test_id("why-slider")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
        after = page.get_by_test_id("why-histogram").inner_html()
        assert after != before
        before = after
    wait_for_params(page, d_k="97")  # five depths to an octave; the model has 48
    page.goto(page.url)
    expect(page.get_by_test_id("why-depth")).to_have_text("dk = 97")
    assert not page.problems  # type: ignore[attr-defined]


def test_the_histogram_of_four_times_d_k_is_drawn_twice_as_wide(context: BrowserContext, server: str) -> None:
    def widths() -> tuple[float, float]:
        areas = page.locator("[data-testid=why-histogram] .why-area")
        return tuple(areas.nth(i).evaluate("area => area.getBBox().width") for i in range(2))  # type: ignore[return-value]

    page = opened(context, server, part="scaling", d_k="32")
    page.wait_for_selector("[data-testid=why-histogram] svg")
    unscaled, scaled = widths()
    for _ in range(10):  # five depths to an octave
        page.get_by_test_id("why-slider").press("ArrowRight")
    expect(page.get_by_test_id("why-depth")).to_have_text("dk = 128")
    assert widths() == pytest.approx((2 * unscaled, scaled), rel=0.01)
    assert not page.problems  # type: ignore[attr-defined]


def test_the_softmax_playground_agrees_with_autograd(context: BrowserContext, server: str) -> None:
    page = opened(context, server, part="softmax")
    scores = [3.0, -1.5, 0.5, 2.0, 0.0]
    for number, score in enumerate(scores, 1):
        page.get_by_test_id(f"softmax-score-{number}").fill(str(score))
    page.get_by_test_id("softmax-temperature").fill("0.3")

    def value(name: str) -> float:
        return float(page.get_by_test_id(name).get_attribute("data-value") or "nan")

    temperature = value("softmax-temperature")
    assert temperature == pytest.approx(10**0.3)
    given = torch.tensor(scores, dtype=torch.float64)
    weights = (given / temperature).softmax(0)
    jacobian = torch.autograd.functional.jacobian(lambda values: (values / temperature).softmax(0), given)
    for i in range(5):
        assert value(f"softmax-weight-{i + 1}") == pytest.approx(float(weights[i]), abs=1e-12)
        for j in range(5):
            assert value(f"softmax-jacobian-{i + 1}-{j + 1}") == pytest.approx(float(jacobian[i, j]), abs=1e-12)
    assert value("softmax-trace") == pytest.approx(float(jacobian.trace()), abs=1e-12)
    wait_for_params(page, scores="3,-1.5,0.5,2,0", temperature="1.9953")


def test_a_probe_set_is_measured_and_can_be_stopped(context: BrowserContext, server: str) -> None:
    page = opened(context, server, scaling="off")
    page.get_by_role("button", name=re.compile("Measure")).click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name=re.compile("Measure"))).to_be_visible()
    page.get_by_role("button", name=re.compile("Measure")).click()
    expect(page.locator(".hs-probe-table")).to_be_visible(timeout=180_000)
    text = page.locator(".hs-probe-table").inner_text()
    assert "BLEU" in text and "perplexity" in text.lower(), json.dumps(text)


def test_the_largest_gain_and_the_largest_loss_have_two_hues(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    before, after = traced(model), traced(model, "causal=off")
    page = opened(context, server, causal="off", kind="decoder_self")
    until_drawn(page, before, after, "decoder_self")
    change = after.decoder_self.weights - before.decoder_self.weights
    count = change.shape[-1]
    colours = {}
    for name, index in (("gained", int(change.argmax())), ("lost", int(change.argmin()))):
        layer, head, row, column = (int(number) for number in torch.unravel_index(torch.tensor(index), change.shape))
        assert abs(float(change[layer, head, row, column])) > 0.99
        grid = page.get_by_test_id("lab-grid-difference")
        tile = next(tile for tile in plot(grid) if (tile["layer"], tile["head"]) == (layer, head))
        at = [
            tile["x"] + tile["w"] * (column + 0.5) / count,
            tile["y"] + tile["h"] * (row + 0.25) / count,
        ]  # a minus is in the middle of a loss
        colours[name] = grid.evaluate(
            """(canvas, [x, y]) => {
                 const ratio = canvas.width / parseFloat(canvas.style.width);
                 return [...canvas.getContext("2d").getImageData(x * ratio, y * ratio, 1, 1).data].slice(0, 3);
               }""",
            at,
        )
    (red, _, blue), (red_lost, _, blue_lost) = colours["gained"], colours["lost"]
    assert red > blue + 40 and blue_lost > red_lost + 100, colours  # orange for what is gained, blue for what is lost


def test_the_sentence_stays_across_pages_and_the_back_button_works(context: BrowserContext, server: str) -> None:
    page = opened(context, server, scaling="off")
    page.get_by_test_id("causal-off").click()
    wait_for_params(page, causal="off")
    page.get_by_test_id("scaling-on").click()
    page.wait_for_function("() => !new URLSearchParams(location.search).has('scaling')")

    def sentences() -> list[str]:
        return [page.get_by_label(re.compile(side)).input_value() for side in ("Source ·", "Target ·")]

    link_to(page, "Heads").click()
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    assert sentences() == [SENTENCE, TARGET]
    expect(page.locator(".hs-note", has_text="as it was trained")).to_be_visible()
    link_to(page, "Lab").click()
    page.wait_for_selector("[data-testid=lab][data-drawn]")
    assert sentences() == [SENTENCE, TARGET]
    expect(page.get_by_test_id("causal-off")).to_have_attribute("aria-pressed", "true")
    page.go_back()
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    assert sentences() == [SENTENCE, TARGET]
    page.go_back()
    page.wait_for_selector("[data-testid=lab][data-drawn]")
    expect(page.get_by_test_id("causal-off")).to_have_attribute("aria-pressed", "true")


def test_a_switch_that_changes_no_weight_says_why(context: BrowserContext, server: str) -> None:
    page = opened(context, server, kind="cross", layer="4", head="2")
    page.get_by_test_id("padding-off").click()
    says = page.get_by_test_id("lab-says")
    expect(says).to_contain_text("the source has no <pad>")
    page.get_by_test_id("reset").click()
    expect(says).to_contain_text("Press a button")
    page.get_by_test_id("lab-grid-after").press("x")
    expect(says).to_contain_text("Layer 4, head 2 is knocked out")
    assert "knocked out" in read_cell(page, "after", 0, 0)


def test_the_first_screen_shows_saturation(context: BrowserContext, server: str, model: Pretrained) -> None:
    """Without a link, on a projector, in big text: both translations, both heads, their numbers and one row's bars, all
    in the window."""
    page = sized_page(context, 1280, 720)
    page.goto(f"{server}/lab?big=1")
    plain = model.trace(START)
    switched = model.retrace(plain, Interventions.parse("scaling=off"))
    until_drawn(page, plain, switched)
    exact(page)
    measured = [saturation(trace.cross) for trace in (plain, switched)]
    numbers = [(float(one.saturated[1, 5]), float(one.gradient[1, 5])) for one in measured]
    says = page.get_by_test_id("lab-says").inner_text()
    point = page.locator(".hs-lab-translations .hs-point")
    for saturated, gradient in numbers:
        expect(point).to_contain_text(f"{100 * saturated:.0f}%")
        assert f"{gradient:.2f}" in says
    changed = page.locator(".hs-lab-translations span b").all_text_contents()
    assert changed and all(word == word.strip() for word in changed)  # no underlined blanks
    assert "saturated" in says and numbers[1][0] > 0.7
    for recipe in ("base", "no-scaling"):
        assert f"{fmean(trained_exact(recipe)):.1f}%" in says
    for side, (saturated, _) in zip(("before", "after"), numbers, strict=True):
        text = page.get_by_test_id(f"lab-numbers-{side}").inner_text()
        assert text == f"rows in which one word takes over 99%: {100 * saturated:.0f}%"
    for name in ("translation-before", "translation-after", "head-before", "head-after", "row-bars", "numbers-before",
                 "numbers-after"):  # fmt: skip
        box = page.get_by_test_id(f"lab-{name}").bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= 720, (name, box)
    titles = page.locator(".hs-lab-work .hs-pane-head h2").evaluate_all(
        "all => all.map(one => one.scrollWidth - one.clientWidth)"
    )
    assert max(titles) <= 0  # none is cut


def test_the_buttons_stay_after_each_press(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/lab")
    says = page.get_by_test_id("lab-says")
    expect(says).to_contain_text("saturated")
    page.get_by_test_id("try-causal").click()
    wait_for_params(page, causal="off", kind="decoder_self")
    expect(page.get_by_test_id("lab-kind-decoder_self")).to_have_text("Decoder self (mask off)")
    expect(says).to_contain_text("later tokens")
    page.get_by_test_id("try-padding").click()
    wait_for_params(page, padding="off", pad="4", kind="cross")
    expect(says).to_contain_text("4 tokens <pad>")
    page.get_by_test_id("try-uniform").click()
    wait_for_params(page, weights="uniform")
    expect(says).to_contain_text("selects nothing")
    page.get_by_test_id("try-head").click()
    wait_for_params(page, zero="cross.2.6")
    page.get_by_test_id("reset").click()
    wait_for_params(page, **{"try": "nothing"})
    expect(page.get_by_test_id("lab-kind-decoder_self")).to_have_text("Decoder self (masked)")


def test_picture_and_numbers_are_saved_with_their_switches(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, scaling="off", kind="cross", layer="3", head="7")
    plain, switched = traced(model), traced(model, "scaling=off")
    until_drawn(page, plain, switched)
    exact(page)
    saved = {}
    for name in ("svg", "png", "csv"):
        page.get_by_test_id("lab-save").locator("summary").click()
        with page.expect_download() as download:
            page.get_by_test_id(f"lab-save-{name}").click()
        assert download.value.suggested_filename == f"headscope-en-de-cross-layer3-head7-scaling-off.{name}"
        saved[name] = Path(download.value.path()).read_bytes()
    assert saved["png"].startswith(b"\x89PNG") and b"scaling off" in saved["svg"] and b"<image" not in saved["svg"]
    rows = list(csv.reader(saved["csv"].decode("utf-8-sig").splitlines()))
    assert rows[0] == ["predicted", "source", "before", "after: scaling off", "difference"]
    for place, trace in ((2, plain), (3, switched)):
        weights = trace.cross.weights[2, 6].flatten().tolist()
        assert [float(row[place]) for row in rows[1:]] == pytest.approx(weights, abs=1e-8)


def test_on_a_phone_one_picture_shows_each_side_in_turn(context: BrowserContext, server: str) -> None:
    page = sized_page(context, 390, 844)
    page.goto(f"{server}/lab")
    page.wait_for_selector("[data-testid=lab][data-drawn]")
    expect(page.get_by_test_id("lab-translation-after")).to_be_in_viewport(ratio=1)
    heads = {side: page.get_by_test_id(f"lab-head-{side}") for side in ("before", "after", "difference")}
    for side in ("after", "before", "difference"):
        page.get_by_test_id(f"lab-show-{side}").click()
        for name, head in heads.items():
            expect(head).to_be_visible(visible=name == side)
    wait_for_params(page, pane="difference")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
