"""Two processes behind nginx with the files of deploy/: a link shows the same picture on both, a viewer stays on one,
and viewers of a killed replica keep what they see. Only the ports differ from the shipped files."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pages.registry import pages
from tests.browser.canvas import plot
from tests.browser.explorer_page import click_head, exact, hover, params_of, wait_for_params
from tests.browser.navigation import link_to, open_room, opened_at
from tests.browser.stillness import still
from tests.support.redis import PASSWORD, running_redis
from tests.support.replicas import SET_ASIDE, Replicas, asked, running_replicas, status
from transformer.inference.pretrained import Pretrained

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.name != "posix", reason="nginx.conf names the files of a POSIX system"),
]

KEY = "a-key-for-the-operator"
SENTENCE = "The dog sees the cat."
LINK = {"source": SENTENCE, "kind": "cross", "layer": "2", "head": "3", "cell": "3,2"}
PLAIN = "[class*=st-key-hs-lesson-start], .st-key-hs-paper figure, .stHtml table"  # Lessons, Paper and Results
LAB = {"source": SENTENCE, "kind": "cross", "layer": "3", "head": "5", "scaling": "off", "zero": "cross.2.5"}


@pytest.fixture(scope="module")
def replicas(browser_path: str, nginx_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    folder = tmp_path_factory.mktemp("replicas")
    environment = {"HEADSCOPE_OPERATOR": KEY, "HEADSCOPE_ROOMS": str(folder / "rooms.sqlite")}
    with running_replicas(nginx_path, folder, **environment) as found:
        yield found


def of(replicas: Replicas, context: BrowserContext) -> int:
    """The port of the replica that a viewer's cookie leads to."""
    assert context.request.get(f"{replicas.address}/_stcore/health").text() == "ok"
    return next(port for path, port in reversed(replicas.served()) if path == "/_stcore/health")


