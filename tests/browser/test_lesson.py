"""A lesson in Chromium: through its stops by keyboard, a prediction, wandering off and back, a sheet on a phone; on
paper; and one that a person writes."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from pages.registry import pages
from tests.browser.accessibility import WIDER, findings
from tests.browser.explorer_page import click_head, opened, params_of, wait_for_params
from tests.browser.navigation import link_to, opened_at, sized_page, taken
from tests.browser.stillness import still
from transformer.lessons import Computed, Question, parse_lesson

LESSON = "attention-in-10-minutes"
FOLDER = Path(__file__).resolve().parents[2] / "lessons"


def start(page: Page, server: str) -> None:
    """From the first screen, which offers a lesson beside the explorer."""
    page.goto(server)
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    page.get_by_role("button", name="Start the 10-minute lesson").click()
    expect(page.locator(".hs-lesson-title")).to_have_text("A model that translates")
    page.wait_for_selector("[data-testid=explorer][data-drawn]")


def write(page: Page, label: str, text: str) -> None:
    still(page)  # nobody types into a field while it is being drawn
    page.get_by_label(label).fill(text)


def choose(page: Page, label: str, option: str) -> None:
    still(page)
    page.get_by_role("combobox", name=label).click()
    page.keyboard.press("ArrowDown")  # opens the menu if the click closed it
    page.get_by_role("option", name=option).click()


def is_sheet(panel: Locator) -> bool:
    """At the bottom of a phone, as wide as that, and less than half as high."""
    box = panel.bounding_box()
    wide = box is not None and (box["x"], box["width"]) == (0, 390)
    return box is not None and wide and box["y"] + box["height"] == 844 > 2 * box["height"]


def test_a_person_goes_through_a_lesson_with_the_keyboard(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    start(page, server)
    wait_for_params(page, lesson=LESSON, stop="1", source="The children are playing in the garden.")
    page.keyboard.press("Alt+n")
    expect(page.locator(".hs-lesson-title")).to_have_text("Read one row")
    wait_for_params(page, stop="2", cell="2,3")
    # The view stays covered until a prediction is made.
    expect(page.locator(".hs-cover")).to_be_visible()
    expect(page.get_by_test_id("explorer")).not_to_be_visible()
    page.locator(".st-key-hs-lesson-question [role=radiogroup] label").nth(1).click()
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".hs-lesson-verdict")).to_be_visible()
    expect(page.get_by_test_id("explorer")).to_be_visible()
    page.keyboard.press("Alt+b")
    expect(page.locator(".hs-lesson-title")).to_have_text("A model that translates")


def test_who_presses_another_head_may_answer_with_it_and_go_back(context: BrowserContext, server: str) -> None:
    page = opened_at(context, f"{server}/?lesson={LESSON}&stop=4", "[data-testid=explorer][data-drawn]")
    back = page.locator(".st-key-hs-lesson-return")
    expect(back).to_have_count(0)
    # The question is as large as one that covers its view, and what no stop needs is behind one button.
    expect(page.locator(".st-key-hs-wall .hs-lesson-ask")).to_have_css("font-size", "32px")
    expect(page.locator(".st-key-hs-header, .st-key-hs-sentence").first).to_be_hidden()
    expect(page.get_by_test_id("kind-cross")).to_be_hidden()
    page.get_by_test_id("options-open-close").click()
    for name in ("kind-cross", "opt-rows"):
        expect(page.get_by_test_id(name)).to_be_visible()
    click_head(page, "encoder_self", 1, 3)
    wait_for_params(page, layer="2", head="4", lesson=LESSON)
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".hs-lesson-reveal dd").first).to_have_text("layer 2, head 4")
    expect(back).to_be_visible()
    back.get_by_role("button").click()
    wait_for_params(page, layer="1", head="1", stop="4")
    expect(back).to_have_count(0)
    # Another page: the lesson comes along.
    link_to(page, "Positions").click()
    expect(page.locator("h1.hs-spoken")).to_have_text("Positions")
    still(page)  # the panel of the page that was left stays until the run has ended
    expect(page.locator(".hs-lesson-title")).to_have_text("Many heads")
    back.get_by_role("button").click()
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    assert params_of(page)["stop"] == "4"


def test_on_an_upright_tablet_nothing_of_the_page_lies_under_the_lesson(context: BrowserContext, server: str) -> None:
    page = sized_page(context, 820, 1180)
    question = page.locator(".st-key-hs-lesson-question")
    for stop in (10, 17):  # a column of text beside a table; two tables
        page.goto(f"{server}/?lesson=paper-in-45-minutes&stop={stop}")
        still(page)
        if stop == 10:
            question.locator("[role=radiogroup] label").first.click()
        else:
            question.get_by_role("textbox").fill("50")
        question.get_by_role("button", name="Answer").click()
        expect(page.locator(".hs-lesson-verdict")).to_be_visible()
        expect(page.locator(".hs-lesson-name small")).to_have_text(f"{stop} of 18")
        page.wait_for_selector("[data-testid=stMain] td", state="attached")
        still(page)
        panel = page.locator(".st-key-hs-lesson").bounding_box()
        assert panel is not None and (panel["x"], panel["width"]) == (0, 820) and panel["y"] > 1180 / 2
        ends = page.locator("[data-testid=stMain] td").evaluate_all(
            "(cells) => cells.map((cell) => cell.getBoundingClientRect().right)"
        )
        assert max(ends) <= 820


def test_on_a_phone_a_lesson_is_a_sheet_that_folds(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    late: list[Route] = []
    # Without the code that inserts the app's own style sheets, for a moment.
    page.route(re.compile(r"/static/js/Html\."), lambda route: late.append(route))
    page.goto(f"{server}/?lesson={LESSON}&stop=1")
    panel = page.locator(".st-key-hs-lesson")
    expect(panel).to_be_visible()
    assert late and is_sheet(panel)  # also before that code is there
    for route in late:
        route.continue_()
    page.unroute_all()
    expect(page.locator(".hs-lesson-title")).to_be_visible()
    assert is_sheet(panel)
    panel.get_by_role("button", name="Hide").click()
    folded = page.locator(".st-key-hs-lesson-folded")
    expect(folded).to_be_visible()
    still(page)  # what was in the panel stays until its run has ended
    assert (small := folded.bounding_box()) and small["height"] < 120
    end = page.get_by_test_id("stMain").bounding_box()
    assert end and end["y"] + end["height"] <= small["y"] + 1  # it covers nothing
    expect(page.locator(".st-key-hs-header")).to_be_visible()
    folded.get_by_role("button", name="Show the lesson").click()
    expect(panel).to_be_visible()
    assert is_sheet(panel)
    expect(page.locator(".st-key-hs-header")).to_be_hidden()  # behind "Hide"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # A prediction: the sheet is the whole screen; then it is low, with answer and Next in sight, and the picture opens.
    panel.get_by_role("button", name="Next").click()
    expect(page.locator(".hs-lesson-title")).to_have_text("Read one row")
    expect(page.locator(".st-key-hs-header")).to_be_hidden()
    for one in (page.locator(".hs-lesson-title"), page.locator(".st-key-hs-lesson-question [role=radiogroup]")):
        expect(one).to_be_in_viewport(ratio=1)
    page.locator(".st-key-hs-lesson-question [role=radiogroup] label").first.click()
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".hs-lesson-verdict")).to_be_in_viewport()
    expect(panel.get_by_role("button", name="Next")).to_be_in_viewport()
    expect(page.get_by_test_id("explorer")).to_be_in_viewport()
    assert is_sheet(panel) and panel.bounding_box()["height"] < 150  # type: ignore[index]
    cards = page.locator(".st-key-hs-wall .hs-cards li").evaluate_all("(all) => all.map((one) => one.offsetHeight)")
    assert min(cards) < 32, cards  # one slim line each
    # A view that is open: picture and question on one screen.
    page.goto(f"{server}/?lesson={LESSON}&stop=5")
    expect(page.locator(".st-key-hs-wall .hs-lesson-ask")).to_be_in_viewport(ratio=1)
    expect(page.locator(".st-key-hs-wall").get_by_role("button", name="Answer")).to_be_in_viewport(ratio=1)
    expect(page.get_by_test_id("grid-decoder_self")).to_be_in_viewport(ratio=1)


def test_a_person_writes_a_lesson_tries_it_saves_it_and_loads_it_elsewhere(
    context: BrowserContext, visitor: BrowserContext, server: str, tmp_path: Path
) -> None:
    page = opened(context, server, kind="cross", layer="4", head="1", cell="2,3", checkpoint="en-de")
    page.get_by_role("button", name="Link", exact=True).click()
    page.get_by_role("button", name="Add to my lesson").click()
    page.get_by_role("link", name="Edit my lesson").click()
    write(page, "Title of the lesson", "Dogs & <b>cats</b>")
    write(page, "Title of the stop", "One row")
    write(page, "What to see here", "Look at the **second** row.")
    choose(page, "Question", "press a cell")
    write(page, "What is asked", "Press its darkest cell.")
    choose(page, "Right answer", "computed: the cell")
    write(page, "Why it is so", "It is the darkest.")
    page.keyboard.press("Tab")
    still(page)
    expect(page.locator(".st-key-hs-own .hs-message")).to_have_count(0)  # nothing typed was lost
    for width, height in ((390, 844), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        still(page)
        assert findings(page) == [] and page.evaluate(WIDER) <= 0
    name, content = taken(page.get_by_role("button", name="Save as a file"))
    assert name == "dogs-b-cats-b.toml"
    asked = parse_lesson(content.decode(), "mine", [one.path for one in pages()]).stops[0].question
    place = {"kind": "cross", "layer": 4, "head": 1, "row": 2, "reading": "predicted"}
    wanted = Computed("largest_cell", place)
    assert asked == Question("cell", "Press its darkest cell.", wanted, why="It is the darkest.")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".hs-lesson-title")).to_have_text("One row")
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".hs-lesson-verdict")).to_contain_text("It is the darkest.")
    (file := tmp_path / "mine.toml").write_bytes(content)
    other = visitor.new_page()
    other.goto(f"{server}/lessons?part=own")
    other.get_by_test_id("training-file-input").set_input_files(file)
    expect(other.get_by_label("Title of the lesson")).to_have_value("Dogs & <b>cats</b>")
    expect(other.get_by_label("What is asked")).to_have_value("Press its darkest cell.")


def test_a_lesson_is_printed(context: BrowserContext, server: str, tmp_path: Path) -> None:
    page = context.new_page()
    page.goto(f"{server}/lessons?source=Yesterday+I+bought+a+new+car.&checkpoint=en-de")
    page.locator(f".st-key-hs-lesson-print-{LESSON} button").click()
    sheet, answers = (taken(page.get_by_role("button", name=name))[1] for name in ("Worksheet", "Answers"))
    assert b"<b>bought</b>" in answers
    (tmp_path / "sheet.html").write_bytes(sheet)
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    page.goto(f"file://{tmp_path}/sheet.html")
    page.emulate_media(media="print")
    codes = page.locator("a.code svg")
    assert codes.count() == len(parse_lesson((FOLDER / f"{LESSON}.toml").read_text(encoding="utf-8"), LESSON).stops)
    for code in codes.all():
        box, whole = code.bounding_box(), code.locator("xpath=ancestor::section").bounding_box()
        assert box and whole and box["width"] == box["height"] > 110  # 3 cm
        assert whole["x"] <= box["x"] and box["x"] + box["width"] <= whole["x"] + whole["width"]
        assert whole["height"] < 900  # a stop, which no page break cuts, fits on a page
    link = str(page.locator("a.code").nth(1).get_attribute("href"))
    page.emulate_media(media="screen")
    page.goto(f"{server}/?{urlsplit(link).query}")
    expect(page.locator(".hs-lesson-title")).to_have_text("Read one row")
