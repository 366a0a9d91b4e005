"""The lab in a real Chromium: switch, knock out, read the numbers, go by link, two people at once."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.frame.state import START
from tests.browser.canvas import click_tile, colours, in_tile, read_cell, tile
from tests.browser.explorer_page import params_of, wait_for_params, weight_in
from tests.browser.navigation import opened_at, saved, sized_page
from tests.support.build import saved_variants
from tests.support.server import served
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions, Resample, Where
from transformer.tracing.trace import Trace

SENTENCE, TARGET = "The dog sees the cat.", "Der Hund sieht die Katze."
SETTLED = "[data-testid=stApp][data-test-script-state=notRunning]"


def opened(context: BrowserContext, server: str, ready: str = "[data-drawn]", **params: str) -> Page:
    """With every switch in sight, and none set."""
    given = {"source": SENTENCE, "target": TARGET, "try": "nothing", "cards": "open", **params}
    return opened_at(context, f"{server}/lab", ready, **given)


def traced(model: Pretrained, switches: str = "") -> Trace:
    return model.trace(SENTENCE, TARGET, interventions=Interventions.parse(switches))


def until_drawn(page: Page, before: Trace, after: Trace, kind: str = "cross") -> None:
    page.wait_for_selector(f'[data-drawn="{before.id}:{after.id}:{kind}"]')


def grid(page: Page, side: str) -> Locator:
    return page.get_by_test_id(f"lab-grid-{side}")


def head(page: Page, side: str) -> Locator:
    return page.get_by_test_id(f"lab-head-{side}")


def pixels(page: Page) -> list[int]:
    """A hash of each picture after the switches."""
    page.mouse.move(2, 2)
    # Not toDataURL: Chromium packs equal pixels into PNGs of different bytes.
    code = """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
                .reduce((hash, byte) => Math.imul(hash ^ byte, 16777619), canvas.width * 65537 + canvas.height)"""
    return [page.get_by_test_id(f"lab-{what}-after").evaluate(code) for what in ("grid", "head")]


def exact(page: Page) -> None:
    """Until the chosen head's exact numbers are there on both sides, and everything below them."""
    page.wait_for_selector(SETTLED)
    for side in ("before", "after"):
        expect(page.get_by_test_id(f"lab-numbers-{side}")).not_to_contain_text("≈")


def test_switching_scaling_off_and_on_again(context: BrowserContext, server: str, model: Pretrained) -> None:
    plain, switched = traced(model), traced(model, "scaling=off")
    page = opened(context, server, kind="cross", layer="3", head="5")
    until_drawn(page, plain, plain)
    exact(page)
    first = pixels(page)
    page.get_by_test_id("scaling-off").click()
    until_drawn(page, plain, switched)
    wait_for_params(page, scaling="off")
    exact(page)
    weights = [[float(trace.cross.weights[2, 4, row, row]) for trace in (plain, switched)] for row in (0, 3)]
    for row, numbers in zip((0, 3), weights, strict=True):
        for side, weight in zip(("before", "after"), numbers, strict=True):
            assert weight_in(read_cell(head(page, side), row, row)) == pytest.approx(weight, abs=0.5001e-4)
    assert pixels(page) != first
    page.get_by_test_id("lab-show-difference").click()
    wait_for_params(page, pane="difference")
    for row, (before, after) in zip((0, 3), weights, strict=True):
        change = read_cell(head(page, "difference"), row, row).replace("−", "-")
        assert float(re.findall(r"difference ([+-]?[\d.]+)", change)[0]) == pytest.approx(after - before, abs=0.501e-3)
        assert ("gained" if after > before else "lost") in change
    page.get_by_test_id("scaling-on").click()
    until_drawn(page, plain, plain)
    exact(page)
    assert pixels(page) == first
    assert "scaling" not in params_of(page)


