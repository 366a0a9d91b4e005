"""What a room is, whatever store holds it: an SQLite file (`sqlite_store`) or a Redis server (`redis_store`).

Whatever a call writes is in the store when it returns: a process that is killed loses no room and no answer. The code
of a room lets a person in; only its secret, of which the store has a hash, steers it. A room and all that it holds is
deleted when it ends, at the latest after `HOURS`.
"""

import hashlib
import hmac
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from transformer.texts import UserError

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels: no words
LENGTH = 4
HOURS = 12
MOST_ROOMS, MOST_MEMBERS, MOST_ANSWERS, MOST_FINDS = 50, 300, 100, 200  # answers, finds: of a member, of a room
LONGEST_NAME, LONGEST_TEXT = 40, 200  # characters
LONGEST_VIEW = 8_000  # characters of a link's parameters
AWAY = 20.0  # seconds without being seen, after which a member is away


class RoomError(UserError):
    """A room that cannot be opened, entered or written to."""


class StoreError(RoomError):
    """The store of the rooms cannot be used, now or at all."""


class Revealed(NamedTuple):
    """What was right when a question was revealed, and the sentence that it was asked about; "" where nothing is."""

    right: str = ""
    sentence: str = ""


@dataclass(frozen=True)
class Room:
    """step: counts what members must see; path, params: the view, as in links; revealed: the questions whose answer all
    may see, with what was right for the sentence that they were asked about."""

    code: str
    opened: float
    step: int
    path: str
    params: Mapping[str, str]
    revealed: Mapping[str, Revealed] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """id: known to the member alone; name: "" for none."""

    id: str
    name: str
    follows: bool


@dataclass(frozen=True)
class Find:
    """A view that a member sent."""

    number: int
    name: str
    path: str
    params: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class MemberAnswer:
    """A member's answer. verdict: whether it is right; None where nothing is right or wrong."""

    member: str
    name: str
    question: str
    answer: str
    verdict: bool | None


def read_code(typed: str) -> str:
    """A code as the store has it: capitals without spaces. One letter too many stays, so that it is no room's code."""
    return "".join(typed.split()).upper()[: LENGTH + 1]


def read_revealed(text: str) -> dict[str, Revealed]:
    """From the JSON that a store holds; of a room that an older version has opened, a list, nothing."""
    found = json.loads(text)
    return {question: Revealed(*about) for question, about in found.items()} if isinstance(found, dict) else {}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _short(text: str, longest: int) -> str:
    """One line of at most so many characters that a store can hold."""
    return " ".join(text.encode("utf-8", "replace").decode().split())[:longest]


