"""Arrays and labels in, plotly figures out; the only part that knows plotly.

Modules are imported when they are named, as in `transformer.figures.positions`. Every figure takes its arrays first
and then, by keyword, `theme`, "light" or "dark", and `texts`, by default its module's LABELS in English.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

MODULES = sorted(module.name for module in iter_modules(__path__))

if not TYPE_CHECKING:  # a type checker knows the modules that were imported, and should complain about the others

    def __getattr__(name: str) -> ModuleType:
        if name in MODULES:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return MODULES
