"""Arrays and labels in, plotly figures out; the only part that knows plotly.

Modules are imported when they are named, as in `transformer.figures.positions`. Every figure takes its arrays first
and then, by keyword, `theme`, "light" or "dark", and `texts`, by default its module's LABELS in English.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

from transformer.texts import no_attribute

MODULES = sorted(module.name for module in iter_modules(__path__))

if not TYPE_CHECKING:  # a type checker knows the modules that were imported, and should complain about the others

    def __getattr__(name: str) -> ModuleType:
        if name not in MODULES:
            raise no_attribute(f"module {__name__!r}", name, MODULES)
        module = import_module(f"{__name__}.{name}")
        functions = [
            other for other, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
        ]

        def missing(mistyped: str) -> None:
            raise no_attribute(f"module {module.__name__!r}", mistyped, functions)

        module.__getattr__ = missing
        return module


def __dir__() -> list[str]:
    return MODULES
