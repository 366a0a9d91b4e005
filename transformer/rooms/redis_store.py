"""Rooms in a Redis server, for several machines that serve one class. Needs the package redis (the extra `redis`).

What must be all or nothing is a script of the server, which runs one at a time. Keys of a room, all of which the server
deletes by itself when the room has lived for `HOURS`:

    headscope:room:CODE      hash: secret, opened, step, path, params (JSON), revealed (JSON), count
    headscope:members:CODE   hash: id -> JSON [number, follows, seen, name, how many answers]
    headscope:answers:CODE   hash: "id question" -> "number JSON [answer, verdict]"
    headscope:finds:CODE     hash: number -> JSON [id, path, params, text]

and headscope:rooms, a sorted set of the codes by when the room was opened. Numbers count what came into the room.
"""

import contextlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from transformer.rooms.store import AWAY, HOURS, Find, Member, MemberAnswer, Room, Rooms, StoreError, read_revealed

CONNECT, ANSWER = 2.0, 5.0  # seconds to wait for the server
BEGINNING = """
local rooms, room, members, answers, finds = unpack(KEYS)
local function keep(key) redis.call('PEXPIRE', key, redis.call('PTTL', room)) end
local function get(id)
    local text = redis.call('HGET', members, id)
    return text and cjson.decode(text)
end
local function put(id, one) redis.call('HSET', members, id, cjson.encode(one)); keep(members) end
local function step() redis.call('HINCRBY', room, 'step', 1) end
local function next_number() return redis.call('HINCRBY', room, 'count', 1) end
"""
SCRIPTS = {
    "open": """
local code, secret, now, oldest, most, seconds = unpack(ARGV)
redis.call('ZREMRANGEBYSCORE', rooms, '-inf', '(' .. oldest)
if redis.call('EXISTS', room) == 1 then return false end
local count = redis.call('ZCARD', rooms)
if count < tonumber(most) then
    redis.call('ZADD', rooms, now, code)
    redis.call('EXPIRE', rooms, seconds)
    redis.call('HSET', room, 'secret', secret, 'opened', now, 'step', 0, 'path', '', 'params', '{}', 'revealed', '{}',
        'count', 0)
    redis.call('EXPIRE', room, seconds)
end
return count""",
    "end": """
redis.call('ZREM', rooms, ARGV[1])
redis.call('DEL', room, members, answers, finds)""",
    "show": """
local old = redis.call('HMGET', room, 'path', 'params')
if old[1] and (old[1] ~= ARGV[1] or old[2] ~= ARGV[2]) then
    redis.call('HSET', room, 'path', ARGV[1], 'params', ARGV[2])
    step()
end""",
    "reveal": """
local text = redis.call('HGET', room, 'revealed')
if not text then return end
local revealed = cjson.decode(text)
if #revealed > 0 then revealed = {} end
if revealed[ARGV[1]] then return end
revealed[ARGV[1]] = {ARGV[2], ARGV[3]}
redis.call('HSET', room, 'revealed', cjson.encode(revealed))
step()""",
    "call_back": """
if redis.call('EXISTS', room) == 0 then return end
for _, id in ipairs(redis.call('HKEYS', members)) do
    local one = get(id)
    one[2] = true
    put(id, one)
end
step()""",
    "join": """
local id, new, name, now, oldest, most = unpack(ARGV)
local opened = redis.call('HGET', room, 'opened')
if not opened or tonumber(opened) < tonumber(oldest) then return false end
local one = get(id)
if one then
    one[3] = tonumber(now)
    put(id, one)
    return {id, redis.call('HGET', members, id)}
end
local count = redis.call('HLEN', members)
if count >= tonumber(most) then return count end
put(new, {next_number(), true, tonumber(now), name, 0})
return {new, redis.call('HGET', members, new)}""",
    "change": """
local id, place, value = unpack(ARGV)
local one = get(id)
if not one then return end
one[tonumber(place)] = cjson.decode(value)[1]
put(id, one)""",
    "see": """
for at = 2, #ARGV do
    local one = get(ARGV[at])
    if one then
        one[3] = tonumber(ARGV[1])
        put(ARGV[at], one)
    end
end""",
    "leave": """
local id = ARGV[1]
redis.call('HDEL', members, id)
for _, field in ipairs(redis.call('HKEYS', answers)) do
    if string.sub(field, 1, #id + 1) == id .. ' ' then redis.call('HDEL', answers, field) end
end
local all = redis.call('HGETALL', finds)
for at = 1, #all, 2 do
    if cjson.decode(all[at + 1])[1] == id then redis.call('HDEL', finds, all[at]) end
end""",
    "answer": """
local id, question, value, most = unpack(ARGV)
local one = get(id)
if not one then return 0 end
local count = one[5]
if count < tonumber(most) and redis.call('HSETNX', answers, id .. ' ' .. question, next_number() .. ' ' .. value) == 1
then
    keep(answers)
    one[5] = count + 1
    put(id, one)
end
return count""",
    "remove_answer": """
local one = get(ARGV[1])
if redis.call('HDEL', answers, ARGV[1] .. ' ' .. ARGV[2]) == 1 and one then
    one[5] = one[5] - 1
    put(ARGV[1], one)
end""",
    "send": """
local id, value, most = unpack(ARGV)
if not get(id) then return 0 end
local count = redis.call('HLEN', finds)
if count < tonumber(most) then
    redis.call('HSET', finds, next_number(), value)
    keep(finds)
end
return count""",
}


