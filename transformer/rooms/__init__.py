"""A room: a class that follows its teacher's view, and answers."""

from transformer.rooms.store import Member, Room, RoomError, Rooms

__all__ = ["Member", "Room", "RoomError", "Rooms"]
