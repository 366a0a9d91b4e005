"""Packages that import a module when it is first named, and suggest the nearest name for a mistyped one."""

from collections.abc import Callable, Iterable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from transformer.texts import no_attribute


def modules_of(package: str, path: Iterable[str]) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package. path: its `__path__`."""
    modules = sorted(module.name for module in iter_modules(path))

    def named(name: str) -> ModuleType:
        if name not in modules:
            raise no_attribute(f"module {package!r}", name, modules)
        module = import_module(f"{package}.{name}")
        own = [other for other, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]

        def missing(mistyped: str) -> None:
            raise no_attribute(f"module {module.__name__!r}", mistyped, own)

        module.__getattr__ = missing  # type: ignore[method-assign]
        return module

    return named, lambda: modules
