"""A short repr for objects that hold tensors: shapes instead of numbers. Uses only the standard library."""

import reprlib
from dataclasses import fields
from typing import Any


class _Shapes(reprlib.Repr):
    """Shortens texts and collections, and gives type and shape of tensors and arrays: float32[4, 8, 5, 6]."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60
        self.maxlong = 20

    def repr1(self, x: Any, level: int) -> str:
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if isinstance(shape, tuple) and dtype is not None:
            return f"{str(dtype).removeprefix('torch.')}{list(shape)}"
        return super().repr1(x, level)


_shapes = _Shapes()


def shortened(value: object) -> str:
    """The repr of a value, at most about 100 characters."""
    return _shapes.repr(value)


def short_repr(self: Any) -> str:
    """To be used as `__repr__ = short_repr` in a dataclass with tensors or arrays."""
    parts = (f"{field.name}={shortened(getattr(self, field.name))}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"
