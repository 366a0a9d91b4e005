"""A class in Chromium, from the first stop of the lesson on the paper to its last: `make screenshots ARGS=--class`.

A teacher opens a room and leads; three students follow: on a laptop, which reloads at every third stop; on a phone; and
on a tablet that is without network in the middle. At every stop each question is answered and revealed. The folder gets
pictures of every stop on all four, before and after the answer, and index.html, which shows them side by side. Fails if
a student does not show the teacher's stop and view, or is not told that there is no network; if an answer is not
counted, or if a revealed answer is not shown.
"""

import html
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.explorer_page import wait_for_params
from tests.browser.navigation import open_room
from tests.browser.stillness import still

LESSON = "paper-in-45-minutes"
SCREENS = {"teacher": (1440, 900), "laptop": (1280, 720), "phone": (390, 844), "tablet": (820, 1180)}
RELOADS = 3  # the laptop reloads at each stop whose number this divides
OFFLINE = range(6, 9)  # stops at which the tablet has no network
ANSWERS = {"laptop": 0, "phone": 1, "tablet": 2}  # which option each student chooses
WAIT, SETTLED = 60_000, 700  # milliseconds

VIEW = """() => Object.fromEntries(new URLSearchParams(location.search)
  .entries().filter(([name]) => !["room", "big"].includes(name)))"""


@dataclass
class Class:
    """pages: the screens by name, the teacher's first. taken: the pictures of each stop."""

    pages: dict[str, Page]
    folder: Path
    taken: dict[int, list[str]] = field(default_factory=dict)

    @property
    def teacher(self) -> Page:
        return self.pages["teacher"]

    def online(self, stop: int) -> dict[str, Page]:
        """The students who have a network."""
        off = ("teacher", "tablet") if stop in OFFLINE else ("teacher",)
        return {name: page for name, page in self.pages.items() if name not in off}

    def take(self, stop: int, when: str) -> None:
        for name, page in self.pages.items():
            if name == "teacher" or name in self.online(stop):
                still(page)
            page.wait_for_timeout(SETTLED)
            path = f"{stop:02d}-{when}-{name}.png"
            page.screenshot(path=self.folder / path)
            self.taken.setdefault(stop, []).append(path)

    def follow(self, stop: int) -> None:
        """Every student who has a network shows the teacher's stop, its text and its view."""
        still(self.teacher)  # its address is written before its page is drawn
        title = self.teacher.locator(".hs-lesson-title").inner_text()
        for page in self.online(stop).values():
            wait_for_params(page, lesson=LESSON, stop=str(stop))
            expect(page.locator(".hs-lesson-title")).to_have_text([title])  # the one before may stay for a moment
        wanted = self.teacher.evaluate(VIEW)
        for name, page in self.online(stop).items():
            still(page)
            assert page.evaluate(VIEW) == wanted, f"stop {stop}, {name}: {page.evaluate(VIEW)}, not {wanted}"
            assert page.evaluate("location.pathname") == self.teacher.evaluate("location.pathname")
        for name, page in self.pages.items():
            lost = expect(page.locator(".hs-lost"))
            if name == "tablet" and stop in OFFLINE:
                lost.to_contain_text("No connection")
            else:
                lost.to_be_empty()

    def ask(self, stop: int) -> None:
        """All answer; the teacher reveals; all see it."""
        students = self.online(stop)
        for name, page in students.items():
            answer(page.locator(".st-key-hs-lesson-question"), ANSWERS[name])
        expect(self.teacher.locator(".hs-room-count")).to_contain_text(f"{len(students)} of ")
        self.teacher.get_by_role("button", name="Reveal the answer").click()
        for page in (self.teacher, *students.values()):
            expect(page.locator(".hs-lesson-verdict")).to_be_in_viewport()
            expect(page.locator(".hs-cover")).to_have_count(0)


def answer(question: Locator, choice: int) -> None:
    page = question.page
    options = question.locator("[role=radiogroup] label")
    if options.count():
        options.nth(choice % options.count()).click()
    elif question.locator("input[type=text]").count():
        question.locator("input[type=text]").fill(str(choice + 1))
    still(page)
    question.get_by_role("button", name="Answer").click()
    expect(question.locator(".hs-lesson-sum")).to_contain_text("Your teacher will reveal")


def walk(browser: Browser, address: str, folder: Path) -> None:
    contexts = {
        name: browser.new_context(viewport={"width": width, "height": height})
        for name, (width, height) in SCREENS.items()
    }
    for context in contexts.values():
        context.set_default_timeout(WAIT)
    expect.set_options(timeout=WAIT)
    here = Class({name: context.new_page() for name, context in contexts.items()}, folder)
    code = open_room(here.teacher, address)
    for page in here.online(0).values():
        page.goto(f"{address}/?room={code}")
        expect(page.locator("h1.hs-spoken")).to_have_text("Lessons")
    expect(here.teacher.locator(".hs-room-code")).to_contain_text("students: 3, following you: 3")
    here.teacher.locator(f".st-key-hs-lesson-start-{LESSON} button").click()
    stop, count, asked = 1, 1, set[int]()
    while stop <= count:
        wait_for_params(here.teacher, stop=str(stop))
        still(here.teacher)
        count = int(here.teacher.locator(".hs-lesson-name small").inner_text().split()[-1])
        here.follow(stop)
        if stop % RELOADS == 0:
            here.pages["laptop"].reload()
            here.follow(stop)
        here.take(stop, "asked")
        if here.teacher.locator(".st-key-hs-lesson-question").count():
            here.ask(stop)
            here.take(stop, "told")
            asked.add(stop)
        contexts["tablet"].set_offline(stop + 1 in OFFLINE)
        if stop < count:
            here.teacher.locator(".st-key-hs-lesson-next button").click()
        stop += 1
    for name, page in here.online(count).items():
        mine = len(asked - set(OFFLINE) if name == "tablet" else asked)  # who reloads keeps all of them
        expect(page.locator(".hs-lesson-sum").last).to_contain_text(f"You answered {mine} of {len(asked)} questions")
    expect(here.teacher.locator(".hs-room-code")).to_contain_text("students: 3, following you: 3")
    write_index(folder, here.taken)
    print(f"{count} stops; see {folder / 'index.html'}")
    for context in contexts.values():
        context.close()


def write_index(folder: Path, taken: dict[int, list[str]]) -> None:
    rows = "".join(
        f"<h2>{stop}</h2><p>" + "".join(f'<img loading="lazy" src="{path}" alt="{path}">' for path in paths) + "</p>"
        for stop, paths in taken.items()
    )
    style = "img { height: 22rem; margin: 0.2rem; border: 1px solid #999 } body { font-family: sans-serif }"
    title = html.escape(f"A class in {LESSON}")
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{style}</style>{rows}"
    (folder / "index.html").write_text(page, encoding="utf-8")
