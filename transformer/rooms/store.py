"""Rooms in one SQLite file, which several processes of one machine share. Uses only the standard library.

Whatever a call writes is in the file when it returns: a process that is killed loses no room and no answer. The code of
a room lets a person in; only its secret, of which the file has a hash, steers it. A room and all that it holds is
deleted when it ends, at the latest after `HOURS`.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from transformer.texts import UserError

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels: no words
LENGTH = 4
HOURS = 12
MOST_ROOMS, MOST_MEMBERS, MOST_ANSWERS, MOST_FINDS = 50, 300, 100, 200  # answers, finds: of a member, of a room
LONGEST_NAME, LONGEST_TEXT = 40, 200  # characters
LONGEST_VIEW = 8_000  # characters of a link's parameters
HERE = 20.0  # seconds: who was not seen for longer is not counted

SCHEMA = """
CREATE TABLE IF NOT EXISTS rooms (
    code TEXT PRIMARY KEY, secret TEXT NOT NULL, opened REAL NOT NULL, step INTEGER NOT NULL, path TEXT NOT NULL,
    params TEXT NOT NULL, revealed TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS members (
    code TEXT NOT NULL REFERENCES rooms ON DELETE CASCADE, id TEXT NOT NULL, name TEXT NOT NULL,
    follows INTEGER NOT NULL, seen REAL NOT NULL, PRIMARY KEY (code, id)
);
CREATE TABLE IF NOT EXISTS answers (
    code TEXT NOT NULL, member TEXT NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL, verdict INTEGER,
    at REAL NOT NULL, PRIMARY KEY (code, question, member),
    FOREIGN KEY (code, member) REFERENCES members ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS finds (
    number INTEGER PRIMARY KEY, code TEXT NOT NULL, member TEXT NOT NULL, path TEXT NOT NULL, params TEXT NOT NULL,
    text TEXT NOT NULL, at REAL NOT NULL, FOREIGN KEY (code, member) REFERENCES members ON DELETE CASCADE
);
"""


class RoomError(UserError):
    """A room that cannot be opened, entered or written to."""


@dataclass(frozen=True)
class Room:
    """step: counts what members must see; path, params: the view, as in links; revealed: questions whose answer all
    may see."""

    code: str
    opened: float
    step: int
    path: str
    params: Mapping[str, str]
    revealed: frozenset[str] = frozenset()


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
class Given:
    """A member's answer. verdict: whether it is right; None where nothing is right or wrong."""

    member: str
    name: str
    question: str
    answer: str
    verdict: bool | None


def read_code(typed: str) -> str:
    """A code as the store has it: capitals without spaces, at most LENGTH of them."""
    return "".join(typed.split()).upper()[: LENGTH + 1]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _short(text: str, longest: int) -> str:
    """One line of at most so many characters that SQLite can hold."""
    return " ".join(text.encode("utf-8", "replace").decode().split())[:longest]


class Rooms:
    """All rooms of a file; of this process alone without one."""

    def __init__(self, file: Path | None = None, now: Callable[[], float] = time.time) -> None:
        """Raises OSError if the file can be neither opened nor made."""
        self.now = now
        self._lock = threading.RLock()
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch(mode=0o600)
            self._connection = sqlite3.connect(
                file or ":memory:", timeout=10, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, one process after the other."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _rows(self, query: str, *values: object) -> list[tuple]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    # -- rooms --

    def open(self) -> tuple[str, str]:
        """A new room: its code and its secret. Raises RoomError if there are too many."""
        secret, now = secrets.token_urlsafe(24), self.now()
        with self._change() as connection:
            connection.execute("DELETE FROM rooms WHERE opened < ?", (now - HOURS * 3600,))
            codes = {code for (code,) in connection.execute("SELECT code FROM rooms")}
            if len(codes) >= MOST_ROOMS:
                raise RoomError(
                    "this server has {count} open rooms and can hold no more; end one, or wait until one ends",
                    count=len(codes),
                )
            while (code := "".join(secrets.choice(LETTERS) for _ in range(LENGTH))) in codes:
                pass
            connection.execute("INSERT INTO rooms VALUES (?, ?, ?, 0, '', '{}', '[]')", (code, _hash(secret), now))
        return code, secret

    def find(self, code: str) -> Room | None:
        """The room, unless it has ended."""
        oldest = self.now() - HOURS * 3600
        rows = self._rows(
            "SELECT opened, step, path, params, revealed FROM rooms WHERE code = ? AND opened >= ?", code, oldest
        )
        if not rows:
            return None
        opened, step, path, params, revealed = rows[0]
        return Room(code, opened, step, path, json.loads(params), frozenset(json.loads(revealed)))

    def steps(self, codes: Iterable[str]) -> dict[str, int]:
        """code -> step of those rooms that are open."""
        codes = list(codes)
        marks = ",".join("?" * len(codes))
        return dict(self._rows(f"SELECT code, step FROM rooms WHERE code IN ({marks})", *codes))

    def steers(self, code: str, secret: str) -> bool:
        """Whether this is the secret of the room. The time it takes does not tell how much of it is right."""
        rows = self._rows("SELECT secret FROM rooms WHERE code = ?", code)
        return bool(rows) and hmac.compare_digest(rows[0][0], _hash(secret))

    def _check(self, code: str, secret: str) -> None:
        if not self.steers(code, secret):
            raise RoomError("only the teacher who opened the room {code} can do this", code=code)

    def end(self, code: str, secret: str) -> None:
        """Delete the room with its members, answers and finds."""
        self._check(code, secret)
        with self._change() as connection:
            connection.execute("DELETE FROM rooms WHERE code = ?", (code,))

    def show(self, code: str, secret: str, path: str, params: Mapping[str, str]) -> None:
        """Make this the view of the room, if it is another one. Too long a view is not shown."""
        self._check(code, secret)
        text = json.dumps(dict(params), sort_keys=True)
        if len(text) > LONGEST_VIEW:
            raise RoomError("this view is too long to be shown to the room; shorten the sentence")
        with self._change() as connection:
            connection.execute(
                "UPDATE rooms SET path = ?, params = ?, step = step + 1 WHERE code = ? AND (path, params) <> (?, ?)",
                (path, text, code, path, text),
            )

    def reveal(self, code: str, secret: str, question: str) -> None:
        """Let all see the answer of a question."""
        self._check(code, secret)
        with self._change() as connection:
            rows = connection.execute("SELECT revealed FROM rooms WHERE code = ?", (code,)).fetchall()
            revealed = json.dumps(sorted({*json.loads(rows[0][0]), question}))
            connection.execute("UPDATE rooms SET revealed = ?, step = step + 1 WHERE code = ?", (revealed, code))

    def call_back(self, code: str, secret: str) -> None:
        """Every member follows again."""
        self._check(code, secret)
        with self._change() as connection:
            connection.execute("UPDATE members SET follows = 1 WHERE code = ?", (code,))
            connection.execute("UPDATE rooms SET step = step + 1 WHERE code = ?", (code,))

    # -- members --

    def join(self, code: str, member: str = "", name: str = "") -> Member:
        """Enter a room, or come back as the member of an earlier visit. Raises RoomError."""
        now = self.now()
        with self._change() as connection:
            if not connection.execute(
                "SELECT 1 FROM rooms WHERE code = ? AND opened >= ?", (code, now - HOURS * 3600)
            ).fetchall():
                raise RoomError("there is no open room {code}; ask your teacher for the code", code=repr(code))
            rows = connection.execute("SELECT name, follows FROM members WHERE code = ? AND id = ?", (code, member))
            for known, follows in rows.fetchall():
                connection.execute("UPDATE members SET seen = ? WHERE code = ? AND id = ?", (now, code, member))
                return Member(member, known, bool(follows))
            count = connection.execute("SELECT COUNT(*) FROM members WHERE code = ?", (code,)).fetchone()[0]
            if count >= MOST_MEMBERS:
                raise RoomError("the room {code} is full: {count} people are in it", code=code, count=count)
            new = Member(secrets.token_urlsafe(12), _short(name, LONGEST_NAME), True)
            connection.execute("INSERT INTO members VALUES (?, ?, ?, 1, ?)", (code, new.id, new.name, now))
        return new

    def member(self, code: str, member: str) -> Member | None:
        """None if the room has ended or the member was removed."""
        rows = self._rows("SELECT name, follows FROM members WHERE code = ? AND id = ?", code, member)
        return Member(member, rows[0][0], bool(rows[0][1])) if rows else None

    def rename(self, code: str, member: str, name: str) -> None:
        with self._change() as connection:
            connection.execute(
                "UPDATE members SET name = ? WHERE code = ? AND id = ?", (_short(name, LONGEST_NAME), code, member)
            )

    def follow(self, code: str, member: str, follows: bool) -> None:
        with self._change() as connection:
            connection.execute("UPDATE members SET follows = ? WHERE code = ? AND id = ?", (int(follows), code, member))

    def leave(self, code: str, member: str) -> None:
        """The member's answers and finds go too."""
        with self._change() as connection:
            connection.execute("DELETE FROM members WHERE code = ? AND id = ?", (code, member))

    def see(self, members: Iterable[tuple[str, str]]) -> None:
        """Note that these are there: codes and ids."""
        now = self.now()
        with self._change() as connection:
            connection.executemany(
                "UPDATE members SET seen = ? WHERE code = ? AND id = ?", [(now, code, one) for code, one in members]
            )

    def here(self, code: str) -> list[Member]:
        """Who was seen lately, in the order in which they came."""
        rows = self._rows(
            "SELECT id, name, follows FROM members WHERE code = ? AND seen >= ? ORDER BY rowid",
            code,
            self.now() - HERE,
        )
        return [Member(one, name, bool(follows)) for one, name, follows in rows]

    # -- answers --

    def answer(self, code: str, member: str, question: str, answer: str, verdict: bool | None) -> None:
        """A member's answer to a question: the first one counts. Raises RoomError after too many."""
        values = (code, member, question[:LONGEST_TEXT], _short(answer, LONGEST_TEXT), verdict, self.now())
        with self._change() as connection:
            if not connection.execute("SELECT 1 FROM members WHERE code = ? AND id = ?", (code, member)).fetchall():
                return  # removed, or the room has ended
            count = connection.execute(
                "SELECT COUNT(*) FROM answers WHERE code = ? AND member = ?", (code, member)
            ).fetchone()[0]
            if count >= MOST_ANSWERS:
                raise RoomError("at most {count} answers of one person", count=MOST_ANSWERS)
            connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", values)

    def answers(self, code: str, question: str | None = None) -> list[Given]:
        """All answers, or those to one question, in the order in which they arrived."""
        rows = self._rows(
            "SELECT member, name, question, answer, verdict FROM answers JOIN members "
            "ON answers.code = members.code AND answers.member = members.id "
            "WHERE answers.code = ? AND (? IS NULL OR question = ?) ORDER BY at, answers.rowid",
            code,
            question,
            question,
        )
        return [
            Given(member, name, asked, answer, None if verdict is None else bool(verdict))
            for member, name, asked, answer, verdict in rows
        ]

    # -- finds --

    def send(self, code: str, member: str, path: str, params: Mapping[str, str], text: str) -> None:
        """A member's view for the teacher. Raises RoomError if it is too long or the list is full."""
        view = json.dumps(dict(params), sort_keys=True)
        if len(view) > LONGEST_VIEW:
            raise RoomError("this view is too long to be sent; shorten the sentence")
        values = (code, member, path, view, _short(text, LONGEST_TEXT), self.now())
        with self._change() as connection:
            if not connection.execute("SELECT 1 FROM members WHERE code = ? AND id = ?", (code, member)).fetchall():
                return
            count = connection.execute("SELECT COUNT(*) FROM finds WHERE code = ?", (code,)).fetchone()[0]
            if count >= MOST_FINDS:
                raise RoomError("the list of the room has {count} views and is full", count=count)
            connection.execute("INSERT INTO finds VALUES (NULL, ?, ?, ?, ?, ?, ?)", values)

    def finds(self, code: str) -> list[Find]:
        """In the order in which they arrived."""
        rows = self._rows(
            "SELECT number, name, path, params, text FROM finds JOIN members "
            "ON finds.code = members.code AND finds.member = members.id WHERE finds.code = ? ORDER BY number",
            code,
        )
        return [Find(number, name, path, json.loads(params), text) for number, name, path, params, text in rows]

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
        with self._change() as connection:
            connection.execute(
                "DELETE FROM answers WHERE code = ? AND member = ? AND question = ?", (code, member, question)
            )

    def remove_find(self, code: str, secret: str, number: int) -> None:
        self._check(code, secret)
        with self._change() as connection:
            connection.execute("DELETE FROM finds WHERE code = ? AND number = ?", (code, number))
