"""What one member's run draws reaches all who see the same, and their own runs agree with it."""

import asyncio
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import transformer
from pages.runtime import followers
from pages.runtime.followers import PERSONAL, About, Screen
from tests.attack.client import run
from tests.support.server import App, running
from tests.support.viewer import Viewer
from transformer.rooms import SqliteRooms
from transformer.view.state import View

# -- two screens -------------------------------------------------------------------------------------------------------


def started(session: str = "a", page: str = "heads") -> ForwardMsg:
    message = ForwardMsg()
    message.new_session.page_script_hash = page
    message.new_session.initialize.session_id = session
    message.metadata.run.script_run_id = f"run of {session}"
    return message


def part(place: int, text: str, component: str = "", kept: bool = False) -> ForwardMsg:
    """A message for the place (0, place)."""
    message = ForwardMsg(hash=f"{component}{text}")
    message.metadata.delta_path.extend([0, place])
    message.metadata.cacheable = kept
    if component:
        message.delta.new_element.bidi_component.component_name = component
        message.delta.new_element.bidi_component.json = text
    else:
        message.delta.new_element.html.body = text
    return message


def block(place: int, popover: bool = False) -> ForwardMsg:
    message = ForwardMsg(hash=f"block {popover}")
    message.metadata.delta_path.extend([0, place])
    message.delta.add_block.allow_empty = True
    if popover:
        message.delta.add_block.popover.label = "menu"
    return message


def address(query: str) -> ForwardMsg:
    message = ForwardMsg()
    message.page_info_changed.query_string = query
    return message


def finished(status: int = ForwardMsg.FINISHED_SUCCESSFULLY) -> ForwardMsg:
    return ForwardMsg(script_finished=status)  # type: ignore[arg-type]


def screen(start: ForwardMsg, *messages: ForwardMsg) -> Screen:
    made = Screen(start)
    for message in (*messages, finished()):
        made.hear(message)
    assert made.done
    return made


def told(messages: list[ForwardMsg]) -> list[str]:
    """Kind, or what is drawn."""
    texts = []
    for message in messages:
        element = message.delta.new_element
        kind = str(message.WhichOneof("type"))
        texts.append(element.html.body or element.bidi_component.json or message.ref_hash or kind)
    return texts


def test_of_the_same_page_only_what_differs_is_sent() -> None:
    mine = screen(started("b"), part(0, "x"), part(1, "mine", PERSONAL), part(2, "old"), block(3), address("h=1"))
    theirs = screen(started(), part(0, "x"), part(1, "theirs", PERSONAL), part(2, "new"), block(3), address("h=2"))
    after, messages = mine.of(theirs, "b")
    assert told(messages) == ["page_info_changed", "new"]
    assert told([one.message for one in after.parts.values()]) == ["x", "mine", "new", "delta"]
    assert told(after.of(theirs, "b")[1]) == []


@pytest.mark.parametrize(
    "theirs",
    [
        (started(page="lab"), part(0, "x"), part(1, "big", kept=True), part(2, "theirs", PERSONAL)),
        (started(), part(0, "x"), part(1, "big", kept=True), part(2, "theirs", PERSONAL), part(3, "more")),
        (started(), block(0), part(1, "big", kept=True), part(2, "theirs", PERSONAL)),
    ],
    ids=["another page", "more parts", "a block where text was"],
)
def test_another_page_is_sent_whole_as_a_run_of_that_session(theirs: tuple[ForwardMsg, ...]) -> None:
    mine = screen(started("b"), part(0, "x"), part(1, "mine", PERSONAL), part(2, "big", kept=True), address("h=1"))
    other = screen(*theirs, address("h=2"))
    after, messages = mine.of(other, "b")
    first, *others, last = messages
    assert first.new_session.initialize.session_id == "b" and last.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
    assert other.start.new_session.initialize.session_id == "a"
    sent = told(others)
    assert sent[0] == "page_info_changed" and sent[2:4] == ["big", "mine"] and "theirs" not in sent
    assert others[2].ref_hash == "big"  # its browser has it
    assert [tuple(one.message.metadata.delta_path) for one in after.parts.values()] == list(other.parts)
    assert told(after.of(other, "b")[1]) == []


