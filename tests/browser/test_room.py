"""A class in Chromium: one teacher, a student on a phone who reloads, one who is offline for a while."""

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import click_head, params_of, wait_for_params
from tests.browser.navigation import link_to, open_room


def counted(teacher: Page, text: str) -> None:
    expect(teacher.locator(".hs-room-code")).to_contain_text(text)


def test_a_class_follows_answers_and_comes_back(
    context: BrowserContext, phone: BrowserContext, visitor: BrowserContext, server: str
) -> None:
    teacher = context.new_page()
    code = open_room(teacher, server)
    teacher.get_by_role("button", name="Show the code").click()
    expect(teacher.get_by_role("dialog")).to_contain_text(code)
    assert teacher.get_by_role("dialog").locator("img.hs-qr").bounding_box()["height"] > 0.6 * 900  # type: ignore[index]
    student = phone.new_page()
    student.goto(f"{server}/?room={code}")
    expect(student.locator("h1.hs-spoken")).to_have_text("Lessons")
    expect(teacher.get_by_role("dialog").locator(".hs-room-joined")).to_have_text("Students in the room: 1")
    teacher.keyboard.press("Escape")
    desk = visitor.new_page()
    desk.goto(f"{server}/?room={code}")
    expect(desk.locator("h1.hs-spoken")).to_have_text("Lessons")
    counted(teacher, "students: 2, following you: 2")
    bar = student.locator(".st-key-hs-room").bounding_box()
    assert bar and bar["height"] < 140, bar  # three lines on a phone

    # Page, head, slider and lesson: what the teacher chooses, all see.
    link_to(teacher, "Heads").click()
    teacher.wait_for_selector("[data-testid=explorer][data-drawn]")
    teacher.get_by_test_id("sight-all").click()
    teacher.get_by_test_id("kind-encoder_self").click()
    click_head(teacher, "encoder_self", 1, 3)
    for follower in (student, desk):
        wait_for_params(follower, kind="encoder_self", layer="2", head="4", room=code)
    link_to(teacher, "Training").click()
    for place in (12, 0):  # recorded steps
        teacher.get_by_test_id("training-slider").fill(str(place))
        for follower in (student, desk):
            expect(follower.get_by_test_id("training-slider")).to_have_value(str(place))
    visitor.set_offline(True)
    link_to(teacher, "Lessons").click()
    teacher.locator("[class*=st-key-hs-lesson-start] button").first.click()
    expect(student.locator(".hs-lesson-title")).to_be_visible()
    teacher.get_by_role("button", name="Next").click()
    wait_for_params(student, stop="2")

    # A question: large on the teacher's screen, predicted on the phone, shown to the teacher, revealed to all.
    expect(teacher.locator(".st-key-hs-wall .hs-lesson-ask")).to_be_in_viewport(ratio=1)
    expect(teacher.locator(".st-key-hs-wall .hs-cards")).to_be_in_viewport(ratio=1)
    expect(teacher.locator(".st-key-hs-header, .st-key-hs-sentence").first).to_be_hidden()
    expect(student.locator(".st-key-hs-wall .hs-lesson-ask")).to_be_visible()
    expect(student.locator(".hs-cover")).to_contain_text("when the answer is revealed")
    expect(student.locator(".st-key-hs-room-first-name")).to_be_visible()
    student.get_by_test_id("stRadio").get_by_text("bought").click()
    student.get_by_role("button", name="Answer").click()
    expect(student.locator(".hs-cards .hs-mine")).to_contain_text("bought")
    expect(student.locator(".st-key-hs-room-first-name")).to_have_count(0)  # asked until the first answer
    expect(student.locator(".hs-lesson-sum")).to_contain_text("Your teacher will reveal what is right.")
    expect(teacher.locator(".hs-room-count")).to_contain_text("1 of 2 have answered")
    expect(teacher.locator(".hs-cards b")).to_have_count(0)
    teacher.get_by_test_id("stCheckbox").get_by_text("Show the answers").click()
    expect(teacher.locator(".hs-cards li", has_text="bought").locator("b")).to_have_text("1")
    teacher.get_by_role("button", name="Reveal the answer").click()
    for one in (student, teacher):  # options that nobody chose stay
        expect(one.locator(".hs-cards .hs-right")).to_contain_text("bought")
        expect(one.locator(".hs-cards li")).to_have_count(8)
        first, second = (one.locator(".hs-cards li").nth(n).bounding_box() for n in (0, 1))
        assert first and second and first["height"] > 28 and abs(first["width"] - second["width"]) < 1  # still cards
        expect(one.get_by_test_id("explorer")).to_contain_text("habe → bought")  # the stop's cell
    expect(teacher.locator(".hs-cover")).to_have_count(0)

    # A reload comes back as the same one; who was offline sees what the others see.
    student.reload()
    expect(student.locator(".hs-lesson-title")).to_be_visible()
    expect(student.locator(".hs-cards .hs-mine em").last).to_have_text("Your answer")
    expect(student.locator(".st-key-hs-room-first-name")).to_have_count(0)
    visitor.set_offline(False)
    wait_for_params(desk, stop="2")
    counted(teacher, "students: 2, following you: 2")

    # A student looks around and is called back.
    link_to(desk, "Positions").click()
    expect(desk.locator("h1.hs-spoken")).to_have_text("Positions")
    counted(teacher, "students: 2, following you: 1")
    teacher.get_by_role("button", name="Call all back").click()
    expect(desk.locator("h1.hs-spoken")).to_have_text("Heads")
    counted(teacher, "students: 2, following you: 2")
    assert student.evaluate("document.documentElement.scrollWidth") <= 390

    # The teacher reloads and still steers; then the room ends.
    teacher.reload()
    counted(teacher, "students: 2, following you: 2")
    teacher.locator(".st-key-hs-room-class button").click()
    teacher.get_by_role("button", name="End the room").click()
    teacher.get_by_role("button", name="End and delete").click()
    expect(teacher.locator(".hs-message")).to_contain_text(f"The room {code} has ended; its answers are deleted.")
    expect(teacher.locator(".st-key-hs-room")).to_have_count(0)
    expect(student.locator(".hs-message")).to_contain_text(f"The room {code} has ended.")
    assert "room" not in params_of(student)
