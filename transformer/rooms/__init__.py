"""A room: a class that follows its teacher's view, and answers."""

from collections.abc import Callable
from pathlib import Path

from transformer.rooms.redis_store import RedisRooms
from transformer.rooms.sqlite_store import SqliteRooms
from transformer.rooms.store import Member, Room, RoomError, Rooms, StoreError

__all__ = ["Member", "RedisRooms", "Room", "RoomError", "Rooms", "SqliteRooms", "StoreError", "is_url", "open_rooms"]


def is_url(place: str | Path) -> bool:
    """Whether this names a server and not a file."""
    return "://" in str(place)


def open_rooms(place: str | Path, now: Callable[[], float] | None = None) -> Rooms:
    """The rooms of a file or of a Redis server. now: another clock. Raises OSError for the one, StoreError for the
    other."""
    if is_url(place):
        return RedisRooms(str(place), now)
    return SqliteRooms(Path(place), now) if now is not None else SqliteRooms(Path(place))