class Rooms(ABC):
    """All rooms of a store. A method may raise StoreError.

    now: seconds, by the clock that all processes of the store share. The methods that a store provides are below the
    others; each is all or nothing, whatever other threads and processes do meanwhile.
    """

    now: Callable[[], float]

    def _oldest(self) -> float:
        """When a room was opened that ends now."""
        return self.now() - HOURS * 3600

    # -- rooms --

    def open(self) -> tuple[str, str]:
        """A new room: its code and its secret. Raises RoomError if there are too many."""
        secret, count = secrets.token_urlsafe(24), None
        while count is None:
            code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
            count = self._open(code, _hash(secret), self.now(), self._oldest(), MOST_ROOMS)
        if count >= MOST_ROOMS:
            raise RoomError(
                "this server has {count} open rooms and can hold no more; end one, or wait until one ends", count=count
            )
        return code, secret

    def find(self, code: str) -> Room | None:
        """The room, unless it has ended."""
        room = self._room(code)
        return room if room is not None and room.opened >= self._oldest() else None

    def steers(self, code: str, secret: str) -> bool:
        """Whether this is the secret of the room. The time it takes does not tell how much of it is right."""
        return hmac.compare_digest(self._secret(code), _hash(secret))

    def _check(self, code: str, secret: str) -> None:
        if not self.steers(code, secret):
            raise RoomError("only the teacher who opened the room {code} can do this", code=code)

    def end(self, code: str, secret: str) -> None:
        """Delete the room with its members, answers and finds."""
        self._check(code, secret)
        self._end(code)

    def show(self, code: str, secret: str, path: str, params: Mapping[str, str]) -> None:
        """Make this the view of the room, if it is another one. Too long a view is not shown."""
        self._check(code, secret)
        text = json.dumps(dict(params), sort_keys=True)
        if len(text) > LONGEST_VIEW:
            raise RoomError("this view is too long to be shown to the room; shorten the sentence")
        self._show(code, path, text)

    def reveal(self, code: str, secret: str, question: str, right: str = "", sentence: str = "") -> None:
        """Let all see what is right, for the sentence of now: the first time counts."""
        self._check(code, secret)
        self._reveal(code, question, _short(right, LONGEST_VIEW), _short(sentence, LONGEST_VIEW))

    def call_back(self, code: str, secret: str) -> None:
        """Every member follows again."""
        self._check(code, secret)
        self._call_back(code)

    # -- members --

    def join(self, code: str, member: str = "", name: str = "") -> Member:
        """Enter a room, or come back as the member of an earlier visit. Raises RoomError."""
        new = Member(secrets.token_urlsafe(12), _short(name, LONGEST_NAME), True)
        joined = self._join(code, member, new, self.now(), self._oldest(), MOST_MEMBERS)
        if joined is None:
            raise RoomError("there is no open room {code}; ask your teacher for the code", code=repr(code))
        if isinstance(joined, int):
            raise RoomError("the room {code} is full: {count} people are in it", code=code, count=joined)
        return joined

    def rename(self, code: str, member: str, name: str) -> None:
        self._rename(code, member, _short(name, LONGEST_NAME))

    # -- answers and finds --

    def answer(self, code: str, member: str, question: str, answer: str, verdict: bool | None) -> None:
        """A member's answer to a question: the first one counts. Raises RoomError after too many."""
        given = (question[:LONGEST_TEXT], _short(answer, LONGEST_TEXT), verdict)
        if self._answer(code, member, *given, MOST_ANSWERS) >= MOST_ANSWERS:
            raise RoomError("at most {count} answers of one person", count=MOST_ANSWERS)

    def send(self, code: str, member: str, path: str, params: Mapping[str, str], text: str) -> None:
        """A member's view for the teacher. Raises RoomError if it is too long or the list is full."""
        view = json.dumps(dict(params), sort_keys=True)
        if len(view) > LONGEST_VIEW:
            raise RoomError("this view is too long to be sent; shorten the sentence")
        count = self._send(code, member, path, view, _short(text, LONGEST_TEXT), MOST_FINDS)
        if count >= MOST_FINDS:
            raise RoomError("the list of the room has {count} views and is full", count=count)

    # -- what a teacher removes --

    def remove(self, code: str, secret: str, member: str) -> None:
        """Remove a member with answers and finds."""
        self._check(code, secret)
        self.leave(code, member)

    def remove_name(self, code: str, secret: str, member: str) -> None:
        self._check(code, secret)
        self.rename(code, member, "")

    def remove_answer(self, code: str, secret: str, member: str, question: str) -> None:
        self._check(code, secret)
        self._remove_answer(code, member, question)

    def remove_find(self, code: str, secret: str, number: int) -> None:
        self._check(code, secret)
        self._remove_find(code, number)

    # -- what a store provides -----------------------------------------------------------------------------------------

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _open(self, code: str, secret: str, now: float, oldest: float, most: int) -> int | None:
        """Delete rooms opened before `oldest`, and add one unless there are `most`. Returns how many there were; None:
        the code is taken."""

    @abstractmethod
    def _room(self, code: str) -> Room | None: ...

    @abstractmethod
    def _secret(self, code: str) -> str:
        """The hash of the secret; "" without such a room."""

    @abstractmethod
    def steps(self, codes: Iterable[str]) -> dict[str, int]:
        """code -> step of those rooms that are open."""

    @abstractmethod
    def _end(self, code: str) -> None: ...

    @abstractmethod
    def _show(self, code: str, path: str, params: str) -> None:
        """A step, if this is another view."""

    @abstractmethod
    def _reveal(self, code: str, question: str, right: str, sentence: str) -> None:
        """A step, if it was not revealed."""

    @abstractmethod
    def _call_back(self, code: str) -> None:
        """A step."""

    @abstractmethod
    def _join(self, code: str, member: str, new: Member, now: float, oldest: float, most: int) -> Member | int | None:
        """The member, seen now, or the new one unless there are `most`: then how many there are. None: no such room."""

    @abstractmethod
    def member(self, code: str, member: str) -> Member | None:
        """None if the room has ended or the member was removed."""

    @abstractmethod
    def _rename(self, code: str, member: str, name: str) -> None: ...

    @abstractmethod
    def follow(self, code: str, member: str, follows: bool) -> None: ...

    @abstractmethod
    def leave(self, code: str, member: str) -> None:
        """The member's answers and finds go too."""

    @abstractmethod
    def see(self, members: Iterable[tuple[str, str]]) -> None:
        """Note that these are there: codes and ids."""

    @abstractmethod
    def here(self, code: str) -> list[Member]:
        """Who was seen lately, in the order in which they came."""

    @abstractmethod
    def _answer(self, code: str, member: str, question: str, answer: str, verdict: bool | None, most: int) -> int:
        """Add it, unless the member has answered this question or has given `most`. Returns how many the member had; 0
        for nobody."""

    @abstractmethod
    def answers(self, code: str, question: str | None = None) -> list[MemberAnswer]:
        """All answers, or those to one question, in the order in which they arrived."""

    @abstractmethod
    def _send(self, code: str, member: str, path: str, params: str, text: str, most: int) -> int:
        """Add a find, unless the room has `most`. Returns how many it had; 0 for nobody."""

    @abstractmethod
    def finds(self, code: str) -> list[Find]:
        """In the order in which they arrived."""

    @abstractmethod
    def _remove_answer(self, code: str, member: str, question: str) -> None: ...

    @abstractmethod
    def _remove_find(self, code: str, number: int) -> None: ...
