"""The view's JavaScript modules as one script, for places that cannot load modules from files.

Every home of the picture gets the same code: modules are put in the order of their imports, `import` lines, comments
and indentation dropped (the latter two a sixth of what travels), and `export` prefixes removed. No build step; all
top-level names are unique over all modules (a test checks it).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
_IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./([\w-]+\.js)";\s*$', re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)  # a line of its own; no module has a text of several lines
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def _order(name: str, seen: list[str]) -> list[str]:
    """Modules `name` needs, each after those it imports, `name` last."""
    if name not in seen:
        for needed in _IMPORT.findall((FOLDER / name).read_text(encoding="utf-8")):
            _order(needed, seen)
        if name not in seen:
            seen.append(name)
    return seen


@cache
def script(entry: str) -> str:
    """One script with everything `entry` (a file of this folder) needs."""
    parts = []
    for name in _order(entry, []):
        text = (FOLDER / name).read_text(encoding="utf-8")
        text = _INDENT.sub("", _COMMENT.sub("", text))
        parts.append(_EXPORT.sub("", _IMPORT.sub("", text)).strip())
    return "\n\n".join(parts) + "\n"


@cache
def style(*names: str) -> str:
    """The theme all components share and, behind it, the style sheets named, of this folder."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in ("theme.css", *names))