def test_a_menu_may_take_the_place_of_a_menu_but_not_of_a_row() -> None:
    mine, row = screen(started("b"), block(0, popover=True)), screen(started("b"), block(0))
    menu = block(0, popover=True)
    menu.hash = "another menu"
    other = screen(started(), menu)
    assert told(mine.of(other, "b")[1]) == ["delta"]
    assert told(row.of(other, "b")[1]) == ["new_session", "delta", "script_finished"]


def test_a_part_that_the_browser_takes_again_is_known_or_the_screen_is_not() -> None:
    before = screen(started(), part(0, "big", kept=True))
    again = ForwardMsg(ref_hash="big")
    again.metadata.delta_path.extend([0, 5])
    later = Screen(started(), before=before.large)
    later.hear(again)
    later.hear(finished())
    assert later.done and told([later.parts[0, 5].message]) == ["big"]
    unknown = Screen(started())
    unknown.hear(again)
    unknown.hear(finished())
    assert not unknown.done


def test_a_run_that_ended_early_is_no_screen_and_a_fragments_run_changes_one() -> None:
    made = Screen(started())
    made.hear(finished(ForwardMsg.FINISHED_EARLY_FOR_RERUN))
    assert not made.done
    made = screen(started(), part(0, "x"), part(1, "y"))
    for message in (started(), part(1, "z"), finished(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)):
        made.hear(message)
    assert told([one.message for one in made.parts.values()]) == ["x", "z"] and made.others == []


def test_who_looks_differently_or_answered_there_sees_something_else() -> None:
    led = About(("", {"lesson": "one", "stop": "2"}), "en")
    before = ("", {"lesson": "one", "stop": "1"})
    assert About(before, "en", frozenset({("one", "1"), ("two", "2")})).sees(led)
    assert not About(before, "ko").sees(led)
    assert not About(before, "en", frozenset({("one", "2")})).sees(led)
    assert not About(led.view, "en").sees(led)  # it has seen the view, and may have changed it since


# -- which runs ------------------------------------------------------------------------------------------------------


class Session:
    """As far as `Followers` knows it: its runs end when somebody says so."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.id, self.log, self.running = name, log, False

    def handle_backmsg(self, message: BackMsg) -> None:
        self.log.append(f"{self.id} is answered {message.rerun_script.query_string}")


class Class:
    """Followers of made-up sessions, whose runs last until a test ends them. log: what has happened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.sessions = {name: Session(name, self.log) for name in "abc"}
        self.followers = followers.Followers()
        self.followers.about = {name: About(("", {}), name) for name in self.sessions}
        self.fails = ""  # the session whose run cannot be started
        monkeypatch.setattr(followers, "active_session", self.sessions.get)
        monkeypatch.setattr(followers, "is_running", lambda session: session.running)
        monkeypatch.setattr(followers, "any_running", lambda: any(one.running for one in self.sessions.values()))
        monkeypatch.setattr(followers, "run_again", self.start)
        monkeypatch.setattr(followers, "server_loop", asyncio.get_running_loop)

    def start(self, session: Any, kept: object) -> None:
        assert not any(one.running for one in self.sessions.values() if one.id != "b")
        if session.id == self.fails:
            raise ValueError("this session cannot run")
        session.running = True
        self.log.append(session.id)

    def end(self, name: str) -> None:
        self.sessions[name].running = False

    def asks(self, name: str, query: str = "x", fragment: str = "") -> bool:
        """The browser of a session asks for a run; whether that has to wait."""
        message = BackMsg()
        message.rerun_script.query_string, message.rerun_script.fragment_id = query, fragment
        return self.followers.hold(self.sessions[name], message)  # type: ignore[arg-type]

    async def logged(self, *expected: str) -> None:
        while len(self.log) < len(expected):
            await asyncio.sleep(followers.PAUSE)
        assert self.log == list(expected)

    async def done(self) -> None:
        assert self.followers._work is not None
        await self.followers._work


