"""Rooms in one SQLite file, which several processes of one machine share. Uses only the standard library."""

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from transformer.rooms.store import AWAY, Find, Member, MemberAnswer, Room, Rooms, StoreError, read_revealed

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


class SqliteRooms(Rooms):
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
        with self._lock:  # closing it while another thread reads would end the process
            self._connection.close()

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, one process after the other."""
        with self._lock, _said():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # of some errors the file itself has gone back already
                    self._connection.execute("ROLLBACK")
                raise

    def _execute(self, query: str, *values: object) -> None:
        with self._change() as connection:
            connection.execute(query, values)

    def _rows(self, query: str, *values: object) -> list[tuple]:
        with self._lock, _said():
            return self._connection.execute(query, values).fetchall()

    # -- rooms --

    def _open(self, code: str, secret: str, now: float, oldest: float, most: int) -> int | None:
        with self._change() as connection:
            connection.execute("DELETE FROM rooms WHERE opened < ?", (oldest,))
            codes = {found for (found,) in connection.execute("SELECT code FROM rooms")}
            if code in codes:
                return None
            if len(codes) < most:
                connection.execute("INSERT INTO rooms VALUES (?, ?, ?, 0, '', '{}', '{}')", (code, secret, now))
        return len(codes)

    def _room(self, code: str) -> Room | None:
        rows = self._rows("SELECT opened, step, path, params, revealed FROM rooms WHERE code = ?", code)
        if not rows:
            return None
        opened, step, path, params, revealed = rows[0]
        return Room(code, opened, step, path, json.loads(params), read_revealed(revealed))

    def _secret(self, code: str) -> str:
        rows = self._rows("SELECT secret FROM rooms WHERE code = ?", code)
        return rows[0][0] if rows else ""

    def steps(self, codes: Iterable[str]) -> dict[str, int]:
        codes = list(codes)
        marks = ",".join("?" * len(codes))
        return dict(self._rows(f"SELECT code, step FROM rooms WHERE code IN ({marks})", *codes))

    def _end(self, code: str) -> None:
        self._execute("DELETE FROM rooms WHERE code = ?", code)

    def _show(self, code: str, path: str, params: str) -> None:
        query = "UPDATE rooms SET path = ?, params = ?, step = step + 1 WHERE code = ? AND (path, params) <> (?, ?)"
        self._execute(query, path, params, code, path, params)

    def _reveal(self, code: str, question: str, right: str, sentence: str) -> None:
        with self._change() as connection:
            for (known,) in connection.execute("SELECT revealed FROM rooms WHERE code = ?", (code,)).fetchall():
                revealed = json.dumps({question: (right, sentence), **read_revealed(known)})
                connection.execute(
                    "UPDATE rooms SET revealed = ?, step = step + 1 WHERE code = ? AND revealed <> ?",
                    (revealed, code, revealed),
                )

    def _call_back(self, code: str) -> None:
        with self._change() as connection:
            connection.execute("UPDATE members SET follows = 1 WHERE code = ?", (code,))
            connection.execute("UPDATE rooms SET step = step + 1 WHERE code = ?", (code,))

    # -- members --

    def _join(self, code: str, member: str, new: Member, now: float, oldest: float, most: int) -> Member | int | None:
        with self._change() as connection:
            if not connection.execute("SELECT 1 FROM rooms WHERE code = ? AND opened >= ?", (code, oldest)).fetchall():
                return None
            rows = connection.execute("SELECT name, follows FROM members WHERE code = ? AND id = ?", (code, member))
            for known, follows in rows.fetchall():
                connection.execute("UPDATE members SET seen = ? WHERE code = ? AND id = ?", (now, code, member))
                return Member(member, known, bool(follows))
            count: int = connection.execute("SELECT COUNT(*) FROM members WHERE code = ?", (code,)).fetchone()[0]
            if count >= most:
                return count
            connection.execute("INSERT INTO members VALUES (?, ?, ?, 1, ?)", (code, new.id, new.name, now))
        return new

    def member(self, code: str, member: str) -> Member | None:
        rows = self._rows("SELECT name, follows FROM members WHERE code = ? AND id = ?", code, member)
        return Member(member, rows[0][0], bool(rows[0][1])) if rows else None

    def _rename(self, code: str, member: str, name: str) -> None:
        self._execute("UPDATE members SET name = ? WHERE code = ? AND id = ?", name, code, member)

    def follow(self, code: str, member: str, follows: bool) -> None:
        self._execute("UPDATE members SET follows = ? WHERE code = ? AND id = ?", int(follows), code, member)

    def leave(self, code: str, member: str) -> None:
        self._execute("DELETE FROM members WHERE code = ? AND id = ?", code, member)

    def see(self, members: Iterable[tuple[str, str]]) -> None:
        now = self.now()
        with self._change() as connection:
            connection.executemany(
                "UPDATE members SET seen = ? WHERE code = ? AND id = ?", [(now, code, one) for code, one in members]
            )

    def here(self, code: str) -> list[Member]:
        rows = self._rows(
            "SELECT id, name, follows FROM members WHERE code = ? AND seen >= ? ORDER BY rowid",
            code,
            self.now() - AWAY,
        )
        return [Member(one, name, bool(follows)) for one, name, follows in rows]

    # -- answers and finds --

    def _is_in(self, connection: sqlite3.Connection, code: str, member: str) -> bool:
        rows = connection.execute("SELECT 1 FROM members WHERE code = ? AND id = ?", (code, member))
        return bool(rows.fetchall())

    def _answer(self, code: str, member: str, question: str, answer: str, verdict: bool | None, most: int) -> int:
        values = (code, member, question, answer, verdict, self.now())
        with self._change() as connection:
            if not self._is_in(connection, code, member):
                return 0
            rows = connection.execute("SELECT COUNT(*) FROM answers WHERE code = ? AND member = ?", (code, member))
            count: int = rows.fetchone()[0]
            if count < most:
                connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", values)
        return count

    def answers(self, code: str, question: str | None = None) -> list[MemberAnswer]:
        rows = self._rows(
            "SELECT member, name, question, answer, verdict FROM answers JOIN members "
            "ON answers.code = members.code AND answers.member = members.id "
            "WHERE answers.code = ? AND (? IS NULL OR question = ?) ORDER BY at, answers.rowid",
            code,
            question,
            question,
        )
        return [
            MemberAnswer(member, name, asked, answer, None if verdict is None else bool(verdict))
            for member, name, asked, answer, verdict in rows
        ]

    def _send(self, code: str, member: str, path: str, params: str, text: str, most: int) -> int:
        with self._change() as connection:
            if not self._is_in(connection, code, member):
                return 0
            count: int = connection.execute("SELECT COUNT(*) FROM finds WHERE code = ?", (code,)).fetchone()[0]
            if count < most:
                values = (code, member, path, params, text, self.now())
                connection.execute("INSERT INTO finds VALUES (NULL, ?, ?, ?, ?, ?, ?)", values)
        return count

    def finds(self, code: str) -> list[Find]:
        rows = self._rows(
            "SELECT number, name, path, params, text FROM finds JOIN members "
            "ON finds.code = members.code AND finds.member = members.id WHERE finds.code = ? ORDER BY number",
            code,
        )
        return [Find(number, name, path, json.loads(params), text) for number, name, path, params, text in rows]

    def _remove_answer(self, code: str, member: str, question: str) -> None:
        self._execute("DELETE FROM answers WHERE code = ? AND member = ? AND question = ?", code, member, question)

    def _remove_find(self, code: str, number: int) -> None:
        self._execute("DELETE FROM finds WHERE code = ? AND number = ?", code, number)


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """An error of the file is one that a person can read."""
    try:
        yield
    except sqlite3.DatabaseError as error:  # full disk, file gone or damaged, held by another process
        raise StoreError("the file of the rooms cannot be read or written ({error}); try again", error=error) from error