def test_heads_are_knocked_out_by_clicking_and_by_key(context: BrowserContext, server: str, model: Pretrained) -> None:
    page = opened(context, server, kind="cross", layer="1", head="1")
    page.get_by_test_id("knock").click()
    click_tile(grid(page, "after"), 1, 4)
    wait_for_params(page, zero="cross.2.5")
    click_tile(grid(page, "before"), 2, "all")
    wait_for_params(page, zero="cross.2.5,cross.3")
    until_drawn(page, traced(model), traced(model, "zero=cross.2.5,cross.3"))
    expect(page.get_by_test_id("knocked")).to_have_text("9 heads knocked out")
    expect(page.locator(".hs-note", has_text="Every head is knocked out in cross-attention, layer 3")).to_be_visible()
    click_tile(grid(page, "difference"), 1, 4)
    wait_for_params(page, zero="cross.3")
    page.get_by_test_id("knock").click()  # clicks choose again
    click_tile(grid(page, "after"), 0, 3)
    wait_for_params(page, head="4")
    page.get_by_test_id("lab-grid-after").press("x")
    wait_for_params(page, zero="cross.1.4,cross.3")
    page.get_by_test_id("knock-clear").click()
    wait_for_params(page, zero=None)


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
    page.get_by_test_id("resample-text").fill(sentence)
    page.get_by_test_id("resample-text").press("Enter")
    switch = Interventions((Resample(sentence, Where("cross", 1, 4)),))
    wait_for_params(page, **switch.to_params())
    for _ in range(2):
        until_drawn(page, traced(model), traced(model, str(switch)))
        page.goto(page.url)
    expect(page.get_by_test_id("resample-text")).to_have_value(sentence)
    page.get_by_test_id("resample-own").click()
    until_drawn(page, traced(model), traced(model))
    assert not {"mean", "resample"} & set(params_of(page))