def test_sessions_run_one_after_the_other_and_what_their_browsers_say_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def follow() -> None:
        here = Class(monkeypatch)
        here.sessions["b"].running = True  # by itself, with newer values than it has stored
        here.followers.rerun([*"abc", "gone"])
        await here.logged("a")
        assert here.asks("a")
        assert not here.followers.hold(here.sessions["a"], BackMsg(stop_script=True))  # type: ignore[arg-type]
        here.end("a")
        await here.logged("a", "a is answered x", "c")
        assert not here.asks("b", fragment="a part that runs every second") and "b" in here.followers._wanted
        here.end("b")
        assert not here.asks("b")  # its own run will see the news
        here.end("c")
        await here.done()
        assert here.log == ["a", "a is answered x", "c"]

    run(follow())


def test_messages_of_a_browser_are_obeyed_in_their_order_also_when_more_news_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def follow() -> None:
        here = Class(monkeypatch)
        here.followers._behind["b"] = 0.0  # its browser has been shown what another one's session drew
        assert here.asks("b", "first")
        here.followers.rerun(["a", "b"])  # more news, before it has run
        await asyncio.sleep(0)
        assert here.asks("b", "second")
        await here.logged("b")  # it waits for that run, so it comes before the others
        here.end("b")
        await here.logged("b", "b is answered first", "b is answered second", "a")
        here.end("a")
        await here.done()
        assert not here.asks("b", "third")

    run(follow())


def test_a_browser_that_asks_without_end_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    async def follow() -> None:
        here = Class(monkeypatch)
        here.followers._behind["b"] = 0.0
        for number in range(followers.MOST_HELD + 2):
            assert here.asks("b", str(number))
        assert [one.rerun_script.query_string for one in here.followers._held["b"]] == [
            str(number) for number in range(2, followers.MOST_HELD + 2)
        ]

    run(follow())


def test_a_session_that_cannot_run_or_is_gone_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async def follow() -> None:
        here = Class(monkeypatch)
        here.fails = "a"
        here.followers.rerun("abc")
        await here.logged("b")
        assert not here.asks("a")
        assert here.asks("b")
        gone = here.sessions.pop("b")
        await here.logged("b", "b is answered x", "c")
        here.end("c")
        await here.done()
        here.sessions["b"] = gone  # its browser is back
        gone.running = False
        assert not here.asks("b") and not here.followers._held

    run(follow())


# -- a server ----------------------------------------------------------------------------------------------------------


class Member(Viewer):
    """Remembers the page: place -> hash; what it was when the last run began; and how many runs have begun."""

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.settings["max_queue"] = None  # with messages that nobody reads, closing would wait for ten seconds
        self.parts: dict[tuple[int, ...], str] = {}
        self.drawn: set[tuple[int, ...]] = set()
        self.own: tuple[int, ...] = ()
        self.begun, self.path = 0, ""
        self.before: dict[tuple[int, ...], str] = {}

    def _take(self, message: ForwardMsg) -> bool:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.begun, self.before = self.begun + 1, self.shared
            self.drawn.clear()
        elif kind in ("delta", "ref_hash"):
            place = tuple(message.metadata.delta_path)
            self.parts[place] = message.hash or message.ref_hash
            self.drawn.add(place)
            if message.delta.new_element.bidi_component.component_name == PERSONAL:
                self.own = place
        elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            self.parts = {place: name for place, name in self.parts.items() if place in self.drawn}
        elif kind == "navigation":
            pages = {page.page_script_hash: page.url_pathname for page in message.navigation.app_pages}
            self.path = pages[message.navigation.page_script_hash]
        return super()._take(message)

    @property
    def shared(self) -> dict[tuple[int, ...], str]:
        return {place: name for place, name in self.parts.items() if place != self.own}

    @property
    def revision(self) -> int:
        """Of the picture's data."""
        data = self.feeds["headscope.pack"]
        (size,) = struct.unpack("<I", data[4:8])
        return int(json.loads(data[8 : 8 + size])["state"]["revision"])

    async def until(self, query: str) -> None:
        """Hear what comes until the address has this."""
        while query not in self.query:
            await self.hear()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rooms") / "rooms.sqlite"