def viewer(browser: Browser, address: str, page: str = "", **params: str) -> Page:
    """The page a new viewer sees who follows a link."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.set_default_timeout(60_000)
    opened = opened_at(context, f"{address}/{page}?{urlencode(params)}")
    return opened


def settled(page: Page) -> None:
    page.wait_for_selector(
        "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
    )


def lab_text(page: Page) -> str:
    """Both translations, and what the Lab says of them and of the weights."""
    translations = page.locator(".hs-lab-translations")
    expect(translations).to_contain_text("With scaling off; 1 head knocked out")
    still(page)
    return f"{translations.inner_text()} {page.get_by_test_id('lab-says').inner_text()}"


# -- one link, one picture --------------------------------------------------------------------------------------------


def test_a_link_shows_the_same_picture_on_either_replica(
    browser: Browser, replicas: Replicas, model: Pretrained
) -> None:
    pages = [viewer(browser, f"http://localhost:{port}", **LINK) for port in replicas.ports]
    seen = []
    for page in pages:
        exact(page)
        expect(page.get_by_test_id("cell").get_by_test_id("cell-check")).to_have_class(re.compile("hs-ok"))
        drawn_id = page.locator("[data-drawn]").first.get_attribute("data-drawn")
        numbers = [hover(page, "cross", row, row) for row in range(4)]
        texts = [page.get_by_test_id(name).inner_text() for name in ("cell", "explorer")]
        seen.append((drawn_id, params_of(page), plot(page.get_by_test_id("head-cross")), numbers, texts))
    assert seen[0] == seen[1] and seen[0][0] == f"{model.trace(SENTENCE).id}:cross"
    assert {name: seen[0][1][name] for name in LINK} == LINK
    for page in pages:
        page.context.close()


# -- who goes where ---------------------------------------------------------------------------------------------------


def test_a_viewer_stays_on_one_replica_and_viewers_are_spread(browser: Browser, replicas: Replicas) -> None:
    viewers: dict[int, list[Page]] = {port: [] for port in replicas.ports}
    for _ in range(20):  # all of them on one: once in a million runs
        page = viewer(browser, replicas.address, **LINK)
        viewers[of(replicas, page.context)].append(page)
        if all(viewers.values()):
            break
    assert all(viewers.values())
    for port, opened in viewers.items():
        before = len(replicas.served())
        assert {of(replicas, opened[0].context) for _ in range(20)} == {port}
        opened[0].reload()
        opened[0].wait_for_selector("[data-drawn]")
        click_head(opened[0], "cross", 0, 1)
        wait_for_params(opened[0], layer="1", head="2")
        assert {other for _, other in replicas.served()[before:]} == {port}
    for opened in viewers.values():
        for page in opened:
            page.context.close()


def test_new_viewers_are_spread_and_a_forged_cookie_is_replaced(replicas: Replicas) -> None:
    before = len(replicas.served())
    for _ in range(100):
        assert status(f"{replicas.address}/_stcore/health") == 200
    counts = Counter(port for _, port in replicas.served()[before:])
    assert min(counts[port] for port in replicas.ports) >= 20  # 100 throws of a fair coin: never in a lifetime
    for cookie in ("", "headscope=1", "headscope=" + "f" * 33, "headscope=; x=y"):
        with asked(replicas.address, Cookie=cookie) as answer:
            handed = [line for line in answer.headers.get_all("Set-Cookie") if line.startswith("headscope=")]
        assert len(handed) == 1 and re.fullmatch(r"headscope=[0-9a-f]{32}; Path=/; HttpOnly; SameSite=Lax", handed[0])
    with asked(replicas.address, Cookie=handed[0].split(";")[0]) as answer:
        assert not [line for line in answer.headers.get_all("Set-Cookie") or [] if line.startswith("headscope=")]


# -- what nginx lets through ------------------------------------------------------------------------------------------


def test_only_the_addresses_that_pages_need_are_served(replicas: Replicas) -> None:
    address = replicas.address
    for path in ("metrics", f"metrics?key={KEY}", "agent/openapi.json", "upload_file/a/b", "script-health-check"):
        assert status(f"{address}/_stcore/{path}") == 404, path
    # What nginx keeps from visitors:
    assert status(f"http://localhost:{replicas.ports[0]}/_stcore/metrics?key={KEY}") == 200
    assert status(f"{address}/operator?key={KEY}") == 200 and KEY not in replicas.log.read_text()
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert status(f"{address}/_stcore/upload_file/a/b", method) == 405
    assert status(f"{address}/_stcore/host-config") == status(f"{address}/lab") == 200
    assert status(f"{address}/?source={'a' * 100_000}") == 414
    with asked(address) as answer:
        assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
        assert (answer.headers["X-Content-Type-Options"], answer.headers["Referrer-Policy"]) == (
            "nosniff",
            "no-referrer",
        )
        assert answer.headers["Server"] == "nginx"


def test_scripts_are_sent_compressed(replicas: Replicas) -> None:
    with asked(replicas.address) as answer:
        script = re.search(r'src="\./(static/js/index\.[^"]+)"', answer.read().decode())
    assert script
    sizes = []
    for headers in ({}, {"Accept-Encoding": "gzip"}):
        with asked(f"{replicas.address}/{script[1]}", **headers) as answer:
            sizes.append(len(answer.read()))
    assert sizes[1] < 0.45 * sizes[0]


def test_every_page_works_under_the_policy_and_no_typed_word_is_logged(browser: Browser, replicas: Replicas) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    word = "Zwiebelkuchen"
    for name in (entry.path for entry in pages()):
        page.goto(f"{replicas.address}/{name}?{urlencode({'source': f'I like {word}.'})}")
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        page.wait_for_selector(f"canvas, [data-drawn], [data-testid=training], {PLAIN}", state="attached")
        still(page)
    context.close()
    assert not complaints and word not in replicas.log.read_text()


# -- one of them dies -------------------------------------------------------------------------------------------------


@pytest.fixture
def killed(replicas: Replicas) -> Iterator[Callable[[int], None]]:
    """What kills a replica; it is started again after the test."""
    dead: list[int] = []

    def kill(port: int) -> None:
        os.killpg(replicas.processes[port].pid, signal.SIGKILL)
        replicas.processes[port].wait(10)
        dead.append(port)

    yield kill
    for port in dead:
        if replicas.processes[port].poll() is not None:
            replicas.revive(port)


def test_viewers_of_a_killed_replica_keep_what_they_see(
    browser: Browser, replicas: Replicas, killed: Callable[[int], None], model: Pretrained
) -> None:
    page = viewer(browser, replicas.address, **LINK)
    exact(page)
    # The server counts what it changed of its own accord; a new one begins to count again.
    page.get_by_role("button", name="Aa").click()
    explorer = page.get_by_test_id("explorer")
    expect(explorer).to_have_attribute("data-big", "")
    settled(page)
    page.wait_for_timeout(1000)  # everything has grown to its new size
    click_head(page, "cross", 3, 1)
    wait_for_params(page, layer="4", head="2")
    exact(page)
    settled(page)
    before = (params_of(page), plot(page.get_by_test_id("head-cross")), hover(page, "cross", 1, 1))
    home = of(replicas, page.context)
    with page.expect_event("websocket", timeout=60_000):
        killed(home)
    settled(page)
    page.wait_for_timeout(1000)  # a run that was asked for has begun by now
    settled(page)
    other = of(replicas, page.context)
    after = (params_of(page), plot(page.get_by_test_id("head-cross")), hover(page, "cross", 1, 1))
    assert other != home and after == before
    click_head(page, "cross", 0, 6)  # the very first click counts
    wait_for_params(page, layer="1", head="7", source=SENTENCE)
    exact(page)

    # What was typed and not sent yet is drawn by the other replica.
    replicas.revive(home)
    field = page.get_by_label(re.compile("Source · English"))
    with page.expect_event("websocket", timeout=60_000):
        field.fill("I am not sent yet.")
        killed(other)
    page.wait_for_selector(f'[data-drawn^="{model.trace("I am not sent yet.").id}"]')
    wait_for_params(page, source="I am not sent yet.", layer="1", head="7")
    assert field.input_value() == "I am not sent yet."
    expect(explorer).to_have_attribute("data-big", "")
    page.context.close()


def test_lab_switches_survive_a_killed_replica_and_downloads_work_after_its_return(
    browser: Browser, replicas: Replicas, killed: Callable[[int], None]
) -> None:
    page = viewer(browser, replicas.address, "lab", **LAB)
    before = lab_text(page), params_of(page)
    home = of(replicas, page.context)
    with page.expect_event("websocket", timeout=60_000):
        killed(home)
    settled(page)
    page.wait_for_timeout(1000)
    settled(page)
    assert (lab_text(page), params_of(page)) == before
    assert page.locator("[data-testid=stException]").count() == 0
    link_to(page, "Heads").click()
    page.wait_for_selector("[data-testid=explorer]")
    replicas.revive(home)
    assert of(replicas, page.context) == home  # the cookie leads back; the websocket and its files are elsewhere
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="The whole trace (.npz)").click()
    assert Path(download.value.path()).read_bytes()[:2] == b"PK"
    page.context.close()


@pytest.fixture(params=["file", "redis"])
def of_a_class(
    request: pytest.FixtureRequest, nginx_path: str, tmp_path: Path
) -> Iterator[tuple[Replicas, Callable[[int], None]]]:
    """Replicas with one store for rooms, and what kills one."""
    if request.param == "file":
        yield request.getfixturevalue("replicas"), request.getfixturevalue("killed")
        return
    with running_redis(tmp_path) as url, running_replicas(nginx_path, tmp_path, HEADSCOPE_ROOMS=url) as replicas:
        yield replicas, lambda port: os.killpg(replicas.processes[port].pid, signal.SIGKILL)
        assert PASSWORD not in "".join(log.read_text(errors="replace") for log in tmp_path.glob("*.txt"))


def person(browser: Browser, replicas: Replicas, port: int) -> Page:
    """An empty page of somebody new whose cookie leads to the replica at that port."""
    for _ in range(40):  # none of them: once in a million million runs
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(60_000)
        if of(replicas, context) == port:
            return context.new_page()
        context.close()
    raise AssertionError(f"no cookie leads to {port}")


def test_a_class_on_both_replicas_loses_no_room_and_no_answer_when_the_teachers_is_killed(
    browser: Browser, of_a_class: tuple[Replicas, Callable[[int], None]]
) -> None:
    replicas, killed = of_a_class
    home, other = replicas.ports
    teacher = person(browser, replicas, home)
    code = open_room(teacher, replicas.address)
    students = [person(browser, replicas, port) for port in (home, other, other)]
    for student in students:
        student.goto(f"{replicas.address}/?room={code}")
        expect(student.locator("h1.hs-spoken")).to_have_text("Lessons")
    expect(teacher.locator(".hs-room-code")).to_contain_text("students: 3, following you: 3")

    # What the teacher chooses on one replica, the students of both see; what they answer there, the teacher sees.
    link_to(teacher, "Positions").click()
    for student in students:
        expect(student.locator("h1.hs-spoken")).to_have_text("Positions")
    link_to(teacher, "Lessons").click()
    teacher.locator(".st-key-hs-lesson-start-attention-in-10-minutes button").click()
    expect(teacher.locator(".hs-lesson-title")).to_have_text("A model that translates")
    teacher.get_by_role("button", name="Next").click()
    for student, choice in zip(students, ("bought", "bought", "Yesterday"), strict=True):
        wait_for_params(student, lesson="attention-in-10-minutes", stop="2")
        settled(student)
        student.get_by_test_id("stRadio").get_by_text(choice).click()
        settled(student)
        student.get_by_role("button", name="Answer").click()
        expect(student.locator(".hs-cards .hs-mine")).to_contain_text(choice)
    expect(teacher.locator(".hs-room-count")).to_contain_text("3 of 3 have answered")

    with teacher.expect_event("websocket", timeout=60_000), students[0].expect_event("websocket", timeout=60_000):
        killed(home)
    for page in (teacher, *students):
        settled(page)
        assert of(replicas, page.context) == other
    expect(students[0].locator(".hs-cards .hs-mine")).to_contain_text("bought")
    expect(teacher.locator(".hs-room-count")).to_contain_text("3 of 3 have answered")
    teacher.get_by_role("button", name="Reveal the answer").click()
    expect(teacher.locator(".hs-cards .hs-right")).to_contain_text("bought")
    expect(teacher.locator(".hs-cards .hs-right b")).to_have_text("2")
    for student in students:
        expect(student.locator(".hs-cards .hs-mine em").last).to_have_text("Your answer")
    link_to(teacher, "Model").click()
    for student in students:
        expect(student.locator("h1.hs-spoken")).to_have_text("Model")
    expect(teacher.locator(".hs-room-code")).to_contain_text("students: 3, following you: 3")
    for page in (teacher, *students):
        page.context.close()


def test_a_killed_replica_does_not_disturb_viewers_of_the_other(
    browser: Browser, replicas: Replicas, killed: Callable[[int], None]
) -> None:
    page = viewer(browser, replicas.address, **LINK)
    exact(page)
    home = of(replicas, page.context)
    lost: list[str] = []
    page.on("console", lambda message: lost.append(message.text) if "WebSocket onclose" in message.text else None)
    killed(next(port for port in replicas.ports if port != home))
    for head in (1, 2):
        click_head(page, "cross", 2, head)
        wait_for_params(page, layer="3", head=str(head + 1))
        exact(page)
    newcomer = viewer(browser, replicas.address, **LINK)  # while one is down, everyone is served by the other
    assert of(replicas, newcomer.context) == home == of(replicas, page.context) and not lost
    for tab in (page, newcomer):
        tab.context.close()


def test_a_hanging_replica_gets_no_viewers(browser: Browser, replicas: Replicas) -> None:
    """It accepts connections, as its system does for it, and never answers."""
    context = browser.new_context()
    home = of(replicas, context)
    os.killpg(replicas.processes[home].pid, signal.SIGSTOP)
    try:
        assert of(replicas, context) != home
    finally:
        os.killpg(replicas.processes[home].pid, signal.SIGCONT)
    time.sleep(SET_ASIDE)
    assert of(replicas, context) == home
    context.close()