def test_every_switch_is_in_the_link_and_reset_removes_them(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    page = opened(context, server, kind="decoder_self", layer="2", head="3")
    pads = page.get_by_test_id("pads")
    field = pads.element_handle()
    page.get_by_test_id("causal-off").click()
    page.get_by_test_id("where-causal").select_option("decoder_self.2")
    pads.fill("2")
    until_drawn(page, traced(model), traced(model, "causal=off@decoder_self.2"), "decoder_self")
    assert field.evaluate("pads => [pads.isConnected, pads.value]") == [True, "2"]  # the cards stay in place
    pads.press("Enter")
    wait_for_params(page, causal="off@decoder_self.2", pad="2")
    page.get_by_test_id("padding-off").click()
    page.get_by_test_id("hide").select_option("source.3")
    page.get_by_test_id("weights-argmax").click()
    page.get_by_test_id("where-weights").select_option("decoder_self.2.3")
    for _ in range(4):
        page.get_by_test_id("scaling-slider").press("ArrowRight")
    # 0.19 = 2 ** 0.4 / sqrt(48)
    switches = "scaling=0.19 causal=off@decoder_self.2 padding=off pad=2 hide=source.3 weights=argmax@decoder_self.2.3"
    wait_for_params(page, **dict(one.split("=") for one in switches.split()))
    until_drawn(page, traced(model, "pad=2"), traced(model, switches), "decoder_self")
    link = page.url
    page.get_by_test_id("reset").click()
    until_drawn(page, traced(model), traced(model), "decoder_self")
    assert not {"scaling", "causal", "padding", "pad", "hide", "weights"} & set(params_of(page))
    page.goto(link)
    until_drawn(page, traced(model, "pad=2"), traced(model, switches), "decoder_self")
    expect(pads).to_have_value("2")
    expect(page.get_by_test_id("where-causal")).to_have_value("decoder_self.2")
    expect(page.get_by_test_id("scaling-factor")).to_have_text("× 0.19")
    expect(page.get_by_test_id("weights-argmax")).to_have_attribute("aria-pressed", "true")


def test_two_people_never_see_the_switches_of_each_other(
    another: Callable[..., BrowserContext], server: str, model: Pretrained
) -> None:
    names, plain = ("scaling", "causal"), traced(model)
    pages = {name: opened(another(), server, kind="decoder_self", layer="1", head="1") for name in names}
    switched = {name: traced(model, f"{name}=off") for name in names}
    for _ in range(2):
        for name, page in pages.items():  # both are asked before either has answered
            page.get_by_test_id(f"{name}-off").click()
        for name, page in pages.items():
            until_drawn(page, plain, switched[name], "decoder_self")
            wait_for_params(page, **{name: "off"})
            assert len({*names} & set(params_of(page))) == 1
            exact(page)
            weight = weight_in(read_cell(head(page, "after"), 2, 1))
            assert weight == pytest.approx(float(switched[name].decoder_self.weights[0, 0, 2, 1]), abs=0.5001e-4)
        for name, page in pages.items():
            page.get_by_test_id(f"{name}-on").click()
        for page in pages.values():
            until_drawn(page, plain, plain, "decoder_self")


def test_the_leak_leads_to_the_training_of_a_model_that_cheats(context: BrowserContext, server: str) -> None:
    page = opened(context, server, ".hs-leak-punch", part="leak")
    page.get_by_role("link", name="Watch a model learn to cheat").click()
    expect(page.get_by_role("radio", name="No causal mask")).to_be_checked()
    wait_for_params(page, preset="no-mask", source=SENTENCE)


def test_a_head_chosen_in_the_numbers_is_shown_above(context: BrowserContext, server: str) -> None:
    page = opened(context, server, part="measures", scaling="off", kind="cross")
    page.get_by_test_id("measures-after-encoder_self-2-3").click()
    wait_for_params(page, kind="encoder_self", layer="2", head="3")
    wait_for_params(page, part=None)
    expect(page.get_by_test_id("lab-kind-encoder_self")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("pane-after").locator("h3")).to_have_text("Layer 2, head 3")


def test_the_histogram_of_four_times_d_k_is_drawn_twice_as_wide_without_the_server(
    context: BrowserContext, server: str
) -> None:
    page = opened(context, server, "[data-testid=why-histogram] svg", part="scaling", d_k="32")
    page.wait_for_selector(SETTLED)
    areas, wide = page.locator("[data-testid=why-histogram] .why-area"), "all => all.map(one => one.getBBox().width)"
    unscaled, scaled = areas.evaluate_all(wide)[:2]
    context.set_offline(True)
    for _ in range(10):  # five depths to an octave
        page.get_by_test_id("why-slider").press("ArrowRight")
    expect(page.get_by_test_id("why-depth")).to_have_text("dk = 128")
    assert areas.evaluate_all(wide)[:2] == pytest.approx([2 * unscaled, scaled], rel=0.01)


def test_the_softmax_playground_agrees_with_autograd(context: BrowserContext, server: str) -> None:
    page = opened(context, server, "[data-testid=softmax]", part="softmax")
    scores = [3.0, -1.5, 0.5, 2.0, 0.0]
    for number, score in enumerate(scores, 1):
        page.get_by_test_id(f"softmax-score-{number}").fill(str(score))
    page.get_by_test_id("softmax-temperature").fill("0.3")

    def value(name: str) -> float:
        return float(page.get_by_test_id(f"softmax-{name}").get_attribute("data-value") or "nan")

    temperature = value("temperature")
    assert temperature == pytest.approx(10**0.3)
    given = torch.tensor(scores, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda values: (values / temperature).softmax(0), given)
    shown = [[value(f"jacobian-{i + 1}-{j + 1}") for j in range(5)] for i in range(5)]
    weights = [value(f"weight-{i + 1}") for i in range(5)]
    torch.testing.assert_close(torch.tensor(shown, dtype=torch.float64), jacobian, rtol=0, atol=1e-12)
    assert weights == pytest.approx((given / temperature).softmax(0).tolist(), abs=1e-12)
    assert value("trace") == pytest.approx(float(jacobian.trace()), abs=1e-12)
    wait_for_params(page, scores="3,-1.5,0.5,2,0", temperature="1.9953")


def test_the_largest_gain_and_the_largest_loss_have_two_hues(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    before, after = traced(model), traced(model, "causal=off")
    page = opened(context, server, causal="off", kind="decoder_self")
    until_drawn(page, before, after, "decoder_self")
    change = after.decoder_self.weights - before.decoder_self.weights
    found = []
    for index in (int(change.argmax()), int(change.argmin())):
        layer, chosen, row, column = (int(number) for number in torch.unravel_index(torch.tensor(index), change.shape))
        assert abs(float(change[layer, chosen, row, column])) > 0.99
        picture, count = grid(page, "difference"), change.shape[-1]
        at = tile(picture, layer, chosen)
        x, y = in_tile(at, count, count)[row * count + column]
        found += colours(picture, [(x, y - at["h"] / count / 4)]).tolist()  # a minus is in the middle of a loss
    (red, _, blue), (red_lost, _, blue_lost) = found
    assert red > blue + 40 and blue_lost > red_lost + 100, found  # orange for what is gained, blue for what is lost


def test_the_first_screen_of_a_projector_holds_both_sides(
    context: BrowserContext, server: str, model: Pretrained
) -> None:
    """Without a link, in big text: both translations, both heads, their numbers and one row's bars."""
    page = sized_page(context, 1280, 720)
    page.goto(f"{server}/lab?big=1")
    plain = model.trace(START)
    until_drawn(page, plain, model.retrace(plain, Interventions.parse("scaling=off")))
    exact(page)
    expect(page.get_by_test_id("lab-says")).to_contain_text("saturated")
    changed = page.locator(".hs-lab-translations span b").all_text_contents()
    assert changed and all(word == word.strip() for word in changed)  # no underlined blanks
    for name in ("translation", "head", "numbers"):
        for side in ("before", "after"):
            expect(page.get_by_test_id(f"lab-{name}-{side}")).to_be_in_viewport(ratio=1)
    expect(page.get_by_test_id("lab-row-bars")).to_be_in_viewport(ratio=1)
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.locator(".hs-lab-work .hs-pane-head h2").evaluate_all(cut) == 0


def test_numbers_are_saved_with_their_switches(context: BrowserContext, server: str, model: Pretrained) -> None:
    page = opened(context, server, scaling="off", kind="cross", layer="3", head="7")
    plain, switched = traced(model), traced(model, "scaling=off")
    until_drawn(page, plain, switched)
    exact(page)
    name, content = saved(page, "lab-save", "csv")
    assert name == "headscope-en-de-cross-layer3-head7-scaling-off.csv"
    rows = list(csv.reader(content.decode("utf-8-sig").splitlines()))
    assert rows[0] == ["predicted", "source", "before", "after: scaling off", "difference"]
    for place, trace in ((2, plain), (3, switched)):
        weights = trace.cross.weights[2, 6].flatten().tolist()
        assert [float(row[place]) for row in rows[1:]] == pytest.approx(weights, abs=1e-8)
    assert b"scaling off" in saved(page, "lab-save", "svg")[1]


def test_on_a_phone_one_picture_shows_each_side_in_turn(context: BrowserContext, server: str) -> None:
    page = sized_page(context, 390, 844)
    page.goto(f"{server}/lab")
    page.wait_for_selector("[data-testid=lab][data-drawn]")
    expect(page.get_by_test_id("lab-translation-after")).to_be_in_viewport(ratio=1)
    for side in ("after", "before", "difference"):
        page.get_by_test_id(f"lab-show-{side}").click()
        for name in ("after", "before", "difference"):
            expect(head(page, name)).to_be_visible(visible=name == side)
    wait_for_params(page, pane="difference")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_mask_that_the_model_lacks_cannot_be_switched_off(
    browser_path: str, context: BrowserContext, tmp_path: Path
) -> None:
    models = saved_variants(tmp_path, {"unmasked": {"causal": False, "positions": "none", "scaling": False}})
    with served(tmp_path, HEADSCOPE_CHECKPOINTS=str(models)) as app:
        page = opened(context, app.address, checkpoint="unmasked", source="ka lo minu re", target="zen pol vu ti")
        buttons = [page.get_by_test_id(f"causal-{name}") for name in ("on", "off")]
        assert [button.get_attribute("aria-pressed") for button in buttons] == ["false", "true"]
        assert all(button.is_disabled() for button in buttons)
        expect(page.get_by_test_id("lab-kind-decoder_self")).to_have_text("Decoder self (no mask)")