@pytest.fixture(scope="module")
def rooms(file: Path) -> Iterator[SqliteRooms]:
    made = SqliteRooms(file)
    yield made
    made.close()


@pytest.fixture(scope="module")
def app(file: Path) -> Iterator[App]:
    with running(transformer.load("reverse").path, "--rooms", str(file)) as server:
        yield server


VIEW = {"checkpoint": "reverse", "source": "cab", "kind": "encoder_self", "layer": "1"}


async def joined(app: App, code: str, count: int, cookie: str = "") -> list[Member]:
    members = [Member(app.host) for _ in range(count)]
    for member in members:
        member.settings["additional_headers"] = {"Cookie": cookie} if cookie else {}
        await member.open(room=code)
    return members


@pytest.mark.slow
def test_one_run_is_shown_to_all_who_see_the_same_and_their_own_runs_agree(app: App, rooms: SqliteRooms) -> None:
    code, secret = rooms.open()
    rooms.show(code, secret, "", {**VIEW, "head": "1"})

    async def follow() -> None:
        leader, *same, big = [*(await joined(app, code, 3)), *(await joined(app, code, 1, "headscope_big=1"))]
        begun = [member.begun for member in same]
        rooms.show(code, secret, "", {**VIEW, "head": "2"})
        for member in same:
            await member.until("head=2")
        assert [member.begun for member in same] == begun  # only what differs came, and no run
        for member in (leader, *same, big):
            await member.listen()  # to the end of its own run
        assert all(member.before == member.shared == leader.shared for member in same)
        for path, params in (("positions", VIEW), ("", {**VIEW, "source": "bca"})):
            rooms.show(code, secret, path, params)
            for member in (leader, big, *same, *same):  # these two see the leader's run before their own
                await member.listen()
            assert {member.path for member in (leader, big, *same)} == {path}
            assert all(member.before == member.shared == leader.shared for member in same)
            assert big.shared != leader.shared
        everybody = (leader, big, *same)
        assert len({member.parts[member.own] for member in everybody}) == 4  # who one is stays one's own
        for member in everybody:
            await member.close()

    run(follow())


@pytest.mark.slow
def test_a_click_counts_before_the_members_own_session_has_run(app: App, rooms: SqliteRooms) -> None:
    code, secret = rooms.open()
    rooms.show(code, secret, "", {**VIEW, "head": "1"})

    async def press() -> None:
        _leader, member, *_others = members = await joined(app, code, 3)
        begun = member.begun
        rooms.show(code, secret, "", {**VIEW, "head": "2"})
        await member.until("head=2")
        while b'"layer":0,"head":1' not in member.numbers:
            await member.hear()
        assert member.begun == begun
        value = {**View("encoder_self", 0, 2).to_browser(), "revision": member.revision}
        await member.report("headscope.explorer", "view", value)
        await member.until("head=3")
        assert [one.follows for one in rooms.here(code)] == [True] * 3
        await member.listen()
        # A field of a page that its session has left for another one.
        rooms.show(code, secret, "lessons", {})
        await member.listen()
        assert member.path == "lessons"
        await member.listen()
        rooms.show(code, secret, "", {**VIEW, "head": "1"})
        await member.listen()
        assert member.path == ""
        await member.type(source="bca")
        await member.until("source=bca")
        for one in members:
            await one.close()

    run(press())
