"""Members of rooms see the teacher's view change: one session runs, and what it draws goes to all whose screen is the
same.

A run costs 20 ms of CPU, so two hundred of them would keep the server busy for seconds. What a member sees is the view
of the room, but for a few things that each run tells (`About`): language, size of text, open menus, own answers. So one
member's session runs; its messages to the browser, kept in `Screen`, are sent to the others as well, or only those of
parts that are different on their screens. Their own sessions run later, when nobody else wants anything, or as soon as
their browser sends something, which waits for that run.

Everything runs in the thread of the server's event loop but for what `About` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary, WeakValueDictionary

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession

from pages.runtime.streamlit import (
    active_session,
    any_running,
    is_running,
    listen_to_sessions,
    move,
    run_again,
    send,
    server_loop,
    session_id,
)

PAUSE = 0.002  # seconds between two looks whether a run has ended
LATER = 0.05  # the same, whether there is time for a run that nobody waits for
CALM = 2.0  # seconds from a change to the first run of a session whose browser has been shown it
MOST_HELD = 50  # messages of one browser that wait; a page of ours sends a few
PERSONAL = "headscope.viewer"  # the component that holds who one is: never sent to another
ViewOf = tuple[str, Mapping[str, str]]  # path and parameters
_LOG = logging.getLogger("headscope")


@dataclass
class About:
    """What a run of a member's session draws. view: of the room; look: on what else its screen depends; answered:
    lessons and stops with an answer of one's own; arrived: it has opened the view; own: it shows something that belongs
    to this session alone; moved: its browser has been shown another view since."""

    view: ViewOf
    look: Hashable
    answered: frozenset[tuple[str, str]] = frozenset()
    arrived: bool = False
    own: bool = False
    moved: bool = False

    def sees(self, other: About) -> bool:
        """Whether the screen will be that of the other, whose run has opened a view that is new here."""
        params = other.view[1]
        stop = (params.get("lesson", ""), params.get("stop", ""))
        return self.look == other.look and self.view != other.view and stop not in self.answered


class Part:
    """A message that draws a part of a page. Sessions that have the same one share it."""

    __slots__ = ("__weakref__", "message", "personal")

    def __init__(self, message: ForwardMsg) -> None:
        self.message = message
        self.personal = message.delta.new_element.bidi_component.component_name == PERSONAL


_parts: WeakValueDictionary[tuple[Hashable, ...], Part] = WeakValueDictionary()


@dataclass
class Screen:
    """What a session's last run has sent. parts: place on the page -> what is there, in the order in which it was sent;
    done: the run has ended well."""

    start: ForwardMsg
    parts: dict[tuple[int, ...], Part] = field(default_factory=dict)
    others: list[ForwardMsg] = field(default_factory=list)
    address: ForwardMsg | None = None
    end: ForwardMsg | None = None
    before: dict[str, Part] = field(default_factory=dict)  # large parts that the browser may be told to take again
    broken: bool = False

    @property
    def done(self) -> bool:
        return self.end is not None and not self.broken

    @property
    def page(self) -> str:
        """Streamlit's name of the open page, which the first run of a session does not start with."""
        opened = (one.navigation.page_script_hash for one in self.others if one.WhichOneof("type") == "navigation")
        return next(opened, self.start.new_session.page_script_hash)

    @property
    def large(self) -> dict[str, Part]:
        """Hash -> part, of those that browsers keep."""
        return {part.message.hash: part for part in self.parts.values() if part.message.metadata.cacheable}

    def hear(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind in ("delta", "ref_hash"):
            found = message
            if kind == "ref_hash":
                kept = self.before.get(message.ref_hash)
                if kept is None:
                    self.broken = True
                    return
                found = ForwardMsg()
                found.CopyFrom(kept.message)
                found.metadata.CopyFrom(message.metadata)
                found.metadata.cacheable = True
            place = tuple(found.metadata.delta_path)
            name = (found.hash, place, found.metadata.active_script_hash)
            part = _parts.get(name)
            if part is None:
                part = _parts[name] = Part(found)
            self.parts[place] = part
        elif kind == "page_info_changed":
            self.address = message
        elif kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.end, self.before = message, {}
        elif self.end is None and kind not in ("new_session", "session_status_changed"):  # not of a fragment's run
            self.others.append(message)

    def mine(self) -> Part | None:
        return next((part for part in self.parts.values() if part.personal), None)

    def of(self, other: Screen, session: str) -> tuple[Screen, list[ForwardMsg]]:
        """The other's screen as this session's browser shows it; and the messages that make it of this one."""
        own, parts = self.mine(), dict(other.parts)
        for place, part in other.parts.items():
            if part.personal:
                if own is None:
                    del parts[place]
                else:
                    copy = ForwardMsg()
                    copy.CopyFrom(own.message)
                    copy.metadata.CopyFrom(part.message.metadata)
                    copy.metadata.cacheable = own.message.metadata.cacheable
                    parts[place] = Part(copy)
        address = [other.address] if other.address is not None and other.address != self.address else []
        start = other.start
        same = self.page == other.page and self.parts.keys() == parts.keys()
        if same and all(_same_kind(part, parts[place]) for place, part in self.parts.items()):
            changed = (part for place, part in parts.items() if part is not self.parts[place] and not part.personal)
            messages = [*address, *(part.message for part in changed)]
        else:
            start = ForwardMsg()
            start.CopyFrom(other.start)
            start.new_session.initialize.session_id = session
            large = self.large
            drawn = (_again(part.message) if part.message.hash in large else part.message for part in parts.values())
            messages = [start, *other.others, *address, *drawn]
            if other.end is not None:
                messages.append(other.end)
        screen = Screen(start, parts, other.others, other.address, other.end)
        return screen, messages


def _same_kind(part: Part, other: Part) -> bool:
    """Whether the other may take this part's place: a block keeps what is in it."""
    before, after = part.message.delta, other.message.delta
    return before.WhichOneof("type") == after.WhichOneof("type") and before.add_block.WhichOneof(
        "type"
    ) == after.add_block.WhichOneof("type")


def _again(message: ForwardMsg) -> ForwardMsg:
    """Tell the browser to take a message that it has kept."""
    again = ForwardMsg(ref_hash=message.hash)
    again.metadata.CopyFrom(message.metadata)
    again.metadata.cacheable = False
    return again


class Followers:
    """wanted: sessions that are to run because of news; behind: sessions whose browser has been shown what they have
    not run for, and since when; held: what came from their browsers meanwhile; runs: the session that runs now."""

    def __init__(self) -> None:
        self.about: dict[str, About] = {}
        self._screens: WeakKeyDictionary[AppSession, Screen] = WeakKeyDictionary()
        self._wanted: dict[str, None] = {}
        self._behind: dict[str, float] = {}
        self._held: dict[str, list[BackMsg]] = {}
        self._runs = ""
        self._work: asyncio.Task[None] | None = None

    # -- what runs tell --

    def begin(self, about: About) -> None:
        """A member's run starts. Call in the run, as the next two."""
        self.about[session_id()] = about

    def moved(self) -> bool:
        """Whether the session's browser has been shown a view since its last run."""
        about = self.about.get(session_id())
        return about is not None and about.moved

    def arrive(self) -> None:
        """This run opens the room's view."""
        if (about := self.about.get(session_id())) is not None:
            about.arrived = True

    def forget(self, session: str) -> None:
        """The session is in no room any more, or its browser is gone."""
        self.about.pop(session, None)

    # -- what sessions send and are sent --

    def hear(self, session: AppSession, message: ForwardMsg) -> None:
        if not self.about:
            self._screens.clear()  # the last one has left
            return
        screen = self._screens.get(session)
        if message.WhichOneof("type") == "new_session" and not message.metadata.run.fragment_ids:
            large = screen.before | screen.large if screen is not None else {}
            address = screen.address if screen is not None else None
            self._screens[session] = Screen(message, address=address, before=large)
        elif screen is not None:
            screen.hear(message)
            if message.WhichOneof("type") == "script_finished" and session.id not in self.about:
                del self._screens[session]  # of nobody in a room

    def hold(self, session: AppSession, message: BackMsg) -> bool:
        """Whether a message from the browser has to wait until the session has run for what the browser shows, or for
        earlier messages that wait."""
        if message.WhichOneof("type") != "rerun_script" or session.id not in self.about:
            return False
        if session.id in self._behind or session.id == self._runs or session.id in self._held:
            held = self._held.setdefault(session.id, [])
            held.append(message)
            del held[:-MOST_HELD]  # each has the values of all widgets, so the last ones count
            return True
        if not message.rerun_script.fragment_id:  # a fragment's run does not look for news
            self._wanted.pop(session.id, None)  # it will see the news in this run
        self._obey(session, message)
        return False

    def _obey(self, session: AppSession, message: BackMsg) -> None:
        """What a browser has kept may have been dropped since it told so, by a run that it did not ask for."""
        screen, asked = self._screens.get(session), message.rerun_script
        kept = screen.before | screen.large if screen is not None and not screen.broken else {}
        hashes = [name for name in asked.cached_message_hashes if name in kept]
        del asked.cached_message_hashes[:]
        asked.cached_message_hashes.extend(hashes)

    # -- runs --

    def rerun(self, sessions: Iterable[str]) -> None:
        """Let the screens of these sessions show the news of their rooms. May be called in any thread."""
        loop = server_loop()
        names = list(sessions)

        def want() -> None:
            for name in names:
                self._behind.pop(name, None)
            self._wanted |= dict.fromkeys(names)
            if self._work is None or self._work.done():
                self._work = asyncio.get_running_loop().create_task(self._run_all())

        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the server is ending
                loop.call_soon_threadsafe(want)

    async def _run_all(self) -> None:
        """One session after the other: many threads that compute at once would all end late, and other viewers' clicks,
        too."""
        while self._wanted or self._behind:
            name, news = self._next()
            if not name:
                await asyncio.sleep(PAUSE if self._wanted else LATER)
                continue
            start = time.monotonic()
            self._wanted.pop(name, None)
            self._behind.pop(name, None)
            try:
                await self._run(name)
                if news:
                    await self._show_to_others(name)
            except Exception:  # the others still get theirs
                _LOG.exception("A member's screen could not be brought up to date")
            if not news and not self._held:
                await asyncio.sleep(time.monotonic() - start)  # half of the time is for others

    def _next(self) -> tuple[str, bool]:
        """The session to run now, "" for none; and whether because of news."""
        for names in (self._wanted, self._behind):
            for name in [name for name in names if active_session(name) is None]:
                del names[name]
                self._held.pop(name, None)
        held = next((name for name in self._held if name in self._behind), "")
        if held:
            return held, False
        for name in sorted(self._wanted, key=lambda name: name not in self._held):
            session = active_session(name)
            if session is not None and not is_running(session):  # else it runs with newer values than it has stored
                return name, True
        calm = time.monotonic() - CALM
        if not self._wanted and not any_running():
            return next((name for name, since in self._behind.items() if since < calm), ""), False
        return "", False

    async def _run(self, name: str) -> None:
        session = active_session(name)
        if session is None:
            self._held.pop(name, None)
            return
        screen = self._screens.get(session)
        self._runs = name
        try:
            run_again(session, screen.large if screen is not None and screen.done else ())
            while active_session(name) is not None and is_running(session):
                await asyncio.sleep(PAUSE)
        finally:
            self._runs, held = "", self._held.pop(name, [])
        for message in held:
            if not self.hold(session, message):
                session.handle_backmsg(message)

    async def _show_to_others(self, name: str) -> None:
        """Send what a session shows since its run to the browsers of those who want the news and will see the same."""
        session, about = active_session(name), self.about.get(name)
        screen = self._screens.get(session) if session is not None else None
        if about is None or not about.arrived or about.own or screen is None or not screen.done:
            return
        for other in list(self._wanted):
            if other in self._wanted and self._show(other, about, screen):
                self._wanted.pop(other, None)
                self._behind[other] = time.monotonic()
            await asyncio.sleep(0)

    def _show(self, name: str, about: About, screen: Screen) -> bool:
        """Send a screen to a session's browser if it will see that; whether it was sent."""
        session, mine = active_session(name), self.about.get(name)
        if session is None or mine is None or not mine.sees(about) or is_running(session):
            return False
        seen = self._screens.get(session)
        if seen is None or not seen.done or screen.address is None:
            return False
        after, messages = seen.of(screen, name)
        if not send(name, messages):
            return False
        self._screens[session] = after
        mine.view, mine.moved = about.view, True
        move(session, after.page, screen.address.page_info_changed.query_string)
        return True


FOLLOWERS = Followers()


def keep_own() -> None:
    """Call in a run that shows something that belongs to its session alone: nobody else gets it."""
    if (about := FOLLOWERS.about.get(session_id())) is not None:
        about.own = True


def prepare() -> None:
    """Call once, before the server starts."""
    listen_to_sessions(FOLLOWERS.hear)