class RedisRooms(Rooms):
    """All rooms of a server. Its clock counts for all machines."""

    def __init__(self, url: str, now: Callable[[], float] | None = None) -> None:
        """url: redis://user:password@host:port/0, or rediss:// for TLS. Raises StoreError, which never has the
        password in it."""
        self._server = _server(url)
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise StoreError(
                "rooms in Redis need the Python package redis; install it with pip install 'headscope[redis]'"
            ) from None
        self._error = redis.RedisError
        with self._said():
            self._client: Any = redis.Redis.from_url(
                url,
                decode_responses=True,
                encoding_errors="replace",
                socket_connect_timeout=CONNECT,
                socket_timeout=ANSWER,
                retry=Retry(NoBackoff(), 1),  # a connection of the pool may be one that the server has closed
            )
            self._scripts: dict[str, Any] = {
                name: self._client.register_script(BEGINNING + text) for name, text in SCRIPTS.items()
            }
            seconds, microseconds = self._client.time()
        ahead = seconds + microseconds / 1e6 - time.monotonic()
        self.now = now or (lambda: time.monotonic() + ahead)

    def close(self) -> None:
        self._client.close()

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        """An error of the server is one that a person can read; its own text may repeat a password."""
        try:
            yield
        except (self._error, OSError, ValueError) as error:
            raise StoreError(
                "the Redis server {server}, which holds the rooms, cannot be used ({kind}); check that it runs, and "
                "the address, user and password",
                server=self._server,
                kind=type(error).__name__,
            ) from None

    def _do(self, name: str, code: str, *values: object) -> Any:
        """Run a script. Returns what it returns."""
        keys = ["headscope:rooms", *(_key(kind, code) for kind in ("room", "members", "answers", "finds"))]
        with self._said():
            return self._scripts[name](keys=keys, args=values)

    def _ask(self, command: str, kind: str, code: str, *values: object) -> Any:
        """Run a command that reads one key of a room."""
        with self._said():
            return getattr(self._client, command)(_key(kind, code), *values)

    # -- rooms --

    def _open(self, code: str, secret: str, now: float, oldest: float, most: int) -> int | None:
        return self._do("open", code, code, secret, now, oldest, most, HOURS * 3600)

    def _room(self, code: str) -> Room | None:
        room = self._ask("hgetall", "room", code)
        if not room:
            return None
        params, revealed = json.loads(room["params"]), read_revealed(room["revealed"])
        return Room(code, float(room["opened"]), int(room["step"]), room["path"], params, revealed)

    def _secret(self, code: str) -> str:
        return self._ask("hget", "room", code, "secret") or ""

    def steps(self, codes: Iterable[str]) -> dict[str, int]:
        codes = list(codes)
        with self._said():
            pipeline = self._client.pipeline(transaction=False)
            for code in codes:
                pipeline.hget(_key("room", code), "step")
            found = pipeline.execute()
        return {code: int(step) for code, step in zip(codes, found, strict=True) if step is not None}

    def _end(self, code: str) -> None:
        self._do("end", code, code)

    def _show(self, code: str, path: str, params: str) -> None:
        self._do("show", code, path, params)

    def _reveal(self, code: str, question: str, right: str, sentence: str) -> None:
        self._do("reveal", code, question, right, sentence)

    def _call_back(self, code: str) -> None:
        self._do("call_back", code)

    # -- members --

    def _join(self, code: str, member: str, new: Member, now: float, oldest: float, most: int) -> Member | int | None:
        joined = self._do("join", code, member, new.id, new.name, now, oldest, most)
        return _member(*joined) if isinstance(joined, list) else joined

    def member(self, code: str, member: str) -> Member | None:
        found = self._ask("hget", "members", code, member)
        return _member(member, found) if found else None

    def _change(self, code: str, member: str, place: int, value: object) -> None:
        """place: of the value in the record of a member, from 1."""
        self._do("change", code, member, place, json.dumps([value]))

    def _rename(self, code: str, member: str, name: str) -> None:
        self._change(code, member, 4, name)

    def follow(self, code: str, member: str, follows: bool) -> None:
        self._change(code, member, 2, follows)

    def leave(self, code: str, member: str) -> None:
        self._do("leave", code, member)

    def see(self, members: Iterable[tuple[str, str]]) -> None:
        by_code: defaultdict[str, list[str]] = defaultdict(list)
        for code, member in members:
            by_code[code].append(member)
        for code, ids in by_code.items():
            self._do("see", code, self.now(), *ids)

    def here(self, code: str) -> list[Member]:
        since = self.now() - AWAY
        there = {member: json.loads(text) for member, text in self._ask("hgetall", "members", code).items()}
        return [
            Member(member, name, follows)
            for member, (_, follows, seen, name, _) in sorted(there.items(), key=lambda item: item[1][0])
            if seen >= since
        ]

    # -- answers and finds --

    def _names(self, code: str) -> dict[str, str]:
        return {member: json.loads(text)[3] for member, text in self._ask("hgetall", "members", code).items()}

    def _answer(self, code: str, member: str, question: str, answer: str, verdict: bool | None, most: int) -> int:
        return self._do("answer", code, member, question, json.dumps([answer, verdict]), most)

    def answers(self, code: str, question: str | None = None) -> list[MemberAnswer]:
        names = self._names(code)
        if question is None:
            found = self._ask("hgetall", "answers", code)
        else:
            fields = [f"{member} {question}" for member in names]
            found = dict(zip(fields, self._ask("hmget", "answers", code, fields), strict=True)) if fields else {}
        given: list[tuple[int, MemberAnswer]] = []
        for field, text in found.items():
            member, _space, asked = field.partition(" ")
            if text is not None and member in names:
                number, _space, value = text.partition(" ")
                given.append((int(number), MemberAnswer(member, names[member], asked, *json.loads(value))))
        return [one for _, one in sorted(given, key=lambda item: item[0])]

    def _send(self, code: str, member: str, path: str, params: str, text: str, most: int) -> int:
        return self._do("send", code, member, json.dumps([member, path, params, text]), most)

    def finds(self, code: str) -> list[Find]:
        names = self._names(code)
        found = {int(number): json.loads(text) for number, text in self._ask("hgetall", "finds", code).items()}
        return [
            Find(number, names[member], path, json.loads(params), text)
            for number, (member, path, params, text) in sorted(found.items())
            if member in names
        ]

    def _remove_answer(self, code: str, member: str, question: str) -> None:
        self._do("remove_answer", code, member, question)

    def _remove_find(self, code: str, number: int) -> None:
        with self._said():
            self._client.hdel(_key("finds", code), number)


def _key(kind: str, code: str) -> str:
    return f"headscope:{kind}:{code}"


def _member(member: str, text: str) -> Member:
    _number, follows, _seen, name, _count = json.loads(text)
    return Member(member, name, follows)


def _server(url: str) -> str:
    """Host and port, to be shown. Raises StoreError for another address, which is not shown: it may have a password."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        port = parts.port or 6379
        plain = parts.hostname and not parts.query and not parts.fragment
        if parts.scheme in ("redis", "rediss") and plain and (parts.path.strip("/") or "0").isdecimal():
            return f"{parts.hostname}:{port}"
    raise StoreError(
        "the address of the rooms is not that of a Redis server, redis://USER:PASSWORD@HOST:PORT/0 (rediss:// with "
        "TLS); in a password, write / as %2F, # as %23, ? as %3F and @ as %40"
    )
