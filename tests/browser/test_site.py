"""The site without a server, as a web host serves it: below a path, from files alone."""

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Request, Route, expect

import transformer
from tests.browser.explorer_page import click_head, hover, params_of, wait_for_params, weight_in
from tests.support.closed import closed_checkpoint
from tests.support.server import hosted
from transformer.interventions.sets import NONE, Interventions
from transformer.live_training.presets import HIGHLIGHTS
from transformer.view.examples import read_examples
from transformer.view.shared_texts import say
from transformer.view.site_pages import SITE_PAGES
from transformer.web.single_file import write_single_file
from transformer.web.site import write_site

COUNTED = re.compile(r"\d+ of \d+ tokens")  # said by the field of the source, once the model is there
LARGEST_START = 400_000  # bytes until the first picture


@pytest.fixture(scope="module")
def site(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site of two small models, below a path."""
    folder = tmp_path_factory.mktemp("host")
    write_site(folder / "teaching" / "heads", [transformer.load("reverse"), transformer.load("ko-numbers")])
    with hosted(folder) as address:
        yield f"{address}teaching/heads/"


def opened(context: BrowserContext, address: str, **params: str) -> Page:
    page = context.new_page()
    page.goto(f"{address}?{urlencode(params)}" if params else address)
    return page


def ready(page: Page) -> Page:
    """The same page, once the model is there."""
    expect(page.locator(".hs-field-source label")).to_have_text(COUNTED)
    return page


def chosen(page: Page, kind: str) -> Locator:
    """The head that the grid of a kind has chosen."""
    return page.get_by_test_id(f"grid-{kind}").locator('[aria-selected="true"]')


def test_the_picture_follows_each_key_without_a_network(silent: BrowserContext, site: str) -> None:
    model = transformer.load("reverse")
    page = ready(opened(silent, site, kind="cross"))
    silent.set_offline(True)
    source = page.get_by_test_id("source")
    source.fill("")
    for text in ("d", "do", "dog", "dogs"):
        source.press_sequentially(text[-1])
        trace = model.trace(text)
        expect(page.locator(".hs-field-source label")).to_contain_text(f" {len(trace.source_ids)} of ")
        expect(page.get_by_test_id("chips").get_by_role("listitem")).to_have_text(list(trace.target_out_labels))
    click_head(page, "cross", 1, 0)
    assert weight_in(hover(page, "cross", 0, 2)) == pytest.approx(float(trace.cross.weights[1, 0, 0, 2]), abs=1e-4)
    wait_for_params(page, source="dogs", layer="2", head="1")


def test_the_first_picture_needs_no_model(visitor: BrowserContext, site: str) -> None:
    page = visitor.new_page()
    page.route(re.compile("/models/|engine.js"), lambda route: route.abort())
    finished: list[Request] = []
    page.on("requestfinished", lambda request: finished.append(request))
    page.goto(site)
    page.wait_for_selector("[data-drawn]")
    sizes = [request.sizes() for request in finished]
    assert 0 < sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) < LARGEST_START
    reverse = transformer.load("reverse")
    labels = reverse.trace(read_examples(reverse)[0].source).target_out_labels
    words = page.locator("[data-testid=sight] text[data-side=target]")
    expect(words).to_have_text(list(labels[:-1]))  # without </s>
    expect(page.get_by_test_id("badge-recomputed").first).to_have_attribute("data-ok", "true")  # exact numbers


def test_back_and_forward_go_through_what_was_looked_at(silent: BrowserContext, site: str) -> None:
    page = ready(opened(silent, site, source="abcd", kind="cross", layer="1", head="1"))
    moment = "new Promise((done) => setTimeout(done, 1600))"  # as history.js: MOMENT
    page.get_by_test_id("kind-encoder_self").click()
    wait_for_params(page, kind="encoder_self")
    page.evaluate(moment)
    page.get_by_test_id("source").fill("dogs")
    wait_for_params(page, source="dogs")
    page.evaluate(moment)
    page.get_by_role("link", name="Lab", exact=True).click()
    expect(page.get_by_test_id("lab")).to_be_visible()
    for _ in range(2):
        page.go_back()
    explorer, source = page.get_by_test_id("explorer"), page.get_by_test_id("source")
    expect(source).to_have_value("abcd")
    expect(explorer).to_have_attribute("data-kind", "encoder_self")
    page.go_back()
    expect(explorer).to_have_attribute("data-kind", "cross")
    for _ in range(3):
        page.go_forward()
    expect(page.get_by_test_id("lab")).to_be_visible()
    expect(source).to_have_value("dogs")


def test_an_example_and_another_model_are_chosen(silent: BrowserContext, site: str) -> None:
    page = ready(opened(silent, site, kind="cross"))
    example = read_examples(transformer.load("reverse"))[2]
    page.get_by_test_id("examples").locator("summary").click()
    page.get_by_test_id("examples").get_by_role("button", name=example.title).click()
    expect(page.get_by_test_id("source")).to_have_value(example.source)
    expect(page.get_by_test_id("look-for")).to_contain_text(example.look)
    page.get_by_role("combobox", name="Model").select_option("ko-numbers")
    first = read_examples(transformer.load("ko-numbers"))[0]
    expect(page.get_by_test_id("source")).to_have_value(first.source)
    labels = transformer.load("ko-numbers").trace(first.source).target_out_labels
    expect(page.get_by_test_id("chips").get_by_role("listitem")).to_have_text(list(labels))
    wait_for_params(page, checkpoint="ko-numbers", source=first.source)


@pytest.fixture(scope="module")
def closed_site(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site of a toy and a model with a closed vocabulary."""
    folder = tmp_path_factory.mktemp("closed")
    write_site(folder / "site", [transformer.load("reverse"), transformer.load(closed_checkpoint(folder))])
    with hosted(folder / "site") as address:
        yield address


def test_a_korean_sentence_opens_its_model_and_words_outside_it_are_named(
    context: BrowserContext, closed_site: str
) -> None:
    page = ready(opened(context, closed_site))
    source, said = page.get_by_test_id("source"), page.get_by_test_id("messages")
    source.fill("학꾜를 봐요")
    expect(said).to_contain_text("This text is outside what this model reads")
    said.get_by_role("button", name="Open ko-en, which reads Korean sentences").click()
    wait_for_params(page, checkpoint="ko-en", source="학꾜를 봐요")
    expect(said).to_contain_text("Not in this model's vocabulary: 학꾜를 (near: 학교)")
    source.fill("학교를 봐요")
    expect(said).not_to_contain_text("(near:")
    source.fill("a school")
    expect(said).to_contain_text("This model reads Korean only. It cannot read this text; its output means nothing.")


def test_every_page_opens_by_its_address_and_in_korean(silent: BrowserContext, site: str) -> None:
    for name in (name for name in SITE_PAGES if name != "lessons"):  # no lesson speaks of these models
        page = opened(silent, f"{site}{name}/" if name != "heads" else site)
        shown = page.locator(".hs-page [data-testid]").first
        expect(shown).to_be_visible()
        if page.get_by_test_id("source").is_visible():
            ready(page)
        page.get_by_test_id("settings").locator("summary").click()
        page.get_by_role("combobox", name="Language").select_option("ko")
        expect(page.locator("html")).to_have_attribute("lang", "ko")
        expect(shown).to_be_visible()
        expect(page.locator("header nav a").first).to_have_text("헤드")
        page.reload()  # kept
        expect(page.locator("header nav a").first).to_have_text("헤드")
        page.get_by_test_id("settings").locator("summary").click()
        page.get_by_role("combobox", name="언어").select_option("en")
        page.close()


def test_what_is_looked_at_is_explained_below_as_a_link_asks(silent: BrowserContext, site: str) -> None:
    for name, part, said in (
        ("heads", "", "about_squares"), ("anatomy", "", "about_anatomy"), ("lab", "compare", "about_lab"),
        ("lab", "softmax", "about_lab_switches"),
    ):  # fmt: skip
        page = opened(silent, site, page=name, part=part, panel="about")
        expect(page.get_by_test_id("about").locator("p").filter(has_text=say(said).replace("*", ""))).to_be_visible()
        page.get_by_test_id("about").locator("summary").click()
        page.wait_for_url(lambda url: "panel" not in url)


def test_switches_without_effect_are_named_in_words(silent: BrowserContext, site: str) -> None:
    page = opened(silent, site, page="lab", zero="cross.1.1", skip="encoder.1.ff", hide="source.60", pad="500")
    unapplied = "Not applied here: token 60 of the source hidden; pad=500."
    for text in (unapplied, say("others", switches="left out: feed-forward, encoder layer 1")):
        expect(page.get_by_text(text)).to_be_visible()
    said = page.get_by_test_id("messages")
    page.get_by_role("button", name=say("part_softmax")).click()
    expect(said).to_have_text(say("waiting"))
    page.get_by_role("link", name="Heads", exact=True).click()
    expect(said).to_have_text(say("waiting_page"))


def test_the_lab_says_what_switches_do_to_the_translation(silent: BrowserContext, site: str) -> None:
    model, on = transformer.load("reverse"), Interventions.parse("zero=cross.2.1")
    page = opened(silent, site, page="lab", checkpoint="reverse", source="stone", zero="cross.2.1")
    effect = page.get_by_test_id("effect")
    for title, switches in (("wrote_before", NONE), ("wrote_after", on)):
        words = effect.get_by_test_id(title).locator(".hs-tr-word")
        tokens = model.translate("stone", interventions=switches).tokens
        expect(words.locator("> span")).to_have_text(list(tokens))
    page.get_by_role("button", name="Scaling off").click()
    expect(effect).to_contain_text(say("rescaled_off"))
    page.get_by_role("button", name="Put back").click()
    expect(effect).to_contain_text(say("words_only"))


def test_without_simd_the_page_says_what_is_missing(visitor: BrowserContext, site: str) -> None:
    visitor.add_init_script("WebAssembly.validate = () => false")
    page = opened(visitor, site)
    expect(page.get_by_test_id("messages")).to_contain_text("WebAssembly with SIMD")
    expect(page.get_by_test_id("explorer")).to_be_visible()  # the recorded picture


def test_a_download_that_failed_is_tried_again(visitor: BrowserContext, site: str) -> None:
    visitor.route("**/models/**", lambda route: route.fulfill(status=503))
    page = opened(visitor, site)
    again = page.get_by_test_id("messages").get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    visitor.unroute("**/models/**")
    again.click()
    ready(page)


def test_what_cannot_be_loaded_is_said_and_tried_again(context: BrowserContext, site: str) -> None:
    page = ready(opened(context, site, checkpoint="ko-numbers"))
    page.get_by_role("link", name="Positions", exact=True).click()
    expect(page.locator("figure.hs-fig[data-drawn]").first).to_be_visible()
    context.set_offline(True)
    said = page.get_by_test_id("messages")
    page.get_by_role("link", name="Lab", exact=True).click()
    expect(said).to_contain_text("could be loaded")
    expect(page.locator(".hs-page")).to_have_text("")  # and not the picture of another page
    page.get_by_role("link", name="Positions", exact=True).click()  # opened before
    expect(page.locator("figure.hs-fig[data-drawn]").first).to_be_visible()
    expect(said).to_have_text("")
    page.get_by_role("link", name="Heads", exact=True).click()
    page.get_by_test_id("formation-open-close").click()
    expect(said).to_contain_text("could be loaded")
    context.set_offline(False)
    said.get_by_role("button", name="Try again").click()
    expect(page.get_by_test_id("formation")).to_have_attribute("data-state", "recorded")
    expect(said).to_have_text("")


def test_recorded_trainings_may_arrive_unpacked(context: BrowserContext, site: str) -> None:
    page = context.new_page()
    page.route("**/trainings/*.gz", lambda route: route.fulfill(body=gzip.decompress(route.fetch().body())))
    page.goto(f"{site}training/")
    expect(page.get_by_role("status").filter(has_text="reverse: recorded")).to_be_attached()


def test_another_training_clears_what_is_said_of_one_that_failed(context: BrowserContext, site: str) -> None:
    page = opened(context, f"{site}training/")
    shown = page.get_by_role("status").filter(has_text="recorded")
    expect(shown).to_be_attached()
    said = page.get_by_test_id("messages")
    first, second = (page.get_by_test_id(f"preset-{name}") for name in HIGHLIGHTS[:2])
    page.route("**/trainings/*.gz", lambda route: route.abort())
    for _ in range(2):  # asked for again, and said again
        second.click()
        expect(said).to_contain_text("could be loaded")
        first.click()
        expect(said).to_have_text("")
    page.unroute("**/trainings/*.gz")
    second.click()
    expect(shown).to_contain_text(second.inner_text(), ignore_case=True)
    expect(said).to_have_text("")


def test_on_a_phone_the_chosen_part_is_in_view_and_only_tables_go_on_sideways(phone: BrowserContext, site: str) -> None:
    page = opened(phone, f"{site}lab/", part="softmax")
    expect(page.locator(".hs-parts").get_by_role("button", pressed=True)).to_be_in_viewport(ratio=0.99)
    page.goto(f"{site}lab/?lang=ko&big=1")
    effect = page.get_by_test_id("effect")
    expect(effect.locator("table")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    table = effect.locator(".effect-scroll").last
    assert table.evaluate("element => element.scrollWidth > element.clientWidth")


def test_colours_and_big_text_stay_with_the_viewer(another: Callable[..., BrowserContext], site: str) -> None:
    page = ready(opened(another(color_scheme="dark"), site))
    explorer = page.get_by_test_id("explorer")
    expect(explorer).to_have_attribute("data-theme", "dark")
    page.get_by_test_id("settings").locator("summary").click()
    page.get_by_role("combobox", name="Colours").select_option("light")
    page.get_by_test_id("big").check()
    for _ in range(2):
        expect(explorer).to_have_attribute("data-theme", "light")
        expect(explorer).to_have_attribute("data-big", "")
        page.reload()
    assert "big" not in params_of(page)


def test_a_first_picture_that_comes_after_the_first_key_is_not_drawn(visitor: BrowserContext, site: str) -> None:
    """As on a slow line: until the model is here, nothing shows the attention of what the fields say."""
    page = visitor.new_page()
    page.route("**/models/**", lambda route: None)
    held: list[Route] = []
    page.route("**/first*.pack.gz*", lambda route: held.append(route))
    with page.expect_request("**/first-head.pack.gz*"):
        page.goto(site)
    explorer = page.get_by_test_id("explorer")
    page.get_by_test_id("source").fill("dogs")
    expect(explorer).to_have_css("opacity", "0.4")
    with page.expect_event("requestfinished", lambda request: "first-head.pack" in request.url):
        for route in held:
            route.continue_()
    expect(page.get_by_test_id("messages")).to_contain_text("Loading the model")
    expect(explorer).to_have_css("opacity", "0.4")
    expect(explorer).not_to_have_attribute("data-drawn", re.compile(""))
    page.unroute_all()
    page.reload()
    ready(page)
    expect(explorer).to_have_css("opacity", "1")


def test_how_heads_formed_is_shown_for_recorded_sentences(silent: BrowserContext, site: str) -> None:
    page = ready(opened(silent, site, checkpoint="ko-numbers"))
    explorer, formation = page.get_by_test_id("explorer"), page.get_by_test_id("formation")
    page.get_by_test_id("formation-open-close").click()
    expect(formation).to_have_attribute("data-state", "recorded")
    expect(explorer).to_have_attribute("data-training", "0")
    page.get_by_test_id("formation-slider").fill("3")
    step = formation.get_attribute("data-step") or ""
    wait_for_params(page, training=step)
    other = ready(opened(silent, page.url))
    expect(other.get_by_test_id("explorer")).to_have_attribute("data-training", step)
    page.get_by_test_id("source").fill("12")
    expect(formation).to_have_attribute("data-state", "elsewhere")
    page.get_by_test_id("formation-open").click()
    expect(formation).to_have_attribute("data-state", "recorded")
    page.get_by_test_id("formation-back").click()
    expect(formation).to_have_count(0)
    expect(explorer).to_have_attribute("data-training", "")


def test_a_single_file_needs_no_server(another: Callable[..., BrowserContext], tmp_path: Path) -> None:
    file, model = tmp_path / "headscope.html", transformer.load("reverse")
    write_single_file(file, [model], ["en"])
    context = another(offline=True)
    page = ready(opened(context, file.as_uri(), kind="cross"))
    page.get_by_test_id("source").fill("dogs")
    expect(page.get_by_test_id("chips").get_by_role("listitem")).to_have_text(
        list(model.trace("dogs").target_out_labels)
    )
    for name in page.locator("nav a").evaluate_all("links => links.map((link) => link.dataset.page)")[1:]:
        page.locator(f'nav a[data-page="{name}"]').click()
        expect(page.locator(".hs-page [data-testid]").first).to_be_visible()
        expect(page).to_have_url(re.compile(f"page={name}"))
    other = opened(context, page.url)
    expect(other.locator(".hs-page [data-testid]").first).to_be_visible()
